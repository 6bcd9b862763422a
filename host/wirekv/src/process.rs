//! The process around a server, whichever its body: user, background, limits, the file with its id.

use std::ffi::CString;
use std::fs;
use std::io;
use std::path::PathBuf;

use anyhow::{Context, Result};
use thiserror::Error;

use crate::args::ProcessArgs;
use crate::signals;

/// What memcached refuses in words and with an exit status of its own (sysexits.h).
#[derive(Debug, Error)]
#[error("{words}")]
pub struct Refusal {
    pub status: u8,
    words: String,
}

const USAGE: u8 = 64;
const NO_USER: u8 = 67;

/// A user that the process is to become.
struct User {
    name: CString,
    uid: libc::uid_t,
    gid: libc::gid_t,
}

pub struct Process<'a> {
    args: &'a ProcessArgs,
    user: Option<User>,
}

impl<'a> Process<'a> {
    /// Root must say as whom it serves. Nothing is changed yet but the limit of core files, of which only
    /// root gets past the hard one.
    pub fn new(args: &'a ProcessArgs) -> Result<Process<'a>> {
        // SAFETY: the calls cannot fail.
        let is_root = unsafe { libc::getuid() == 0 || libc::geteuid() == 0 };
        // For others a user means nothing: only root can become another one.
        let user = if is_root { Some(find_user(args.user.as_deref())?) } else { None };
        if args.enable_coredumps {
            signals::raise_core_limit().context("-r: core files stay limited")?;
        }
        Ok(Process { args, user })
    }

    /// Gives up root, and goes to the background. What needs root, or a path from where the user is,
    /// comes before; no other thread may run yet.
    pub fn settle(&self, verbose: bool) -> Result<()> {
        if let Some(user) = &self.user {
            // SAFETY: the name is a C string.
            unsafe {
                check(libc::initgroups(user.name.as_ptr(), user.gid))
                    .and_then(|()| check(libc::setgid(user.gid)))
                    .and_then(|()| check(libc::setuid(user.uid)))
                    .with_context(|| format!("-u {:?}: cannot become this user", user.name))?;
            }
        }
        if self.args.daemon {
            // As in memcached, a core file is to be where the server was started.
            let stay = libc::c_int::from(self.args.enable_coredumps);
            // SAFETY: no other thread runs yet.
            check(unsafe { libc::daemon(stay, libc::c_int::from(verbose)) })
                .context("-d: cannot run in the background")?;
        }
        signals::block()?;
        signals::ignore_hangup();
        Ok(())
    }

    /// To be called when clients may connect; until the end of what it returns there is the file.
    pub fn write_pid(&self) -> Result<PidFile> {
        let Some(path) = &self.args.pidfile else { return Ok(PidFile(None)) };
        fs::write(path, format!("{}\n", std::process::id()))
            .with_context(|| format!("-P: cannot write {}", path.display()))?;
        Ok(PidFile(Some(path.clone())))
    }
}

pub struct PidFile(Option<PathBuf>);

impl Drop for PidFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

fn find_user(name: Option<&str>) -> Result<User> {
    let refusal = |status, words| Refusal { status, words };
    let name = name.filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| refusal(USAGE, "must add '-u root' to start as root".into()))?;
    let unknown = || refusal(NO_USER, format!("can't find the user {name} to switch to"));
    let c_name = CString::new(name).map_err(|_| unknown())?;
    // SAFETY: the name is a C string; no other thread runs that could change the entry.
    let entry = unsafe { libc::getpwnam(c_name.as_ptr()).as_ref() }.ok_or_else(unknown)?;
    Ok(User { uid: entry.pw_uid, gid: entry.pw_gid, name: c_name })
}

pub fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}
