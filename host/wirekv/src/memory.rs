//! How much memory there is for this process, and `-m`, which must fit into it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{bail, Result};

use crate::size::parse_size;

const MIB: u64 = 1 << 20;

/// What `-m` says: megabytes as memcached has it, a size with a unit, or a share of what there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    text: String,
    amount: Amount,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Amount {
    Bytes(u64),
    Percent(u64),
}

impl FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Memory, String> {
        let is_plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let amount = match text.strip_suffix('%') {
            Some(share) => {
                let share = share.parse().ok().filter(|n| is_plain(share) && (1..=100).contains(n));
                share.map(Amount::Percent)
            }
            None if is_plain(text) => {
                text.parse::<u64>().ok().map(|n| n.saturating_mul(MIB)).map(Amount::Bytes)
            }
            None => parse_size(text).ok().map(Amount::Bytes),
        };
        let amount = amount.ok_or_else(|| {
            format!("'{text}' is neither megabytes, nor a size such as 512m or 1g, nor a share such as 80%")
        })?;
        Ok(Memory { text: text.into(), amount })
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Memory {
    /// Bytes; a share is one of what this process may have.
    pub fn bytes(&self) -> Result<u64> {
        match self.amount {
            Amount::Bytes(bytes) => Ok(bytes),
            Amount::Percent(percent) => match Limit::lowest(&Places::default()) {
                // Whole megabytes, as everything else that -m says.
                Some(limit) => Ok((u128::from(limit.bytes) * u128::from(percent) / 100) as u64 / MIB * MIB),
                None => bail!("-m {self}: it is not known how much memory this machine has; say -m in megabytes"),
            },
        }
    }

    /// Of a card with memory of its own.
    #[cfg(feature = "host")]
    pub fn is_share(&self) -> bool {
        matches!(self.amount, Amount::Percent(_))
    }

    /// Refuses what could not become resident. `store`: bytes that -m leads to; `beside`: bytes of everything else.
    pub fn check(&self, store: u64, beside: u64) -> Result<()> {
        self.check_in(&Places::default(), store, beside)
    }

    fn check_in(&self, places: &Places, store: u64, beside: u64) -> Result<()> {
        let Some(limit) = Limit::lowest(places) else { return Ok(()) };
        if store.saturating_add(beside) <= limit.bytes {
            return Ok(());
        }
        let megabytes = |bytes: u64| bytes.div_ceil(MIB);
        bail!(
            "-m {self}: it does not fit. {} MB for items and {} MB for the program, its threads and -c connections are more \
             than the {} MB that {} has. Lower -m, -t or -c",
            megabytes(store),
            megabytes(beside),
            limit.bytes / MIB,
            limit.whose
        )
    }
}

/// Where the system tells of itself.
struct Places {
    proc: PathBuf,
    /// Bytes of RAM.
    machine: Option<u64>,
    /// What stands before the mount points in `proc`; of a test that has made its own.
    root: PathBuf,
}

impl Default for Places {
    fn default() -> Self {
        // Not of /proc/meminfo, which a unit of systemd may not see.
        // SAFETY: calls without pointers.
        let [pages, size] =
            [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE].map(|name| unsafe { libc::sysconf(name) });
        let machine =
            u64::try_from(pages).ok().zip(u64::try_from(size).ok()).map(|(n, size)| n * size);
        Places { proc: "/proc".into(), machine, root: "/".into() }
    }
}

/// The least of the limits on this process' memory.
#[derive(Debug, PartialEq, Eq)]
struct Limit {
    bytes: u64,
    whose: String,
}

impl Limit {
    fn lowest(places: &Places) -> Option<Limit> {
        let cgroups = cgroups(places).into_iter().filter_map(|file| {
            // `max`, and with version 1 a number beyond all memory, is no limit.
            let bytes = fs::read_to_string(&file).ok()?.trim().parse().ok()?;
            Some(Limit { bytes, whose: format!("this cgroup ({})", file.display()) })
        });
        let machine = places.machine.map(|bytes| Limit { bytes, whose: "this machine".into() });
        machine.into_iter().chain(cgroups).min_by_key(|limit| limit.bytes)
    }
}

/// The files with the limits of this process' cgroup and of those above it, of either version.
fn cgroups(places: &Places) -> Vec<PathBuf> {
    let read =
        |name: &str| fs::read_to_string(places.proc.join("self").join(name)).unwrap_or_default();
    let (mounts, groups) = (read("mountinfo"), read("cgroup"));
    let mut files = Vec::new();
    for line in mounts.lines() {
        // Fields of proc(5): root and mount point are the fourth and fifth, the rest is behind a hyphen.
        let Some((left, right)) = line.split_once(" - ") else { continue };
        let (left, right): (Vec<_>, Vec<_>) =
            (left.split(' ').collect(), right.split(' ').collect());
        let (&[_, _, _, root, point, ..], &[kind, _, options, ..]) = (&left[..], &right[..]) else {
            continue;
        };
        let (controller, file) = match kind {
            "cgroup2" => ("", "memory.max"),
            "cgroup" if options.split(',').any(|word| word == "memory") => {
                ("memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let path = groups.lines().find_map(|line| {
            let (names, path) = line.split_once(':')?.1.split_once(':')?;
            names.split(',').any(|name| name == controller).then_some(path)
        });
        let Some(path) = path else { continue };
        // In a container the path may be one of the host's, of which the mount shows a part.
        let within = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
        let top = places.root.join(point.trim_start_matches('/'));
        let within = within.strip_prefix("/").unwrap_or(within);
        files.extend(within.ancestors().map(|at| top.join(at).join(file)));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts() {
        let bytes = |text: &str| text.parse::<Memory>().unwrap().bytes().unwrap();
        assert_eq!(bytes("64"), 64 << 20);
        assert_eq!(bytes("512k"), 512 << 10);
        assert_eq!(bytes("100M"), 100 << 20);
        assert_eq!(bytes("1g"), 1 << 30);
        assert_eq!(bytes("2T"), 2 << 40);
        // No more than there is, and no error of arithmetic.
        assert_eq!(bytes("18446744073709551615"), u64::MAX);
        for bad in [
            "",
            "%",
            "0%",
            "101%",
            "+5%",
            "-1",
            "1.5g",
            "g",
            "80 %",
            "64MB",
            "99999999999999999999",
        ] {
            let error = bad.parse::<Memory>().unwrap_err();
            assert!(error.contains("is neither megabytes"), "{bad}: {error}");
        }
        let all = Places::default().machine.unwrap();
        assert!(bytes("50%") <= all / 2 && bytes("50%").is_multiple_of(MIB) && bytes("50%") > 0);
    }

    /// A machine of 8 GB whose process is in such cgroups, with these limits.
    fn places(name: &str, mountinfo: &str, cgroup: &str, limits: &[(&str, &str)]) -> Places {
        let root =
            std::env::temp_dir().join(format!("wirekv-memory-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/self/mountinfo", mountinfo);
        write("proc/self/cgroup", cgroup);
        for (path, text) in limits {
            write(path, text);
        }
        Places { proc: root.join("proc"), machine: Some(8 << 30), root }
    }

    #[test]
    fn the_lowest_limit_counts() {
        let two =
            "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let one = "35 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n36 31 0:33 / /cg/cpu rw - cgroup cgroup rw,cpu\n";
        let inside = "35 31 0:32 /docker/ab /cg/memory rw - cgroup cgroup rw,memory\n";
        type Files<'a> = &'a [(&'a str, &'a str)];
        let cases: &[(&str, &str, &str, Files<'_>, u64)] = &[
            ("none", "", "", &[], 8 << 30),
            (
                "v2",
                two,
                "0::/a/b\n",
                &[
                    ("sys/fs/cgroup/a/b/memory.max", "max\n"),
                    ("sys/fs/cgroup/a/memory.max", "1000000\n"),
                ],
                1_000_000,
            ),
            (
                "v2 above RAM",
                two,
                "0::/a\n",
                &[("sys/fs/cgroup/a/memory.max", "99999999999999\n")],
                8 << 30,
            ),
            (
                "v1",
                one,
                "4:memory:/a\n0::/z\n",
                &[
                    ("cg/memory/a/memory.limit_in_bytes", "5000\n"),
                    ("cg/memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ],
                5000,
            ),
            (
                "v1 container",
                inside,
                "4:cpu,memory:/docker/ab\n",
                &[("cg/memory/memory.limit_in_bytes", "7000\n")],
                7000,
            ),
            (
                "v1 other root",
                inside,
                "4:memory:/elsewhere\n",
                &[("cg/memory/memory.limit_in_bytes", "6000\n")],
                6000,
            ),
            (
                "v1 root",
                one,
                "4:memory:/\n",
                &[("cg/memory/memory.limit_in_bytes", "4000\n")],
                4000,
            ),
        ];
        for (name, mountinfo, cgroup, limits, bytes) in cases {
            let places = places(&name.replace(' ', "-"), mountinfo, cgroup, limits);
            assert_eq!(Limit::lowest(&places).unwrap().bytes, *bytes, "{name}");
            fs::remove_dir_all(&places.root).unwrap();
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_figures() {
        let limit = [("sys/fs/cgroup/a/memory.max", "157286400\n")];
        let mount = "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let places = places("fits", mount, "0::/a\n", &limit);
        let memory: Memory = "100".parse().unwrap();
        memory.check_in(&places, 100 << 20, 50 << 20).unwrap();
        let error = memory.check_in(&places, 100 << 20, (50 << 20) + 1).unwrap_err().to_string();
        for figure in [
            "-m 100",
            "100 MB for items",
            "51 MB for the program",
            "150 MB that this cgroup",
            "memory.max",
        ] {
            assert!(error.contains(figure), "{error}");
        }
        assert!(memory.check_in(&places, u64::MAX, 1).is_err());
        fs::remove_dir_all(&places.root).unwrap();
    }
}
