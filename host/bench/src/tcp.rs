//! A small TCP client: handshake, cumulative ACKs, window scaling, flow control in both directions,
//! go-back-N when something was lost. Data is handed in and out as byte strings.

use std::net::SocketAddrV4;

use anyhow::{ensure, Result};

use crate::frame::{self, Segment, ACK, FIN, PSH, RST, SYN};
use crate::rig::Rig;

const MSS: usize = 1460;
const SCALE: u8 = 7;
/// Of timestamps, in each segment, and clocks in which theirs goes on (a power of two).
const TIMES: usize = 12;
const TIME: u32 = 18;
/// Clocks after which a lone ACK goes out, and after which unacknowledged data is sent again.
const ACK_DELAY: u64 = 10_000;
const RESEND: u64 = 500_000;

pub struct Tcp {
    pub me: SocketAddrV4,
    /// The card's end.
    port: u16,
    open: bool,
    snd_una: u32,
    snd_nxt: u32,
    /// Bytes from snd_una on: sent and not acknowledged, then not sent.
    tx: Vec<u8>,
    window: usize,
    window_scale: u8,
    rcv_nxt: u32,
    /// Received bytes that the application has not taken.
    pub rx: Vec<u8>,
    capacity: usize,
    /// At most so many bytes in a segment, and so many that are not acknowledged.
    pub segment: usize,
    pub flight: usize,
    /// Clocks after which what is not acknowledged is sent again.
    pub resend: u64,
    /// The card's last timestamp.
    times: Option<u32>,
    unacked: u32, // segments
    ack_now: bool,
    ack_at: u64,
    resend_at: u64,
    duplicates: u32,
    pub resent: u64, // times
}

/// a < b modulo 2^32.
fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

impl Tcp {
    /// Sends a SYN. `capacity` bounds what the application leaves unread.
    pub fn connect(me: SocketAddrV4, port: u16, isn: u32, capacity: usize, rig: &mut Rig) -> Tcp {
        let mut tcp = Tcp {
            me,
            port,
            open: false,
            snd_una: isn,
            snd_nxt: isn,
            tx: Vec::new(),
            window: 0,
            window_scale: 0,
            rcv_nxt: 0,
            rx: Vec::new(),
            capacity,
            segment: MSS,
            flight: usize::MAX,
            resend: RESEND,
            times: rig.timestamps.then_some(0),
            unacked: 0,
            ack_now: false,
            ack_at: u64::MAX,
            resend_at: u64::MAX,
            duplicates: 0,
            resent: 0,
        };
        tcp.send_syn(rig.clock(), rig);
        tcp
    }

    fn send_syn(&mut self, at: u64, rig: &mut Rig) {
        let syn = Segment {
            port: self.port,
            seq: self.snd_una,
            ack: 0,
            flags: SYN,
            window: 0xFFFF,
            scale: Some(SCALE),
            times: self.times.map(|_| ((at >> TIME) as u32, 0)),
            payload: &[],
        };
        rig.send(&frame::tcp(self.me, &syn), at);
        self.resend_at = at + self.resend;
    }

    pub fn open(&self) -> bool {
        self.open
    }

    /// All that was written has arrived.
    #[cfg(test)]
    pub fn all_sent(&self) -> bool {
        self.tx.is_empty()
    }

    /// Appends to what is to be sent; the sequence number behind it.
    pub fn write(&mut self, bytes: &[u8]) -> u32 {
        self.tx.extend_from_slice(bytes);
        self.snd_una.wrapping_add(self.tx.len() as u32)
    }

    pub fn receive(&mut self, s: &Segment, now: u64) -> Result<()> {
        ensure!(s.flags & RST == 0, "{}: connection reset", self.me);
        ensure!(s.flags & FIN == 0, "{}: connection closed", self.me);
        ensure!(s.times.is_some() == self.times.is_some(), "{}: timestamps", self.me);
        self.times = s.times.map(|(value, _)| value);
        if !self.open {
            ensure!(s.flags & (SYN | ACK) == SYN | ACK, "{}: no SYN-ACK", self.me);
            ensure!(s.ack == self.snd_una.wrapping_add(1), "{}: a wrong SYN-ACK", self.me);
            self.open = true;
            self.snd_una = s.ack;
            self.snd_nxt = s.ack;
            self.rcv_nxt = s.seq.wrapping_add(1);
            self.window_scale = s.scale.unwrap_or(0);
            self.window = usize::from(s.window);
            self.ack_now = true;
            self.resend_at = u64::MAX;
            return Ok(());
        }
        if s.flags & SYN != 0 {
            self.ack_now = true; // the card has not seen our ACK
            return Ok(());
        }

        let acked = s.ack.wrapping_sub(self.snd_una) as usize; // huge for an old ACK
        let window = usize::from(s.window) << self.window_scale;
        if acked > 0 && acked <= self.tx.len() {
            self.tx.drain(..acked);
            self.snd_una = s.ack;
            if before(self.snd_nxt, s.ack) {
                self.snd_nxt = s.ack;
            }
            self.duplicates = 0;
            self.resend_at =
                if self.snd_nxt == self.snd_una { u64::MAX } else { now + self.resend };
        } else if acked == 0 && s.payload.is_empty() && window == self.window {
            self.duplicates += u32::from(self.snd_nxt != self.snd_una);
            if self.duplicates == 3 {
                self.go_back();
            }
        }
        self.window = window;

        if !s.payload.is_empty() {
            // What was received before is skipped; what lies ahead or does not fit is not taken.
            let known = self.rcv_nxt.wrapping_sub(s.seq) as usize;
            let room = self.capacity - self.rx.len();
            let fresh = s.payload.get(known..).unwrap_or(&[]);
            let fresh = &fresh[..fresh.len().min(room)];
            self.rx.extend_from_slice(fresh);
            self.rcv_nxt = self.rcv_nxt.wrapping_add(fresh.len() as u32);
            if fresh.len() < s.payload.len() {
                self.ack_now = true;
            } else {
                self.unacked += 1;
                self.ack_at = self.ack_at.min(now + ACK_DELAY);
            }
        }
        Ok(())
    }

    fn go_back(&mut self) {
        self.snd_nxt = self.snd_una;
        self.resent += 1;
    }

    /// Sends what may be sent at clock `at`. Tells `sent` the number behind each segment's last
    /// byte and the frame's id.
    pub fn send(&mut self, at: u64, rig: &mut Rig, mut sent: impl FnMut(u32, u64)) {
        if at >= self.resend_at {
            self.resend_at = u64::MAX;
            if self.open {
                self.go_back();
            } else {
                self.send_syn(at, rig);
            }
        }
        if !self.open {
            return;
        }
        loop {
            let start = self.snd_nxt.wrapping_sub(self.snd_una) as usize;
            let most = self.segment.min(if self.times.is_some() { MSS - TIMES } else { MSS });
            let end = self.tx.len().min(self.window).min(self.flight).min(start + most);
            if end <= start {
                break;
            }
            let flags = if end == self.tx.len() { ACK | PSH } else { ACK };
            let id = self.segment(start, end, flags, at, rig);
            self.snd_nxt = self.snd_una.wrapping_add(end as u32);
            self.resend_at = self.resend_at.min(at + self.resend);
            sent(self.snd_nxt, id);
        }
        if self.ack_now || self.unacked >= 2 || at >= self.ack_at {
            self.segment(0, 0, ACK, at, rig);
        }
    }

    fn segment(&mut self, start: usize, end: usize, flags: u8, at: u64, rig: &mut Rig) -> u64 {
        let frame = self.frame(start, end, flags, at);
        self.unacked = 0;
        self.ack_now = false;
        self.ack_at = u64::MAX;
        rig.send(&frame, at)
    }

    fn frame(&self, start: usize, end: usize, flags: u8, at: u64) -> Vec<u8> {
        let seq = if end > start { self.snd_una.wrapping_add(start as u32) } else { self.snd_nxt };
        self.frame_of(seq, &self.tx[start..end], flags, at)
    }

    fn frame_of(&self, seq: u32, payload: &[u8], flags: u8, at: u64) -> Vec<u8> {
        let window = (self.capacity - self.rx.len()) >> SCALE;
        let s = Segment {
            port: self.port,
            seq,
            ack: self.rcv_nxt,
            flags,
            window: window.min(0xFFFF) as u16,
            scale: None,
            times: self.times.map(|echo| ((at >> TIME) as u32, echo)),
            payload,
        };
        frame::tcp(self.me, &s)
    }

    /// An ACK that says again what was said.
    pub fn bare_ack(&self, at: u64) -> Vec<u8> {
        self.frame(0, 0, ACK, at)
    }

    /// The last bytes that were acknowledged, once more.
    pub fn again(&self, bytes: &[u8], at: u64) -> Vec<u8> {
        self.frame_of(self.snd_una.wrapping_sub(bytes.len() as u32), bytes, ACK | PSH, at)
    }

    /// Bytes that stand so far behind all that was sent.
    pub fn further(&self, by: u32, bytes: &[u8], at: u64) -> Vec<u8> {
        self.frame_of(self.snd_nxt.wrapping_add(by), bytes, ACK | PSH, at)
    }

    /// When `send` should be called even if nothing is received.
    pub fn due(&self) -> u64 {
        self.ack_at.min(self.resend_at)
    }
}
