//! The rules of `docs/rtl/ASIDE.md` in all orders of events, in small worlds: with them nothing old is served, and without
//! one of them something is. `WIREKV_LONG=1` for larger worlds.

mod model;

use model::{Names, Rules, World, ALL};
use stateright::{Checker, Model};

const EVERY: &[Names] = &[Names::Key(0), Names::Key(1), Names::Both, Names::None];

/// No deadlines, nothing breaks, versions do not come around.
const PLAIN: World = World {
    rules: ALL,
    share: false,
    modulus: 64,
    full: 6,
    writes: 2,
    names: EVERY,
    gets: 2,
    asked: &[0, 1],
    breaks: false,
    ticks: 0,
    changes: 0,
    age: 0,
    lives: 0,
};
const BREAKS: World = World { breaks: true, asked: &[0], ..PLAIN };
/// Versions come around with two writes, but not in the time in which a fill is taken.
const WRAPS: World = World {
    modulus: 4,
    ticks: 5,
    changes: 1,
    age: 2,
    names: &[Names::Key(0), Names::Key(1), Names::None],
    gets: 1,
    asked: &[0],
    ..PLAIN
};
/// One more write than a guard counts.
const FULL: World = World { full: 1, names: &[Names::Key(0), Names::None], ..PLAIN };
const DEADLINES: World =
    World { ticks: 2, age: 2, lives: 1, names: &[Names::Key(0)], asked: &[0], ..PLAIN };

/// Of these four, either the first two or the last two may be left out.
const FIRST: Rules = Rules { raises_on_leaving: false, no_ticket_while_open: false, ..ALL };
const SECOND: Rules = Rules { raises_on_answer: false, no_fill_while_open: false, ..ALL };

fn long() -> bool {
    std::env::var("WIREKV_LONG").is_ok_and(|value| value == "1")
}

/// Two guards, and one for both keys.
fn holds(world: World, larger: World) {
    for share in [false, true] {
        let world = World { share, ..if long() { larger } else { world } };
        let checker = world.checker().threads(2).spawn_bfs().join();
        println!(
            "{} states, {} deep: {world:?}",
            checker.unique_state_count(),
            checker.max_depth()
        );
        checker.assert_properties();
    }
}

/// The shortest way to something old, without rules.
fn fails(world: World, rules: Rules) {
    for share in [false, true] {
        let checker = World { rules, share, ..world }.checker().threads(2).spawn_bfs().join();
        let way = checker.discovery("nothing old is served");
        println!("{} states: {rules:?}\n{way:?}", checker.unique_state_count());
        assert!(way.is_some(), "no harm without: {rules:?}");
    }
}

#[test]
fn commands_on_one_key_both_and_none() {
    holds(PLAIN, World { writes: 3, asked: &[0], ..PLAIN });
}

#[test]
fn connections_break() {
    holds(BREAKS, World { asked: &[0, 1], ..BREAKS });
}

#[test]
fn versions_come_around() {
    holds(WRAPS, World { writes: 3, ticks: 6, ..WRAPS });
}

#[test]
fn counts_are_full() {
    holds(FULL, World { writes: 3, names: EVERY, full: 2, asked: &[0], ..FULL });
}

#[test]
fn values_have_deadlines() {
    holds(DEADLINES, World { ticks: 3, lives: 2, ..DEADLINES });
}

#[test]
fn either_pair_suffices() {
    for rules in [FIRST, SECOND] {
        holds(World { rules, asked: &[0], ..PLAIN }, World { rules, ..PLAIN });
        holds(World { rules, ..WRAPS }, World { rules, writes: 3, ..WRAPS });
    }
}

#[test]
fn each_rule_is_needed() {
    let small = World { asked: &[0], ..PLAIN };
    fails(small, Rules { opens: false, ..ALL });
    fails(small, Rules { takes_out: false, ..ALL });
    fails(small, Rules { fill_of_this_version: false, ..ALL });
    fails(small, Rules { fills_in_order: false, ..ALL });
    fails(small, Rules { none_served_while_open: false, ..ALL });
    fails(small, Rules { for_all: false, ..ALL });
    fails(World { asked: &[1], ..PLAIN }, Rules { for_each: false, ..ALL });
    fails(WRAPS, Rules { age: false, ..ALL });
    fails(FULL, Rules { full_waits: false, ..ALL });
    fails(BREAKS, Rules { quarantine: false, ..ALL });
    fails(DEADLINES, Rules { deadline: false, ..ALL });
    fails(DEADLINES, Rules { less_round_trip: false, ..ALL });
}

#[test]
fn one_of_each_pair_is_needed() {
    let small = World { asked: &[0], ..PLAIN };
    fails(small, Rules { raises_on_leaving: false, raises_on_answer: false, ..ALL });
    fails(small, Rules { raises_on_leaving: false, no_fill_while_open: false, ..ALL });
    fails(small, Rules { no_ticket_while_open: false, raises_on_answer: false, ..ALL });
    fails(small, Rules { no_ticket_while_open: false, no_fill_while_open: false, ..ALL });
}

/// As caches do that drop an entry when a write passes, or keep one of both numbers.
#[test]
fn one_number_is_not_enough() {
    let small = World { asked: &[0], names: &[Names::Key(0)], ..PLAIN };
    let dropped = Rules {
        raises_on_leaving: false,
        raises_on_answer: false,
        fill_of_this_version: false,
        opens: false,
        ..ALL
    };
    fails(small, dropped);
    fails(
        small,
        Rules {
            raises_on_leaving: true,
            raises_on_answer: true,
            fill_of_this_version: true,
            ..dropped
        },
    );
    fails(small, Rules { opens: true, ..dropped });
}
