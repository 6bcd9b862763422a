//! What the mover itself takes of a core: `cargo bench -p wirekv-link`.
//!
//! On one thread, by turns: frames are put into the ring down (`send`, `flush`); the card in software copies them out of it, and
//! into the ring up; they are taken out of that (`poll`, `receive`). The card's turns do not count. Frames come in bursts of
//! half a ring of 8,192 slots, and rings go round, so no slot is used again before all others were. Times are those of the
//! thread, so others on the machine do not count either, but for what they do to the caches.

use std::hint::black_box;
use std::time::Duration;

use wirekv_card::Port;
use wirekv_link::registers::slots;
use wirekv_link::stand_in::{Model, StandIn};
use wirekv_link::{Config, Device, Link};

const ROUNDS: usize = 5;
const TIME: Duration = Duration::from_millis(400);

fn main() {
    // Cargo gives `--bench`; a number is the least rate for frames of 60 bytes, in millions a second.
    let least: Option<f64> = std::env::args().skip(1).find_map(|word| word.parse().ok());
    println!("bytes  ns a frame down  up     both   million frames a second and core, best and worst of {ROUNDS}");
    let mut best_of_60 = 0.0;
    for length in [60, 124, 508, 1514, 9014] {
        let mut link =
            Link::open(StandIn::new(Model::default()), Config::default()).expect("a link");
        let runs: Vec<(f64, f64)> = (0..ROUNDS).map(|_| run(&mut link, length)).collect();
        let rate = |(down, up): &(f64, f64)| 1e3 / (down + up);
        let best = runs.iter().max_by(|a, b| rate(a).total_cmp(&rate(b))).expect("runs");
        let worst = runs.iter().map(rate).fold(f64::MAX, f64::min);
        let (down, up) = best;
        println!(
            "{length:5}  {down:15.1}  {up:5.1}  {:5.1}  {:.1} {worst:.1}",
            down + up,
            rate(best)
        );
        if length == 60 {
            best_of_60 = rate(best);
        }
    }
    if let Some(least) = least.filter(|least| best_of_60 < *least) {
        eprintln!("{best_of_60:.1} million frames of 60 bytes a second; {least} are wanted");
        std::process::exit(1);
    }
}

/// The time that this thread has had.
fn now() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is room for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Nanoseconds a frame, down and up.
fn run(link: &mut Link<StandIn>, length: usize) -> (f64, f64) {
    let frame = vec![7; length];
    let burst = 4096 / slots(length);
    let (mut down, mut up) = (Duration::ZERO, Duration::ZERO);
    let mut frames = 0u64;
    while down + up < TIME {
        let began = now();
        for _ in 0..burst {
            assert!(link.send(Port::Wire, black_box(&frame)));
        }
        link.flush();
        down += now() - began;
        link.device().advance(1);
        let began = now();
        link.poll().expect("a card that works");
        let mut bytes = 0;
        let count = link.receive(Port::Wire, |frame| bytes += black_box(frame).len());
        up += now() - began;
        assert_eq!((count, bytes), (Ok(burst), burst * length));
        frames += burst as u64;
    }
    (down.as_nanos() as f64 / frames as f64, up.as_nanos() as f64 / frames as f64)
}
