//! The card's link in gates, and the mover.

use std::time::Duration;

use wirekv_card::{csr, Card, Port};
use wirekv_link::registers::{of, DOWN_BASE, DOWN_PRODUCER, SLOT};
use wirekv_link::{Link, LinkError, RingCard};

use super::*;

fn host(words: (u32, u32, bool, u32)) -> HostMemory {
    let (latency, jitter, shuffle, refuse) = words;
    HostMemory { latency, jitter, shuffle, refuse }
}

/// Nothing depends on what else the machine has to do.
fn config() -> LinkConfig {
    let minute = Duration::from_secs(60);
    LinkConfig { patience: minute, probe: minute, ..LinkConfig::default() }
}

fn sim(host: &HostMemory) -> RingSim {
    RingSim::new(&Config::default(), host, &config()).unwrap()
}

fn link(host: &HostMemory) -> Link<RingSim> {
    Link::open(sim(host), config()).unwrap()
}

/// Until the clock stops.
fn settle(link: &mut Link<RingSim>) -> Result<(), LinkError> {
    link.flush();
    for _ in 0..100 {
        if link.device().run(10_000, true, false) < 10_000 {
            return link.poll();
        }
    }
    panic!("the clock does not stop");
}

#[test]
fn it_comes_up_takes_frames_and_stops_its_clock() {
    for words in [(1, 0, false, 0), (250, 0, false, 0), (60, 100, true, 0)] {
        let mut link = link(&host(words));
        assert_eq!(link.device().read(Block::Card, csr::ID), csr::ID_VALUE);
        for n in 1..=300 {
            // No card answers these: it is not enabled.
            assert!(link.send(Port::Wire, &vec![n as u8; n]));
        }
        settle(&mut link).unwrap();
        assert!(link.is_empty() && link.device().idle());
        assert_eq!(link.events(Port::Wire).unwrap(), [300, 0, 0, 0]);
        settle(&mut link).unwrap();
        link.stop().unwrap();
        assert!(link.device().failure().is_none());
    }
}

/// Each thing that the host can write wrong, in gates.
#[test]
fn what_the_host_writes_wrong_stops_the_channel_with_its_place() {
    let mut link = link(&host((30, 30, true, 0)));
    let (places, _) = LinkConfig::default().places();
    for (preamble, slots, fault) in [
        (0, 1, 1),
        (16_383, 1, 1),
        (16_383, 300, 1),
        (9_213, 300, 1),
        (60 | 1 << 14, 1, 2),
        (60 | 1 << 31, 1, 2),
        (61, 1, 4),
        (9_212, 143, 4),
        (60, 1025, 32),
        (60, 0xFFFF, 32),
    ] {
        link.send(Port::Host, &[7; 100]);
        settle(&mut link).unwrap();
        link.device().memory().store(places[2].start + 2 * SLOT, preamble);
        // The host's own index stays: this is another program's doing.
        link.device().write(Block::Link, of(1, DOWN_PRODUCER), (2 + slots) & 0xFFFF);
        match settle(&mut link).unwrap_err() {
            // A frame that is too long may end beyond the producer as well.
            LinkError::Fault { channel: 1, fault: bits, place } if bits & fault != 0 => {
                assert!(fault == 32 || place == 2, "{place}");
            }
            other => panic!("{preamble:x}: {other}"),
        }
        link.restart(Port::Host).unwrap();
    }
    assert_eq!(link.events(Port::Wire).unwrap()[3], 0);
    assert_eq!(link.events(Port::Host).unwrap()[3], 10);
}

#[test]
fn a_function_level_reset_begins_anew() {
    let mut link = link(&host((40, 0, false, 0)));
    for _ in 0..50 {
        link.send(Port::Wire, &[7; 1514]);
    }
    link.flush();
    link.device().run(60, true, false);
    link.reset().unwrap();
    link.send(Port::Wire, &[7; 1514]);
    settle(&mut link).unwrap();
    assert!(link.is_empty());
}

#[test]
fn memory_that_is_not_the_cards_is_an_error_with_the_address() {
    let mut link = link(&host((10, 0, false, 0)));
    link.device().write(Block::Link, of(1, DOWN_BASE), 0x1234_0000);
    link.send(Port::Host, b"a frame");
    let error = settle(&mut link).unwrap_err();
    assert!(matches!(error, LinkError::Fault { channel: 1, fault: 8, place: 0 }), "{error}");
    let failure = link.device().failure().unwrap();
    assert!(failure.contains("read of 64 bytes at 0x4912340000"), "{failure}");
}

#[test]
fn memory_that_refuses_is_mended() {
    let host = host((20, 20, true, 17));
    let mut card = RingCard::open(sim(&host), config()).unwrap();
    for _ in 0..60 {
        card.send(Port::Wire, &[7; 60]);
        (0..10).for_each(|_| card.advance(100));
    }
    card.check().unwrap();
    assert!(card.restarted > 0 && card.idle());
}
