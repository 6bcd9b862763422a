//! What frames pass between a network and a card: damage, if asked for, and a capture.

use std::io;
use std::time::SystemTime;

use crate::ether::{Packet, ETHERNET_HEADER, TCP, UDP, UDP_HEADER};
use crate::impair::{BadWire, Counts, Impair};
use crate::{Allowed, Pcap};

#[derive(Default)]
pub struct Wire {
    /// Whose frames reach the card.
    allowed: Allowed,
    /// To the card, from the card.
    bad: Option<[BadWire; 2]>,
    pcap: Option<Pcap>,
    pub counts: WireCounts,
}

/// Frames as the card saw them.
#[derive(Clone, Copy, Debug, Default)]
pub struct WireCounts {
    pub to_card: u64,
    pub from_card: u64,
    /// Bytes of TCP segments and datagrams in them, without headers.
    pub bytes_to_card: u64,
    pub bytes_from_card: u64,
}

/// What an intact frame carries for a protocol above TCP or UDP.
fn payload(frame: &[u8]) -> u64 {
    let packet = frame.get(ETHERNET_HEADER..).and_then(Packet::parse);
    let Some(packet) = packet else { return 0 };
    let segment = packet.payload();
    let header = match packet.protocol {
        TCP => segment.get(12).map_or(0, |byte| usize::from(byte >> 4) * 4),
        UDP => UDP_HEADER,
        _ => return 0,
    };
    segment.len().saturating_sub(header) as u64
}

impl Wire {
    pub fn new(impair: Option<Impair>, pcap: Option<Pcap>) -> Wire {
        let bad = impair.map(|i| [BadWire::new(i, 0), BadWire::new(i, 1)]);
        Wire { allowed: Allowed::default(), bad, pcap, counts: WireCounts::default() }
    }

    /// Behind a filter that drops the frames of others.
    pub fn only(self, allowed: Allowed) -> Wire {
        Wire { allowed, ..self }
    }

    /// Carries a frame to the card; the capture shows what arrives there.
    pub fn to_card(&mut self, frame: &[u8], out: &mut impl FnMut(&[u8])) -> io::Result<()> {
        if !self.allowed.admits_frame(frame) {
            return Ok(());
        }
        let Wire { bad, pcap, counts, .. } = self;
        let mut result = Ok(());
        let mut arrive = |f: &[u8]| {
            counts.to_card += 1;
            counts.bytes_to_card += payload(f);
            result = capture(pcap, f);
            out(f);
        };
        match bad {
            Some([bad, _]) => bad.carry(frame, &mut arrive),
            None => arrive(frame),
        }
        result
    }

    /// Carries a frame from the card; the capture shows what left there.
    pub fn from_card(&mut self, frame: &[u8], out: &mut impl FnMut(&[u8])) -> io::Result<()> {
        self.counts.from_card += 1;
        self.counts.bytes_from_card += payload(frame);
        let result = capture(&mut self.pcap, frame);
        match &mut self.bad {
            Some([_, bad]) => bad.carry(frame, out),
            None => out(frame),
        }
        result
    }

    /// The wire is quiet: frames that were held back to be overtaken arrive.
    pub fn quiet(
        &mut self,
        to_card: &mut impl FnMut(&[u8]),
        from_card: &mut impl FnMut(&[u8]),
    ) -> io::Result<()> {
        let Wire { bad, pcap, counts, .. } = self;
        let mut result = Ok(());
        if let Some([to, from]) = bad {
            to.release(&mut |f| {
                counts.to_card += 1;
                counts.bytes_to_card += payload(f);
                result = capture(pcap, f);
                to_card(f);
            });
            from.release(from_card);
        }
        result
    }

    /// What was done to the frames, in both directions together.
    pub fn damage(&self) -> Option<Counts> {
        self.bad.as_ref().map(|[a, b]| Counts {
            dropped: a.counts.dropped + b.counts.dropped,
            duplicated: a.counts.duplicated + b.counts.duplicated,
            reordered: a.counts.reordered + b.counts.reordered,
            damaged: a.counts.damaged + b.counts.damaged,
        })
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.pcap.as_mut().map_or(Ok(()), Pcap::flush)
    }
}

fn capture(pcap: &mut Option<Pcap>, frame: &[u8]) -> io::Result<()> {
    match pcap {
        Some(p) => p.record(frame, SystemTime::now()),
        None => Ok(()),
    }
}
