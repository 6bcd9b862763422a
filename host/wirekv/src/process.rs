//! The process around a server, whichever its body: user, background, limits, the file with its id.

use std::ffi::CString;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use nix::unistd;
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

pub struct Process<'a> {
    args: &'a ProcessArgs,
    /// Whom the process is to become.
    user: Option<unistd::User>,
}

impl<'a> Process<'a> {
    /// Root must say as whom it serves. Nothing is changed yet but the limit of core files, of which only
    /// root gets past the hard one.
    pub fn new(args: &'a ProcessArgs) -> Result<Process<'a>> {
        let is_root = unistd::getuid().is_root() || unistd::geteuid().is_root();
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
            let name = CString::new(user.name.as_str())?;
            unistd::initgroups(&name, user.gid)
                .and_then(|()| unistd::setgid(user.gid))
                .and_then(|()| unistd::setuid(user.uid))
                .with_context(|| format!("-u {name:?}: cannot become this user"))?;
        }
        if self.args.daemon {
            // As in memcached, a core file is to be where the server was started.
            unistd::daemon(self.args.enable_coredumps, verbose)
                .context("-d: cannot run in the background")?;
        }
        signals::block()?;
        signals::ignore_hangup()?;
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

fn find_user(name: Option<&str>) -> Result<unistd::User> {
    let refusal = |status, words| Refusal { status, words };
    let name = name.filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| refusal(USAGE, "must add '-u root' to start as root".into()))?;
    let unknown = || refusal(NO_USER, format!("can't find the user {name} to switch to"));
    Ok(unistd::User::from_name(name).ok().flatten().ok_or_else(unknown)?)
}
