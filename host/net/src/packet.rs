//! Packet sockets: the kernel copies the card's frames of an interface into a ring, and takes those of the card by the
//! batch.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Result;
use mio::{Poll, Waker};

use crate::interface::{
    bind, carry, get_option, packet_socket, privileged, set_option, waker, Device, Found,
    Interface, Own,
};
use crate::ring::Mapping;
use crate::steer::Steer;
use crate::whole::{Sum, Whole, TAG};
use crate::{Addresses, Frames, NetCounts, NetEnd};

/// Frames are handed over by the block: when the next one does not fit, or after so many milliseconds.
const BLOCK: usize = 1 << 18;
const BLOCKS: usize = 32;
const PATIENCE_MS: u32 = 1;
/// Only to be a fraction of the block; frames take as much room as they need.
const NOMINAL_FRAME: usize = 1 << 11;
/// Frames of one system call.
const BATCH: usize = 64;
/// Bytes that may be on their way out.
const SEND_BUFFER: i32 = 8 << 20;

const USER: u32 = libc::TP_STATUS_USER;
const KERNEL: u32 = libc::TP_STATUS_KERNEL;

pub struct Packet {
    poll: Poll,
    port: Port,
}

struct Port {
    interface: Interface,
    socket: OwnedFd,
    /// Only sends: who waits for a socket would be woken at each frame that has left.
    sender: OwnedFd,
    ring: Mapping,
    /// The next frame: its block; which one it is of those in the block, and where it is there.
    block: usize,
    number: u32,
    at: usize,
    whole: Whole,
    unsent: u64,
}

impl Packet {
    pub fn open(found: Found, addresses: &Addresses, own: Own) -> Result<Packet> {
        let interface = found.open(addresses, own)?;
        let name = interface.name.clone();
        let because = |what: &str| {
            let what = format!("{what} {name}");
            move |e: io::Error| privileged(&what, &e)
        };
        let socket = packet_socket().map_err(because("take frames of"))?;
        let sender = sender(interface.index).map_err(because("send frames to"))?;
        let steer = Steer { addresses: *addresses, is_shared: own == Own::Machine };
        let filter = steer.filter().map_err(because("load the filter for"))?;
        let ring = start(&socket, &filter, interface.index).map_err(because("take frames of"))?;
        let poll = interface.poll(&[socket.as_raw_fd()])?;
        let whole = Whole::new(addresses.mtu);
        let port =
            Port { interface, socket, sender, ring, block: 0, number: 0, at: 0, whole, unsent: 0 };
        Ok(Packet { poll, port })
    }

    pub fn waker(&self) -> Result<Waker> {
        waker(&self.poll)
    }

    /// Moves frames until the link is stopped.
    pub fn run(mut self, link: &NetEnd) -> Result<NetCounts> {
        carry(&mut self.poll, &mut self.port, link)?;
        let mut lost = libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
        let socket = self.port.socket.as_raw_fd();
        get_option(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut lost)?;
        let Port { whole, unsent, .. } = self.port;
        let no_room = lost.tp_drops.into();
        Ok(NetCounts { oversize: whole.oversize, no_room, damaged: 0, unsent })
    }
}

/// Has frames come into a ring: only those of the filter, and none of before.
fn start(socket: &OwnedFd, filter: &OwnedFd, interface: u32) -> io::Result<Mapping> {
    let fd = socket.as_raw_fd();
    let set = |option, value: i32| set_option(fd, libc::SOL_PACKET, option, &value);
    set_option(fd, libc::SOL_SOCKET, libc::SO_ATTACH_BPF, &filter.as_raw_fd())?;
    set(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V3 as i32)?;
    // What other programs of this machine send is not for the card.
    set(libc::PACKET_IGNORE_OUTGOING, 1)?;
    let request = libc::tpacket_req3 {
        tp_block_size: BLOCK as u32,
        tp_block_nr: BLOCKS as u32,
        tp_frame_size: NOMINAL_FRAME as u32,
        tp_frame_nr: (BLOCK / NOMINAL_FRAME * BLOCKS) as u32,
        tp_retire_blk_tov: PATIENCE_MS,
        tp_sizeof_priv: 0,
        tp_feature_req_word: 0,
    };
    set_option(fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
    let ring = Mapping::new(BLOCK * BLOCKS, Some((fd, 0)))?;
    bind(fd, interface, libc::ETH_P_ALL as u16)?;
    Ok(ring)
}

fn sender(interface: u32) -> io::Result<OwnedFd> {
    let socket = packet_socket()?;
    set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER)?;
    bind(socket.as_raw_fd(), interface, 0)?;
    Ok(socket)
}

impl Port {
    fn status(&self) -> &AtomicU32 {
        let head: *mut libc::tpacket_block_desc = self.ring.at(self.block * BLOCK, 1);
        // SAFETY: the block is there as long as the ring, and its status is read and written by such accesses alone.
        unsafe { AtomicU32::from_ptr(&raw mut (*head).hdr.bh1.block_status) }
    }
}

impl Device for Port {
    fn check(&self) -> Result<()> {
        self.interface.check()
    }

    fn receive(&mut self, to_card: &mut Frames, room: usize) -> Result<bool> {
        while self.status().load(Ordering::Acquire) & USER != 0 {
            let block = self.block * BLOCK;
            // SAFETY: while the block is ours, nobody writes to it.
            let head = unsafe { (*self.ring.at::<libc::tpacket_block_desc>(block, 1)).hdr.bh1 };
            if self.number == 0 {
                self.at = head.offset_to_first_pkt as usize;
            }
            while self.number < head.num_pkts {
                if to_card.bytes() >= room {
                    return Ok(true);
                }
                // SAFETY: as above; the kernel says where a frame is in the block, and how long.
                let (frame, head) = unsafe {
                    let head = *self.ring.at::<libc::tpacket3_hdr>(block + self.at, 1);
                    let len = head.tp_snaplen as usize;
                    let start: *mut u8 = self.ring.at(block + self.at + head.tp_mac as usize, len);
                    (std::slice::from_raw_parts(start, len), head)
                };
                let sum = match head.tp_status & libc::TP_STATUS_CSUMNOTREADY {
                    0 => Sum::Done,
                    _ => Sum::Half,
                };
                let tag = (head.tp_status & libc::TP_STATUS_VLAN_VALID != 0).then(|| {
                    let [a, b] = head.hv1.tp_vlan_tpid.to_be_bytes();
                    let [c, d] = (head.hv1.tp_vlan_tci as u16).to_be_bytes();
                    let tag: [u8; TAG] = [a, b, c, d];
                    tag
                });
                self.whole.take(frame, tag, sum, to_card);
                self.at += head.tp_next_offset as usize;
                self.number += 1;
            }
            self.status().store(KERNEL, Ordering::Release);
            self.block = (self.block + 1) % BLOCKS;
            self.number = 0;
        }
        Ok(false)
    }

    fn send(&mut self, frames: &Frames) -> Result<()> {
        let mut frames = frames.iter().peekable();
        while frames.peek().is_some() {
            // SAFETY: all-zero bytes are a valid part and a valid message.
            let (mut parts, mut messages): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
                unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
            let mut count = 0;
            while let Some(frame) = frames.next_if(|_| count < BATCH) {
                parts[count].iov_base = frame.as_ptr().cast_mut().cast();
                parts[count].iov_len = frame.len();
                messages[count].msg_hdr.msg_iov = &raw mut parts[count];
                messages[count].msg_hdr.msg_iovlen = 1;
                count += 1;
            }
            let mut sent = 0;
            while sent < count {
                let (rest, len) = (messages[sent..].as_mut_ptr(), (count - sent) as u32);
                let flags = libc::MSG_DONTWAIT;
                // SAFETY: the messages and what they point to outlive the call.
                match unsafe { libc::sendmmsg(self.sender.as_raw_fd(), rest, len, flags) } {
                    n @ 1.. => sent += n as usize,
                    // The first one of the rest did not go.
                    _ => {
                        self.unsent += 1;
                        sent += 1;
                    }
                }
            }
        }
        Ok(())
    }
}
