//! What a frame to a card and its answer cost the network's thread: the kernel's work on its behalf included.
//!
//!     cargo bench -p wirekv-net
//!
//! A peer sends frames of 64 and of 1,400 bytes; in the card's place they are sent back. It needs root, and `ip`. All
//! happens in a network namespace of its own.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::RawFd;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{ensure, Context, Result};
use wirekv_net::{Addresses, AfXdp, CardEnd, Found, Frames, Link, NetEnd, Own, Packet, Tap};

const FRAMES: usize = 200_000;
const RUNS: usize = 5;
/// Frames under way at once.
const WINDOW: usize = 256;
const BATCH: usize = 64;
const LENGTHS: [usize; 2] = [60, 1400]; // without the checksum of a frame
const PEER: [u8; 6] = [2, 0, 0, 0, 0, 1];
const CARD_IP: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

type Run = Box<dyn FnOnce(NetEnd) -> Result<()> + Send>;

fn main() -> Result<()> {
    if std::env::args().any(|word| word == "--test") {
        return Ok(()); // of `cargo test --benches`
    }
    // SAFETY: no other thread runs.
    ensure!(
        unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0,
        "a network namespace needs root: {}",
        std::io::Error::last_os_error()
    );
    for words in [
        "link add name wkcard type veth peer name wkpeer",
        "link set wkcard up",
        "link set wkpeer up",
    ] {
        let done = Command::new("ip").args(words.split(' ')).status().context("ip")?;
        ensure!(done.success(), "ip {words}");
    }
    println!(
        "frame   network      ns CPU an echo: best and worst of {RUNS}; best as a part of tap's"
    );
    for len in LENGTHS {
        let mut tap = f64::NAN;
        for network in ["tap", "packet", "afxdp"] {
            let mut all = Vec::new();
            for _ in 0..RUNS {
                all.push(measure(network, len)?);
            }
            all.sort_by(f64::total_cmp);
            let (best, worst) = (all[0], all[RUNS - 1]);
            if network == "tap" {
                tap = best;
            }
            println!("{len:5}   {network:7} {best:9.0} {worst:9.0} {:9.2}", best / tap);
        }
    }
    Ok(())
}

fn measure(network: &str, len: usize) -> Result<f64> {
    let wire = Addresses {
        card_mac: Found::own_mac(CARD_IP),
        card_ip: CARD_IP,
        card_ip6: Ipv6Addr::new(0xFD57, 0x4B56, 0, 0, 0, 0, 0, 2),
        card_tcp_port: 11211,
        card_redis_port: 0,
        card_udp_port: 11211,
        mtu: 1500,
    };
    let open = || Found::new("wkcard");
    let (waker, peer, run): (_, _, Run) = match network {
        "tap" => {
            let host = (Ipv4Addr::new(10, 77, 0, 1), Ipv6Addr::new(0xFD57, 0, 0, 0, 0, 0, 0, 1));
            let tap = Tap::open("wktap", host, wire.mtu)?;
            (tap.waker()?, "wktap", Box::new(|link| tap.run(link)))
        }
        "packet" => {
            let net = Packet::open(open()?, &wire, Own::Card)?;
            (net.waker()?, "wkpeer", Box::new(move |link| net.run(&link).map(drop)))
        }
        _ => {
            let net = AfXdp::open(open()?, &wire, Own::Card)?;
            assert_eq!(net.mode(), "native");
            (net.waker()?, "wkpeer", Box::new(move |link| net.run(&link).map(drop)))
        }
    };
    let (net_end, card_end) = Link::ends(waker);
    let card = card_end.clone();
    let card = thread::spawn(move || echo(&card));
    let net = thread::spawn(move || -> Result<f64> {
        run(net_end)?;
        Ok(thread_seconds())
    });
    let sent = drive(peer, wire.card_mac, len);
    card_end.stop();
    card.join().expect("the card's thread")?;
    let seconds = net.join().expect("the network's thread")?;
    sent?;
    Ok(seconds * 1e9 / FRAMES as f64)
}

fn thread_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is written to where it is asked for.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// A card that sends every frame back.
fn echo(link: &CardEnd) -> Result<()> {
    let (mut from_card, mut to_card) = (Frames::default(), Frames::default());
    while !link.stopped() {
        link.exchange(&mut from_card, &mut to_card, 0)?;
        for frame in to_card.iter() {
            from_card.push_with(|out| {
                out.extend(&frame[6..12]);
                out.extend(&frame[..6]);
                out.extend(&frame[12..]);
            });
        }
        to_card.clear();
        if from_card.is_empty() {
            link.wait(Duration::from_millis(10));
        }
    }
    Ok(())
}

/// Sends frames from the other end, and waits for their echoes.
fn drive(interface: &str, card: [u8; 6], len: usize) -> Result<()> {
    const TYPE: u16 = 0x88B5; // for experiments
    let mut frame = vec![0u8; len];
    frame[..6].copy_from_slice(&card);
    frame[6..12].copy_from_slice(&PEER);
    frame[12..14].copy_from_slice(&TYPE.to_be_bytes());
    let socket = packet_socket(interface, TYPE)?;
    let mut buffers = vec![[0u8; 2048]; BATCH];
    let (mut out, mut back) = (0, 0);
    while back < FRAMES {
        let room = (WINDOW - (out - back)).min(FRAMES - out).min(BATCH);
        if room == BATCH || out == FRAMES || room > 0 && out - back == 0 {
            let frames = (0..room).map(|_| (frame.as_mut_ptr(), len));
            out += each(socket, frames, |fd, messages, count| {
                // SAFETY: what the messages point to is there.
                unsafe { libc::sendmmsg(fd, messages, count, 0) }
            })?;
        }
        let places = buffers.iter_mut().map(|buffer| (buffer.as_mut_ptr(), buffer.len()));
        back += each(socket, places, |fd, messages, count| {
            let mut patience = libc::timespec { tv_sec: 5, tv_nsec: 0 };
            // SAFETY: as above.
            unsafe { libc::recvmmsg(fd, messages, count, libc::MSG_WAITFORONE, &mut patience) }
        })
        .with_context(|| format!("{back} of {out} frames came back"))?;
    }
    // SAFETY: the socket is this function's.
    unsafe { libc::close(socket) };
    Ok(())
}

/// A call for several messages; how many it dealt with.
fn each(
    socket: RawFd,
    places: impl Iterator<Item = (*mut u8, usize)>,
    call: impl FnOnce(RawFd, *mut libc::mmsghdr, u32) -> i32,
) -> Result<usize> {
    let mut parts: Vec<libc::iovec> =
        places.map(|(start, iov_len)| libc::iovec { iov_base: start.cast(), iov_len }).collect();
    let mut messages: Vec<libc::mmsghdr> = parts
        .iter_mut()
        .map(|part| {
            // SAFETY: all-zero bytes are a valid message.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            (message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen) = (part, 1);
            message
        })
        .collect();
    if messages.is_empty() {
        return Ok(0);
    }
    let done = call(socket, messages.as_mut_ptr(), messages.len() as u32);
    ensure!(done >= 0, std::io::Error::last_os_error());
    Ok(done as usize)
}

/// A packet socket of frames of a type, but not those that leave, with a patience of seconds.
fn packet_socket(interface: &str, kind: u16) -> Result<RawFd> {
    let name = std::ffi::CString::new(interface)?;
    let size: i32 = 16 << 20;
    let patience = libc::timeval { tv_sec: 5, tv_usec: 0 };
    let one: i32 = 1;
    // SAFETY: all-zero bytes are a valid address; each value is as long as is said.
    unsafe {
        let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, kind.to_be().into());
        ensure!(fd >= 0, std::io::Error::last_os_error());
        let set = |level, option, value: *const libc::c_void, len| {
            libc::setsockopt(fd, level, option, value, len)
        };
        set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, (&raw const size).cast(), 4);
        set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, (&raw const size).cast(), 4);
        set(libc::SOL_SOCKET, libc::SO_RCVTIMEO, (&raw const patience).cast(), 16);
        set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, (&raw const one).cast(), 4);
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = kind.to_be();
        address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
        let len = size_of_val(&address) as u32;
        let bound = libc::bind(fd, (&raw const address).cast(), len);
        ensure!(bound == 0, std::io::Error::last_os_error());
        Ok(fd)
    }
}
