//! Figures of this process, under the names that Prometheus' clients share.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::text::{Kind, Text};

/// What is looked up at the start, since a confined process opens no files.
pub struct Process {
    began: f64,
    files: u64,
    page: u64,
    statm: Option<File>,
}

impl Default for Process {
    /// Of a process that begins now.
    fn default() -> Process {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the call fills the structure it is given.
        unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
        Process {
            began: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64(),
            files: limit.rlim_cur,
            // SAFETY: the call has no pointers.
            page: unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64,
            statm: File::open("/proc/self/statm").ok(),
        }
    }
}

impl Process {
    /// Build information, and the process' figures.
    pub fn tell(&self, body: &str, text: &mut Text) {
        let version = env!("CARGO_PKG_VERSION");
        text.family("wirekv_build_info", Kind::Gauge, "The program's version and body; always 1.");
        text.sample("wirekv_build_info", &[("version", version), ("body", body)], 1);
        let what = "User and system CPU time.";
        let cpu = Usage::now();
        let seconds = (cpu.user + cpu.system).as_secs_f64();
        text.one("process_cpu_seconds_total", Kind::Counter, what, seconds);
        let mut statm = [0; 64];
        let len = self.statm.as_ref().and_then(|file| file.read_at(&mut statm, 0).ok());
        let words = String::from_utf8_lossy(&statm[..len.unwrap_or(0)]);
        let mut pages = words.split(' ').map_while(|word| word.parse::<u64>().ok());
        if let (Some(all), Some(resident)) = (pages.next(), pages.next()) {
            let what = "Bytes of its address space that are mapped.";
            text.one("process_virtual_memory_bytes", Kind::Gauge, what, all * self.page);
            let what = "Bytes of memory that it has.";
            text.one("process_resident_memory_bytes", Kind::Gauge, what, resident * self.page);
        }
        let what = "Files that it may have open at once.";
        text.one("process_max_fds", Kind::Gauge, what, self.files);
        let what = "When it began, since the UNIX epoch.";
        text.one("process_start_time_seconds", Kind::Gauge, what, self.began);
    }
}

/// What this process has used so far.
pub struct Usage {
    /// CPU time in its own code.
    pub user: Duration,
    /// And in the kernel's.
    pub system: Duration,
    /// The most bytes that it has had resident.
    pub resident: u64,
}

impl Usage {
    /// As of now (getrusage(2)).
    pub fn now() -> Usage {
        // SAFETY: the call fills the structure it is given.
        let usage = unsafe {
            let mut usage = std::mem::zeroed::<libc::rusage>();
            libc::getrusage(libc::RUSAGE_SELF, &mut usage);
            usage
        };
        let time = |t: libc::timeval| {
            Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64)
        };
        Usage {
            user: time(usage.ru_utime),
            system: time(usage.ru_stime),
            resident: usage.ru_maxrss as u64 * 1024,
        }
    }
}
