//! CPU time of a server and of this process.

use std::{fs, io};

use anyhow::{ensure, Context, Result};
use serde_json::{json, Value};

/// CPU time used so far, in microseconds. Which of the two it is, the system counts in ticks of 10 ms;
/// the sum is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuTime {
    pub user: f64,
    pub system: f64,
    pub sum: f64,
}

impl CpuTime {
    /// Of all threads of process `pid`, or of this one ("self").
    pub fn of(pid: &str) -> Result<CpuTime> {
        let path = format!("/proc/{pid}/stat");
        let stat = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
        // SAFETY: asks for a number.
        let ticks_per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
        let (user, system) =
            parse(&stat, 1e6 / ticks_per_second).with_context(|| format!("understand {path}"))?;
        Ok(CpuTime { user, system, sum: clock(pid).with_context(|| format!("clock of {pid}"))? })
    }

    pub fn since(self, before: CpuTime) -> CpuTime {
        CpuTime {
            user: self.user - before.user,
            system: self.system - before.system,
            sum: self.sum - before.sum,
        }
    }

    /// Per operation, and the share of one CPU over `seconds`.
    pub fn json(self, operations: u64, seconds: f64) -> Value {
        let each = |us: f64| us / operations.max(1) as f64;
        json!({
            "user_us_per_op": each(self.user),
            "system_us_per_op": each(self.system),
            "us_per_op": each(self.sum),
            "share": self.sum / 1e6 / seconds,
        })
    }
}

/// Microseconds of all threads of a process.
fn clock(pid: &str) -> Result<f64> {
    let mut id = libc::CLOCK_PROCESS_CPUTIME_ID;
    // SAFETY: zeros are a valid `timespec`.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    if pid != "self" {
        let pid = pid.parse()?;
        // SAFETY: there is room for the answer.
        let error = unsafe { libc::clock_getcpuclockid(pid, &mut id) };
        ensure!(error == 0, io::Error::from_raw_os_error(error));
    }
    // SAFETY: as above.
    ensure!(unsafe { libc::clock_gettime(id, &mut time) } == 0, io::Error::last_os_error());
    Ok(time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3)
}

/// User and system time.
fn parse(stat: &str, us_per_tick: f64) -> Option<(f64, f64)> {
    // The program's name, in parentheses, may itself contain spaces and parentheses. utime and
    // stime are fields 14 and 15 of the whole, the name being the second.
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().skip(11);
    let mut time = || Some(fields.next()?.parse::<f64>().ok()? * us_per_tick);
    Some((time()?, time()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_behind_a_strange_name() {
        let stat = "42 (a) (b 7) S 1 2 3 4 5 6 7 8 9 10 120 35 0 0 20 0 1 0";
        assert_eq!(parse(stat, 10.0), Some((1200.0, 350.0)));
        assert_eq!(parse("42 (a) S 1", 10.0), None);
    }

    #[test]
    fn own_time_grows() {
        let before = CpuTime::of("self").unwrap();
        assert!(before.user >= 0.0 && before.system >= 0.0);
        let after = CpuTime::of(&std::process::id().to_string()).unwrap();
        assert!(after.since(before).sum > 0.0 && after.sum < before.sum + 60e6);
        assert!(CpuTime::of("none").is_err());
    }
}
