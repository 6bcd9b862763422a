//! Replies on their way out.

use std::io::IoSlice;
use std::ops::Range;

use wirekv_store::{Item, Local, Pin};

use crate::number;

/// A buffer that grew beyond this for once is given back.
const KEPT: usize = 256 << 10;

/// Of more near replies each byte counts as copied.
const NEAR: usize = 48 << 10;

/// Pinned parts of at least so many bytes stay where they are while replies wait; what is shorter goes
/// with what is around it, in pieces of about so many.
const LONG: usize = 16 << 10;

/// A reply part that stays where it is.
struct Far {
    /// The part comes before this byte of `near`.
    at: usize,
    part: Part,
}

enum Part {
    Pinned(Pin),
    Copied(Box<[u8]>),
}

impl Part {
    fn bytes(&self) -> &[u8] {
        match self {
            Part::Pinned(pin) => pin,
            Part::Copied(bytes) => bytes,
        }
    }

    /// In the store, and long enough to wait there.
    fn stays(&self) -> bool {
        matches!(self, Part::Pinned(value) if value.len() >= LONG)
    }
}

/// The replies of a run of requests, as parts for one gathered write: small ones in a buffer of
/// its own, long values where they are in the store, which keeps them while they are in here: so
/// it may wait for as long as the kernel needs. Cleared and used again, it allocates nothing.
#[derive(Default)]
pub struct Out {
    /// All of it initialised; the replies end at `end`.
    near: Vec<u8>,
    end: usize,
    far: Vec<Far>,
    far_len: usize,
    /// Of those, bytes that are copies.
    copied: usize,
    /// So many of them are in the store to stay while the replies wait.
    settled: usize,
    /// Bytes already written.
    done: usize,
    /// Where units begin; only kept when `units`.
    marks: Vec<usize>,
    units: bool,
}

impl Out {
    pub fn new() -> Out {
        Out::default()
    }

    /// For datagrams: remembers which bytes are one message, see [`Out::message`].
    pub fn with_units() -> Out {
        Out { units: true, ..Out::default() }
    }

    pub fn is_of_datagrams(&self) -> bool {
        self.units
    }

    /// Bytes not written yet.
    pub fn len(&self) -> usize {
        self.end + self.far_len - self.done
    }

    /// Bytes of memory outside the store, written ones included.
    pub fn held(&self) -> usize {
        self.end + self.copied
    }

    /// All of it is here, and with `more` bytes it is at most `limit`.
    #[inline]
    pub fn is_small(&self, limit: usize, more: usize) -> bool {
        self.end + more <= limit && self.far.is_empty()
    }

    /// Of those, what is long: copies of long values, of which there are such only when half of the
    /// store is pinned; and all that is near, where that is more than what replies have mostly.
    pub fn copied(&self) -> usize {
        self.copied + if self.end > NEAR { self.end } else { 0 }
    }

    /// Takes what is not written, in as little memory as that needs; the buffer stays here.
    pub fn take_rest(&mut self) -> Out {
        // Where the rest begins: at `near`, or `skip` bytes into the far part that is there.
        let (mut near, mut skip, mut first) = (0, self.done, 0);
        for far in &self.far {
            let before = far.at - near;
            if skip < before {
                break;
            }
            (near, skip) = (far.at, skip - before);
            let len = far.part.bytes().len();
            if skip < len {
                break;
            }
            (skip, first) = (skip - len, first + 1);
        }
        let inside = self.far.get(first).is_some_and(|far| far.at == near);
        let (near, done) = if inside { (near, skip) } else { (near + skip, 0) };
        let text = self.near[near..self.end].to_vec();
        let far = self.far.drain(first..).map(|far| Far { at: far.at - near, ..far });
        let settled = self.settled.saturating_sub(first);
        let (end, units) = (text.len(), self.units);
        let mut rest = Out { near: text, end, settled, done, units, ..Out::new() };
        far.for_each(|far| rest.push(far));
        rest.far.shrink_to_fit();
        self.clear();
        rest
    }

    /// Adds replies of which nothing was written.
    pub fn append(&mut self, mut more: Out) {
        debug_assert!(more.done == 0 && !self.units);
        let before = self.end;
        self.near.truncate(before);
        self.near.extend_from_slice(&more.near[..more.end]);
        self.end += more.end;
        more.far.drain(..).for_each(|far| self.push(Far { at: far.at + before, ..far }));
    }

    /// Bytes of replies that wait in the store.
    pub fn kept(&self) -> usize {
        self.far[..self.settled].iter().map(|far| far.part.bytes().len()).sum()
    }

    /// Bytes of memory that `settle` would give back.
    pub fn loose(&self) -> usize {
        self.end + self.copied + (self.far.len() - self.settled) * size_of::<Far>()
    }

    /// Puts what waits for a client into the store, but for long values, which are there. False: there is
    /// no room.
    pub fn settle(&mut self, local: &mut Local) -> bool {
        let (mut parts, mut near) = (Vec::new(), 0);
        for far in &self.far[self.settled..] {
            let bytes = far.part.bytes();
            parts.extend([(&self.near[near..far.at], false), (bytes, far.part.stays())]);
            near = far.at;
        }
        parts.push((&self.near[near..self.end], false));
        parts.retain(|(bytes, _)| !bytes.is_empty());
        // `None`: the next one that stays.
        let mut pins = Vec::new();
        for run in parts.chunk_by(|a, b| !a.1 && !b.1) {
            if run[0].1 {
                pins.push(None);
                continue;
            }
            let (mut piece, mut size) = (Vec::new(), 0);
            let mut pieces = run.iter().flat_map(|(bytes, _)| bytes.chunks(LONG)).peekable();
            while let Some(bytes) = pieces.next() {
                piece.push(bytes);
                size += bytes.len();
                if size >= LONG || pieces.peek().is_none() {
                    let Some(pin) = local.keep(&piece) else { return false };
                    pins.push(Some(pin));
                    (piece, size) = (Vec::new(), 0);
                }
            }
        }
        let moved: usize = parts.iter().map(|(bytes, _)| bytes.len()).sum();
        let all = self.len() + self.done;
        let stay: Vec<_> = self.far.drain(self.settled..).filter(|far| far.part.stays()).collect();
        (self.near, self.end, self.far_len, self.copied) = (Vec::new(), 0, all - moved, 0);
        let mut stay = stay.into_iter().map(|far| far.part);
        for pin in pins {
            let part = pin.map(Part::Pinned).or_else(|| stay.next());
            self.part(part.expect("as many as were counted"));
        }
        self.settled = self.far.len();
        true
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn clear(&mut self) {
        if self.near.len() > KEPT {
            self.near = Vec::new();
        }
        self.end = 0;
        self.far.clear();
        self.far_len = 0;
        self.copied = 0;
        self.settled = 0;
        self.done = 0;
        self.marks.clear();
    }

    /// Calls `part` with each part in order, until it says stop.
    fn parts<'a>(&'a self, mut part: impl FnMut(&'a [u8]) -> bool) {
        let mut near = 0;
        for far in &self.far {
            if far.at > near && !part(&self.near[near..far.at]) {
                return;
            }
            near = far.at;
            if !part(far.part.bytes()) {
                return;
            }
        }
        if self.end > near {
            part(&self.near[near..self.end]);
        }
    }

    /// The unwritten parts in order, for `writev`; at most `slices.len()` of them. Returns how
    /// many.
    pub fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        self.slices_of(self.done..self.end + self.far_len, slices)
    }

    /// The same of a range of all bytes, such as one of a [message](Out::message).
    pub fn slices_of<'a>(&'a self, range: Range<usize>, slices: &mut [IoSlice<'a>]) -> usize {
        let (mut skip, mut left, mut count) = (range.start, range.len(), 0);
        if slices.is_empty() || left == 0 {
            return 0;
        }
        self.parts(|part| {
            if skip >= part.len() {
                skip -= part.len();
                return true;
            }
            let part = &part[skip..part.len().min(skip + left)];
            slices[count] = IoSlice::new(part);
            skip = 0;
            left -= part.len();
            count += 1;
            count < slices.len() && left > 0
        });
        count
    }

    /// How many bytes there are, those that were written among them.
    pub fn position(&self) -> usize {
        self.end + self.far_len
    }

    /// Copies the bytes from such a position on, as far as there are any and they fit. Returns how many.
    pub fn peek(&self, position: usize, to: &mut [u8]) -> usize {
        let mut parts = [IoSlice::new(&[]); 2];
        let end = self.position().min(position + to.len());
        let (count, mut at) = (self.slices_of(position..end, &mut parts), 0);
        for part in &parts[..count] {
            to[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        at
    }

    /// `count` bytes were written.
    pub fn written(&mut self, count: usize) {
        debug_assert!(count <= self.len());
        self.done += count;
        if self.is_empty() {
            self.clear();
        }
    }

    /// All unwritten bytes in one piece, for tests and for what is short anyhow.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.end + self.far_len);
        self.parts(|part| {
            all.extend_from_slice(part);
            true
        });
        all.split_off(self.done)
    }

    /// A message of a datagram's replies: of an [`Out::with_units`], before anything was written.
    pub fn message(&self, number: usize) -> Option<Range<usize>> {
        let all = self.end + self.far_len;
        let from = *self.marks.get(number)?;
        let to = self.marks.get(number + 1).copied().unwrap_or(all);
        // Only the last one can be empty.
        (from < to).then_some(from..to)
    }

    /// How many there are.
    pub fn messages(&self) -> usize {
        self.marks.len()
    }

    // -- writing

    /// A message of its own begins.
    #[inline]
    pub fn unit(&mut self) {
        let at = self.end + self.far_len;
        if self.units && self.marks.last() != Some(&at) {
            self.marks.push(at);
        }
    }

    /// Room for `len` bytes behind the end.
    #[inline]
    pub fn room(&mut self, len: usize) -> Writer<'_> {
        if self.near.len() - self.end < len {
            self.grow(len);
        }
        Writer { to: &mut self.near[self.end..], at: 0, end: &mut self.end }
    }

    #[cold]
    fn grow(&mut self, len: usize) {
        let size = (self.end + len).max(2 * self.near.len()).max(4096);
        self.near.resize(size, 0);
    }

    #[inline]
    pub fn text(&mut self, text: &[u8]) {
        let mut w = self.room(text.len());
        w.bytes(text);
        w.finish();
    }

    /// An item's value: copied up to `copy_max` bytes, else pinned where it is in the store.
    pub fn item(&mut self, item: &Item<'_>, copy_max: usize) {
        let value = item.value();
        if value.len() <= copy_max {
            return self.text(value);
        }
        self.part(match item.pin() {
            Some(pin) => Part::Pinned(pin),
            None => Part::Copied(value.into()),
        });
    }

    /// Bytes that are long.
    pub fn copy(&mut self, bytes: &[u8]) {
        self.part(Part::Copied(bytes.into()));
    }

    fn part(&mut self, part: Part) {
        self.push(Far { at: self.end, part });
    }

    fn push(&mut self, far: Far) {
        self.far_len += far.part.bytes().len();
        if let Part::Copied(bytes) = &far.part {
            self.copied += bytes.len();
        }
        self.far.push(far);
    }

    /// Where the reply so far ends, to take back what comes behind.
    pub fn mark(&self) -> usize {
        self.end
    }

    /// Other bytes in place of those behind `mark`.
    pub fn replace(&mut self, mark: usize, text: &[u8]) {
        self.near[mark..mark + text.len()].copy_from_slice(text);
    }

    /// Takes back what was written since `mark`: no far parts.
    pub fn rewind(&mut self, mark: usize) {
        self.end = mark;
    }

    /// As `mark`, for replies that may have far parts.
    #[inline]
    pub fn mark_all(&self) -> Mark {
        Mark { end: self.end, far: self.far.len() }
    }

    /// Takes back what was written since `mark`, far parts included.
    pub fn rewind_all(&mut self, mark: Mark) {
        for far in self.far.drain(mark.far..) {
            let len = far.part.bytes().len();
            self.far_len -= len;
            self.copied -= if matches!(far.part, Part::Copied(_)) { len } else { 0 };
        }
        self.end = mark.end;
    }
}

/// A place in an [`Out`].
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    end: usize,
    far: usize,
}

/// Writes into an [`Out`]'s buffer. What it wrote counts when it is finished.
pub struct Writer<'a> {
    to: &'a mut [u8],
    at: usize,
    end: &'a mut usize,
}

impl Writer<'_> {
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.to[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
        self
    }

    #[inline]
    pub fn byte(&mut self, byte: u8) -> &mut Self {
        self.to[self.at] = byte;
        self.at += 1;
        self
    }

    #[inline]
    pub fn number(&mut self, value: u64) -> &mut Self {
        if value < 10 {
            return self.byte(b'0' + value as u8);
        }
        self.bytes(number::digits(value, &mut [0; number::DIGITS]))
    }

    #[inline]
    pub fn finish(&mut self) {
        *self.end += self.at;
        self.at = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_in_order_and_from_where_writing_stopped() {
        let value = |byte, len| Part::Copied(vec![byte; len].into());
        let mut out = Out::new();
        out.part(value(b'1', 3));
        out.text(b"ab");
        out.part(value(b'2', 4));
        out.part(value(b'1', 3));
        out.text(b"c");
        let all = b"111ab2222111c";
        for done in 0..=all.len() {
            for step in [1, 2, 8] {
                let mut slices = vec![IoSlice::new(&[]); step];
                let count = out.slices(&mut slices);
                let got: Vec<u8> = slices[..count].iter().flat_map(|part| part.to_vec()).collect();
                assert!(all[done..].starts_with(&got));
                assert!(step < 8 || got == all[done..]);
            }
            assert_eq!(out.to_vec(), &all[done..]);
            // What waits for the client is moved to where it needs less room.
            let whole = out.held();
            let mut rest = out.take_rest();
            assert!(out.is_empty() && out.held() == 0 && rest.held() <= whole);
            assert_eq!((rest.to_vec(), rest.len()), (all[done..].to_vec(), all.len() - done));
            std::mem::swap(&mut out, &mut rest);
            if done < all.len() {
                out.written(1);
            }
        }
        assert!(out.is_empty());
    }

    #[test]
    fn what_waits_is_the_same_in_the_store() {
        use wirekv_store::{Config, Store};
        let mut local = Store::new(Config::new(16 << 20)).unwrap().local();
        let mut pinned = |byte, len| Part::Pinned(local.keep(&[&vec![byte; len]]).unwrap());
        let mut out = Out::new();
        out.text(b"begin");
        for (i, len) in [1, 100, LONG - 1, LONG, 3 * LONG, 5].into_iter().enumerate() {
            out.part(pinned(b'1' + i as u8, len));
            out.part(Part::Copied(vec![b'a' + i as u8; len].into()));
            out.text(&vec![b'-'; 2 * len]);
        }
        let mut all = out.to_vec();
        for round in 0..4 {
            for skip in [0, 1, 7, LONG] {
                out.written(skip);
                all.drain(..skip);
                out = out.take_rest();
                assert!(out.to_vec() == all && out.len() == all.len());
            }
            assert!(out.settle(&mut local));
            assert_eq!((out.held(), out.loose()), (0, 0));
            assert!(out.to_vec() == all && out.kept() >= all.len());
            let mut more = Out::new();
            more.text(b"more");
            more.part(Part::Copied(vec![b'0' + round; 100].into()));
            all.extend(more.to_vec());
            out.append(more);
            assert!(out.to_vec() == all && out.loose() > 0);
        }
        out.written(all.len());
        assert!(out.is_empty() && out.kept() == 0);
        // Nothing is pinned any more.
        let mut most = Vec::new();
        while let Some(pin) = local.keep(&[&[b'x'; LONG]]) {
            most.push(pin);
        }
        assert!((6..8).contains(&((most.len() * LONG) >> 20)), "{}", most.len());
        drop(most);
        assert!(local.keep(&[b"x"]).is_some());
    }
}
