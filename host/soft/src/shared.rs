//! What all threads know together.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use anyhow::{ensure, Result};
use slab::Slab;
use wirekv_log::{debug, info};
use wirekv_memcache::watch;
use wirekv_proto::events::CONNEVENTS;
use wirekv_proto::{Counters, Events, Prefixes, Users};
use wirekv_resp::Common;
use wirekv_store::Store;

use crate::conn::{Conn, Peer};
use crate::datagrams::Withheld;
use crate::keys::Keys;
use crate::options::{Access, Options};
use crate::passwords;
use crate::time::Clock;
use crate::timing::Timed;
use crate::worker::Inbox;

/// What one thread counts. It alone writes the sums; anyone reads them.
#[derive(Default)]
#[repr(align(128))]
struct Thread {
    counters: Mutex<Counters>,
    /// What it had counted before the reset that `counters` begin after.
    before: Mutex<Counters>,
    /// That reset.
    resets: AtomicU64,
    timed: Mutex<Timed>,
    read: AtomicU64,
    written: AtomicU64,
}

impl Thread {
    fn begin_anew(&self, resets: u64, counters: &mut Counters) {
        let mut published = self.counters.lock().unwrap();
        self.before.lock().unwrap().add(counters);
        self.resets.store(resets, Relaxed);
        (*counters, *published) = Default::default();
    }
}

pub struct Shared {
    pub options: Options,
    pub store: Arc<Store>,
    pub redis: Arc<Common>,
    pub prefixes: Arc<Prefixes>,
    pub events: Arc<Events>,
    pub keys: Keys,
    pub users: Option<Arc<Users>>,
    /// How the workers are reached, as soon as there are any.
    pub inboxes: OnceLock<Vec<Arc<Inbox>>>,
    /// How often connections were killed that their threads should close.
    kills: AtomicU64,
    clock: Clock,
    /// UNIX time of the store clock's second 0.
    pub epoch: i64,
    threads: Vec<Thread>,
    resets: AtomicU64,
    stop: AtomicBool,
    close: AtomicBool,
    /// No file can be opened any more.
    pub confined: AtomicBool,
    /// Wakes whoever waits for the end.
    pub on_shutdown: Box<dyn Fn() + Send + Sync>,
    pub verbosity: AtomicU32,
    pub open: AtomicUsize,
    opened: AtomicU64,
    rejected: AtomicU64,
    strangers: AtomicU64,
    kicked: AtomicU64,
    overflown: AtomicU64,
    pub starved: Mutex<Option<Instant>>,
    starvations: AtomicU64,
    starved_us: AtomicU64,
    withheld: Mutex<Withheld>,
    pub conns: Mutex<Slab<Arc<Peer>>>,
    /// What had been counted at the last `stats reset`.
    base: Mutex<Counted>,
}

/// What `stats reset` sets back and which is not a thread's counter of requests.
#[derive(Clone, Default)]
pub struct Counted {
    pub store: wirekv_store::Stats,
    pub opened: u64,
    pub rejected: u64,
    pub kicked: u64,
    pub overflown: u64,
    pub strangers: u64,
    pub logins: (u64, u64),
    pub tls: crate::keys::Counted,
    pub withheld: Withheld,
    pub starvations: u64,
    pub starved_us: u64,
    pub read: u64,
    pub written: u64,
}

impl Shared {
    pub fn new(
        options: Options,
        store: Arc<Store>,
        redis: Arc<Common>,
        (prefixes, events): (Arc<Prefixes>, Arc<Events>),
        (keys, users): (Keys, Option<Arc<Users>>),
        (clock, epoch): (Clock, i64),
        on_shutdown: Box<dyn Fn() + Send + Sync>,
    ) -> Shared {
        Shared {
            threads: (0..options.threads).map(|_| Thread::default()).collect(),
            verbosity: AtomicU32::new(options.verbosity),
            options,
            store,
            redis,
            prefixes,
            events,
            keys,
            users,
            inboxes: OnceLock::new(),
            kills: AtomicU64::new(0),
            clock,
            epoch,
            resets: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            close: AtomicBool::new(false),
            confined: AtomicBool::new(false),
            on_shutdown,
            open: AtomicUsize::new(0),
            opened: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            strangers: AtomicU64::new(0),
            kicked: AtomicU64::new(0),
            overflown: AtomicU64::new(0),
            starved: Mutex::default(),
            starvations: AtomicU64::new(0),
            starved_us: AtomicU64::new(0),
            withheld: Mutex::default(),
            conns: Mutex::default(),
            base: Mutex::default(),
        }
    }

    /// Sets the store's clock.
    pub fn tell_time(&self) {
        self.store.set_clock((self.clock)());
    }

    pub fn stopping(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// All connections are there that ever will be.
    pub fn closing(&self) -> bool {
        self.close.load(Relaxed)
    }

    pub fn close(&self) {
        self.close.store(true, Relaxed);
    }

    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Reads certificates again, for connections from now on.
    pub fn renew_certificates(&self) -> Result<()> {
        ensure!(!self.confined.load(Relaxed), "with -o drop_privileges no file is read again");
        self.keys.renew()
    }

    /// And passwords. What is wrong with one file does not keep the others from being read.
    pub fn renew(&self) -> Result<()> {
        let Access { users, password_file, .. } = &self.options.access;
        if self.keys.is_empty() && users.is_none() && password_file.is_none() {
            return Ok(());
        }
        let certificates = self.renew_certificates();
        if self.confined.load(Relaxed) {
            return certificates;
        }
        let of_all = users
            .as_ref()
            .zip(self.users.as_ref())
            .map_or(Ok(()), |(file, users)| passwords::users(file).map(|list| users.replace(list)));
        let of_redis = password_file.as_ref().map_or(Ok(()), |file| {
            passwords::password(file).map(|password| self.redis.set_password(&password))
        });
        certificates.and(of_all).and(of_redis)
    }

    /// Has the workers look for connections that were killed.
    pub fn killed(&self) {
        self.kills.fetch_add(1, Relaxed);
        for inbox in self.inboxes.get().into_iter().flatten() {
            // If it fails, the thread finds them when it next has something to do.
            let _ = inbox.waker.wake();
        }
    }

    pub fn kills(&self) -> u64 {
        self.kills.load(Relaxed)
    }

    /// Publishes a thread's counters, or begins them anew after a reset.
    pub fn exchange(&self, number: usize, counters: &mut Counters) {
        let thread = &self.threads[number];
        let resets = self.resets.load(Relaxed);
        if thread.resets.load(Relaxed) != resets {
            thread.begin_anew(resets, counters);
        }
        *thread.counters.lock().unwrap() = *counters;
    }

    /// Of a thread's requests some were timed.
    pub fn took(&self, number: usize, record: impl FnOnce(&mut Timed)) {
        record(&mut self.threads[number].timed.lock().unwrap());
    }

    /// What all threads know of them, as far as `add` asks for it.
    pub fn timed<T: Default>(&self, add: impl Fn(&mut T, &Timed)) -> T {
        let mut sum = T::default();
        for thread in &self.threads {
            add(&mut sum, &thread.timed.lock().unwrap());
        }
        sum
    }

    pub fn bytes(&self, number: usize, read: usize, written: usize) {
        let add = |sum: &AtomicU64, n: usize| sum.store(sum.load(Relaxed) + n as u64, Relaxed);
        add(&self.threads[number].read, read);
        add(&self.threads[number].written, written);
    }

    /// Counts what was not said over UDP.
    pub fn withhold(&self, more: Withheld) {
        let mut sum = self.withheld.lock().unwrap();
        sum.ignored += more.ignored;
        sum.strangers += more.strangers;
        sum.limited += more.limited;
        sum.services += more.services;
    }

    /// A connection is accepted, if there may be one more: how many there were with it.
    pub fn admit(&self) -> Option<u64> {
        if self.open.fetch_add(1, Relaxed) < self.options.max_conns {
            return Some(self.opened.fetch_add(1, Relaxed) + 1);
        }
        self.open.fetch_sub(1, Relaxed);
        self.reject();
        None
    }

    /// A connection is accepted, and sent away.
    pub fn reject(&self) {
        self.rejected.fetch_add(1, Relaxed);
    }

    /// The same, for the address that it came from.
    pub fn not_allowed(&self) {
        self.strangers.fetch_add(1, Relaxed);
        self.reject();
    }

    /// Whether connections wait that cannot be accepted now.
    pub fn starved(&self, now: bool) {
        let mut since = self.starved.lock().unwrap();
        match *since {
            None if now => {
                *since = Some(Instant::now());
                self.starvations.fetch_add(1, Relaxed);
            }
            Some(start) if !now => {
                *since = None;
                self.starved_us.fetch_add(start.elapsed().as_micros() as u64, Relaxed);
            }
            _ => {}
        }
    }

    /// Where `stats conns` finds a connection, until it is closed.
    pub fn tell(&self, told: Arc<Peer>) -> usize {
        self.conns.lock().unwrap().insert(told)
    }

    /// It is accepted: `watch` shows it.
    pub fn comes(&self, told: &Peer, number: usize) {
        if self.events.wants(CONNEVENTS) {
            watch::connection(&self.events, &told.shown(number), None);
        }
    }

    /// Nothing more is written to it.
    pub fn leaves(&self, conn: &mut Conn) {
        if !std::mem::replace(&mut conn.left, true) && self.events.wants(CONNEVENTS) {
            let reason = conn.reason.name();
            watch::connection(&self.events, &conn.told.shown(conn.number), Some(reason));
        }
    }

    pub fn closed(&self, conn: &Conn) {
        debug!(peer = conn.told.peer, "a connection is closed");
        self.open.fetch_sub(1, Relaxed);
        self.conns.lock().unwrap().remove(conn.number);
    }

    pub fn idle_kick(&self, conn: &Conn) {
        info!(peer = conn.told.peer, "a connection is idle");
        self.kicked.fetch_add(1, Relaxed);
    }

    /// A connection is closed for the replies that its client does not take.
    pub fn overflown(&self) {
        self.overflown.fetch_add(1, Relaxed);
    }

    /// Counters of all threads; `own` in place of what thread `number` published.
    pub fn sum(&self, own: Option<(usize, &Counters)>) -> Counters {
        let mut sum = Counters::default();
        let resets = self.resets.load(Relaxed);
        for (n, thread) in self.threads.iter().enumerate() {
            match own {
                Some((number, counters)) if number == n => sum.add(counters),
                _ if thread.resets.load(Relaxed) == resets => {
                    sum.add(&thread.counters.lock().unwrap());
                }
                _ => {}
            }
        }
        sum
    }

    /// Counters of all threads, as far as they are published, since the start.
    pub fn sum_ever(&self) -> Counters {
        let mut sum = Counters::default();
        for thread in &self.threads {
            // Both at once: at a reset the one goes into the other.
            let counters = thread.counters.lock().unwrap();
            sum.add(&counters);
            sum.add(&thread.before.lock().unwrap());
        }
        sum
    }

    /// What is counted begins anew, for thread `number`, whose counters these are, at once.
    pub fn reset(&self, number: usize, own: &mut Counters) {
        let resets = self.resets.fetch_add(1, Relaxed) + 1;
        self.threads[number].begin_anew(resets, own);
        *self.base.lock().unwrap() = self.counted();
    }

    /// Bytes that were read and written, ever.
    pub fn transferred(&self) -> (u64, u64) {
        let sum = |of: fn(&Thread) -> &AtomicU64| {
            self.threads.iter().map(|thread| of(thread).load(Relaxed)).sum()
        };
        (sum(|thread| &thread.read), sum(|thread| &thread.written))
    }

    /// What counts since the start.
    pub fn counted(&self) -> Counted {
        let (read, written) = self.transferred();
        Counted {
            store: self.store.stats(),
            opened: self.opened.load(Relaxed),
            rejected: self.rejected.load(Relaxed),
            kicked: self.kicked.load(Relaxed),
            overflown: self.overflown.load(Relaxed),
            strangers: self.strangers.load(Relaxed),
            logins: self.users.as_ref().map_or((0, 0), |users| users.counts()),
            tls: self.keys.counted(),
            withheld: *self.withheld.lock().unwrap(),
            starvations: self.starvations.load(Relaxed),
            starved_us: self.starved_us.load(Relaxed),
            read,
            written,
        }
    }

    /// What counts since the last `stats reset`.
    pub fn recent(&self) -> Counted {
        let base = self.base.lock().unwrap();
        let mut now = self.counted();
        now.opened -= base.opened;
        now.rejected -= base.rejected;
        now.kicked -= base.kicked;
        now.overflown -= base.overflown;
        now.strangers -= base.strangers;
        now.logins.0 -= base.logins.0;
        now.logins.1 -= base.logins.1;
        now.tls.handshake_errors -= base.tls.handshake_errors;
        now.tls.handshake_timeouts -= base.tls.handshake_timeouts;
        now.tls.protocol_errors -= base.tls.protocol_errors;
        now.tls.sessions -= base.tls.sessions;
        now.withheld.ignored -= base.withheld.ignored;
        now.withheld.strangers -= base.withheld.strangers;
        now.withheld.limited -= base.withheld.limited;
        now.withheld.services -= base.withheld.services;
        now.starvations -= base.starvations;
        now.starved_us -= base.starved_us;
        now.read -= base.read;
        now.written -= base.written;
        now.store.total_items -= base.store.total_items;
        now.store.expired_unfetched -= base.store.expired_unfetched;
        now.store.evicted_unfetched -= base.store.evicted_unfetched;
        now.store.evictions -= base.store.evictions;
        now.store.reclaimed -= base.store.reclaimed;
        now.store.full -= base.store.full;
        now
    }
}

/// The store's clock begins here, as memcached's: no time that a client gives is in the past then.
pub const FIRST_SECOND: u32 = 2;
