//! What the server's certificates are, and that they are read again.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::options::{Options, Secure};
use crate::tls::{Certificates, Counts};

/// The certificates of both protocols' listeners.
pub struct Keys {
    pub memcached: Option<Arc<Certificates>>,
    pub redis: Option<Arc<Certificates>>,
    /// When they were read.
    since: Mutex<Instant>,
}

/// Sums of [`Counts`].
#[derive(Clone, Copy, Default)]
pub struct Counted {
    pub handshake_errors: u64,
    pub handshake_timeouts: u64,
    pub protocol_errors: u64,
    pub sessions: u64,
}

impl Keys {
    pub fn read(options: &Options) -> Result<Keys> {
        let read = |secure: &Option<Secure>| {
            let certificates = secure.as_ref().map(Certificates::read);
            anyhow::Ok(certificates.transpose().context("TLS")?.map(Arc::new))
        };
        let (memcached, redis) = (read(&options.access.tls)?, read(&options.access.redis_tls)?);
        Ok(Keys { memcached, redis, since: Mutex::new(Instant::now()) })
    }

    pub fn is_empty(&self) -> bool {
        self.memcached.is_none() && self.redis.is_none()
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Certificates>> {
        self.memcached.iter().chain(&self.redis)
    }

    /// Reads the files again. What is wrong with one stays as it was.
    pub fn renew(&self) -> Result<()> {
        let results: Vec<_> = self.all().map(|certificates| certificates.renew()).collect();
        results.into_iter().collect::<Result<()>>().context("TLS")?;
        *self.since.lock().unwrap() = Instant::now();
        Ok(())
    }

    /// Seconds since they were read.
    pub fn age(&self) -> u64 {
        self.since.lock().unwrap().elapsed().as_secs()
    }

    pub fn counted(&self) -> Counted {
        let sum = |of: fn(&Counts) -> &AtomicU64| {
            self.all().map(|certificates| of(&certificates.counts).load(Relaxed)).sum()
        };
        Counted {
            handshake_errors: sum(|counts| &counts.handshake_errors),
            handshake_timeouts: sum(|counts| &counts.handshake_timeouts),
            protocol_errors: sum(|counts| &counts.protocol_errors),
            sessions: sum(|counts| &counts.sessions),
        }
    }
}
