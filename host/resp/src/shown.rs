//! What others see of a connection, and do to it: CLIENT LIST, KILL and PAUSE.

use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicU8};
use std::sync::Mutex;
use std::time::Instant;

use super::locked;
use super::table::{self, Command};

/// A connection, as its thread last told.
pub struct Shown {
    pub id: u64,
    /// The client's address, and the one that it came to.
    pub address: String,
    pub listener: String,
    pub is_unix: bool,
    pub fd: i32,
    since: Instant,
    /// Seconds after `since` in which bytes last came.
    last: AtomicU32,
    command: AtomicPtr<Command>,
    db: AtomicU8,
    resp: AtomicU8,
    no_evict: AtomicBool,
    monitors: AtomicBool,
    /// Commands in its transaction; below 0 there is none.
    queued: AtomicI64,
    name: Mutex<Vec<u8>>,
    /// Bytes of input and of replies that it keeps.
    input: AtomicU32,
    output: AtomicU32,
    killed: AtomicBool,
}

impl Shown {
    pub fn new(id: u64, address: String, listener: String, is_unix: bool, fd: i32) -> Shown {
        Shown {
            id,
            address,
            listener,
            is_unix,
            fd,
            since: Instant::now(),
            last: AtomicU32::new(0),
            command: AtomicPtr::default(),
            db: AtomicU8::new(0),
            resp: AtomicU8::new(2),
            no_evict: AtomicBool::new(false),
            monitors: AtomicBool::new(false),
            queued: AtomicI64::new(-1),
            name: Mutex::default(),
            input: AtomicU32::new(0),
            output: AtomicU32::new(0),
            killed: AtomicBool::new(false),
        }
    }

    /// Bytes came, or went after a wait.
    pub fn used(&self) {
        self.last.store(self.since.elapsed().as_secs() as u32, Relaxed);
    }

    /// So many bytes of input and of replies wait.
    pub fn keeps(&self, input: usize, output: usize) {
        self.input.store(input as u32, Relaxed);
        self.output.store(output as u32, Relaxed);
    }

    #[inline]
    pub(super) fn calls(&self, command: &'static Command) {
        self.command.store(std::ptr::from_ref(command).cast_mut(), Relaxed);
    }

    pub(super) fn monitors(&self, on: bool) {
        self.monitors.store(on, Relaxed);
    }

    pub(super) fn tell(
        &self,
        db: u8,
        resp3: bool,
        no_evict: bool,
        queued: Option<usize>,
        name: &[u8],
    ) {
        self.queued.store(queued.map_or(-1, |count| count as i64), Relaxed);
        self.db.store(db, Relaxed);
        self.resp.store(if resp3 { 3 } else { 2 }, Relaxed);
        self.no_evict.store(no_evict, Relaxed);
        let mut told = locked(&self.name);
        if *told != name {
            *told = name.to_vec();
        }
    }

    /// It is closed as soon as its thread sees that.
    pub fn kill(&self) {
        self.killed.store(true, Relaxed);
    }

    pub fn is_killed(&self) -> bool {
        self.killed.load(Relaxed)
    }

    /// The command's name, or `NULL` before the first.
    fn command(&self) -> String {
        let command = self.command.load(Relaxed).cast_const();
        table::full_name(|other| std::ptr::eq(other, command)).unwrap_or_else(|| "NULL".into())
    }

    /// A line of CLIENT LIST.
    pub fn line(&self, to: &mut String) {
        let (input, output) = (self.input.load(Relaxed), self.output.load(Relaxed));
        let age = self.since.elapsed().as_secs();
        let idle = age.saturating_sub(self.last.load(Relaxed).into());
        let name = String::from_utf8_lossy(&locked(&self.name)).into_owned();
        let queued = self.queued.load(Relaxed);
        let flags = [
            (self.monitors.load(Relaxed), "O"),
            (queued >= 0, "x"),
            (self.is_unix, "U"),
            (self.no_evict.load(Relaxed), "e"),
        ];
        let flags: String = flags.iter().filter(|(is, _)| *is).map(|(_, flag)| *flag).collect();
        let flags = if flags.is_empty() { "N" } else { &flags };
        let memory = size_of::<Shown>() + self.address.len() + self.listener.len();
        // A string takes what is written to it.
        let _ = writeln!(
            to,
            "id={} addr={} laddr={} fd={} name={name} age={age} idle={idle} flags={flags} db={} \
             sub=0 psub=0 ssub=0 multi={queued} qbuf={input} qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 \
             rbp=0 obl={output} oll=0 omem={output} tot-mem={} events={} cmd={} user=default \
             redir=-1 resp={}",
            self.id,
            self.address,
            self.listener,
            self.fd,
            self.db.load(Relaxed),
            memory as u64 + u64::from(input) + u64::from(output),
            if output > 0 { "rw" } else { "r" },
            self.command(),
            self.resp.load(Relaxed),
        );
    }
}

/// Commands wait for a while (CLIENT PAUSE).
#[derive(Default)]
pub struct Pause {
    /// Milliseconds after the server's start; 0: nobody waits.
    until: AtomicU64,
    /// Only those that write.
    only_writes: AtomicBool,
}

impl Pause {
    /// At `now`, up to `until`; a longer or stricter pause that is on stays so.
    pub fn begin(&self, now: u64, until: u64, only_writes: bool) {
        let is_on = self.until.load(Relaxed) > now;
        let stays = if is_on { self.only_writes.load(Relaxed) } else { true };
        self.only_writes.store(only_writes && stays, Relaxed);
        self.until.store(until.max(if is_on { self.until.load(Relaxed) } else { 0 }), Relaxed);
    }

    pub fn end(&self) {
        self.until.store(0, Relaxed);
    }

    pub fn until(&self) -> u64 {
        self.until.load(Relaxed)
    }

    /// Whether there may be one: the rest is asked then.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.until.load(Relaxed) != 0
    }

    pub fn is_on(&self, now: u64) -> bool {
        now < self.until.load(Relaxed)
    }

    #[cold]
    pub fn holds(&self, now: u64, writes: bool) -> bool {
        if now >= self.until.load(Relaxed) {
            self.end();
            return false;
        }
        writes || !self.only_writes.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses() {
        let pause = Pause::default();
        assert!(!pause.is_set());
        pause.begin(10, 100, true);
        assert!(pause.holds(50, true) && !pause.holds(50, false));
        // The stricter kind and the later end stay.
        pause.begin(50, 70, false);
        pause.begin(50, 60, true);
        assert!(pause.holds(99, false) && !pause.holds(100, true) && !pause.is_set());
        pause.begin(200, 300, true);
        assert!(!pause.holds(250, false));
        pause.end();
        assert!(!pause.is_set());
    }

    #[test]
    fn lines() {
        let shown = Shown::new(7, "1.2.3.4:5".into(), "1.2.3.4:6379".into(), false, 9);
        shown.calls(table::find(b"get").unwrap().0);
        shown.tell(3, true, true, Some(2), b"me");
        shown.keeps(10, 20);
        let mut line = String::new();
        shown.line(&mut line);
        for part in [
            "id=7 addr=1.2.3.4:5 laddr=1.2.3.4:6379 fd=9 name=me age=0 idle=0 flags=xe db=3 ",
            " multi=2 qbuf=10 ",
            " omem=20 ",
            " events=rw cmd=get user=default redir=-1 resp=3\n",
        ] {
            assert!(line.contains(part), "{line}");
        }
    }
}
