//! DPDK: a driver in this process moves the frames of a port, past the kernel.

use std::ffi::{c_char, c_int, c_uint, c_void, CStr, CString};
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure, Context, Result};
use mio::unix::SourceFd;
use mio::{Interest, Poll, Waker};

use crate::ether::Mac;
use crate::interface::{card_mtu, carry, waker, Device, Own, DEVICE};
use crate::whole::{Sum, Whole};
use crate::{Addresses, Frames, NetCounts, NetEnd};

/// Frames of one call.
const BURST: usize = 64;
/// Of each queue, if the driver has so many.
const DESCRIPTORS: u16 = 1024;
/// For two queues, frames under way and the cache; one less than a power of two is what a pool stores best.
const MBUFS: c_uint = 8191;
/// Least room of an mbuf, of which larger frames take several where they can.
const PIECE: u16 = 2048;
/// What a frame has around its packet: addresses, type, two tags; and what AF_XDP keeps free in front of it.
const AROUND: u16 = 22 + 256;

/// A driver without interrupts is asked again and again for so long after a frame, and then less and less often.
const BUSY: Duration = Duration::from_micros(100);
const LEAST_SLEEP: Duration = Duration::from_millis(1);
const MOST_SLEEP: Duration = Duration::from_millis(20);
/// It sleeps for this part of the time for which nothing has come.
const SLEEP_PART: u32 = 8;
/// After so much silence the driver is asked whether the port is still there.
const SILENCE: Duration = Duration::from_secs(1);

/// What is known of a port, as in the shim.
#[repr(C)]
struct Info {
    min_mtu: u16,
    max_mtu: u16,
    mtu: u16,
    rx_queues: u16,
    tx_queues: u16,
    segments: bool,
    mac: Mac,
    name: [c_char; MAX_NAME],
    driver: [c_char; MAX_NAME],
}

/// RTE_ETH_NAME_MAX_LEN.
const MAX_NAME: usize = 64;

/// A pool of mbufs.
#[repr(C)]
struct Pool([u8; 0]);

type Take = extern "C" fn(*mut c_void, *const u8, usize, c_int);

extern "C" {
    fn wk_errors() -> *const c_char;
    fn wk_text(error: c_int) -> *const c_char;
    fn wk_eal_init(argc: c_int, argv: *mut *mut c_char, listed: bool) -> c_int;
    fn wk_is_primary() -> bool;
    fn wk_enter();
    fn wk_leave();
    fn wk_next_port(port: u16) -> u16;
    fn wk_max_ports() -> u16;
    fn wk_port_info(port: u16, out: *mut Info) -> c_int;
    fn wk_pool(port: u16, count: c_uint, room: u16) -> *mut Pool;
    fn wk_start(
        port: u16,
        pool: *mut Pool,
        mtu: u16,
        descriptors: u16,
        interrupt: *mut c_int,
        step: *mut c_uint,
    ) -> c_int;
    fn wk_listen(port: u16, mac: *const u8) -> c_int;
    fn wk_arm(port: u16);
    fn wk_disarm(port: u16);
    fn wk_receive(port: u16, take: Take, context: *mut c_void) -> c_uint;
    fn wk_send(port: u16, pool: *mut Pool, frames: *const libc::iovec, count: c_uint) -> c_uint;
    fn wk_is_removed(port: u16) -> bool;
    fn wk_counts(port: u16, no_room: *mut u64, damaged: *mut u64, unsent: *mut u64) -> c_int;
    fn wk_close(port: u16);
    fn wk_eal_end();
}

/// DPDK's environment, which a process has once. It ends with this.
struct Eal;

impl Eal {
    fn new(words: &str) -> Result<Eal> {
        let is_help = words.split_whitespace().any(|word| matches!(word, "--help" | "-h"));
        let words = ["wirekv"].into_iter().chain(words.split_whitespace());
        let words: Vec<CString> = words.map(CString::new).collect::<Result<_, _>>()?;
        // EAL sorts them, and keeps pointers to some.
        let mut all: Vec<*mut c_char> = words.into_iter().map(CString::into_raw).collect();
        let count = all.len() as c_int;
        all.push(std::ptr::null_mut());
        let all = all.leak();
        // SAFETY: the words end with a null, and stay.
        let read = unsafe { wk_eal_init(count, all.as_mut_ptr(), is_help) };
        if read < 0 {
            bail!("--net dpdk: EAL does not start: {}{}", why(read), privileges());
        }
        let eal = Eal;
        if let Some(word) = all.get(read as usize + 1).filter(|word| !word.is_null()) {
            // SAFETY: it is one of the words.
            let word = unsafe { CStr::from_ptr(*word) }.to_string_lossy();
            bail!("--net dpdk: '{word}' is no argument of EAL: `--net dpdk:--help` lists them");
        }
        // SAFETY: EAL runs.
        let is_primary = unsafe { wk_is_primary() };
        ensure!(
            is_primary,
            "--net dpdk: the server needs its port to itself, so EAL cannot be a secondary process"
        );
        Ok(eal)
    }

    fn ports(&self) -> Vec<u16> {
        // SAFETY: EAL runs.
        let (next, max) = (|port| unsafe { wk_next_port(port) }, unsafe { wk_max_ports() });
        let ports = std::iter::successors(Some(next(0)), |port| Some(next(port + 1)));
        ports.take_while(|port| *port < max).collect()
    }
}

impl Drop for Eal {
    fn drop(&mut self) {
        // SAFETY: EAL runs, and no port of it is in use any more.
        unsafe { wk_eal_end() };
    }
}

/// What EAL and its drivers said that went wrong.
fn said() -> Option<String> {
    // SAFETY: it is a text, which changes only when DPDK is called.
    let text = unsafe { CStr::from_ptr(wk_errors()) }.to_string_lossy();
    let lines: Vec<_> = text.lines().map(|line| line.trim().trim_end_matches('.')).collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

/// The same, or else what an error means.
fn why(error: c_int) -> String {
    // SAFETY: it is a text, which stays until the next one is asked for.
    said().unwrap_or_else(|| unsafe { CStr::from_ptr(wk_text(error)) }.to_string_lossy().into())
}

/// What may help who is not root.
fn privileges() -> &'static str {
    // SAFETY: it only reads.
    match unsafe { libc::geteuid() } {
        0 => "",
        _ => " (most drivers of DPDK need root)",
    }
}

fn text(name: &[c_char; MAX_NAME]) -> String {
    let bytes = name.iter().map(|c| *c as u8).take_while(|byte| *byte != 0);
    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into()
}

/// The one port that EAL's arguments make.
pub struct DpdkPort {
    number: u16,
    info: Info,
    name: String,
    _eal: Eal,
}

impl DpdkPort {
    /// Starts EAL with its own arguments, which have blanks between them.
    pub fn find(words: &str) -> Result<DpdkPort> {
        let eal = Eal::new(words)?;
        let ports = eal.ports();
        let mut found = Vec::new();
        for number in &ports {
            // SAFETY: all-zero bytes are valid.
            let mut info: Info = unsafe { std::mem::zeroed() };
            // SAFETY: the port is there.
            let done = unsafe { wk_port_info(*number, &mut info) };
            ensure!(done == 0, "--net dpdk: what is port {number}? {}", why(done));
            found.push((*number, info));
        }
        let names: Vec<String> = found.iter().map(|(_, info)| text(&info.name)).collect();
        ensure!(
            found.len() < 2,
            "--net dpdk: EAL's arguments make {} ports, {}: the card has one; `-a ADDRESS` or `--no-pci` leaves the others \
             out",
            found.len(),
            names.join(" and ")
        );
        let Some((number, info)) = found.pop() else {
            let errors = said().map_or_else(String::new, |said| format!(": {said}"));
            bail!(
                "--net dpdk: EAL's arguments make no port{errors}{}. A device of PCI must be bound to vfio-pci \
                 (`dpdk-devbind.py`), others are made by `--vdev`",
                privileges()
            );
        };
        let name = format!("{} ({})", names[0], text(&info.driver));
        ensure!(
            info.rx_queues > 0 && info.tx_queues > 0,
            "--net dpdk: the port {name} has {} queues in and {} out: it takes one each",
            info.rx_queues,
            info.tx_queues
        );
        Ok(DpdkPort { number, info, name, _eal: eal })
    }

    pub fn mac(&self) -> Mac {
        self.info.mac
    }

    /// The MTU of the card: `asked`, or else as large as both can.
    pub fn mtu(&self, asked: Option<u16>) -> Result<u16> {
        let Info { min_mtu, max_mtu, mtu, .. } = self.info;
        let name = &self.name;
        if let Some(asked) = asked.filter(|asked| *asked < min_mtu) {
            bail!("--mtu {asked}: the port {name} carries packets of {min_mtu} bytes at least");
        }
        match asked {
            // The port's is what it starts with, not what it can.
            Some(_) => card_mtu("port", name, asked, max_mtu.into()),
            None => card_mtu("port", name, None, mtu.min(max_mtu).into()),
        }
    }
}

pub struct Dpdk {
    poll: Poll,
    port: Port,
}

struct Port {
    found: DpdkPort,
    pool: *mut Pool,
    /// Readable when frames have come, if the driver has such.
    interrupt: Option<RawFd>,
    is_armed: bool,
    mac: Mac,
    whole: Whole,
    unsent: u64,
    /// When a frame went or came.
    last: Instant,
}

// SAFETY: the pool may be used by any thread, and by this port alone it is.
unsafe impl Send for Port {}

impl Dpdk {
    pub fn open(found: DpdkPort, addresses: &Addresses, own: Own) -> Result<Dpdk> {
        let name = found.name.clone();
        let room = match found.info.segments {
            true => PIECE,
            false => (addresses.mtu + AROUND).next_multiple_of(64).max(PIECE),
        };
        // SAFETY: the port is there.
        let pool = unsafe { wk_pool(found.number, MBUFS, room) };
        let kilobytes = (MBUFS as usize * usize::from(room)) >> 10;
        ensure!(
            !pool.is_null(),
            "--net dpdk: no memory for {MBUFS} mbufs of {room} bytes, {kilobytes} kilobytes: more hugepages, or with \
             `--no-huge` a larger `-m MEGABYTES`"
        );
        let (mut interrupt, mut step) = (-1, 0);
        // SAFETY: the port is there, and the pool, too.
        let done = unsafe {
            wk_start(found.number, pool, addresses.mtu, DESCRIPTORS, &mut interrupt, &mut step)
        };
        // From here on, its end closes the port.
        let port = Port {
            found,
            pool,
            interrupt: (interrupt >= 0).then_some(interrupt),
            is_armed: false,
            mac: addresses.card_mac,
            whole: Whole::new(addresses.mtu),
            unsent: 0,
            last: Instant::now(),
        };
        let what = ["be configured", "have a queue in", "have a queue out", "be started"];
        ensure!(
            done == 0,
            "--net dpdk: the port {name} cannot {}: {}{}",
            what[step as usize],
            why(done),
            privileges()
        );
        let other = if own == Own::Card { port.mac.as_ptr() } else { std::ptr::null() };
        // SAFETY: the port is there, and a MAC address or nothing behind the pointer.
        let done = unsafe { wk_listen(port.found.number, other) };
        ensure!(
            done == 0,
            "--net dpdk: the port {name} listens for no other MAC address than its own: {}: --net-shared has the card \
             take that one",
            why(done)
        );
        let poll = Poll::new()?;
        if let Some(fd) = port.interrupt {
            let registered =
                poll.registry().register(&mut SourceFd(&fd), DEVICE, Interest::READABLE);
            registered.with_context(|| format!("cannot wait for {name}"))?;
        }
        Ok(Dpdk { poll, port })
    }

    /// Port and driver, and how it is waited for.
    pub fn name(&self) -> String {
        let how = if self.port.interrupt.is_some() { "by interrupts" } else { "polled" };
        format!("{}, {how}", self.port.found.name)
    }

    pub fn waker(&self) -> Result<Waker> {
        waker(&self.poll)
    }

    /// Moves frames until the link is stopped.
    pub fn run(mut self, link: &NetEnd) -> Result<NetCounts> {
        // SAFETY: EAL runs.
        unsafe { wk_enter() };
        let result = carry(&mut self.poll, &mut self.port, link);
        let (mut no_room, mut damaged, mut unsent) = (0, 0, 0);
        // SAFETY: the port is there, and the counts, too.
        let counted =
            unsafe { wk_counts(self.port.found.number, &mut no_room, &mut damaged, &mut unsent) };
        let oversize = self.port.whole.oversize;
        unsent += self.port.unsent;
        // SAFETY: this thread moves no more frames.
        unsafe { wk_leave() };
        drop(self);
        result?;
        ensure!(counted == 0, "the port does not say what it dropped: {}", why(counted));
        Ok(NetCounts { oversize, no_room, damaged, unsent })
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        // SAFETY: the port is there, and nobody uses it any more.
        unsafe { wk_close(self.found.number) };
    }
}

/// Where a burst goes.
struct Burst<'a> {
    mac: Mac,
    whole: &'a mut Whole,
    to_card: &'a mut Frames,
}

extern "C" fn take(burst: *mut c_void, frame: *const u8, len: usize, sum: c_int) {
    // SAFETY: it is what `receive` gives, and the bytes are there during this call.
    let burst = unsafe { &mut *burst.cast::<Burst>() };
    if frame.is_null() {
        burst.whole.oversize.dropped += 1;
        return;
    }
    // SAFETY: as above.
    let frame = unsafe { std::slice::from_raw_parts(frame, len) };
    // A port that listens for more than it must hears what is for others.
    let is_group = frame.first().is_some_and(|byte| byte & 1 != 0);
    if !is_group && frame.get(..6) != Some(&burst.mac) {
        return;
    }
    let sum = match sum {
        1 => Sum::Done,
        0 => Sum::Half,
        _ => Sum::Unknown,
    };
    burst.whole.take(frame, None, sum, burst.to_card);
}

impl Device for Port {
    fn check(&self) -> Result<()> {
        // SAFETY: the number is one of a port, be it there or not.
        let is_removed = unsafe { wk_is_removed(self.found.number) };
        ensure!(!is_removed, "the port {} is gone", self.found.name);
        Ok(())
    }

    fn receive(&mut self, to_card: &mut Frames, room: usize) -> Result<bool> {
        let number = self.found.number;
        if self.is_armed {
            // SAFETY: the port runs.
            unsafe { wk_disarm(number) };
            self.is_armed = false;
        }
        loop {
            let mut burst = Burst { mac: self.mac, whole: &mut self.whole, to_card };
            // SAFETY: the port runs, and `take` gets what it expects.
            let count = unsafe { wk_receive(number, take, (&raw mut burst).cast()) };
            if count > 0 {
                self.last = Instant::now();
                if to_card.bytes() >= room {
                    return Ok(true);
                }
            } else if self.interrupt.is_none() || self.is_armed {
                if self.last.elapsed() > SILENCE {
                    self.check()?;
                }
                return Ok(self.interrupt.is_none());
            } else {
                // What comes from now on wakes; what has come is looked for again.
                // SAFETY: the port runs.
                unsafe { wk_arm(number) };
                self.is_armed = true;
            }
        }
    }

    fn send(&mut self, frames: &Frames) -> Result<()> {
        self.last = Instant::now();
        let mut frames = frames.iter().peekable();
        while frames.peek().is_some() {
            // SAFETY: all-zero bytes are a valid part.
            let mut parts: [libc::iovec; BURST] = unsafe { std::mem::zeroed() };
            let mut count = 0;
            while let Some(frame) = frames.next_if(|_| count < BURST) {
                parts[count].iov_base = frame.as_ptr().cast_mut().cast();
                parts[count].iov_len = frame.len();
                count += 1;
            }
            // SAFETY: the port runs, and the frames are there during the call.
            let sent =
                unsafe { wk_send(self.found.number, self.pool, parts.as_ptr(), count as c_uint) };
            self.unsent += (count - sent as usize) as u64;
        }
        Ok(())
    }

    fn patience(&self, more: bool) -> Option<Duration> {
        Some(match self.interrupt {
            Some(_) if more => Duration::ZERO,
            Some(_) => SILENCE,
            None => sleep(self.last.elapsed()),
        })
    }
}

/// For how long to sleep where nobody wakes, after such a time without a frame.
fn sleep(silence: Duration) -> Duration {
    match silence < BUSY {
        true => Duration::ZERO,
        false => (silence / SLEEP_PART).clamp(LEAST_SLEEP, MOST_SLEEP),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    const CARD: Mac = [2, 0, 0, 0, 0, 2];
    const OTHER: Mac = [2, 0, 0, 0, 0, 3];
    const GROUP: Mac = [0x33, 0x33, 0, 0, 0, 1];
    /// Of the driver's ring.
    const RING: usize = 1023;

    fn frames<'a>(all: impl IntoIterator<Item = &'a Vec<u8>>) -> Frames {
        let mut frames = Frames::default();
        all.into_iter().for_each(|frame| frames.push(frame));
        frames
    }

    fn received(port: &mut Port, room: usize) -> Vec<Vec<u8>> {
        let mut to_card = Frames::default();
        assert!(port.receive(&mut to_card, room).unwrap(), "nobody says when frames come");
        to_card.iter().map(<[u8]>::to_vec).collect()
    }

    /// A driver that gives back what it is to send, in the same pieces. A process has one EAL, so it is one test.
    #[test]
    fn frames_there_and_back() {
        let words = "--no-huge --no-pci --no-shconf --no-telemetry -m 64 --vdev=net_ring0";
        let found = DpdkPort::find(words).unwrap();
        assert_eq!(found.mtu(None).unwrap(), 1500);
        let wire = Addresses {
            card_mac: CARD,
            card_ip: [10, 77, 0, 2].into(),
            card_ip6: "fd57:4b56::2".parse().unwrap(),
            card_tcp_port: 11211,
            card_redis_port: 0,
            card_udp_port: 0,
            mtu: found.mtu(Some(9000)).unwrap(),
        };
        let Dpdk { mut port, .. } = Dpdk::open(found, &wire, Own::Machine).unwrap();
        assert!(port.found.info.segments && port.interrupt.is_none());
        let mut rng = SmallRng::seed_from_u64(1);
        let mut frame = |to: Mac, len: usize| -> Vec<u8> {
            let body = (0..len - 6).map(|_| rng.random());
            to.into_iter().chain(body).collect()
        };

        // Of any length up to the largest, in one mbuf and in several.
        let lengths = (14..=200).chain([2047, 2048, 2049, 4096, 4097, 8999, 9014]);
        let all: Vec<_> = lengths.map(|len| frame(CARD, len)).collect();
        port.send(&frames(&all)).unwrap();
        assert!(received(&mut port, usize::MAX) == all);

        // Those for others are left, those for all are not; larger ones are dropped and counted.
        let all = [
            frame(OTHER, 60),
            frame(GROUP, 60),
            frame(CARD, 9015),
            frame(CARD, 13),
            frame(CARD, 60),
        ];
        port.send(&frames(&all)).unwrap();
        assert!(received(&mut port, usize::MAX) == [all[1].clone(), all[4].clone()]);
        assert_eq!(port.whole.oversize.dropped, 1);

        // Who has no more room takes no more than another burst; the ring keeps the rest in order.
        let all: Vec<_> = (0..RING).map(|_| frame(CARD, 60)).collect();
        port.send(&frames(&all)).unwrap();
        let mut got = received(&mut port, 1);
        assert_eq!(got.len(), BURST);
        got.extend(received(&mut port, usize::MAX));
        assert!(got == all);

        // What the driver does not take is dropped and counted.
        for _ in 0..20 {
            let before = port.unsent;
            port.send(&frames(all.iter().chain(&all))).unwrap();
            assert_eq!(port.unsent - before, RING as u64);
            assert!(received(&mut port, usize::MAX) == all);
        }
        // All mbufs are free again: these take five each.
        let all: Vec<_> = (0..RING).map(|_| frame(CARD, 9014)).collect();
        port.send(&frames(&all)).unwrap();
        assert!(received(&mut port, usize::MAX) == all);
    }

    #[test]
    fn sleeps_are_the_longer_the_longer_nothing_comes() {
        let micros = [0, 99, 100, 1000, 16_000, 160_000, 10_000_000].map(Duration::from_micros);
        let sleeps = micros.map(|silence| sleep(silence).as_micros());
        assert_eq!(sleeps, [0, 0, 1000, 1000, 2000, 20_000, 20_000]);
    }
}
