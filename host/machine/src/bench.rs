//! `make machine-bench`: clocks of a GET on the simulated machine, and frames a second, by DMA and through registers.

use std::time::Instant;

use wirekv_machine::frames::{request, text, HEADERS};
use wirekv_machine::{Config, Machine, Nic};

const MANY: u64 = 100_000_000;
/// GETs one at a time, and at once: as many frames as surely find room in the machine.
const ALONE: u16 = 200;
const AT_ONCE: u16 = 100;
const MHZ: [u64; 2] = [50, 250];

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

fn per_second(clocks: u64, frames: u16) -> String {
    let rates =
        MHZ.map(|mhz| format!("{:.0}", mhz as f64 * 1e6 * f64::from(frames) / clocks as f64));
    format!("{:>8} {:>8}", rates[0], rates[1])
}

fn main() {
    println!("{:<34} {:>7} {:>7}   frames/s at {} and {} MHz", "", "median", "p99", MHZ[0], MHZ[1]);
    let begin = Instant::now();
    let mut total = 0;
    for nic in [Nic::Dma, Nic::Mmio] {
        let name = if nic == Nic::Dma { "dma " } else { "mmio" };
        let mut machine = Machine::new(&Config { nic, ..Config::default() });
        machine.run(MANY, false);
        for size in [36, 195] {
            let key = format!("key:{size:016}");
            let value = "v".repeat(size);
            let set = format!("set {key} 0 0 {size}\r\n{value}\r\n");
            let (set_clocks, stored) = exchange(&mut machine, &request(0, set.as_bytes()));
            assert_eq!(stored, b"STORED\r\n");
            let get = format!("get {key}\r\n");
            let want = format!("VALUE {key} 0 {size}\r\n{value}\r\nEND\r\n");
            let mut each: Vec<u64> = (1..=ALONE)
                .map(|id| {
                    let (clocks, answer) = exchange(&mut machine, &request(id, get.as_bytes()));
                    assert_eq!(answer, want.as_bytes());
                    clocks
                })
                .collect();
            each.sort_unstable();
            let (many, answers) = clocks(&mut machine, AT_ONCE, |id| request(id, get.as_bytes()));
            assert_eq!(answers, usize::from(AT_ONCE));
            let at = |share: f64| each[(share * (each.len() - 1) as f64).round() as usize];
            let what = format!("{name} GET, {size} bytes");
            println!("{what:<34} {:>7} {:>7}   {}", at(0.5), at(0.99), per_second(many, AT_ONCE));
            println!("{:<34} {set_clocks:>7}", format!("{name} SET, {size} bytes"));
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
            println!("{what:<34} {:>7} {:>7}   {}", many / 20, "", per_second(many, 20));
        }
        total += machine.clock();
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("simulated at {:.0} kHz", total as f64 / seconds / 1e3);
}
