//! `make machine-bench`: clocks of a GET on the simulated machine, frames a second, by DMA and through registers; requests as
//! of Facebook's pool ETC; the same beside the published machine.

mod etc;

use std::time::Instant;

use etc::{Etc, Taken, CLIENTS, KEYS, ZIPF};
use wirekv_machine::frames::{request, text, HEADERS};
use wirekv_machine::{Config, Machine, Nic};

const MANY: u64 = 100_000_000;
/// GETs one at a time, and at once: as many frames as surely find room in the machine.
const ALONE: u16 = 200;
const AT_ONCE: u16 = 100;
const MHZ: [u64; 2] = [50, 250];
/// Bytes of the values of GETs of one key.
const SIZES: [usize; 2] = [36, 195];
/// Requests of ETC: before anything is measured, then one at a time, then by clients at once.
const WARM: usize = 3000;
const MEASURED: usize = 1000;
const SEED: u64 = 1;

/// Has one frame answered; the clocks from its first beat to its answer's last, and the answer's text.
fn exchange(machine: &mut Machine, frame: &[u8]) -> (u64, Vec<u8>) {
    machine.inputs();
    machine.send(frame);
    machine.run(MANY, false);
    let mut answer = None;
    machine.outputs(|stamp, frame| answer = Some((stamp.last, text(frame).to_vec())));
    let (last, text) = answer.expect("it answers");
    (last - machine.inputs()[0].first, text)
}

/// Clocks for so many frames at once, from the first one in until the machine waits again.
fn clocks(machine: &mut Machine, frames: u16, frame: impl Fn(u16) -> Vec<u8>) -> (u64, usize) {
    machine.run(MANY, false);
    let start = machine.clock();
    (0..frames).for_each(|n| machine.send(&frame(n)));
    machine.run(MANY, false);
    let (mut last, mut answers) = (machine.clock(), 0);
    machine.outputs(|stamp, _| (last, answers) = (stamp.last, answers + 1));
    (last - start, answers)
}

fn per_second(clocks: u64, frames: u64) -> [f64; 2] {
    MHZ.map(|mhz| mhz as f64 * 1e6 * frames as f64 / clocks as f64)
}

fn started(config: &Config) -> Machine {
    let mut machine = Machine::new(config);
    machine.run(MANY, false);
    machine
}

fn stat(machine: &mut Machine, name: &str) -> u64 {
    let (_, stats) = exchange(machine, &request(0, b"stats\r\n"));
    let stats = String::from_utf8(stats).expect("text");
    let line =
        stats.lines().find_map(|l| l.strip_prefix("STAT ")?.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} in {stats}")).parse().expect("a number")
}

/// GETs of one key, one at a time and then at once.
struct Gets {
    set: u64,
    alone: Taken,
    at_once: u64,
}

fn gets(machine: &mut Machine, size: usize) -> Gets {
    let key = format!("key:{size:016}");
    let value = "v".repeat(size);
    let (set, stored) =
        exchange(machine, &request(0, format!("set {key} 0 0 {size}\r\n{value}\r\n").as_bytes()));
    assert_eq!(stored, b"STORED\r\n");
    let get = format!("get {key}\r\n");
    let want = format!("VALUE {key} 0 {size}\r\n{value}\r\nEND\r\n");
    let mut each: Vec<u64> = (1..=ALONE)
        .map(|id| {
            let (clocks, answer) = exchange(machine, &request(id, get.as_bytes()));
            assert_eq!(answer, want.as_bytes());
            clocks
        })
        .collect();
    let all = each.iter().sum();
    each.sort_unstable();
    let (at_once, answers) = clocks(machine, AT_ONCE, |id| request(id, get.as_bytes()));
    assert_eq!(answers, usize::from(AT_ONCE));
    Gets { set, alone: Taken { each, all }, at_once }
}

/// What the machine does in software, by each of its NICs; the clocks of all.
fn nics() -> u64 {
    println!("{:<34} {:>7} {:>7}   frames/s at {} and {} MHz", "", "median", "p99", MHZ[0], MHZ[1]);
    let mut total = 0;
    for nic in [Nic::Dma, Nic::Mmio] {
        let name = if nic == Nic::Dma { "dma " } else { "mmio" };
        let mut machine = started(&Config { nic, aside: false, ..Config::default() });
        for size in SIZES {
            let g = gets(&mut machine, size);
            let what = format!("{name} GET, {size} bytes");
            let [slow, fast] = per_second(g.at_once, AT_ONCE.into());
            println!(
                "{what:<34} {:>7} {:>7}   {slow:>8.0} {fast:>8.0}",
                g.alone.at(0.5),
                g.alone.at(0.99)
            );
            println!("{:<34} {:>7}", format!("{name} SET, {size} bytes"), g.set);
        }
        // Frames for another port are read and dropped: what the NIC itself takes.
        for size in [64, 1514] {
            let drop = |_| {
                let mut frame = request(0, &vec![b'x'; size - HEADERS]);
                frame[36..38].copy_from_slice(&[0, 9]);
                frame
            };
            let (many, _) = clocks(&mut machine, 20, drop);
            let what = format!("{name} dropped frames, {size} bytes");
            let [slow, fast] = per_second(many, 20);
            println!("{what:<34} {:>7} {:>7}   {slow:>8.0} {fast:>8.0}", many / 20, "");
        }
        total += machine.clock();
    }
    total
}

/// What is compared with the published machine.
struct Figures {
    gets: Vec<Taken>,
    etc: Taken,
    rate: u64,
    /// Requests of ETC that came to the core, of all.
    by_core: f64,
    clocks: u64,
}

fn figures(config: &Config) -> Figures {
    let mut machine = started(config);
    // With an accelerator their median is one of its answers: it has come to serve the key.
    let gets = SIZES.iter().map(|size| gets(&mut machine, *size).alone).collect();
    assert_eq!(machine.answered() > 0, config.aside);
    let mut etc = Etc::new(SEED);
    etc.fill(&mut machine);
    etc.run(&mut machine, WARM, CLIENTS);
    let core = |m: &mut Machine| stat(m, "cmd_get") + stat(m, "cmd_set");
    let before = core(&mut machine);
    let alone = etc.run(&mut machine, MEASURED, 1);
    let rate = etc.run(&mut machine, MEASURED, CLIENTS).all;
    let by_core = (core(&mut machine) - before) as f64 / (2 * MEASURED) as f64;
    Figures { gets, etc: alone, rate, by_core, clocks: machine.clock() }
}

/// Figures of the published machine: its software, and its accelerator.
type Published = [&'static str; 2];
const NONE: Published = ["", ""];

/// The table: a column for each machine here, then the published one's; the clocks of all.
fn comparison(machines: &[(&str, Config)]) -> u64 {
    let figures: Vec<Figures> = machines.iter().map(|(_, config)| figures(config)).collect();
    println!();
    let row = |what: &str, here: Vec<String>, [software, hardware]: Published| {
        let here: String = here.iter().map(|cell| format!("{cell:>14}")).collect();
        println!("{what:<34}{here}{software:>14}{hardware:>14}");
    };
    let all = |of: &dyn Fn(&Figures) -> String| figures.iter().map(of).collect::<Vec<_>>();
    let names = machines.iter().map(|(name, _)| (*name).to_owned()).collect();
    row("", names, ["published:", "published:"]);
    row("", vec![String::new(); machines.len()], ["software", "accelerator"]);
    for (n, size) in SIZES.iter().enumerate() {
        row(&format!("GET, {size} bytes, clocks"), all(&|f| f.gets[n].at(0.5).to_string()), NONE);
        for mhz in MHZ {
            let published = if mhz == 50 { ["1700", "150"] } else { NONE };
            let us = |f: &Figures| format!("{:.2}", f.gets[n].at(0.5) as f64 / mhz as f64);
            row(&format!("  us at {mhz} MHz"), all(&us), published);
        }
    }
    for (n, mhz) in MHZ.iter().enumerate() {
        let rate = |f: &Figures| format!("{:.0}", per_second(f.rate, MEASURED as u64)[n]);
        row(&format!("ETC, requests/s at {mhz} MHz"), all(&rate), NONE);
        for (name, share) in [("median", 0.5), ("99 %", 0.99)] {
            let us = |f: &Figures| format!("{:.2}", f.etc.at(share) as f64 / *mhz as f64);
            row(&format!("  {name}, us at {mhz} MHz"), all(&us), NONE);
        }
    }
    let by_core = |f: &Figures| format!("{:.1} %", 100.0 * f.by_core);
    row("  requests that the core answers", all(&by_core), ["100 %", "60 %"]);
    println!(
        "ETC: {KEYS} keys by Zipf's law with {ZIPF}, 30 GETs for a SET; {MEASURED} requests one at a time, and {MEASURED} \
         by {CLIENTS} clients\nafter {WARM}. Published: slides on memcached with an accelerator beside a Rocket core of \
         50 MHz on a Xilinx ZC706, their\nconclusion (sizes are not told; of ETC it serves 40 % of the keys)."
    );
    figures.iter().map(|f| f.clocks).sum()
}

fn main() {
    let begin = Instant::now();
    let total = nics()
        + comparison(&[
            ("software", Config { aside: false, ..Config::default() }),
            ("accelerator", Config::default()),
        ]);
    let seconds = begin.elapsed().as_secs_f64();
    println!("simulated at {:.0} kHz", total as f64 / seconds / 1e3);
}
