//! Signals that end the process, and the system's limits on it.

use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;

/// The server is ending already.
static ENDING: AtomicBool = AtomicBool::new(false);

fn ending_signals() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initializes the set that the other calls change.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGINT);
        libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
        // In memcached the graceful one; there is nothing to be written before the end.
        libc::sigaddset(set.as_mut_ptr(), libc::SIGUSR1);
        set.assume_init()
    }
}

/// Keeps the ending signals for `wait`. To be called before any thread is started.
pub fn block() -> Result<()> {
    mask(libc::SIG_BLOCK)
}

fn mask(how: libc::c_int) -> Result<()> {
    // SAFETY: the set is valid; the old one is not asked for.
    match unsafe { libc::pthread_sigmask(how, &ending_signals(), std::ptr::null_mut()) } {
        0 => Ok(()),
        e => Err(io::Error::from_raw_os_error(e).into()),
    }
}

/// As memcached, which goes on when its terminal is gone or when it is told to read its files anew.
pub fn ignore_hangup() {
    // SAFETY: no handler is installed.
    unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
}

/// Waits for an ending signal. The next one ends the process at once.
pub fn wait() -> Result<()> {
    let mut signal = 0;
    // SAFETY: both pointers are valid during the call.
    match unsafe { libc::sigwait(&ending_signals(), &mut signal) } {
        0 => {
            ENDING.store(true, Ordering::SeqCst);
            mask(libc::SIG_UNBLOCK)
        }
        e => Err(io::Error::from_raw_os_error(e).into()),
    }
}

/// Makes `wait` return.
pub fn raise() {
    // SAFETY: a signal to this process, which `block` made harmless.
    unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
}

/// Makes `wait` return when it is dropped, be it in a panic.
#[cfg(feature = "sim")]
pub struct RaiseOnDrop;

#[cfg(feature = "sim")]
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
    let _ = raise_limit(libc::RLIMIT_NOFILE);
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let more = libc::rlimit { rlim_cur: needed, rlim_max: needed };
    // SAFETY: the structures are valid during the calls.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        if limit.rlim_cur < needed && libc::setrlimit(libc::RLIMIT_NOFILE, &more) == 0 {
            return needed;
        }
    }
    limit.rlim_cur
}

/// The size of a core file.
pub fn raise_core_limit() -> io::Result<()> {
    raise_limit(libc::RLIMIT_CORE)
}

/// As far as it goes: only root gets past the hard limit.
fn raise_limit(resource: libc::__rlimit_resource_t) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure is valid during the calls.
    let done = unsafe {
        libc::setrlimit(resource, &limit) == 0
            || (libc::getrlimit(resource, &mut limit) == 0 && {
                limit.rlim_cur = limit.rlim_max;
                libc::setrlimit(resource, &limit) == 0
            })
    };
    if done {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
