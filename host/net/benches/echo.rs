//! What a frame to a card and its answer cost the network's thread: the kernel's work on its behalf included.
//!
//!     cargo bench -p wirekv-net
//!
//! A peer sends frames of 64 and of 1,400 bytes; in the card's place they are sent back. All threads share one core, so
//! each finds a batch of work when its turn comes, as where there is more to do than time. It needs root, and `ip`, and
//! happens in a network namespace of its own.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use wirekv_net::{
    own_mac, Addresses, AfXdp, CardEnd, Found, Frames, Link, NetEnd, Own, Packet, Tap,
};

const FRAMES: usize = 200_000;
const RUNS: usize = 5;
/// Frames under way at once.
const WINDOW: usize = 256;
const BATCH: usize = 64;
/// For so long the card is busy before it looks at the link again.
const WORK: Duration = Duration::from_micros(100);
const LENGTHS: [usize; 2] = [60, 1400]; // without the checksum of a frame
const PEER: [u8; 6] = [2, 0, 0, 0, 0, 1];
const CARD_IP: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

type Run = Box<dyn FnOnce(NetEnd) -> Result<()> + Send>;

fn main() -> Result<()> {
    if !std::env::args().any(|word| word == "--bench") {
        return Ok(()); // of `cargo test --benches`
    }
    // SAFETY: no other thread runs.
    let apart = unsafe { libc::unshare(libc::CLONE_NEWNET) };
    let error = std::io::Error::last_os_error();
    ensure!(apart == 0, "a network namespace needs root: {error}");
    // SAFETY: all-zero bytes are a valid set, which is as large as is said.
    unsafe {
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu() as usize, &mut one);
        libc::sched_setaffinity(0, size_of_val(&one), &one);
    }
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
        card_mac: own_mac(CARD_IP),
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
    let net =
        thread::Builder::new().name(format!("net-{network}")).spawn(move || -> Result<f64> {
            run(net_end)?;
            Ok(thread_seconds())
        })?;
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

/// A card that sends every frame back. It is busy with those that it has, so they come and go by the batch.
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
        link.wait(Duration::from_millis(10));
        thread::sleep(WORK);
    }
    Ok(())
}

/// Sends frames from the other end, and counts there what comes back. Nobody takes it: that would be at the cost of who
/// sends.
fn drive(interface: &str, card: [u8; 6], len: usize) -> Result<()> {
    let mut frame = vec![0u8; len];
    frame[..6].copy_from_slice(&card);
    frame[6..12].copy_from_slice(&PEER);
    frame[12..14].copy_from_slice(&[0x88, 0xB5]); // for experiments
    let socket = packet_socket(interface)?;
    let mut part = libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: len };
    // SAFETY: all-zero bytes are a valid message.
    let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
    for message in &mut messages {
        (message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen) = (&raw mut part, 1);
    }
    let before = received(interface)?;
    let (mut out, mut back, mut last) = (0, 0, Instant::now());
    while back < FRAMES {
        let room = (WINDOW - (out - back)).min(FRAMES - out).min(BATCH);
        if room > 0 {
            // SAFETY: the messages and what they point to are there.
            let sent = unsafe {
                libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), room as u32, 0)
            };
            ensure!(sent >= 0, std::io::Error::last_os_error());
            out += sent as usize;
        } else {
            thread::sleep(WORK);
        }
        let now = received(interface)? - before;
        if now > back {
            (back, last) = (now, Instant::now());
        }
        ensure!(last.elapsed() < Duration::from_secs(5), "{back} of {out} frames came back");
    }
    Ok(())
}

/// Frames that an interface has received.
fn received(interface: &str) -> Result<usize> {
    let all = std::fs::read_to_string("/proc/thread-self/net/dev")?;
    let line = all.lines().find_map(|line| line.trim().strip_prefix(interface)?.strip_prefix(':'));
    let frames = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    frames.with_context(|| format!("no count of {interface}"))
}

/// A packet socket that only sends.
fn packet_socket(interface: &str) -> Result<OwnedFd> {
    let name = std::ffi::CString::new(interface)?;
    // SAFETY: the file is nobody else's; all-zero bytes are a valid address, which is as long as is said.
    unsafe {
        let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0);
        ensure!(fd >= 0, std::io::Error::last_os_error());
        let socket = OwnedFd::from_raw_fd(fd);
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
        let bound = libc::bind(fd, (&raw const address).cast(), size_of_val(&address) as u32);
        ensure!(bound == 0, std::io::Error::last_os_error());
        Ok(socket)
    }
}
