//! A store that outlives its process (memcached's `-e`): the mapping is that of a file, and behind it the file has
//! what else must be known.
//!
//! | bytes of the file | what |
//! |---|---|
//! | from 0 | the mapping: index, chunks, log |
//! | from the next page | the state: hash key, clock, counters, the chunks of both logs in order |
//! | the last page | the head: whether all of this is whole, and for which store |
//!
//! The head says `WHOLE` from the end of `Store::save` to that of `Store::begin`. So what a killed process leaves is
//! never taken for a store. All numbers are 64-bit words, little-endian.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::Error;
use crate::format;
use crate::map::PAGE;
use crate::pool::lock;
use crate::store::{Plan, Store};

/// What the head begins with: the file is a store's, and is in use or was left so, or is whole.
const IN_USE: u64 = u64::from_le_bytes(*b"WireKV u");
const WHOLE: u64 = u64::from_le_bytes(*b"WireKV w");
/// Words of the head: these, the format, the plan's, how many words of state, their sum.
const HEAD: usize = 2 + Plan::WORDS + 2;
/// Words of the state beside one for each chunk.
const STATE: usize = 512;

/// The file of a store.
pub(crate) struct File {
    file: fs::File,
    path: PathBuf,
    plan: [u64; Plan::WORDS],
    /// Bytes of the mapping, and of the file.
    mapped: u64,
    len: u64,
}

/// The state in a file, or why there is none.
pub(crate) type Found = Result<Vec<u64>, Option<Reason>>;

/// Why a store began empty that could have had items.
pub(crate) type Reason = String;

impl File {
    /// Opens or makes it, for nobody else. With the state that it has of a store of this plan, or why it has none; no
    /// reason: there was no such file.
    pub fn open(path: &Path, plan: &Plan) -> Result<(Self, Found), Error> {
        let wrong = |words: &str| Error::File(path.into(), words.into());
        let failed = |e: io::Error| Error::File(path.into(), e.to_string());
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)
            .map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        let kind = about.file_type();
        if !kind.is_file() || kind.is_block_device() {
            return Err(wrong("is no regular file"));
        }
        // SAFETY: a call without pointers.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return Err(wrong("another server has it"));
        }
        let mapped = plan.mapped().next_multiple_of(PAGE) as u64;
        let state = (8 * (STATE + plan.chunks())).next_multiple_of(PAGE) as u64;
        let file = Self {
            file,
            path: path.into(),
            plan: plan.words(),
            mapped,
            len: mapped + state + PAGE as u64,
        };
        let found = match about.len() {
            0 => Err(None),
            len => file.read(len)?.map_err(|reason| Some(reason.into())),
        };
        if found.is_err() {
            file.clear()?;
        }
        Ok((file, found))
    }

    /// The state in a file of this length.
    fn read(&self, len: u64) -> Result<Result<Vec<u64>, &'static str>, Error> {
        let foreign = || {
            Error::File(
                self.path.clone(),
                "is not empty and no store's file; it stays as it is".into(),
            )
        };
        let at = len.checked_sub(PAGE as u64).ok_or_else(foreign)?;
        let head = self.words(at, HEAD).map_err(|e| self.failed(e))?;
        // Zeros: a server was killed while it made the file.
        if head.iter().any(|word| *word != 0) && ![IN_USE, WHOLE].contains(&head[0]) {
            return Err(foreign());
        }
        if head[0] != WHOLE {
            return Ok(Err(
                "the server before did not end as it is to, so its items cannot be trusted",
            ));
        }
        if head[1] != format::HASH {
            return Ok(Err("it is of a version with another format"));
        }
        if head[2..2 + Plan::WORDS] != self.plan || len != self.len {
            return Ok(Err(
                "it was made with other flags; -m, -n, -t, -M and -C are to be the same",
            ));
        }
        let count = head[HEAD - 2];
        if count > (STATE + self.plan[0] as usize) as u64 {
            return Ok(Err("it is damaged"));
        }
        let state = self.words(self.mapped, count as usize).map_err(|e| self.failed(e))?;
        Ok(if sum(&state) == head[HEAD - 1] { Ok(state) } else { Err("it is damaged") })
    }

    fn words(&self, at: u64, count: usize) -> io::Result<Vec<u64>> {
        let mut bytes = vec![0; 8 * count];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect())
    }

    fn write(&self, at: u64, words: &[u64]) -> io::Result<()> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.file.write_all_at(&bytes, at)
    }

    fn failed(&self, e: io::Error) -> Error {
        Error::File(self.path.clone(), e.to_string())
    }

    /// Makes it all zeros, with room for all of it, so that no later write finds none.
    pub fn clear(&self) -> Result<(), Error> {
        let make = || {
            self.file.set_len(0)?;
            self.file.set_len(self.len)?;
            self.write(self.len - PAGE as u64, &[IN_USE])?;
            // SAFETY: a call without pointers.
            match unsafe {
                libc::posix_fallocate(self.file.as_raw_fd(), 0, self.len as libc::off_t)
            } {
                0 => Ok(()),
                e => {
                    let _ = self.file.set_len(0);
                    Err(io::Error::from_raw_os_error(e))
                }
            }
        };
        make().map_err(|e| {
            Error::File(self.path.clone(), format!("no {} bytes for it: {e}", self.len))
        })
    }

    pub fn descriptor(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// From here on it is as good as empty, until it is whole again.
    fn begin(&self) -> io::Result<()> {
        self.write(self.len - PAGE as u64, &[IN_USE])?;
        self.file.sync_data()
    }

    fn end(&self, state: &[u64]) -> io::Result<()> {
        assert!(
            state.len() <= STATE + self.plan[0] as usize,
            "a state with more words than there is room for"
        );
        self.write(self.mapped, state)?;
        let mut head = vec![IN_USE, format::HASH];
        head.extend(self.plan);
        head.extend([state.len() as u64, sum(state)]);
        self.write(self.len - PAGE as u64, &head)?;
        self.file.sync_data()?;
        self.write(self.len - PAGE as u64, &[WHOLE])?;
        self.file.sync_data()
    }
}

/// FNV-1a of words, enough to see what was not all written.
fn sum(words: &[u64]) -> u64 {
    words.iter().fold(0xcbf2_9ce4_8422_2325, |sum, word| (sum ^ word).wrapping_mul(0x100_0000_01b3))
}

/// Words that are read in the order in which they were written.
pub(crate) struct Words<'a>(std::slice::Iter<'a, u64>);

impl<'a> Words<'a> {
    pub fn new(words: &'a [u64]) -> Self {
        Words(words.iter())
    }

    pub fn next(&mut self) -> Option<u64> {
        self.0.next().copied()
    }
}

impl Store {
    /// With a file: why the store is empty all the same. None also if there was no file.
    pub fn begins_empty_for(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// It has the items of another process: the millisecond of the clock at which that ended.
    pub fn resumed(&self) -> Option<u64> {
        self.resumed
    }

    /// To be called before anything is stored: a process that is killed from here on leaves nothing.
    pub fn begin(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), File::begin)
    }

    /// Leaves all items to a process to come, which opens the same file. False: there is none. To be called when no
    /// thread has a `Local` any more, and nothing else of the store but the caller's handle is used.
    pub fn save(self: &Arc<Self>) -> io::Result<bool> {
        let Some(file) = &self.file else { return Ok(false) };
        let mut pool = self.pool();
        if !lock(&self.threads).list.is_empty() {
            return Err(io::Error::other("a thread still has the store"));
        }
        pool.reclaim(&self.chunks);
        self.map.sync()?;
        file.end(&self.state(&mut pool))?;
        Ok(true)
    }
}
