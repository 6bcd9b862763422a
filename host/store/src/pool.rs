//! Which chunk is where: the free ones, the two logs' closed ones in order, and the emptied ones
//! that readers may still look at. One lock for all of it, taken about once a chunk, and for steps
//! of eviction.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::chunk::{Chunks, Log};
use crate::lent::Stages;
use crate::qsbr::{Epoch, Seen};
use crate::restart::Words;
use crate::stats::Counters;
use crate::sync::{Mutex, MutexGuard};

/// Chunks that only relocation may take, so that emptying a chunk can always begin.
pub(crate) const SPARE: usize = 1;
/// Chunks that eviction keeps free or about to be free.
const AHEAD: usize = SPARE + 2;

/// What the others know of a thread.
pub(crate) struct Thread {
    pub seen: Seen,
    pub counters: Counters,
}

/// The threads, and what those counted that are gone. Locked after the pool, if both are.
#[derive(Default)]
pub(crate) struct Threads {
    pub list: Vec<Arc<Thread>>,
    /// Threads that there ever were.
    pub made: u64,
    pub past: Counters,
}

impl Threads {
    pub fn sum(&self, counter: impl Fn(&Counters) -> u64) -> u64 {
        let each = self.list.iter().map(|thread| counter(&thread.counters));
        each.fold(counter(&self.past), u64::wrapping_add)
    }
}

/// A run that is being emptied, and how far.
pub(crate) struct Victim {
    pub head: usize,
    /// Offset in the mapping.
    pub at: usize,
    pub end: usize,
    pub log: Log,
    /// Live items are copied, whatever their use.
    pub keep: bool,
}

pub(crate) struct Pool {
    pub free: Vec<u32>,
    /// Closed runs, oldest first.
    pub small: VecDeque<u32>,
    pub main: VecDeque<u32>,
    /// Chunks of each log, those that are open or being emptied included.
    pub small_chunks: usize,
    pub main_chunks: usize,
    /// Emptied runs and the epoch that has to pass, in that order.
    limbo: VecDeque<(u32, u64)>,
    pub limbo_chunks: usize,
    /// Emptied runs whose epoch has passed but which are pinned.
    held: Vec<u32>,
    held_chunks: usize,
    /// Chunks in a row that are being collected for a large item, and those collected.
    pub claim: Option<Range<usize>>,
    pub claimed: Vec<u32>,
    pub victim: Option<Victim>,
    /// Values on their way in, and the chunks that they lie in.
    pub stages: Stages,
    threads: Arc<Mutex<Threads>>,
    /// Runs closed so far.
    closed: u64,
    /// Items more than the index takes without getting crowded.
    pub excess: i64,
    /// Bytes copied within the main log since a chunk's worth of bytes was dropped, and bytes
    /// dropped since.
    pub copied: usize,
    pub dropped: usize,
    /// Anything was evicted yet.
    pub evicted: bool,
    /// Scratch: what emptying a chunk would cost.
    pub cost: Vec<u32>,
}

impl Pool {
    /// Heap bytes a chunk: what all lists together can hold.
    pub const BYTES_A_CHUNK: usize = 4 * 6 + 16;

    pub fn new(len: usize, stages: Stages, threads: Arc<Mutex<Threads>>) -> Self {
        Self {
            // Low ones first, which leaves free chunks in a row for large items.
            free: (0..len as u32).rev().collect(),
            small: VecDeque::with_capacity(len),
            main: VecDeque::with_capacity(len),
            small_chunks: 0,
            main_chunks: 0,
            limbo: VecDeque::with_capacity(len),
            limbo_chunks: 0,
            held: Vec::with_capacity(len),
            held_chunks: 0,
            claim: None,
            claimed: Vec::with_capacity(len),
            victim: None,
            stages,
            threads,
            closed: 0,
            excess: 0,
            copied: 0,
            dropped: 0,
            evicted: false,
            cost: Vec::with_capacity(len),
        }
    }

    /// For a process to come, when no thread uses the store: the closed runs of both logs, and what eviction counts.
    pub fn words(&mut self) -> Vec<u64> {
        if let Some(victim) = self.victim.take() {
            // What was copied already is found there, and is dead here.
            self.queue(victim.log).push_front(victim.head as u32);
        }
        let mut words =
            vec![self.closed, self.copied as u64, self.dropped as u64, self.evicted.into()];
        for log in [&self.small, &self.main] {
            words.push(log.len() as u64);
            words.extend(log.iter().map(|head| u64::from(*head)));
        }
        words
    }

    /// Of one before; all other chunks are free. None, and nothing is changed, if the words are not those of these chunks.
    pub fn resume(&mut self, chunks: &Chunks, words: &mut Words<'_>) -> Option<()> {
        let [closed, copied, dropped, evicted] =
            [words.next()?, words.next()?, words.next()?, words.next()?];
        let mut used = vec![false; chunks.len()];
        let mut logs = [(Log::Small, Vec::new()), (Log::Main, Vec::new())];
        for (log, heads) in &mut logs {
            for _ in 0..words.next()? {
                let head =
                    usize::try_from(words.next()?).ok().filter(|head| *head < chunks.len())?;
                let run = chunks.get(head).run();
                let all = used.get_mut(head..head.checked_add(run)?)?;
                let sound = run > 0 && chunks.get(head).log() == *log && !all.contains(&true);
                if !sound || (head..head + run).any(|i| chunks.get(i).head() != head) {
                    return None;
                }
                all.fill(true);
                heads.push((head as u32, run));
            }
        }
        (self.closed, self.copied, self.dropped) = (closed, copied as usize, dropped as usize);
        self.evicted = evicted != 0;
        for (log, heads) in logs {
            *self.held_by(log) = heads.iter().map(|(_, run)| run).sum();
            self.queue(log).extend(heads.iter().map(|(head, _)| *head));
        }
        for i in 0..chunks.len() {
            chunks.get(i).resume();
        }
        self.free.retain(|i| !used[*i as usize]);
        Some(())
    }

    /// Eviction has something to do.
    pub fn is_short(&self) -> bool {
        self.free.len() + self.limbo_chunks < AHEAD || self.excess > 0
    }

    /// The same without the index: chunks are short.
    pub fn is_short_of_chunks(&self) -> bool {
        self.free.len() + self.limbo_chunks < AHEAD
    }

    /// The small log has its share of a tenth, or more.
    pub fn small_is_full(&self, chunks: &Chunks) -> bool {
        self.small_chunks > (chunks.len() / 10).max(1)
    }

    pub fn queue(&mut self, log: Log) -> &mut VecDeque<u32> {
        match log {
            Log::Small => &mut self.small,
            Log::Main => &mut self.main,
        }
    }

    fn held_by(&mut self, log: Log) -> &mut usize {
        match log {
            Log::Small => &mut self.small_chunks,
            Log::Main => &mut self.main_chunks,
        }
    }

    /// Chunks from `first` on, which the caller took from the free ones, become an open run.
    pub fn open(&mut self, chunks: &Chunks, first: usize, run: usize, log: Log) {
        chunks.get(first).open(log, run);
        for i in first..first + run {
            chunks.get(i).join(first, log);
        }
        *self.held_by(log) += run;
        chunks.open_up_to(first + run);
    }

    /// An open run gets no more items.
    pub fn close(&mut self, chunks: &Chunks, head: usize) {
        self.closed += 1;
        chunks.get(head).age.store(self.closed, std::sync::atomic::Ordering::Relaxed);
        self.queue(chunks.get(head).log()).push_back(head as u32);
    }

    /// A closed run, not in a queue, is appended to the main log as it is.
    pub fn promote(&mut self, chunks: &Chunks, head: usize) {
        let (log, run) = (chunks.get(head).log(), chunks.get(head).run());
        *self.held_by(log) -= run;
        for i in head..head + run {
            chunks.get(i).join(head, Log::Main);
        }
        self.main_chunks += run;
        self.close(chunks, head);
    }

    /// No way leads into the run any more.
    pub fn retire(&mut self, chunks: &Chunks, epoch: &Epoch, head: usize) {
        let chunk = chunks.get(head);
        let run = chunk.run();
        *self.held_by(chunk.log()) -= run;
        self.limbo.push_back((head as u32, epoch.advance()));
        self.limbo_chunks += run;
    }

    /// Frees the emptied runs that nobody can look at any more.
    pub fn reclaim(&mut self, chunks: &Chunks) {
        while let Some(&(head, epoch)) = self.limbo.front() {
            if !self.threads().list.iter().all(|thread| thread.seen.passed(epoch)) {
                break;
            }
            self.limbo.pop_front();
            let run = chunks.get(head as usize).run();
            self.limbo_chunks -= run;
            // Pins are made from items that a thread holds, so none is added after the epoch.
            if chunks.get(head as usize).pins() != 0 {
                self.held.push(head);
                self.held_chunks += run;
            } else {
                self.release(head as usize, run);
            }
        }
        let waited_for = self.claim.is_some() || self.stages.wanted.is_some();
        if self.is_short_of_chunks() || waited_for {
            let mut i = 0;
            while i < self.held.len() {
                let head = self.held[i] as usize;
                if chunks.get(head).pins() != 0 {
                    i += 1;
                    continue;
                }
                self.held.swap_remove(i);
                let run = chunks.get(head).run();
                self.held_chunks -= run;
                self.release(head, run);
            }
        }
    }

    fn release(&mut self, head: usize, run: usize) {
        for i in head..head + run {
            match &self.claim {
                _ if self.stages.wanted == Some(i) => {
                    self.stages.wanted = None;
                    self.stages.lend(i as u32);
                }
                Some(claim) if claim.contains(&i) => self.claimed.push(i as u32),
                _ => self.free.push(i as u32),
            }
        }
    }

    /// Gives up collecting chunks in a row.
    pub fn unclaim(&mut self) {
        self.claim = None;
        self.free.append(&mut self.claimed);
    }

    /// The runs in limbo.
    pub fn limbo(&self) -> impl Iterator<Item = usize> + '_ {
        self.limbo.iter().map(|&(head, _)| head as usize)
    }

    /// Runs that were emptied and are not free yet.
    pub fn waiting_chunks(&self) -> usize {
        self.limbo_chunks + self.held_chunks
    }

    /// Items in the index.
    pub fn items(&self) -> i64 {
        self.threads().sum(|counters| counters.items.get()) as i64
    }

    /// Bytes of these items.
    pub fn bytes(&self) -> i64 {
        self.threads().sum(|counters| counters.bytes.get()) as i64
    }

    pub fn threads(&self) -> MutexGuard<'_, Threads> {
        lock(&self.threads)
    }
}

/// A panic elsewhere leaves what is behind the store's locks whole: each change is one push or pop.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
