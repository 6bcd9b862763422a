//! Pages that are resident before a request needs them: the kernel zeroes a page when it is first
//! touched, a huge page in hundreds of microseconds. A thread of its own does that, ahead of the
//! heads, so that memory still grows with use.

use std::ops::Range;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::OnceLock;
use std::thread::Thread;

use crate::map::{HUGE, PAGE};
use crate::store::Store;

/// Of the log, this share is made resident ahead of the heads, within limits: room for some hundredths
/// of a second of the fastest writers.
const SHARE: usize = 64;
const LEAST: usize = 4 << 20;
const MOST: usize = 64 << 20;

/// A tenth of the processor's time beside one busy thread.
#[cfg(all(target_os = "linux", not(miri)))]
const NICE: i32 = 10;
#[cfg(all(target_os = "linux", not(miri)))]
const SLICE_NS: u64 = 100_000;

/// How others reach the thread that populates.
#[derive(Default)]
pub(crate) struct Populator {
    thread: OnceLock<Thread>,
    /// Chunks given out when it was woken last.
    opened: AtomicUsize,
    ended: AtomicBool,
}

impl Populator {
    /// So many chunks were given out. Only with the pool locked.
    pub fn follow(&self, opened: usize) {
        if opened > self.opened.load(Relaxed) {
            self.opened.store(opened, Relaxed);
            self.wake();
        }
    }

    fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

/// Requests come first, on whatever processor: this thread is nicer than others, and gives the
/// processor back after a short time. It is not idle-priority, which would get nothing beside a busy
/// thread that is about to need the pages.
fn give_way() {
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: zeros are a valid `sched_attr`; the kernel reads as much of it as `size` says. Whether
    // it obeys is its matter.
    unsafe {
        let mut attr: libc::sched_attr = std::mem::zeroed();
        attr.size = size_of::<libc::sched_attr>() as u32;
        // Nicer than the others, however nice they were made.
        attr.sched_nice = (libc::getpriority(libc::PRIO_PROCESS, 0) + NICE).min(19);
        attr.sched_runtime = SLICE_NS;
        libc::syscall(libc::SYS_sched_setattr, 0, &attr, 0);
    }
}

impl Store {
    /// Makes the index resident, and the log ahead of its heads. For one thread of its own, which has
    /// this to do until all memory was used once: then, or when `end_populating` was called, it
    /// returns.
    pub fn populate(&self) {
        self.populator.thread.get_or_init(std::thread::current);
        give_way();
        self.populate_all();
    }

    /// Lets `populate` return.
    pub fn end_populating(&self) {
        self.populator.ended.store(true, Release);
        self.populator.wake();
    }

    fn populate_all(&self) {
        let Range { start: log, end } = self.chunks.range();
        let ahead = ((end - log) / SHARE).clamp(LEAST, MOST);
        let (mut index_at, mut log_at) = (log - self.index.bytes(), log);
        // The last chunks are lent to values on their way in.
        self.populate_bytes(end.saturating_sub(HUGE).max(log)..end);
        // Behind the first piece of log comes the index, which any key may touch anywhere.
        while !self.populator.ended.load(Acquire) && (log_at < end || index_at < log) {
            let wanted = self.chunks.offset(self.chunks.opened()) + ahead;
            if log_at < wanted.min(end) {
                log_at = self.populate_piece(log_at, end);
            } else if index_at < log {
                index_at = self.populate_piece(index_at, log);
            } else {
                std::thread::park();
            }
        }
    }

    /// Up to the end of a huge page: so little that what else wants to change the memory map does not
    /// wait for long. Returns where it ends.
    fn populate_piece(&self, from: usize, end: usize) -> usize {
        let to = (from + 1).next_multiple_of(HUGE).min(end);
        self.populate_bytes(from..to);
        to
    }

    fn populate_bytes(&self, range: Range<usize>) {
        if !self.map.populate(range.clone()) {
            self.touch(range);
        }
    }

    /// The same for kernels that cannot be told.
    fn touch(&self, range: Range<usize>) {
        let log = self.chunks.range().start;
        for at in range.step_by(PAGE) {
            if at < log {
                self.index.touch(log - at);
                continue;
            }
            let chunk = self.chunks.number(at) as u32;
            let pool = self.pool();
            if pool.free.contains(&chunk) {
                // SAFETY: inside the log, in a chunk that nobody has, and gets while the pool is
                // locked.
                unsafe { self.chunks.at(at).write_volatile(0) };
            }
            drop(pool);
        }
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use std::sync::Arc;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::{Config, Local};

    const MEMORY: usize = 256 << 20;

    /// How many bytes of these are resident.
    fn resident(store: &Store, range: Range<usize>) -> usize {
        let from = range.start.next_multiple_of(PAGE);
        let mut pages = vec![0u8; range.end.saturating_sub(from) / PAGE];
        // SAFETY: pages of the mapping; one byte of room for each.
        let done = unsafe {
            let at = store.map.base().as_ptr().add(from).cast();
            libc::mincore(at, pages.len() * PAGE, pages.as_mut_ptr())
        };
        assert_eq!(done, 0);
        pages.iter().filter(|page| **page & 1 == 1).count() * PAGE
    }

    fn index(store: &Store) -> Range<usize> {
        let log = store.chunks.range().start;
        log - store.index.bytes()..log
    }

    /// Pages that this thread touched first.
    fn faults() -> i64 {
        // SAFETY: zeros are a valid `rusage`, which the call fills.
        unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &mut usage), 0);
            usage.ru_minflt
        }
    }

    fn eventually(what: &str, holds: impl Fn() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < Duration::from_secs(60), "{what}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn put(local: &mut Local, n: usize, value: usize) {
        let key = n.to_le_bytes();
        let mut room = local.reserve(&key, value, 0, 0).unwrap();
        room.value().fill(n as u8);
        local.lock(&key).link(room, None).unwrap();
    }

    #[test]
    fn pages_are_there_before_they_are_used_and_not_long_before() {
        let store = Store::new(Config::new(MEMORY)).unwrap();
        let log = store.chunks.range();
        let mut local = store.local();
        let populating = thread::spawn({
            let store = store.clone();
            move || store.populate()
        });
        let ready = |store: &Arc<Store>| {
            let opened = store.chunks.offset(store.chunks.opened());
            resident(store, log.start..log.end.min(opened + LEAST)) + 2 * PAGE
                >= log.end.min(opened + LEAST) - log.start
        };
        eventually("the index is resident", || {
            resident(&store, index(&store)) + 2 * PAGE >= store.index.bytes()
        });
        eventually("the log's first part is", || ready(&store));
        put(&mut local, 0, 1000);
        let (mut n, mut first_touches) = (0, 0);
        for _ in 0..64 {
            eventually("the log ahead is", || ready(&store));
            let before = faults();
            for _ in 0..1000 {
                n += 1;
                put(&mut local, n, 1000);
            }
            first_touches += faults() - before;
            let opened = store.chunks.offset(store.chunks.opened()) - log.start;
            assert!(resident(&store, log.clone()) <= opened + LEAST + 4 * HUGE);
        }
        assert!(store.chunks.opened() * store.chunks.size() > 60 << 20);
        assert!(first_touches < 8, "{first_touches} pages were not there");
        // A full store has used all but what it keeps free: there is nothing left to do.
        while store.stats().evictions == 0 {
            n += 1;
            put(&mut local, n, 1000);
        }
        populating.join().unwrap();
        assert!(resident(&store, log.clone()) + 2 * PAGE >= log.end - log.start);
    }

    #[test]
    fn it_ends_when_it_is_told() {
        for early in [true, false] {
            let store = Store::new(Config::new(MEMORY)).unwrap();
            let populating = thread::spawn({
                let store = store.clone();
                move || store.populate()
            });
            if !early {
                eventually("the index is resident", || {
                    resident(&store, index(&store)) + 2 * PAGE >= store.index.bytes()
                });
            }
            store.end_populating();
            populating.join().unwrap();
            // No page is populated any more, and nobody else holds the store.
            assert_eq!(Arc::strong_count(&store), 1);
        }
    }

    #[test]
    fn touching_changes_nothing() {
        let store = Store::new(Config::new(MEMORY)).unwrap();
        let mut local = store.local();
        (0..30_000).for_each(|n| put(&mut local, n, 1000));
        let log = store.chunks.range();
        store.touch(index(&store));
        store.touch(log.clone());
        for range in [index(&store), log] {
            let (len, found) = (range.len(), resident(&store, range));
            assert!(found + 2 * PAGE >= len, "{found} of {len}");
        }
        for n in 0..30_000usize {
            let key = n.to_le_bytes();
            let hash = local.hash(&key);
            let item = local.get(&key, hash).unwrap();
            assert!(item.value().iter().all(|byte| *byte == n as u8));
        }
    }
}
