//! Free chunks: where they come from when there is none.

use std::time::Instant;

use crate::chunk::Log;
use crate::config::Full;
use crate::local::Local;
use crate::pool::{Pool, SPARE};
use crate::sync::yield_now;

impl Local {
    /// A free chunk, opened for `log`.
    pub(crate) fn take_chunk(&mut self, log: Log) -> Result<usize, Full> {
        let mut since = None;
        loop {
            let mut pool = self.store.pool();
            pool.reclaim(&self.store.chunks);
            if pool.free.len() > SPARE {
                let head = pool.free.pop().expect("there is a free one") as usize;
                pool.open(&self.store.chunks, head, 1, log);
                self.store.publish(&pool);
                return Ok(head);
            }
            // What is emptied already is waited for, and not even more emptied meanwhile.
            if pool.is_short_of_chunks() {
                if self.make_room(&mut pool) {
                    since = None;
                } else if pool.limbo_chunks == 0 {
                    return Err(Full);
                }
                self.store.publish(&pool);
            }
            drop(pool);
            self.wait(&mut since)?;
        }
    }

    /// This thread holds no references. Lets the others come to that point, too.
    pub(crate) fn wait(&mut self, since: &mut Option<Instant>) -> Result<(), Full> {
        self.quiesce();
        match since {
            None => *since = Some(Instant::now()),
            Some(start) if start.elapsed() > self.store.patience => return Err(Full),
            Some(_) => yield_now(),
        }
        Ok(())
    }

    /// Empties a chunk. `false`: none can be.
    pub(crate) fn make_room(&self, pool: &mut Pool) -> bool {
        if self.store.evict {
            let before = pool.limbo_chunks;
            while pool.limbo_chunks == before {
                if !self.evict_some(pool, self.store.chunks.size()) {
                    return false;
                }
            }
            return true;
        }
        self.compact(pool)
    }
}
