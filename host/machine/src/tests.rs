//! Frames in, frames out, on the simulated machine.

use super::frames::{request, text};
use super::*;

const MANY: u64 = 100_000_000;

fn machine(nic: Nic) -> Machine {
    machine_of(&Config { nic, ..Config::default() })
}

fn machine_of(config: &Config) -> Machine {
    let mut machine = Machine::new(config);
    machine.run(MANY, false);
    machine
}

/// Sends these at once; the answers' texts in order.
fn ask(machine: &mut Machine, requests: &[&[u8]]) -> Vec<Vec<u8>> {
    for (n, r) in requests.iter().enumerate() {
        machine.send(&request(n as u16, r));
    }
    machine.run(MANY, false);
    let mut answers = Vec::new();
    machine.outputs(|_, frame| answers.push(text(frame).to_vec()));
    answers
}

/// The number in a line of `stats`.
fn stat(machine: &mut Machine, name: &str) -> u32 {
    let stats = String::from_utf8(ask(machine, &[b"stats\r\n"]).remove(0)).unwrap();
    let line = stats.lines().find_map(|l| l.strip_prefix(&format!("STAT {name} ")));
    line.unwrap_or_else(|| panic!("{name} in {stats}")).parse().unwrap()
}

#[test]
fn both_nics_serve() {
    for nic in [Nic::Dma, Nic::Mmio] {
        let mut m = machine(nic);
        assert!(m.console().starts_with("machine: "));
        assert_eq!(ask(&mut m, &[b"set k 7 0 5\r\nhello\r\n"]), [b"STORED\r\n"]);
        assert_eq!(ask(&mut m, &[b"get k\r\n"]), [b"VALUE k 7 5\r\nhello\r\nEND\r\n"]);
        // Of all lengths that a frame and its slots can end with, back to back.
        let values: Vec<Vec<u8>> = (0..80).map(|n| vec![b'a' + n % 26; 3 * n as usize]).collect();
        let sets: Vec<Vec<u8>> = values
            .iter()
            .enumerate()
            .map(|(n, v)| [format!("set k{n} 0 0 {}\r\n", v.len()).as_bytes(), v, b"\r\n"].concat())
            .collect();
        for some in sets.chunks(20) {
            let some: Vec<&[u8]> = some.iter().map(Vec::as_slice).collect();
            assert_eq!(ask(&mut m, &some), vec![b"STORED\r\n"; some.len()]);
        }
        for (n, value) in values.iter().enumerate() {
            let head = format!("VALUE k{n} 0 {}\r\n", value.len());
            let want = [head.as_bytes(), value, b"\r\nEND\r\n"].concat();
            assert_eq!(ask(&mut m, &[format!("get k{n}\r\n").as_bytes()]), [want]);
        }
        assert_eq!((m.restarts(), m.dropped()), (0, 0));
        assert_eq!(stat(&mut m, "nic_restarts"), 0);
    }
}

#[test]
fn the_accelerator_answers_if_it_may() {
    for (nic, aside) in [(Nic::Dma, true), (Nic::Mmio, true), (Nic::Dma, false)] {
        let mut m = machine_of(&Config { nic, aside, ..Config::default() });
        m.set_time(1_700_000_000);
        for (n, value) in [b"one", b"two", b"six"].into_iter().enumerate() {
            let (set, get) = (b"set k 7 9 3\r\n", b"VALUE k 7 3\r\n");
            assert_eq!(ask(&mut m, &[&[set, &value[..], b"\r\n"].concat()]), [b"STORED\r\n"]);
            let before = m.answered();
            let want = [get, &value[..], b"\r\nEND\r\n"].concat();
            // One at a time: those that come at once are all past the gates before software knows of them.
            for _ in 0..50 {
                assert_eq!(ask(&mut m, &[b"get k\r\n"]), [want.as_slice()]);
            }
            let answered = m.answered() - before;
            assert!(if aside { answered > 20 } else { answered == 0 }, "{answered}, {n}");
            assert_eq!(stat(&mut m, "cmd_get") + m.answered(), 50 * (n as u32 + 1));
        }
        m.set_time(1_700_000_009);
        assert_eq!(ask(&mut m, &[b"get k\r\n"]), [b"END\r\n"]);
        // What was answered by gates is gone with the core that started it.
        assert_eq!(ask(&mut m, &[b"set k 0 0 1\r\nx\r\n"]), [b"STORED\r\n"]);
        assert_eq!(ask(&mut m, &[b"get k\r\n".as_slice(); 50]).len(), 50);
        m.restart();
        m.run(MANY, false);
        assert_eq!(ask(&mut m, &[b"get k\r\n"]), [b"END\r\n"]);
    }
}

#[test]
fn long_frames_go_both_ways() {
    for nic in [Nic::Dma, Nic::Mmio] {
        let mut m = machine(nic);
        let value = vec![b'x'; 8000];
        let set = [b"set long 0 0 8000\r\n", &value[..], b"\r\n"].concat();
        assert_eq!(ask(&mut m, &[&set]), [b"STORED\r\n"]);
        let got = ask(&mut m, &[b"get long\r\n"]).concat();
        assert_eq!(got, [b"VALUE long 0 8000\r\n", &value[..], b"\r\nEND\r\n"].concat());
    }
}

#[test]
fn a_flood_is_dropped_whole_and_counted() {
    for nic in [Nic::Dma, Nic::Mmio] {
        let mut m = machine(nic);
        let value = vec![b'f'; 1000];
        let set = [b"set f 0 0 1000\r\n", &value[..], b"\r\n"].concat();
        let frame = request(9, &set);
        const FRAMES: usize = 150;
        (0..FRAMES).for_each(|_| m.send(&frame));
        m.run(MANY, false);
        let mut answers = 0;
        m.outputs(|_, frame| {
            assert_eq!(text(frame), b"STORED\r\n");
            answers += 1;
        });
        assert!(m.dropped() > 0);
        assert_eq!(answers + m.dropped() as usize, FRAMES);
        assert_eq!(stat(&mut m, "dropped_no_room_in"), m.dropped());
        assert_eq!(
            ask(&mut m, &[b"get f\r\n"]).concat().len(),
            b"VALUE f 0 1000\r\n\r\nEND\r\n".len() + 1000
        );
    }
}

#[test]
fn time_is_what_it_is_told() {
    let mut m = machine(Nic::Dma);
    m.set_time(1_700_000_000);
    assert_eq!(ask(&mut m, &[b"set t 0 10 1\r\nx\r\n"]), [b"STORED\r\n"]);
    m.set_time(1_700_000_009);
    assert_eq!(ask(&mut m, &[b"get t\r\n"]), [b"VALUE t 0 1\r\nx\r\nEND\r\n"]);
    m.set_time(1_700_000_010);
    assert_eq!(ask(&mut m, &[b"get t\r\n"]), [b"END\r\n"]);
}

/// Instructions as a program.
fn program(instructions: &[u32]) -> Vec<u8> {
    instructions.iter().flat_map(|i| i.to_le_bytes()).collect()
}

/// With WIREKV_LONG=1, since it takes as long as the watchdog waits; `tb/machine` tests that with a shorter patience.
#[test]
fn a_hung_core_is_started_again() {
    if std::env::var("WIREKV_LONG").as_deref() != Ok("1") {
        return;
    }
    // A jump to itself.
    let mut m = Machine::new(&Config { program: program(&[0x0000_006F]), ..Config::default() });
    for n in 0..3 {
        assert_eq!(m.restarts(), n);
        m.run((1 << 22) + 1000, false);
    }
}

#[test]
fn a_core_that_is_started_again_serves() {
    for nic in [Nic::Dma, Nic::Mmio] {
        let mut m = machine(nic);
        assert_eq!(ask(&mut m, &[b"set k 0 0 1\r\nx\r\n"]), [b"STORED\r\n"]);
        // In the middle of frames, at many places of the program; those on their way are lost or answered, whole.
        let set = [b"set f 0 0 700\r\n", &[b'f'; 700][..], b"\r\n"].concat();
        for clocks in [1, 300, 1000, 2500, 4999, 9000, 14_001] {
            (0..10).for_each(|n| m.send(&request(n, &set)));
            m.run(clocks, false);
            m.restart();
            m.run(MANY, false);
            assert!(m.idle());
            m.outputs(|_, frame| assert_eq!(text(frame), b"STORED\r\n"));
            assert!(m.console().ends_with(if nic == Nic::Dma { "DMA\n" } else { "mapped NIC\n" }));
            assert_eq!(ask(&mut m, &[b"get k\r\n"]), [b"END\r\n"]);
            assert_eq!(ask(&mut m, &[b"set f 0 0 1\r\ny\r\n"]), [b"STORED\r\n"]);
            assert_eq!(ask(&mut m, &[b"get f\r\n"]), [b"VALUE f 0 1\r\ny\r\nEND\r\n"]);
        }
        assert_eq!(stat(&mut m, "nic_restarts"), 0);
    }
}

/// The firmware with frames that break its NIC, `firmware/faults.c`.
const FAULTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/faults.bin"));

#[test]
fn a_nic_with_a_fault_is_started_again() {
    // Without the accelerator: what it answers, no NIC sees.
    let mut m =
        Machine::new(&Config { program: FAULTS.to_vec(), aside: false, ..Config::default() });
    m.run(MANY, false);
    let mut restarts = 0;
    for fault in [*b"p", *b"c", *b"l", *b"r", *b"w", *b"0"].concat() {
        let mut frame = request(0, b"");
        frame[12..15].copy_from_slice(&[0x88, 0xB5, fault]);
        let set = format!("set k 0 0 1\r\n{}\r\n", fault as char);
        assert_eq!(ask(&mut m, &[set.as_bytes()]), [b"STORED\r\n"]);
        let value = format!("VALUE k 0 1\r\n{}\r\nEND\r\n", fault as char);
        // Behind other frames, and in front of some: what is in the rings then is lost, and whole. A wrong place for what
        // comes is noticed by the next frame that does.
        let there = if matches!(fault, b'w' | b'0') { 0 } else { 5 };
        (0..5).for_each(|n| m.send(&request(n, b"get k\r\n")));
        m.send(&frame);
        (0..there).for_each(|n| m.send(&request(n, b"get k\r\n")));
        m.run(MANY / 50, false);
        assert!(m.idle(), "{}", fault as char);
        if there == 0 {
            m.send(&request(0, b"get k\r\n"));
            m.run(MANY, false);
        }
        m.outputs(|_, frame| assert_eq!(text(frame), value.as_bytes()));
        restarts += 1;
        assert_eq!(stat(&mut m, "nic_restarts"), restarts, "{}", fault as char);
        assert_eq!(ask(&mut m, &[b"get k\r\n".as_slice(); 20]), vec![value.as_bytes(); 20]);
    }
    assert_eq!((m.restarts(), m.dropped()), (0, 0));
    assert_eq!(m.console().matches("machine").count(), 1);
}

#[test]
fn frames_pass_a_hung_core_by() {
    // It takes no frame: the wire goes on, and what finds no room is counted.
    let mut m = Machine::new(&Config { program: program(&[0x0000_006F]), ..Config::default() });
    (0..1000).for_each(|n| m.send(&request(n, b"get k\r\n")));
    m.run(10_000, false);
    assert_eq!(m.backlog(), 0);
    // Without its rings the NIC drops what it is given.
    let mut m = Machine::new(&Config {
        program: program(&[0x0000_006F]),
        nic: Nic::Mmio,
        ..Config::default()
    });
    (0..1000).for_each(|n| m.send(&request(n, b"get k\r\n")));
    m.run(10_000, false);
    assert!(m.backlog() == 0 && m.dropped() > 400);
}

#[test]
fn the_program_cannot_be_overwritten() {
    // lui x1, 0x12345; sw x1, 20(x0); lw x2, 20(x0); lui x3, 0xF0001; sw x2, 16(x3); jump to itself. The word at 20 is
    // the jump, whose lowest byte is printed.
    let code = [0x1234_50B7, 0x0010_2A23, 0x0140_2103, 0xF000_11B7, 0x0021_A823, 0x0000_006F];
    let mut m = Machine::new(&Config { program: program(&code), ..Config::default() });
    m.run(1000, false);
    assert_eq!(m.console(), "\u{6F}");
}
