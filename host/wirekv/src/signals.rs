//! Signals that end the process, and the system's limits on it.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use nix::sys::resource::{getrlimit, setrlimit, Resource, RLIM_INFINITY};
use nix::sys::signal::{kill, signal, SigHandler, SigSet, Signal};
use nix::unistd::getpid;

/// The server is ending already.
static ENDING: AtomicBool = AtomicBool::new(false);

fn ending_signals() -> SigSet {
    // In memcached SIGUSR1 is the graceful one; there is nothing to be written before the end.
    SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGUSR1])
}

/// Keeps the ending signals for `wait`, and SIGHUP for `wait_or`. To be called before any thread is started.
pub fn block() -> Result<()> {
    let mut all = ending_signals();
    all.add(Signal::SIGHUP);
    Ok(all.thread_block()?)
}

/// As memcached, which goes on when its terminal is gone. Who waits for the signal by `wait_or` gets it all the same: it
/// is blocked.
pub fn ignore_hangup() -> Result<()> {
    // SAFETY: no handler is installed.
    unsafe { signal(Signal::SIGHUP, SigHandler::SigIgn) }?;
    Ok(())
}

/// Waits for an ending signal. The next one ends the process at once.
#[cfg(any(feature = "host", feature = "machine"))]
pub fn wait() -> Result<()> {
    wait_or(|| {})
}

/// The same; SIGHUP has `again` called meanwhile.
pub fn wait_or(mut again: impl FnMut()) -> Result<()> {
    let mut all = ending_signals();
    all.add(Signal::SIGHUP);
    while all.wait()? == Signal::SIGHUP {
        again();
    }
    ENDING.store(true, Ordering::SeqCst);
    Ok(ending_signals().thread_unblock()?)
}

/// Makes `wait` return.
pub fn raise() {
    // To this process, which `block` made harmless.
    let _ = kill(getpid(), Signal::SIGTERM);
}

/// Makes `wait` return when it is dropped, be it in a panic.
#[cfg(any(feature = "host", feature = "machine"))]
pub struct RaiseOnDrop;

#[cfg(any(feature = "host", feature = "machine"))]
impl Drop for RaiseOnDrop {
    fn drop(&mut self) {
        if !ENDING.load(Ordering::SeqCst) {
            raise();
        }
    }
}

/// Every connection is an open file: takes as many as the system gives, and past the hard limit up to
/// `needed` if this process may go there. Returns how many there are now.
pub fn raise_file_limit(needed: u64) -> u64 {
    let _ = raise_limit(Resource::RLIMIT_NOFILE);
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((now, _)) if now >= needed => now,
        now => match setrlimit(Resource::RLIMIT_NOFILE, needed, needed) {
            Ok(()) => needed,
            Err(_) => now.map_or(0, |(now, _)| now),
        },
    }
}

/// The size of a core file.
pub fn raise_core_limit() -> nix::Result<()> {
    raise_limit(Resource::RLIMIT_CORE)
}

/// As far as it goes: only root gets past the hard limit.
fn raise_limit(resource: Resource) -> nix::Result<()> {
    setrlimit(resource, RLIM_INFINITY, RLIM_INFINITY).or_else(|_| {
        let (_, most) = getrlimit(resource)?;
        setrlimit(resource, most, most)
    })
}
