//! Writes frames to a capture file that tcpdump and Wireshark read.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Nanosecond timestamps, Ethernet.
const MAGIC: u32 = 0xA1B2_3C4D;
const LINKTYPE_ETHERNET: u32 = 1;
const SNAP: u32 = 65_535;

pub struct Pcap<W: Write = BufWriter<File>> {
    out: W,
}

impl Pcap {
    pub fn create(path: &Path) -> io::Result<Pcap> {
        Pcap::new(BufWriter::new(File::create(path)?))
    }
}

impl<W: Write> Pcap<W> {
    pub fn new(mut out: W) -> io::Result<Pcap<W>> {
        let mut head = Vec::with_capacity(24);
        head.extend(MAGIC.to_le_bytes());
        head.extend(2u16.to_le_bytes()); // version 2.4
        head.extend(4u16.to_le_bytes());
        head.extend([0; 8]); // UTC, accuracy unknown
        head.extend(SNAP.to_le_bytes());
        head.extend(LINKTYPE_ETHERNET.to_le_bytes());
        out.write_all(&head)?;
        Ok(Pcap { out })
    }

    pub fn record(&mut self, frame: &[u8], at: SystemTime) -> io::Result<()> {
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let kept = frame.len().min(SNAP as usize);
        let words = [since.as_secs() as u32, since.subsec_nanos(), kept as u32, frame.len() as u32];
        for word in words {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.out.write_all(&frame[..kept])
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn layout() {
        let mut file = Vec::new();
        let mut pcap = Pcap::new(&mut file).unwrap();
        let at = UNIX_EPOCH + Duration::new(0x0102_0304, 5);
        pcap.record(&[0xAA; 60], at).unwrap();
        pcap.flush().unwrap();
        assert_eq!(file.len(), 24 + 16 + 60);
        assert_eq!(file[..4], [0x4D, 0x3C, 0xB2, 0xA1]);
        assert_eq!(file[20..24], [1, 0, 0, 0]);
        assert_eq!(file[24..28], [4, 3, 2, 1]);
        assert_eq!(file[28..32], [5, 0, 0, 0]);
        assert_eq!(file[32..36], file[36..40]);
        assert_eq!(file[32..36], [60, 0, 0, 0]);
        assert!(file[40..].iter().all(|b| *b == 0xAA));
    }
}
