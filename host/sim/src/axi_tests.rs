//! The memory port's promises, checked without a card.

#[repr(C)]
struct Raw {
    _private: [u8; 0],
}

extern "C" {
    fn wk_probe_new(latency: u32, jitter: u32, seed: u64) -> *mut Raw;
    fn wk_probe_free(probe: *mut Raw);
    fn wk_probe_clock(
        probe: *mut Raw,
        now: u64,
        read: i64,
        write: i64,
        byte: u8,
        strb: u64,
        value: *mut u8,
    ) -> i32;
    fn wk_probe_lines(probe: *const Raw, lines: *mut u64);
}

/// One memory port with an empty memory of 4 KiB.
struct Probe {
    raw: *mut Raw,
    now: u64,
}

impl Probe {
    fn new(latency: u32, jitter: u32, seed: u64) -> Probe {
        // SAFETY: the call takes numbers alone.
        Probe { raw: unsafe { wk_probe_new(latency, jitter, seed) }, now: 0 }
    }

    /// One clock; what was read and whether a write was answered.
    fn clock(
        &mut self,
        read: Option<u64>,
        write: Option<(u64, u8)>,
        strb: u64,
    ) -> (Option<u8>, bool) {
        let mut value = 0;
        let (addr, byte) = write.map_or((-1, 0), |(a, b)| (a as i64, b));
        let read = read.map_or(-1, |a| a as i64);
        // SAFETY: raw is valid while self lives, `value` during the call.
        let got = unsafe { wk_probe_clock(self.raw, self.now, read, addr, byte, strb, &mut value) };
        self.now += 1;
        ((got & 1 != 0).then_some(value), got & 2 != 0)
    }

    /// Lines that have crossed the port: read, written.
    fn lines(&self) -> [u64; 2] {
        let mut lines = [0; 2];
        // SAFETY: raw is valid while self lives, and there is room for both.
        unsafe { wk_probe_lines(self.raw, lines.as_mut_ptr()) };
        lines
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        unsafe { wk_probe_free(self.raw) };
    }
}

const ALL: u64 = !0;

#[test]
fn latency_is_exact() {
    for latency in [1, 2, 40] {
        let mut p = Probe::new(latency, 0, 1);
        p.clock(Some(0), Some((64, 7)), ALL);
        for clock in 1..latency {
            assert_eq!(p.clock(None, None, 0), (None, false), "clock {clock} of {latency}");
        }
        assert_eq!(p.clock(None, None, 0), (Some(0), true), "latency {latency}");
    }
}

#[test]
fn a_read_asked_for_after_the_answer_sees_the_write() {
    let mut p = Probe::new(10, 5, 3);
    p.clock(None, Some((128, 9)), ALL);
    while !p.clock(None, None, 0).1 {}
    p.clock(Some(128), None, 0);
    loop {
        if let (Some(v), _) = p.clock(None, None, 0) {
            assert_eq!(v, 9);
            break;
        }
    }
}

#[test]
fn a_read_together_with_a_write_sees_the_old_line() {
    let mut p = Probe::new(4, 0, 1);
    p.clock(Some(0), Some((0, 5)), ALL);
    for _ in 1..4 {
        p.clock(None, None, 0);
    }
    assert_eq!(p.clock(None, None, 0), (Some(0), true));
}

#[test]
fn only_strobed_lanes_change() {
    let mut p = Probe::new(1, 0, 1);
    p.clock(None, Some((0, 5)), ALL);
    p.clock(None, Some((0, 6)), ALL - 1);
    p.clock(Some(0), None, 0);
    assert_eq!(p.clock(None, None, 0).0, Some(5));
}

#[test]
fn lines_count_when_they_cross_the_port() {
    let mut p = Probe::new(3, 0, 1);
    p.clock(Some(0), Some((64, 1)), ALL);
    p.clock(None, Some((64, 2)), 1);
    // A write has crossed with its data, whatever part of the line it has; a read with its answer.
    assert_eq!(p.lines(), [0, 2]);
    while p.clock(None, None, 0).0.is_none() {}
    assert_eq!(p.lines(), [1, 2]);
    p.clock(None, None, 0);
    assert_eq!(p.lines(), [1, 2]);
}

#[test]
fn one_answer_a_clock_in_order() {
    let (latency, jitter, lines) = (20, 15, 64);
    let mut p = Probe::new(latency, jitter, 11);
    for n in 0..lines {
        p.clock(None, Some((64 * n, n as u8 + 1)), ALL);
    }
    for _ in 0..100 {
        p.clock(None, None, 0);
    }
    let mut seen = Vec::new();
    let start = p.now;
    for n in 0.. {
        let read = (n < lines).then_some(64 * n);
        seen.extend(p.clock(read, None, 0).0);
        if seen.len() == lines as usize {
            break;
        }
    }
    assert_eq!(seen, (1..=lines as u8).collect::<Vec<_>>());
    let clocks = p.now - start;
    assert!(clocks <= lines + u64::from(latency + jitter) + 1, "took {clocks} clocks");
}
