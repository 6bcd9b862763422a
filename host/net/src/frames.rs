//! A batch of frames in one buffer.

/// Frames in order. Clearing keeps the buffer, so a batch that is reused does not allocate.
#[derive(Default)]
pub struct Frames {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Frames {
    pub fn push(&mut self, frame: &[u8]) {
        self.push_with(|buffer| buffer.extend_from_slice(frame));
    }

    /// Adds the frame that `fill` appends to the buffer.
    pub fn push_with<R>(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let result = fill(&mut self.bytes);
        self.ends.push(self.bytes.len());
        result
    }

    /// Moves all frames of `other` to the end of this batch.
    pub fn append(&mut self, other: &mut Frames) {
        if self.is_empty() {
            std::mem::swap(self, other);
        } else {
            let offset = self.bytes.len();
            self.bytes.extend_from_slice(&other.bytes);
            self.ends.extend(other.ends.iter().map(|e| e + offset));
        }
        other.clear();
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_and_borders() {
        let (mut a, mut b) = (Frames::default(), Frames::default());
        a.push(b"one");
        a.push(b"");
        b.push(b"three");
        a.append(&mut b);
        assert!(b.is_empty());
        b.append(&mut a);
        assert!(a.is_empty());
        assert_eq!(b.iter().collect::<Vec<_>>(), [&b"one"[..], b"", b"three"]);
        assert_eq!((b.len(), b.bytes()), (3, 8));
    }
}
