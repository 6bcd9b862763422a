//! The mover against a card in software: frames, errors and what mends them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use wirekv_card::{Card, Port};
use wirekv_link::registers::{of, slots, CHANNELS, INDICES, MAX_FRAME, SLOT};
use wirekv_link::stand_in::{Failing, Model, StandIn};
use wirekv_link::{Block, Config, Device, Index, Link, LinkError, RingCard};

const PORTS: [Port; CHANNELS] = [Port::Wire, Port::Host, Port::Exception];
/// A second is what a card has that does not answer.
const SECOND: Duration = Duration::from_secs(1);

fn quick() -> Config {
    let ms = Duration::from_millis;
    Config { patience: ms(40), probe: ms(5), ..Config::default() }
}

fn open(config: Config) -> Link<StandIn> {
    Link::open(StandIn::new(Model::default()), config).unwrap()
}

/// Lets the card work, and looks.
fn turn(link: &mut Link<StandIn>) -> Result<(), LinkError> {
    link.flush();
    link.device().advance(1);
    link.poll()
}

/// Turns until there is an error, for a second at most.
fn error_of(link: &mut Link<StandIn>) -> LinkError {
    let began = Instant::now();
    loop {
        if let Err(error) = turn(link) {
            assert!(began.elapsed() < SECOND);
            return error;
        }
        assert!(began.elapsed() < SECOND, "no error");
    }
}

fn frame(rng: &mut SmallRng) -> Vec<u8> {
    let length = match rng.random_range(0..4) {
        0 => rng.random_range(1..130),
        1 => 64 * rng.random_range(1..20) - rng.random_range(3..6),
        2 => rng.random_range(1..1600),
        _ => rng.random_range(MAX_FRAME - 100..=MAX_FRAME),
    };
    let mut frame = vec![0; length];
    rng.fill(&mut frame[..]);
    frame
}

/// Sends frames on all channels, and takes them back.
fn echo(link: &mut Link<StandIn>, rng: &mut SmallRng, count: usize, longest: usize) {
    let mut sent: [VecDeque<Vec<u8>>; CHANNELS] = Default::default();
    let mut left = [count; CHANNELS];
    while left != [0; CHANNELS] || sent.iter().any(|s| !s.is_empty()) {
        for port in PORTS {
            let c = port as usize;
            for _ in 0..rng.random_range(0..5) {
                let mut frame = frame(rng);
                frame.truncate(longest);
                if left[c] > 0 && link.send(port, &frame) {
                    left[c] -= 1;
                    sent[c].push_back(frame);
                }
            }
        }
        turn(link).unwrap();
        for port in PORTS {
            if rng.random_bool(0.7) {
                link.receive(port, |frame| {
                    assert_eq!(sent[port as usize].pop_front().unwrap(), frame);
                })
                .unwrap();
            }
        }
    }
}

#[test]
fn frames_of_all_sizes_come_back_and_indices_wrap() {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut link = open(Config::default());
    echo(&mut link, &mut rng, 4000, MAX_FRAME);
    for port in PORTS {
        assert_eq!(link.events(port).unwrap(), [4000, 4000, 0, 0]);
    }
    link.stop().unwrap();
}

#[test]
fn small_rings_are_full_or_empty_most_of_the_time() {
    let mut rng = SmallRng::seed_from_u64(2);
    let mut link = open(Config { bits: [(3, 3), (4, 3), (3, 5)], ..Config::default() });
    echo(&mut link, &mut rng, 3000, 8 * SLOT - 4);
    assert!(!link.send(Port::Wire, &[0; 8 * SLOT - 3]), "nine slots into a ring of eight");
}

#[test]
fn a_card_that_is_none_is_an_error() {
    let open = |failing, identity| {
        let mut model = Model::default();
        (model.failing, model.identity) = (failing, identity);
        Link::open(StandIn::new(model), quick()).map(|_| ()).unwrap_err()
    };
    let right = Model::default().identity;
    let gone = Failing { gone: true, ..Failing::default() };
    assert_eq!(open(gone, right), LinkError::Gone { register: 0 });
    let error = open(Failing::default(), [7, right[1]]);
    assert_eq!(error, LinkError::WrongId { id: 7 });
    assert!(error.to_string().contains("0x00000007"), "{error}");
    let error = open(Failing::default(), [right[0], 0x0600_2004]);
    assert!(matches!(error, LinkError::WrongCaps { channels: 4, longest: 0x600, .. }), "{error}");
    let error = open(Failing { starts_not: true, ..Failing::default() }, right);
    assert!(matches!(error, LinkError::NoStart { channel: 0, .. }), "{error}");
}

#[test]
fn rings_that_do_not_fit_are_an_error() {
    let open = |bits| {
        let config = Config { bits, ..quick() };
        Link::open(StandIn::new(Model::default()), config).map(|_| ()).unwrap_err()
    };
    assert_eq!(open([(16, 3), (3, 3), (3, 3)]), LinkError::RingSize { bits: 16 });
    assert_eq!(open([(3, 3), (3, 2), (3, 3)]), LinkError::RingSize { bits: 2 });
    let error = open([(15, 3), (3, 3), (3, 3)]);
    assert!(matches!(error, LinkError::TooLarge { .. }), "{error}");
}

#[test]
fn a_card_that_goes_is_missed_within_a_second() {
    let mut link = open(Config::default());
    link.device().model.failing.gone = true;
    let error = error_of(&mut link);
    assert!(matches!(error, LinkError::Gone { .. }), "{error}");
}

#[test]
fn a_card_that_takes_nothing_is_missed_within_a_second() {
    let mut link = open(Config::default());
    link.device().model.failing.stands = true;
    link.send(Port::Host, b"a frame");
    let error = error_of(&mut link);
    assert!(matches!(error, LinkError::Stands { channel: 1, slots: 1, at: 0, .. }), "{error}");
}

#[test]
fn a_card_whose_lines_do_not_come_is_told_from_one_that_stands() {
    let mut link = open(quick());
    link.device().model.failing.mute = true;
    link.send(Port::Wire, b"a frame");
    let error = error_of(&mut link);
    assert_eq!(error, LinkError::NotTold { channel: 0, register: 0x1_0001, line: 0 });
}

#[test]
fn a_card_that_does_not_stop_keeps_its_memory() {
    let mut link = open(quick());
    link.device().model.failing.stops_not = true;
    let error = link.stop().unwrap_err();
    assert!(matches!(error, LinkError::NoStop { channel: 0, .. }), "{error}");
    let memory = link.device_ref().memory().as_ptr();
    drop(link);
    // SAFETY: it was kept, which is what is looked at: else this faults.
    assert_eq!(unsafe { memory.read_volatile() }, unsafe { memory.read_volatile() });
}

#[test]
fn a_card_that_others_have_reset_is_an_error() {
    let mut link = open(quick());
    link.device().model.reset();
    let error = error_of(&mut link);
    assert_eq!(error, LinkError::Stopped { channel: 0, state: 0 });
}

#[test]
fn what_the_host_writes_wrong_stops_the_channel_with_its_place() {
    let mut link = open(quick());
    for (preamble, doorbell, fault, words) in [
        (0, 1, 1, "a frame of 0 bytes"),
        (16_383, 1, 1, "a frame of 0 bytes, or of more than 9212"),
        (9_213, 400, 1, "more than 9212"),
        (60 | 1 << 14, 1, 2, "reserved bits"),
        (60 | 1 << 31, 1, 2, "reserved bits"),
        (61, 1, 4, "ends beyond the producer"),
        (60, 1025, 32, "goes back, or beyond the ring"),
    ] {
        let word = link.device().model.read(Block::Link, of(1, 0));
        let offset = u64::from(word) - link.device().memory().physical() % (1 << 32);
        link.device().memory().store(offset as usize, preamble);
        link.device().write(Block::Link, of(1, 0x14), doorbell);
        let error = error_of(&mut link);
        assert_eq!(error, LinkError::Fault { channel: 1, fault, place: 0 }, "{words}");
        assert!(error.to_string().contains(words), "{error}");
        link.restart(Port::Host).unwrap();
    }
    link.device().write(Block::Link, of(2, 0x18), 1);
    assert!(error_of(&mut link).to_string().contains("doorbell of the ring up"));
}

/// Writes into the ring up as a card could, with the line that tells of it.
fn forge(link: &mut Link<StandIn>, c: usize, preamble: u32, indices: u32) -> LinkError {
    let memory = |link: &mut Link<StandIn>, register| {
        let word = link.device().model.read(Block::Link, register);
        u64::from(word) as usize - link.device().memory().physical() as u32 as usize
    };
    let (up, status) = (memory(link, of(c, 8)), memory(link, 0x18));
    link.device().memory().store(up, preamble);
    link.device().memory().store(status + SLOT * c, indices);
    let result = link.poll().and_then(|()| link.receive(PORTS[c], |_| panic!("a frame")).map(drop));
    let error = result.unwrap_err();
    assert_eq!(link.broken(PORTS[c]), Some(&error));
    link.poll().unwrap();
    link.restart(PORTS[c]).unwrap();
    error
}

#[test]
fn what_the_card_writes_wrong_is_an_error_with_its_place() {
    let mut link = open(quick());
    let (channel, slot) = (1, 0);
    let length = |bytes| LinkError::FrameLength { channel, slot, bytes };
    assert_eq!(forge(&mut link, 1, 0, 1), length(0));
    assert_eq!(forge(&mut link, 1, 16_383, 1000), length(16_383));
    assert_eq!(forge(&mut link, 1, 9_213, 1000), length(9_213));
    for preamble in [1 << 14 | 60, 1 << 31 | 60, !0] {
        let error = forge(&mut link, 1, preamble, 1);
        assert_eq!(error, LinkError::Reserved { channel, slot, preamble });
    }
    let torn = LinkError::Torn { channel, slot, bytes: 61, told: 1 };
    assert_eq!(forge(&mut link, 1, 61, 1), torn);
    let beyond = |index, is, most| LinkError::IndexBeyond { channel, index, was: 0, is, most };
    assert_eq!(forge(&mut link, 1, 60, 1025), beyond(Index::Up, 1025, 1024));
    assert_eq!(forge(&mut link, 1, 60, 1 << 16), beyond(Index::Down, 1, 0));
    let back = |index| LinkError::IndexBack { channel, index, was: 0, is: 0xFFFF };
    assert_eq!(forge(&mut link, 1, 60, 0xFFFF), back(Index::Up));
    assert_eq!(forge(&mut link, 1, 60, 0xFFFF_0000), back(Index::Down));
    // The link is as good as new.
    echo(&mut link, &mut SmallRng::seed_from_u64(3), 100, MAX_FRAME);
}

/// Whatever stands in memory, the mover gives frames of a length that there is, or an error, and goes on after a restart.
#[test]
fn whatever_the_card_writes_the_mover_stands() {
    let mut rng = SmallRng::seed_from_u64(4);
    let mut link = open(Config { bits: [(3, 4), (5, 6), (10, 12)], ..quick() });
    let (mut frames, mut errors) = (0, [0; 6]);
    for _ in 0..20_000 {
        let memory = link.device_ref().memory();
        let status = link.device_ref().model.read(Block::Link, 0x18) as usize
            - memory.physical() as u32 as usize;
        let end = status + 256;
        for _ in 0..rng.random_range(0..40) {
            // Lengths and indices that are nearly right get farther than others.
            let value = match rng.random_range(0..5) {
                0 => rng.random(),
                1 => rng.random_range(0..600),
                2 => MAX_FRAME as u32 + rng.random_range(0..2),
                3 => 1 << rng.random_range(0..32),
                _ => rng.random::<u32>() & 0x003F_003F,
            };
            let slot = match rng.random_bool(0.3) {
                true => status + SLOT * rng.random_range(0..4) + 4 * rng.random_range(0..3),
                false => SLOT * rng.random_range(0..end / SLOT),
            };
            link.device().memory().store(slot, value);
        }
        let mut failed = link.poll().err();
        for port in PORTS {
            if rng.random_bool(0.5) {
                let small = vec![7; rng.random_range(1..200)];
                link.send(port, &small);
            }
            let result = link.receive(port, |frame| {
                assert!((1..=MAX_FRAME).contains(&frame.len()));
                frames += 1;
            });
            failed = failed.or(result.err());
        }
        link.flush();
        if rng.random_bool(0.3) {
            link.device().advance(1);
        }
        if let Some(error) = failed {
            let kind = match error {
                LinkError::Fault { .. } => 0,
                LinkError::IndexBack { .. } | LinkError::IndexBeyond { .. } => 1,
                LinkError::FrameLength { .. } => 2,
                LinkError::Reserved { .. } => 3,
                LinkError::Torn { .. } => 4,
                _ => 5,
            };
            errors[kind] += 1;
        }
        for port in PORTS {
            if link.broken(port).is_some() && rng.random_bool(0.5) {
                link.restart(port).unwrap();
            }
        }
    }
    assert!(frames > 100 && errors[..5].iter().all(|n| *n > 10), "{frames} frames, {errors:?}");
    for port in PORTS {
        link.restart(port).unwrap();
    }
    // What was in rings while others wrote there comes, whatever it is now.
    turn(&mut link).unwrap();
    for port in PORTS {
        link.receive(port, |_| {}).unwrap();
    }
    link.stop().unwrap();
}

#[test]
fn a_restart_brings_what_the_card_had_not_taken() {
    let mut link = open(quick());
    link.device().model.failing.stands = true;
    for n in 1..=100 {
        assert!(link.send(Port::Wire, &vec![n as u8; 40 * n]));
    }
    turn(&mut link).unwrap();
    link.restart(Port::Wire).unwrap();
    link.device().model.failing.stands = false;
    let mut got = Vec::new();
    for _ in 0..10 {
        turn(&mut link).unwrap();
        link.receive(Port::Wire, |frame| got.push(frame.to_vec())).unwrap();
    }
    assert_eq!(got, (1..=100).map(|n| vec![n as u8; 40 * n]).collect::<Vec<_>>());
}

#[test]
fn a_function_level_reset_begins_anew() {
    let mut rng = SmallRng::seed_from_u64(5);
    let mut link = open(quick());
    echo(&mut link, &mut rng, 50, MAX_FRAME);
    link.send(Port::Wire, b"lost");
    turn(&mut link).unwrap();
    link.reset().unwrap();
    assert!(link.is_empty());
    echo(&mut link, &mut rng, 50, MAX_FRAME);
    link.device().model.failing.resets_not = true;
    let error = link.reset().unwrap_err();
    assert_eq!(error.to_string(), "function-level reset: this card has none");
}

#[test]
fn a_second_program_stops_what_the_first_has_left_running() {
    let mut link = open(quick());
    link.send(Port::Wire, b"of the first");
    turn(&mut link).unwrap();
    let model = std::mem::take(&mut link.device().model);
    assert_eq!(model.read(Block::Link, of(0, INDICES)), 0x1_0001);
    let mut second = Link::open(StandIn::new(model), quick()).unwrap();
    turn(&mut second).unwrap();
    assert_eq!(second.receive(Port::Wire, |_| {}).unwrap(), 0);
}

#[test]
fn a_card_mends_its_wire_and_ends_with_its_punt_queue() {
    let mut card = RingCard::open(StandIn::new(Model::default()), quick()).unwrap();
    let spoil = |card: &mut RingCard<StandIn>, c| {
        card.link().device().write(Block::Link, of(c, 0x18), 9);
        card.advance(1);
        card.advance(1);
    };
    for n in 1..=3 {
        spoil(&mut card, 0);
        assert_eq!(card.restarted, n);
    }
    card.check().unwrap();
    card.send(Port::Wire, b"a frame");
    let mut got = 0;
    (0..3).for_each(|_| {
        card.advance(1);
        card.receive(Port::Wire, &mut |_| got += 1);
    });
    assert_eq!((got, card.backlog(Port::Wire)), (1, 0));
    spoil(&mut card, 2);
    let error = card.check().unwrap_err().to_string();
    assert!(error.starts_with("channel 2 has stopped"), "{error}");
}

#[test]
fn a_card_whose_channel_keeps_failing_ends() {
    let mut card = RingCard::open(StandIn::new(Model::default()), quick()).unwrap();
    for _ in 0..20 {
        card.link().device().write(Block::Link, of(0, 0x18), 9);
        card.advance(1);
    }
    let error = card.check().unwrap_err().to_string();
    assert!(error.starts_with("channel 0 was restarted 9 times within 60s"), "{error}");
}

#[test]
fn frames_that_find_no_room_wait_in_order() {
    let config = Config { bits: [(3, 4), (3, 3), (3, 3)], ..quick() };
    let mut card = RingCard::open(StandIn::new(Model::default()), config).unwrap();
    let sent: Vec<Vec<u8>> = (1..400).map(|n| vec![n as u8; n]).collect();
    for frame in &sent {
        card.send(Port::Wire, frame);
    }
    assert!(card.backlog(Port::Wire) >= sent.iter().map(Vec::len).sum());
    let mut got = Vec::new();
    for _ in 0..1000 {
        card.advance(1);
        card.receive(Port::Wire, &mut |frame| got.push(frame.to_vec()));
    }
    assert!(got == sent && card.backlog(Port::Wire) == 0);
    assert_eq!(slots(60), 1);
}
