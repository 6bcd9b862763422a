//! Requests to a store that was written before the run.

use anyhow::{bail, Context, Result};

use crate::image::{self, Entries, Start};
use crate::keys::Keys;
use crate::load::Udp;
use crate::meter::Meter;
use crate::rig::Rig;
use crate::scenarios::{Network, Outcome, Scenario};
use crate::Args;

/// A card whose store was written before the run, its keys, and which of them are there.
fn write(scenario: &Scenario, entries: u32, args: &Args) -> Result<(Rig, Keys, Entries)> {
    let mut rig = Rig::blank(image::item_bytes(entries, &scenario.shape)?, args)?;
    let mut keys = scenario.keys(args);
    let entries = rig.image(args, Start::Valid).fill(&mut keys, entries)?;
    Ok((rig, keys, entries))
}

/// GETs over UDP of what such a store holds.
fn read(
    scenario: &Scenario,
    (mut rig, mut keys, entries): (Rig, Keys, Entries),
    args: &Args,
) -> Result<Outcome> {
    let Network::Udp { window } = scenario.network else { bail!("over UDP only") };
    let ops = scenario.ops(args);
    let mut meter = Meter::new(ops / 4, ops);
    let mut next = |keys: &mut Keys, _| {
        let key = entries.pick(keys);
        Some(keys.get(key))
    };
    let mut load = Udp::new(scenario.clients, window, 0);
    load.run(&mut rig, &mut keys, Some(&mut meter), &mut next)?;
    let figures = meter.figures().context("the run ended before it was measured")?;
    let total_clocks = rig.clock();
    Ok(Outcome { figures, full: None, entries: Some(entries), resent: 0, total_clocks })
}

pub fn run(scenario: &Scenario, entries: u32, args: &Args) -> Result<Outcome> {
    read(scenario, write(scenario, entries, args)?, args)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::scenarios::{self, TWIN};

    /// 20,000 GETs of a store written before.
    fn args(entries: u32) -> Args {
        Args::parse_from(["bench", "--ops", "400", "--entries", &entries.to_string()])
    }

    fn scenario(name: &str, args: &Args) -> Scenario {
        let all = scenarios::all(args.connections, args.entries);
        all.into_iter().find(|scenario| scenario.name == name).unwrap()
    }

    #[test]
    fn a_million_entries_are_read_at_the_rate_of_few() {
        let args = args(1_000_000);
        let all = ["udp-get-64m", "store-get-64m"];
        for name in &all[..if cfg!(feature = "store") { 2 } else { 1 }] {
            let many = scenarios::run(&scenario(name, &args), &args).unwrap();
            let few = scenarios::run(&scenario(&format!("{name}-twin"), &args), &args).unwrap();
            let hits = |outcome: &Outcome| {
                let of = |(n, count): &(_, u64)| (*n == "StoreGetHits").then_some(*count);
                outcome.figures.counters.iter().find_map(of).unwrap()
            };
            assert!(hits(&many) >= 19_000 && hits(&few) >= 19_000);
            assert_eq!(many.entries.unwrap().count(), 1_000_000);
            let (many, few) = (many.figures.rate(), few.figures.rate());
            assert!(many >= 0.9 * few, "{name}: {many:.3} op/clk, {few:.3} of the few");
        }
    }

    /// What is written wrongly is seen: a tag, the lap of an item, a key, a value.
    #[test]
    fn damage_is_seen() {
        let args = args(TWIN);
        let scenario = scenario("udp-get-64m", &args);
        read(&scenario, write(&scenario, TWIN, &args).unwrap(), &args).unwrap();
        // Bytes of every bucket's first way, and of every second item.
        for (in_log, byte) in [(false, 6), (true, 12), (true, 16), (true, 24)] {
            let mut store = write(&scenario, TWIN, &args).unwrap();
            let layout = store.0.layout;
            let memory = store.0.sim.memory(0, layout.rx_ring_base).unwrap();
            let (index, log) = memory.split_at_mut(layout.log_base as usize);
            for line in if in_log { log } else { index }.chunks_mut(64) {
                line[byte] ^= 1;
            }
            let seen = read(&scenario, store, &args);
            let error = seen.err().expect("damage that nobody sees").to_string();
            assert!(error.starts_with("wrong reply"), "{error}");
        }
    }
}
