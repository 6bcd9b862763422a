//! A cache in front of a server, as it is seen from outside: clients' commands pass it, some GETs it answers itself.
//!
//! Messages to the server and back are unordered, late; one that stays on its way is lost. Each key's values are numbered by the order in
//! which the server had them, so "older" is a comparison. A GET that arrives is answered at once or passes; so whether it
//! would get something old is a question to each state, and no event.

use stateright::{Model, Property};

pub const KEYS: usize = 2;
/// No deadline.
const NEVER: u8 = u8::MAX;

/// What a command changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Names {
    /// One key.
    Key(u8),
    /// Both keys at once.
    Both,
    /// It names none: a flush.
    None,
}

impl Names {
    fn keys(self) -> impl Iterator<Item = usize> {
        (0..KEYS).filter(move |&k| self == Self::Key(k as u8) || !matches!(self, Self::Key(_)))
    }
}

/// The rules; a test leaves one out, and must find what that breaks.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// 1: a write that leaves raises the version ...
    pub raises_on_leaving: bool,
    /// ... and opens ...
    pub opens: bool,
    /// ... and the entry is out before it closes.
    pub takes_out: bool,
    /// 2: no ticket while a write is open.
    pub no_ticket_while_open: bool,
    /// 3: a fill needs a ticket, and that its version is the present one ...
    pub fill_of_this_version: bool,
    /// ... and that none is open.
    pub no_fill_while_open: bool,
    /// ... and is done before the next write takes the entry out.
    pub fills_in_order: bool,
    /// 4: the version rises when the write is answered.
    pub raises_on_answer: bool,
    /// 5: entries are served only while none is open.
    pub none_served_while_open: bool,
    /// A command on several keys does so for each.
    pub for_each: bool,
    /// What names no keys does so for all.
    pub for_all: bool,
    /// Old fills are refused.
    pub age: bool,
    /// A full count makes writers wait.
    pub full_waits: bool,
    /// A write whose connection broke stays open as long as it may still be applied.
    pub quarantine: bool,
    /// An entry is served only before its deadline ...
    pub deadline: bool,
    /// ... which is counted from when its GET left.
    pub less_round_trip: bool,
}

pub const ALL: Rules = Rules {
    raises_on_leaving: true,
    opens: true,
    takes_out: true,
    no_ticket_while_open: true,
    fill_of_this_version: true,
    no_fill_while_open: true,
    fills_in_order: true,
    raises_on_answer: true,
    none_served_while_open: true,
    for_each: true,
    for_all: true,
    age: true,
    full_waits: true,
    quarantine: true,
    deadline: true,
    less_round_trip: true,
};

/// A version and its open writes: one for some keys, one for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Guard {
    version: u8,
    open: u8,
}

/// A value, by its number, and until when it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Value {
    number: u8,
    until: u8,
}

/// An entry: what it is, and until when it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Entry {
    value: Value,
    until: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Write {
    names: Names,
    timed: bool,
    /// What the keys' values are by it, when the server has applied it.
    applied: Option<[u8; KEYS]>,
    /// Its client was told.
    told: bool,
    /// These entries are not out yet.
    inside: [bool; KEYS],
    /// Its connection broke: nobody will be told.
    broken: bool,
    /// The guards know it no more, though the server may still get it: without quarantine.
    forgotten: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Get {
    key: u8,
    ticket: Option<u8>,
    left: u8,
    /// What the server says, and how long it may still be said.
    answer: Option<(Value, u8)>,
    /// Its client has it.
    told: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    guards: [Guard; KEYS],
    all: Guard,
    entries: [Option<Entry>; KEYS],
    server: [Value; KEYS],
    /// The newest that a client was shown.
    shown: [u8; KEYS],
    /// Those on their way, sorted: their order is none.
    writes: Vec<Write>,
    gets: Vec<Get>,
    /// Fills that were granted and are not done, sorted.
    granted: Vec<(usize, Entry)>,
    left: u8,
    now: u8,
    /// Versions that changed since the clock's last tick.
    changes: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Tick,
    WriteLeaves(Names, bool),
    WriteApplied(usize),
    WriteTold(usize),
    TakenOut(usize, usize),
    WriteCloses(usize),
    Breaks(usize),
    GetLeaves(usize),
    GetAnswered(usize),
    GetTold(usize),
    Fills(usize),
    IsFilled(usize),
}

/// How large the world is.
#[derive(Clone, Copy, Debug)]
pub struct World {
    pub rules: Rules,
    /// Both keys have one guard.
    pub share: bool,
    /// Versions are counted modulo this.
    pub modulus: u8,
    /// Open writes that a guard can count.
    pub full: u8,
    /// Writes in all, and what they name.
    pub writes: u8,
    pub names: &'static [Names],
    /// GETs on their way at once, and of which keys.
    pub gets: usize,
    pub asked: &'static [usize],
    /// Connections break.
    pub breaks: bool,
    /// The clock's ticks in all.
    pub ticks: u8,
    /// Versions change at most so often between two ticks.
    pub changes: u8,
    /// Fills are refused that left more ticks ago.
    pub age: u8,
    /// A value may have a deadline, so many ticks after it was written; 0: none has.
    pub lives: u8,
}

impl World {
    fn guard(&self, key: usize) -> usize {
        if self.share {
            0
        } else {
            key
        }
    }

    fn raise(&self, guard: &mut Guard, changes: &mut u8) {
        guard.version = (guard.version + 1) % self.modulus;
        *changes += 1;
    }

    /// A guard's writes open by one. None: the count is full.
    fn open(&self, guard: &mut Guard, changes: &mut u8) -> Option<()> {
        if self.rules.raises_on_leaving {
            self.raise(guard, changes);
        }
        if self.rules.opens {
            if guard.open < self.full {
                guard.open += 1;
            } else if self.rules.full_waits {
                return None;
            }
        }
        Some(())
    }

    fn close(&self, guard: &mut Guard, changes: &mut u8) {
        if self.rules.raises_on_answer {
            self.raise(guard, changes);
        }
        guard.open = guard.open.saturating_sub(1);
    }

    /// The keys whose guards a command moves.
    fn guarded(&self, names: Names) -> impl Iterator<Item = usize> {
        let each = self.rules.for_each;
        names.keys().take(if names == Names::Both && !each { 1 } else { KEYS })
    }

    fn none_open(&self, state: &State, key: usize) -> bool {
        state.guards[self.guard(key)].open == 0 && state.all.open == 0
    }

    /// The version of a key: the sum of its own and that of all keys. Both only rise, so it is the same only if both are.
    fn version(&self, state: &State, key: usize) -> u8 {
        (state.guards[self.guard(key)].version + state.all.version) % self.modulus
    }

    /// What a GET that arrives now would get from the cache.
    fn served(&self, state: &State, key: usize) -> Option<Value> {
        let entry = state.entries[key]?;
        let open = self.rules.none_served_while_open && !self.none_open(state, key);
        let over = self.rules.deadline && state.now >= entry.until;
        (!open && !over).then_some(entry.value)
    }

    fn leave(&self, state: &mut State, names: Names, timed: bool) -> Option<()> {
        let mut inside = [false; KEYS];
        if names == Names::None {
            if self.rules.for_all {
                self.open(&mut state.all, &mut state.changes)?;
                inside = [true; KEYS];
            }
        } else {
            for key in self.guarded(names) {
                self.open(&mut state.guards[self.guard(key)], &mut state.changes)?;
                inside[key] = true;
            }
        }
        if !self.rules.takes_out {
            inside = [false; KEYS];
        }
        state.left -= 1;
        state.writes.push(Write {
            names,
            timed,
            applied: None,
            told: false,
            inside,
            broken: false,
            forgotten: false,
        });
        Some(())
    }

    fn close_all_of(&self, state: &mut State, names: Names) {
        if names != Names::None {
            for key in self.guarded(names) {
                self.close(&mut state.guards[self.guard(key)], &mut state.changes);
            }
        } else if self.rules.for_all {
            self.close(&mut state.all, &mut state.changes);
        }
    }

    fn filled(&self, state: &mut State, n: usize) {
        let (key, entry) = state.granted.remove(n);
        state.entries[key] = Some(entry);
    }

    fn fill(&self, state: &mut State, get: &Get) {
        let key = usize::from(get.key);
        let Some((value, remaining)) = get.answer else { return };
        let Some(ticket) = get.ticket else { return };
        let rules = &self.rules;
        let old = rules.age && state.now - get.left > self.age;
        let other = rules.fill_of_this_version && ticket != self.version(state, key);
        let open = rules.no_fill_while_open && !self.none_open(state, key);
        let from = if rules.less_round_trip { get.left } else { state.now };
        if !(old || other || open) {
            let until = if remaining == NEVER { NEVER } else { from + remaining };
            state.granted.push((key, Entry { value, until }));
            if rules.fills_in_order {
                self.filled(state, 0);
            }
        }
    }
}

fn show(state: &mut State, key: usize, number: u8) {
    state.shown[key] = state.shown[key].max(number);
}

impl Model for World {
    type State = State;
    type Action = Event;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            guards: Default::default(),
            all: Guard::default(),
            entries: Default::default(),
            server: [Value { number: 0, until: NEVER }; KEYS],
            shown: [0; KEYS],
            writes: vec![],
            gets: vec![],
            granted: vec![],
            left: self.writes,
            now: 0,
            changes: 0,
        }]
    }

    fn actions(&self, state: &State, events: &mut Vec<Event>) {
        if state.now < self.ticks {
            events.push(Event::Tick);
        }
        if state.left > 0 {
            for &names in self.names {
                events.push(Event::WriteLeaves(names, false));
                if self.lives > 0 {
                    events.push(Event::WriteLeaves(names, true));
                }
            }
        }
        for (n, write) in state.writes.iter().enumerate() {
            if write.applied.is_none() {
                events.push(Event::WriteApplied(n));
            } else if !write.told && !write.broken {
                events.push(Event::WriteTold(n));
            }
            events.extend(
                (0..KEYS).filter(|&key| write.inside[key]).map(|key| Event::TakenOut(n, key)),
            );
            let out = write.inside == [false; KEYS];
            // The quarantine's end: what was not applied never will be.
            if out && (write.applied.is_some() || write.broken) {
                events.push(Event::WriteCloses(n));
            }
            if self.breaks && !write.broken && !write.told && (out || self.rules.quarantine) {
                events.push(Event::Breaks(n));
            }
        }
        if state.gets.len() < self.gets {
            events.extend(self.asked.iter().map(|&key| Event::GetLeaves(key)));
        }
        events.extend((0..state.granted.len()).map(Event::IsFilled));
        for (n, get) in state.gets.iter().enumerate() {
            if get.answer.is_none() {
                events.push(Event::GetAnswered(n));
            } else {
                events.push(Event::Fills(n));
                if !get.told {
                    events.push(Event::GetTold(n));
                }
            }
        }
    }

    fn next_state(&self, last: &State, event: Event) -> Option<State> {
        let mut state = last.clone();
        match event {
            Event::Tick => {
                state.now += 1;
                state.changes = 0;
                for value in &mut state.server {
                    if value.until <= state.now {
                        *value = Value { number: value.number + 1, until: NEVER };
                    }
                }
            }
            Event::WriteLeaves(names, timed) => self.leave(&mut state, names, timed)?,
            Event::WriteApplied(n) => {
                let write = &mut state.writes[n];
                let until = if write.timed { state.now + self.lives } else { NEVER };
                for key in write.names.keys() {
                    state.server[key] = Value { number: state.server[key].number + 1, until };
                }
                write.applied = Some(state.server.map(|value| value.number));
                if write.forgotten {
                    state.writes.remove(n);
                }
            }
            Event::WriteTold(n) => {
                state.writes[n].told = true;
                let (names, numbers) = (state.writes[n].names, state.writes[n].applied?);
                names.keys().for_each(|key| show(&mut state, key, numbers[key]));
            }
            Event::TakenOut(n, key) => {
                state.writes[n].inside[key] = false;
                state.entries[key] = None;
            }
            Event::WriteCloses(n) => {
                let write = state.writes.remove(n);
                if !write.forgotten {
                    self.close_all_of(&mut state, write.names);
                }
                // Its client may be told at once.
                if let (Some(numbers), false) = (write.applied, write.broken) {
                    write.names.keys().for_each(|key| show(&mut state, key, numbers[key]));
                }
            }
            Event::Breaks(n) => {
                state.writes[n].broken = true;
                if !self.rules.quarantine {
                    state.writes[n].forgotten = true;
                    let names = state.writes[n].names;
                    self.close_all_of(&mut state, names);
                }
            }
            Event::GetLeaves(key) => {
                let none = self.rules.no_ticket_while_open && !self.none_open(&state, key);
                let ticket = (!none).then(|| self.version(&state, key));
                state.gets.push(Get {
                    key: key as u8,
                    ticket,
                    left: state.now,
                    answer: None,
                    told: false,
                });
            }
            Event::GetAnswered(n) => {
                let value = state.server[usize::from(state.gets[n].key)];
                let remaining = if value.until == NEVER { NEVER } else { value.until - state.now };
                state.gets[n].answer = Some((value, remaining));
            }
            Event::GetTold(n) => {
                state.gets[n].told = true;
                let (key, answer) = (state.gets[n].key, state.gets[n].answer?);
                show(&mut state, usize::from(key), answer.0.number);
            }
            Event::IsFilled(n) => self.filled(&mut state, n),
            Event::Fills(n) => {
                // Its client may have it at once, or another one that hits the entry.
                let get = state.gets.remove(n);
                show(&mut state, usize::from(get.key), get.answer?.0.number);
                self.fill(&mut state, &get);
            }
        }
        state.granted.sort_unstable();
        if self.changes > 0 && state.changes > self.changes {
            return None;
        }
        if self.changes == 0 {
            state.changes = 0;
        }
        state.writes.sort_unstable();
        state.gets.sort_unstable();
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        fn old(world: &World, state: &State) -> bool {
            (0..KEYS).any(|key| {
                world.served(state, key).is_some_and(|value| {
                    value.number < state.shown[key] || state.now >= value.until
                })
            })
        }
        vec![
            Property::always("nothing old is served", |world, state| !old(world, state)),
            // Else nothing would be shown by that.
            Property::sometimes("what was written is served", |world: &World, state: &State| {
                world
                    .asked
                    .iter()
                    .all(|&key| world.served(state, key).is_some_and(|value| value.number > 0))
            }),
        ]
    }
}
