//! Values that come in pieces.

mod common;

use common::{any_len, check, key, rng, rounds, set, sized, value};
use rand::Rng;
use wirekv_store::{Config, Stage, Store, Wanting, Whole};

const MIB: usize = 1 << 20;

fn store(item_max: usize) -> std::sync::Arc<Store> {
    Store::new(Config { item_max, ..sized(32 * MIB) }).unwrap()
}

/// All chunks that were lent are back once nothing was in them for a while.
fn assert_all_back(store: &Store) {
    store.set_now(store.now() + 20);
    assert_eq!(store.stats().chunks_lent, 0);
}

/// More of them than there is room for, a piece of each in turn, next to items that are set: those
/// that are whole are right, the others were given up, and one can always go on.
#[test]
#[cfg_attr(miri, ignore)]
fn they_arrive_or_are_given_up() {
    let mut rng = rng("they_arrive_or_are_given_up");
    let store = store(MIB);
    let mut local = store.local();
    let (mut whole, mut waited, mut version) = (0, 0, 0);
    let mut coming: Vec<(Stage, Vec<u8>, Vec<u8>)> = Vec::new();
    for _ in 0..rounds(20_000) {
        version += 1;
        if coming.len() < 12 {
            let k = key(version % 50);
            let v = value(&k, version, rng.random_range(20_000..MIB - 500));
            coming.push((local.stage(v.len()), k, v));
        }
        let small = key(version % 9999 + 100);
        set(&mut local, &small, &value(&small, version, any_len(&mut rng, 9000)), 0, 0).unwrap();
        let i = rng.random_range(0..coming.len());
        let (stage, _, v) = &mut coming[i];
        let came = stage.came();
        let piece = &v[came..v.len().min(came + rng.random_range(1..100_000))];
        match stage.make_room(&local, piece.len()) {
            Ok(()) => stage.take(piece).unwrap(),
            Err(Wanting::Later) => waited += 1,
            Err(Wanting::Never) => drop(coming.swap_remove(i)),
        }
        local.quiesce();
        let Some((stage, k, v)) =
            coming.get_mut(i).filter(|(stage, ..)| stage.came() == stage.len())
        else {
            let stats = store.stats();
            assert!(stats.chunks_lent <= stats.chunks / 8);
            continue;
        };
        if let Ok(arrived) = stage.finish() {
            let hash = local.hash(k);
            let mut room = local.reserve(k, v.len(), 0, 0).unwrap();
            arrived.copy_to(room.value());
            local.lock_for(&room).link(room, None).unwrap();
            assert!(local.get(k, hash).unwrap().value() == *v);
            whole += 1;
        }
        coming.swap_remove(i);
    }
    println!("{whole} whole, {waited} times one waited");
    assert!(whole > 100 && waited > 100);
    drop(coming);
    assert_all_back(&store);
    for n in 0..10_000 {
        if let Some(item) = local.get(&key(n), local.hash(&key(n))) {
            check(item.key(), item.value());
        }
    }
}

/// Where few items live, room for values on their way in comes from dead ones, wherever in the log the
/// live ones are.
#[test]
fn what_lives_stays() {
    const ITEMS: u64 = 5000;
    for more in 0..8 {
        let store = store(MIB);
        let mut local = store.local();
        // The last chunks of the table have been in use when these are written again, in a part.
        let times = 4 * 32 * MIB as u64 / 1000 + more * ITEMS / 2;
        for n in 0..times {
            let k = key(n % ITEMS);
            set(&mut local, &k, &value(&k, n, 1000), 0, 0).unwrap();
        }
        assert_eq!(store.stats().evictions, 0);
        let mut coming: Vec<_> = (0..40).map(|_| local.stage(MIB - 500)).collect();
        for _ in 0..1000 {
            for stage in &mut coming {
                if stage.came() < 100_000 && stage.make_room(&local, 10_000).is_ok() {
                    let _ = stage.take(&[0; 10_000]);
                }
            }
            local.quiesce();
        }
        let came: Vec<_> = coming.iter().map(Stage::came).collect();
        assert!(came.contains(&100_000), "{more}: {came:?}, {:?}", store.stats());
        assert!(store.stats().chunks_lent > 1, "{more}");
        assert_eq!(store.stats().evictions, 0, "{more}");
        for n in 0..ITEMS {
            check(&key(n), local.get(&key(n), local.hash(&key(n))).expect("it lives").value());
        }
    }
}

/// Who waits is told when to look again: it need not try in vain, and misses nothing.
#[test]
fn who_waits_looks_when_there_is_something() {
    let store = store(MIB);
    let mut local = store.local();
    let mut all: Vec<_> = (0..60).map(|_| (local.stage(MIB), false)).collect();
    let (mut finished, mut given_up, mut vain, mut asked) = (0, 0, 0, 0);
    while !all.is_empty() {
        all.retain_mut(|(stage, waits)| {
            asked += u64::from(*waits);
            if *waits && !stage.may_go_on() {
                return true;
            }
            let piece = 10_000.min(stage.len() - stage.came());
            match stage.make_room(&local, piece) {
                Ok(()) => {
                    *waits = false;
                    stage.take(&[7; 10_000][..piece]).unwrap();
                }
                Err(Wanting::Later) => {
                    vain += u64::from(*waits);
                    *waits = true;
                    return true;
                }
                Err(Wanting::Never) => {
                    given_up += 1;
                    return false;
                }
            }
            finished += usize::from(stage.came() == stage.len() && stage.finish().is_ok());
            stage.came() < stage.len()
        });
        local.quiesce();
    }
    println!("{finished} finished, {given_up} given up, asked {asked} times, {vain} in vain");
    assert!(finished > 3 && finished + given_up == 60);
    assert!(asked > 1000 && vain < 500, "asked {asked} times, looked {vain} times in vain");
}

/// Where all are stuck but one, that one comes to its end.
#[test]
fn one_can_always_go_on() {
    let store = store(MIB);
    let local = store.local();
    let mut all: Vec<_> = (0..20).map(|_| local.stage(MIB)).collect();
    let mut finished = 0;
    while !all.is_empty() {
        let mut moved = false;
        all.retain_mut(|stage| {
            match stage.make_room(&local, 10_000.min(stage.len() - stage.came())) {
                Ok(()) => {
                    stage.take(&[7; 10_000][..10_000.min(stage.len() - stage.came())]).unwrap();
                    moved = true;
                }
                Err(Wanting::Later) => return true,
                // The machine stood still for long.
                Err(Wanting::Never) => {
                    moved = true;
                    return false;
                }
            }
            finished += usize::from(stage.came() == stage.len() && stage.finish().is_ok());
            stage.came() < stage.len()
        });
        assert!(moved, "all wait for each other, {finished} finished");
    }
    println!("{finished} of 20 finished");
    assert!(finished > 0);
    assert_all_back(&store);
}

/// Who has announced much and sent nothing holds nothing; who has sent a little has some seconds.
#[test]
fn what_trickles_loses_its_room() {
    let store = store(MIB);
    let local = store.local();
    let mut silent = local.stage(MIB);
    let mut slow = local.stage(MIB);
    assert_eq!(store.stats().chunks_lent, 0);
    slow.make_room(&local, 1).unwrap();
    slow.take(b"x").unwrap();
    assert_eq!(store.stats().chunks_lent, 1);
    store.set_now(12);
    assert!(!slow.is_lost());
    store.set_now(14);
    assert!(slow.is_lost() && slow.room().is_none());
    assert_eq!(slow.make_room(&local, 1), Err(Wanting::Never));
    assert!(slow.take(b"x").is_err());
    assert!(silent.make_room(&local, 1000).is_ok());
    drop((silent, slow));
    assert_all_back(&store);
}

/// A value that is too long for this is received in its place, one at a time; the next one gets
/// its turn when the first has come, or was too slow.
#[test]
fn long_ones_take_turns() {
    let store = store(8 * MIB);
    let mut local = store.local();
    let k = key(1);
    let mut place = |stage: &mut Stage| {
        stage.want_place(&local)?;
        stage.set_place(local.reserve(&k, stage.len(), 0, 0).unwrap());
        Ok(())
    };
    let mut first = store.local().stage(8 * MIB - 500);
    let mut second = store.local().stage(7 * MIB);
    assert!(first.is_long() && !store.local().stage(MIB).is_long());
    assert_eq!(place(&mut first), Ok(()));
    assert_eq!(place(&mut second), Err(Wanting::Later));
    store.set_now(20);
    assert!(first.is_lost());
    let mut second = store.local().stage(7 * MIB);
    assert_eq!(place(&mut second), Ok(()));
    let local = store.local();
    let bytes = value(&k, 5, 7 * MIB);
    second.make_room(&local, bytes.len()).unwrap();
    second.take(&bytes).unwrap();
    assert!(matches!(second.finish(), Ok(Whole::Item(room)) if room.filled() == bytes));
}

#[test]
#[should_panic(expected = "another store")]
fn of_another_store() {
    let (one, other) = (store(MIB), store(MIB));
    let _ = one.local().stage(MIB).make_room(&other.local(), 1);
}

/// Who gets a first piece of room gets the next ones without waiting: so many values begin together as
/// can go on together, the others wait with nothing, and none loses what it has to another that waits.
#[test]
fn who_begins_goes_on() {
    const BLOCK: usize = 64 << 10;
    let store = store(MIB);
    let local = store.local();
    let mut all: Vec<_> = (0..60).map(|_| local.stage(MIB)).collect();
    for piece in 0..4 {
        for stage in &mut all {
            let begun = stage.came() > 0;
            match stage.make_room(&local, BLOCK - 1) {
                Ok(()) => stage.take(&[7; BLOCK - 1]).unwrap(),
                Err(wanting) => {
                    assert!(wanting == Wanting::Later && !begun, "piece {piece}");
                }
            }
        }
    }
    let begun = all.iter().filter(|stage| stage.came() > 0).count();
    assert_eq!(all.iter().map(Stage::came).max(), Some(4 * (BLOCK - 1)));
    // 3 MiB and a bit for values on their way in, and at least one MiB more for one of them.
    assert!((8..=16).contains(&begun), "{begun} began");
    drop(all);
    assert_all_back(&store);
}
