//! A card on PCIe: its registers by sysfs, and a huge page that it reads and writes at its physical address.
//!
//! There is no IOMMU between: a card that writes elsewhere writes into whatever is there. So it may use memory only while this
//! program holds its page, and the page is a file, which a killed program leaves behind.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::device::{Block, Device};
use crate::region::{Region, REGION};
use crate::registers::{of, CHANNELS, DOWN_PRODUCER, UP_CONSUMER};

/// Bytes of registers: the card's, the link's behind them.
const BLOCK: usize = 0x1000;
/// Configuration space: the command, and what in it lets a function answer at its registers and use memory.
const COMMAND: u64 = 4;
const ANSWERS: u16 = 1 << 1;
const MASTER: u16 = 1 << 2;
/// A card at which nothing has happened for so long ...
const BUSY: Duration = Duration::from_millis(1);
/// ... is looked at so often.
const NAP: Duration = Duration::from_micros(50);
/// Clocks a microsecond, about.
const MHZ: u128 = 250;
/// Pages of the kernel, by which it tells physical addresses.
const PAGE: usize = 4096;

/// Where a function is on the bus, as `lspci -D` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    domain: u16,
    bus: u8,
    device: u8,
    function: u8,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        let wrong = || format!("'{text}' is no address of PCI such as 0000:00:1d.0");
        let hex = |text: &str, digits: usize, most: u16| {
            let right = text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit());
            let number = u16::from_str_radix(text, 16).ok();
            number.filter(|n| right && *n <= most).ok_or_else(wrong)
        };
        let (rest, function) = text.split_once('.').ok_or_else(wrong)?;
        let mut parts = rest.split(':');
        let mut next = || parts.next().ok_or_else(wrong);
        let (domain, bus, device) = (next()?, next()?, next()?);
        if parts.next().is_some() {
            return Err(wrong());
        }
        Ok(Address {
            domain: hex(domain, 4, 0xFFFF)?,
            bus: hex(bus, 2, 0xFF)? as u8,
            device: hex(device, 2, 0x1F)? as u8,
            function: hex(function, 1, 7)? as u8,
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Address { domain, bus, device, function } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function}")
    }
}

/// Which function, and where in it the registers are.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// On the bus.
    pub address: Address,
    /// What it must say it is.
    pub vendor: u16,
    /// Likewise.
    pub device: u16,
    /// The BAR with the registers.
    pub bar: usize,
    /// Where in it the card's registers begin, a multiple of 4,096. The link's are 4,096 bytes behind them.
    pub offset: u64,
}

/// Where the machine has what is needed.
#[derive(Clone, Debug)]
pub struct Places {
    /// Functions of PCI.
    pub functions: PathBuf,
    /// A hugetlbfs.
    pub pages: PathBuf,
    /// Bytes of its pages.
    pub page: u64,
    /// Physical addresses of this process' memory.
    pub pagemap: PathBuf,
}

impl Default for Places {
    fn default() -> Places {
        Places {
            functions: "/sys/bus/pci/devices".into(),
            pages: "/dev/hugepages".into(),
            page: REGION as u64,
            pagemap: "/proc/self/pagemap".into(),
        }
    }
}

/// Why a card cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PciError {
    /// There is none.
    #[error("there is no PCI function {address} (no {path})")]
    NoFunction {
        /// Where.
        address: Address,
        /// Looked for.
        path: PathBuf,
    },
    /// It is something else.
    #[error("{address} is {is}, not {wanted}")]
    WrongFunction {
        /// Where.
        address: Address,
        /// Vendor and device.
        is: String,
        /// Likewise.
        wanted: String,
    },
    /// The kernel uses it.
    #[error(
        "{address} is bound to the driver {driver}; to unbind it: echo {address} > {path}/unbind"
    )]
    Bound {
        /// Where.
        address: Address,
        /// Of the kernel.
        driver: String,
        /// Of the driver.
        path: PathBuf,
    },
    /// There are no registers.
    #[error("{address} has no BAR {bar} of memory with {wanted} bytes; it has {has}")]
    NoBar {
        /// Where.
        address: Address,
        /// Which.
        bar: usize,
        /// That it has.
        has: u64,
        /// That are needed.
        wanted: u64,
    },
    /// Another program has it.
    #[error("{address} is in use by another program (it holds {path})")]
    InUse {
        /// Where.
        address: Address,
        /// The page.
        path: PathBuf,
    },
    /// No page for it.
    #[error(
        "no huge page for the card's rings: {why}. One of 2 MiB is needed: echo 1 > /proc/sys/vm/nr_hugepages; \
         mount -t hugetlbfs -o pagesize=2M none {dir}"
    )]
    NoHugePage {
        /// Of hugetlbfs.
        dir: PathBuf,
        /// What is missing.
        why: String,
    },
    /// Only root may.
    #[error("{what}: this needs root{more}")]
    NoPrivilege {
        /// That was tried.
        what: String,
        /// Which part of it.
        more: &'static str,
    },
    /// The kernel's page is no page of the machine.
    #[error("the huge page {path} is not in one piece of physical memory (0x{first:x}, and 0x{then:x} at byte {at})")]
    Scattered {
        /// The page.
        path: PathBuf,
        /// Where it begins.
        first: u64,
        /// Where a part of it is.
        then: u64,
        /// That part.
        at: usize,
    },
    /// Anything else.
    #[error("{what}: {error}")]
    Io {
        /// That was tried.
        what: String,
        /// Why not.
        error: io::Error,
    },
}

/// What was tried, with the kernel's answer.
fn failed(what: impl fmt::Display) -> impl FnOnce(io::Error) -> PciError {
    let what = what.to_string();
    move |error| match error.kind() {
        ErrorKind::PermissionDenied => PciError::NoPrivilege { what, more: "" },
        _ => PciError::Io { what, error },
    }
}

/// A function of PCI with a card behind it.
pub struct Pci {
    registers: Region,
    memory: Region,
    config: File,
    reset: Option<File>,
    /// The page; its lock keeps other programs away.
    _page: File,
    page_path: PathBuf,
    keeps: bool,
    start: Instant,
    /// When a doorbell rang last.
    used: Instant,
}

impl Pci {
    /// Finds the function, and takes it for this program.
    ///
    /// # Errors
    ///
    /// Each is described in [`PciError`].
    pub fn open(places: &Places, function: &Function) -> Result<Pci, PciError> {
        let path = places.functions.join(function.address.to_string());
        check(&path, function)?;
        let (page, page_path) = lock(places, function.address)?;
        let memory = map(places, &page, &page_path)?;

        write(&path.join("enable"), "1")?;
        let bar = path.join(format!("resource{}", function.bar));
        let file = open(&bar)?;
        let registers = Region::of_file(file.as_fd(), function.offset, 2 * BLOCK, 0)
            .map_err(failed(format_args!("cannot map {}", bar.display())))?;
        let config = open(&path.join("config"))?;
        // Later this program may not open it any more.
        let reset = OpenOptions::new().write(true).open(path.join("reset")).ok();
        let now = Instant::now();
        Ok(Pci {
            registers,
            memory,
            config,
            reset,
            _page: page,
            page_path,
            keeps: false,
            start: now,
            used: now,
        })
    }

    /// Sets and clears bits of the command.
    fn command(&self, set: u16, clear: u16) -> io::Result<()> {
        let mut bytes = [0; 2];
        self.config.read_exact_at(&mut bytes, COMMAND)?;
        let command = u16::from_le_bytes(bytes) & !clear | set;
        self.config.write_all_at(&command.to_le_bytes(), COMMAND)?;
        self.config.read_exact_at(&mut bytes, COMMAND)?;
        match u16::from_le_bytes(bytes) & (set | clear) == set {
            true => Ok(()),
            false => Err(io::Error::other(format!("its command stays 0x{command:04x}"))),
        }
    }
}

fn open(path: &Path) -> Result<File, PciError> {
    let file = OpenOptions::new().read(true).write(true).open(path);
    file.map_err(failed(format_args!("cannot open {}", path.display())))
}

fn write(path: &Path, text: &str) -> Result<(), PciError> {
    fs::write(path, text).map_err(failed(format_args!("cannot write {}", path.display())))
}

fn read(path: &Path) -> Result<String, PciError> {
    fs::read_to_string(path).map_err(failed(format_args!("cannot read {}", path.display())))
}

/// That the function is there, is the right one, and is free.
fn check(path: &Path, function: &Function) -> Result<(), PciError> {
    let Function { address, vendor, device, bar, offset } = *function;
    if !path.exists() {
        return Err(PciError::NoFunction { address, path: path.into() });
    }
    let is = [read(&path.join("vendor"))?, read(&path.join("device"))?];
    let is = is.map(|text| text.trim().trim_start_matches("0x").to_owned()).join(":");
    let wanted = format!("{vendor:04x}:{device:04x}");
    if is != wanted {
        return Err(PciError::WrongFunction { address, is, wanted });
    }
    if let Ok(driver) = fs::canonicalize(path.join("driver")) {
        let name = driver.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Err(PciError::Bound { address, driver: name, path: driver });
    }
    // A line for each: first byte, last byte, flags, of which bit 8 is input and output.
    let text = read(&path.join("resource"))?;
    let words = text.lines().nth(bar).unwrap_or_default().split_whitespace();
    let words: Vec<u64> = words
        .filter_map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok())
        .collect();
    let has = match words[..] {
        [first, last, flags] if last > first && flags & 0x100 == 0 => last - first + 1,
        _ => 0,
    };
    let wanted = offset + 2 * BLOCK as u64;
    if has < wanted {
        return Err(PciError::NoBar { address, bar, has, wanted });
    }
    Ok(())
}

/// The page's file, which one program at a time has.
fn lock(places: &Places, address: Address) -> Result<(File, PathBuf), PciError> {
    let dir = &places.pages;
    let no_page = |why: String| PciError::NoHugePage { dir: dir.clone(), why };
    let folder = File::open(dir).map_err(|e| no_page(format!("{}: {e}", dir.display())))?;
    // SAFETY: all zeros are such a structure, for which the call has room.
    let block = unsafe {
        let mut about: libc::statfs = std::mem::zeroed();
        libc::fstatfs(folder.as_raw_fd(), &mut about);
        about.f_bsize as u64
    };
    if block != places.page {
        return Err(no_page(format!("{} has pages of {block} bytes", dir.display())));
    }
    let path = dir.join(format!("wirekv-{address}"));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(&path);
    let file = file.map_err(failed(format_args!("cannot open {}", path.display())))?;
    // SAFETY: the file is open.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
        return Err(PciError::InUse { address, path });
    }
    file.set_len(REGION as u64).map_err(|e| no_page(e.to_string()))?;
    Ok((file, path))
}

/// Maps the page, and finds out where it is.
fn map(places: &Places, page: &File, path: &Path) -> Result<Region, PciError> {
    let memory = Region::of_file(page.as_fd(), 0, REGION, 0).map_err(|e| {
        let _ = fs::remove_file(path);
        PciError::NoHugePage { dir: places.pages.clone(), why: e.to_string() }
    })?;
    // The kernel gives pages when they are touched.
    memory.clear(0, REGION);
    let what = format!("cannot read {}", places.pagemap.display());
    let map = File::open(&places.pagemap).map_err(failed(&what))?;
    let mut entries = vec![0; REGION / PAGE * 8];
    map.read_exact_at(&mut entries, (memory.as_ptr() as usize / PAGE * 8) as u64)
        .map_err(failed(&what))?;
    // Of an entry, bits 0 to 54 are the page's number, which is 0 for who may not know it.
    let at = entries
        .as_chunks()
        .0
        .iter()
        .map(|entry: &[u8; 8]| (u64::from_le_bytes(*entry) & ((1 << 55) - 1)) * PAGE as u64);
    let mut first = 0;
    for (n, then) in at.enumerate() {
        if then == 0 {
            let what = "the physical address of the card's page".into();
            return Err(PciError::NoPrivilege { what, more: ", or CAP_SYS_ADMIN" });
        }
        if n == 0 {
            first = then;
        }
        if then != first + (n * PAGE) as u64 || !first.is_multiple_of(places.page) {
            return Err(PciError::Scattered { path: path.into(), first, then, at: n * PAGE });
        }
    }
    Ok(memory.at_physical(first))
}

/// Where registers begin.
fn window(block: Block) -> usize {
    match block {
        Block::Card => 0,
        Block::Link => BLOCK,
    }
}

impl Device for Pci {
    fn read(&mut self, block: Block, register: u32) -> u32 {
        self.registers.load(window(block) + register as usize)
    }

    fn write(&mut self, block: Block, register: u32, value: u32) {
        let doorbell =
            (0..CHANNELS).any(|c| [of(c, DOWN_PRODUCER), of(c, UP_CONSUMER)].contains(&register));
        if block == Block::Link && doorbell {
            self.used = Instant::now();
        }
        self.registers.store(window(block) + register as usize, value);
    }

    fn memory(&self) -> &Region {
        &self.memory
    }

    fn clock(&self) -> u64 {
        (self.start.elapsed().as_nanos() * MHZ / 1000) as u64
    }

    /// It works by itself. One at which nothing happens is not looked at all the time.
    fn advance(&mut self, _clocks: u64) {
        if self.used.elapsed() > BUSY {
            std::thread::sleep(NAP);
        }
    }

    fn let_in(&mut self) -> Result<(), String> {
        self.command(ANSWERS | MASTER, 0).map_err(|e| e.to_string())
    }

    fn reset(&mut self) -> Result<(), String> {
        let reset = self.reset.as_ref().ok_or("this function has none, or this needs root")?;
        reset.write_all_at(b"1", 0).map_err(|e| e.to_string())
    }

    fn cut(&mut self) -> bool {
        self.command(0, MASTER).is_ok()
    }

    fn keep_memory(&mut self) {
        self.keeps = true;
    }
}

impl Drop for Pci {
    fn drop(&mut self) {
        // Who may not remove it leaves it to the next start, which uses it again.
        if !self.keeps {
            let _ = fs::remove_file(&self.page_path);
        }
    }
}
