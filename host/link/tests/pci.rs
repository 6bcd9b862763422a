//! A card on PCIe as far as files can be one: a tree as sysfs has it, whose BAR is a file behind which a thread plays the card.
//! What the kernel and a bus add has not run here, see docs/LINK_HOST.md.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;

use wirekv_card::{csr, Card, Port};
use wirekv_link::registers::{self as r, of, ALL_ONES, CHANNELS, ID_VALUE};
use wirekv_link::stand_in::Model;
use wirekv_link::{
    Address, Block, Config, Function, Link, LinkError, Pci, Places, Region, RingCard, REGION,
};

const LINK: usize = 0x1000;

/// A folder for a machine, until it is dropped.
struct Machine {
    root: PathBuf,
    places: Places,
    function: Function,
}

impl Machine {
    fn new(name: &str) -> Machine {
        let root = std::env::temp_dir().join(format!("wirekv-pci-{}-{name}", std::process::id()));
        let card = root.join("devices/0000:00:1d.0");
        let pages = root.join("pages");
        fs::create_dir_all(&card).unwrap();
        fs::create_dir_all(&pages).unwrap();
        for (file, text) in [
            ("vendor", "0x1d0f\n"),
            ("device", "0xf000\n"),
            ("enable", "0\n"),
            (
                "resource",
                "0x0000 0x0000 0x0\n0x8000 0x80ff 0x101\n0x90000000 0x90ffffff 0x140204\n",
            ),
            ("config", "\x0f\x1d\x00\x10\x00\x04----"),
        ] {
            fs::write(card.join(file), text).unwrap();
        }
        let file = File::create(card.join("resource2")).unwrap();
        file.set_len(REGION as u64).unwrap();
        // Whatever is asked for, this is where it is.
        let pagemap = root.join("pagemap");
        let page = statfs(&pages);
        let places = Places { functions: root.join("devices"), pages, page, pagemap };
        let address: Address = "0000:00:1d.0".parse().unwrap();
        let function = Function { address, vendor: 0x1D0F, device: 0xF000, bar: 2, offset: 0x4000 };
        Machine { root, places, function }
    }

    fn card(&self, file: &str) -> PathBuf {
        self.root.join("devices/0000:00:1d.0").join(file)
    }

    fn open(&self) -> Result<Pci, String> {
        Pci::open(&self.places, &self.function).map_err(|error| error.to_string())
    }

    /// A file that says where this process' memory is, page by page of those where mappings come to stand.
    fn pagemap(&self, entry: impl Fn(u64) -> u64) {
        use std::os::unix::fs::FileExt;
        // Where the kernel puts one, it puts the next ones nearby.
        let here = Region::anonymous(0).unwrap().as_ptr() as u64 / 4096;
        let around = (512 << 20) / 4096;
        let (first, end) = (here - around, here + around);
        let file = File::create(&self.places.pagemap).unwrap();
        let entries: Vec<u8> = (first..end).flat_map(|n| entry(n).to_le_bytes()).collect();
        file.write_all_at(&entries, first * 8).unwrap();
    }
}

/// Memory of this process is elsewhere by so many pages.
const ELSEWHERE: u64 = 0x1_2340;

fn elsewhere(page: u64) -> u64 {
    1 << 63 | (page + ELSEWHERE)
}

/// Rings that stand where a file's page may.
fn small() -> Config {
    Config { bits: [(6, 6); CHANNELS], ..Config::default() }
}

fn statfs(path: &Path) -> u64 {
    let path = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
    // SAFETY: all zeros are such a structure, for which the call has room.
    unsafe {
        let mut about: libc::statfs = std::mem::zeroed();
        assert_eq!(libc::statfs(path.as_ptr(), &mut about), 0);
        about.f_bsize as u64
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn region(path: &Path, offset: u64, len: usize) -> Region {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    Region::of_file(file.as_fd(), offset, len, 0).unwrap()
}

/// A card behind the files, until it is dropped.
struct Playing {
    stop: Arc<AtomicBool>,
    gone: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// No doorbell rings: indices have 16 bits.
const SILENT: u32 = 0x1234_5678;

impl Playing {
    fn new(machine: &Machine) -> Playing {
        let bar = region(&machine.card("resource2"), machine.function.offset, 2 * LINK);
        bar.store(LINK + r::ID as usize, ID_VALUE);
        bar.store(csr::ID as usize, csr::ID_VALUE);
        bar.store(csr::CONNS as usize, 1024);
        bar.store(LINK + r::CAPS as usize, Model::default().identity[1]);
        for c in 0..CHANNELS {
            bar.store(LINK + of(c, r::DOWN_PRODUCER) as usize, SILENT);
            bar.store(LINK + of(c, r::UP_CONSUMER) as usize, SILENT);
        }
        let page = machine.places.pages.join(format!("wirekv-{}", machine.function.address));
        File::options()
            .create(true)
            .write(true)
            .truncate(false)
            .open(&page)
            .unwrap()
            .set_len(REGION as u64)
            .unwrap();
        let mut memory = region(&page, 0, REGION);
        let (stop, gone) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (stopped, has_gone) = (stop.clone(), gone.clone());
        let thread = std::thread::spawn(move || {
            let mut model = Model::default();
            while !stopped.load(Ordering::Relaxed) {
                if has_gone.load(Ordering::Relaxed) {
                    (0..2 * LINK).step_by(4).for_each(|at| bar.store(at, ALL_ONES));
                    return;
                }
                // The first ring stands at the memory's beginning.
                let base = of(0, r::DOWN_BASE) as usize + LINK;
                let physical = u64::from(bar.load(base + 4)) << 32 | u64::from(bar.load(base));
                memory = memory.at_physical(physical);
                play(&mut model, &bar, &memory);
                std::thread::yield_now();
            }
        });
        Playing { stop, gone, thread: Some(thread) }
    }
}

/// What was written to registers since, then what comes of it.
fn play(model: &mut Model, bar: &Region, memory: &Region) {
    let at = |register: u32| LINK + register as usize;
    for register in (r::CONTROL..0x100).step_by(4) {
        let value = bar.load(at(register));
        let is = |which| (0..CHANNELS).any(|c| of(c, which) == register);
        if is(r::INDICES) || is(r::FAULT) || is(r::STATE) {
            continue;
        }
        if !(is(r::DOWN_PRODUCER) || is(r::UP_CONSUMER)) {
            model.write(Block::Link, register, value);
        } else if value != SILENT {
            bar.store(at(register), SILENT);
            model.write(Block::Link, register, value);
        }
    }
    model.work(memory);
    for c in 0..CHANNELS {
        for register in [r::INDICES, r::FAULT, r::STATE] {
            bar.store(at(of(c, register)), model.read(Block::Link, of(c, register)));
        }
    }
}

impl Drop for Playing {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("it is there until it is dropped");
        thread.join().unwrap();
    }
}

#[test]
fn addresses_are_as_lspci_has_them() {
    let address: Address = "0000:5e:00.1".parse().unwrap();
    assert_eq!(address.to_string(), "0000:5e:00.1");
    for wrong in [
        "",
        "5e:00.1",
        "0000:5e:20.0",
        "0000:5e:00.8",
        "0000:5e:00",
        "../../x:0.0",
        "0000:5e:00.1.2",
        "00000:5e:00.1",
    ] {
        assert!(wrong.parse::<Address>().unwrap_err().contains("is no address of PCI"), "{wrong}");
    }
}

#[test]
fn what_is_missing_is_said() {
    let mut machine = Machine::new("missing");
    machine.pagemap(elsewhere);
    let fails = |machine: &Machine, words: &str| {
        let error = machine.open().map(|_| ()).unwrap_err();
        assert!(error.contains(words), "{error}");
    };

    let address = machine.function.address;
    machine.function.address = "0000:00:1e.0".parse().unwrap();
    fails(&machine, "there is no PCI function 0000:00:1e.0");
    machine.function.address = address;

    machine.function.device = 0xF001;
    fails(&machine, "0000:00:1d.0 is 1d0f:f000, not 1d0f:f001");
    machine.function.device = 0xF000;

    for (bar, has) in [(0, 0), (1, 0), (3, 0)] {
        machine.function.bar = bar;
        fails(&machine, &format!("has no BAR {bar} of memory with 24576 bytes; it has {has}"));
    }
    machine.function.bar = 2;
    machine.function.offset = 0xFF_F000;
    fails(&machine, "has no BAR 2 of memory with 16781312 bytes; it has 16777216");
    machine.function.offset = 0x4000;

    let driver = machine.root.join("drivers/xdma");
    fs::create_dir_all(&driver).unwrap();
    std::os::unix::fs::symlink(&driver, machine.card("driver")).unwrap();
    fails(&machine, "is bound to the driver xdma; to unbind it: echo 0000:00:1d.0 > ");
    fs::remove_file(machine.card("driver")).unwrap();

    let page = machine.places.page;
    machine.places.page = REGION as u64;
    fails(
        &machine,
        &format!(
            "no huge page for the card's rings: {} has pages of {page}",
            machine.places.pages.display()
        ),
    );
    machine.places.page = page;
    let pages = std::mem::replace(&mut machine.places.pages, machine.root.join("none"));
    fails(&machine, "none: No such file");
    machine.places.pages = pages;

    machine.pagemap(|_| 1 << 63);
    fails(&machine, "the physical address of the card's page: this needs root, or CAP_SYS_ADMIN");
    machine.pagemap(|n| elsewhere(n) + u64::from(n % 512 > 300));
    fails(&machine, "is not in one piece of physical memory");
    fs::remove_file(&machine.places.pagemap).unwrap();
    fails(&machine, "cannot read ");
}

#[test]
fn a_card_that_is_none_or_gone_is_said() {
    let machine = Machine::new("gone");
    machine.pagemap(elsewhere);
    let error = Link::open(machine.open().unwrap(), small()).map(|_| ()).unwrap_err();
    assert_eq!(error, LinkError::WrongId { id: 0 });
    let bar = region(&machine.card("resource2"), machine.function.offset, 2 * LINK);
    bar.store(LINK, ALL_ONES);
    let error = Link::open(machine.open().unwrap(), small()).map(|_| ()).unwrap_err();
    assert_eq!(error, LinkError::Gone { register: 0 });
    // It was not let use memory.
    assert_eq!(fs::read(machine.card("config")).unwrap()[4], 0);
    assert_eq!(fs::read_to_string(machine.card("enable")).unwrap(), "1");
}

#[test]
fn frames_pass_and_the_page_is_kept_as_long_as_it_has_to_be() {
    let machine = Machine::new("frames");
    machine.pagemap(elsewhere);
    let playing = Playing::new(&machine);
    let mut card = RingCard::open(machine.open().unwrap(), small()).unwrap();
    assert_eq!(fs::read(machine.card("config")).unwrap()[4], 6, "it may use memory");
    let second = machine.open().map(|_| ()).unwrap_err();
    assert!(second.contains("is in use by another program"), "{second}");

    assert_eq!(card.read_csr(csr::CONNS).unwrap(), 1024);
    let sent: Vec<Vec<u8>> = (1..2000).map(|n| vec![n as u8; n]).collect();
    let (mut got, mut next) = (Vec::new(), sent.iter());
    while got.len() < sent.len() {
        next.by_ref().take(50).for_each(|frame| card.send(Port::Wire, frame));
        card.advance(1);
        card.check().unwrap();
        card.receive(Port::Wire, &mut |frame| got.push(frame.to_vec()));
    }
    assert!(got == sent);

    let page = machine.places.pages.join("wirekv-0000:00:1d.0");
    drop(card);
    assert!(!page.exists(), "all channels have stopped");
    drop(playing);

    let playing = Playing::new(&machine);
    let mut card = RingCard::open(machine.open().unwrap(), small()).unwrap();
    playing.gone.store(true, Ordering::Relaxed);
    while card.check().is_ok() {
        card.advance(1);
    }
    let error = card.check().unwrap_err().to_string();
    assert!(error.contains("the card has gone: register"), "{error}");
    // It cannot be asked to stop, so it is cut off; then the page may go.
    drop(card);
    assert_eq!(fs::read(machine.card("config")).unwrap()[4], 2);
    assert!(!page.exists());
}

#[test]
fn a_card_that_can_neither_be_stopped_nor_cut_off_keeps_the_page() {
    let machine = Machine::new("kept");
    machine.pagemap(elsewhere);
    let playing = Playing::new(&machine);
    let card = RingCard::open(machine.open().unwrap(), small()).unwrap();
    playing.gone.store(true, Ordering::Relaxed);
    drop(playing);
    OpenOptions::new().write(true).open(machine.card("config")).unwrap().set_len(0).unwrap();
    drop(card);
    assert!(machine.places.pages.join("wirekv-0000:00:1d.0").exists());
}
