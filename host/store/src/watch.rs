//! Whether anything was done to a key since somebody began to watch it.
//!
//! Watched keys are listed, and whoever stores such a key or changes its expiry counts that in the
//! list. Where none is watched that is one look at a number. A key that is removed, evicted, flushed
//! or has expired needs no counting: it was there and is not, until it is stored again.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

use crate::hash::Hash;
use crate::local::Local;
use crate::pool::lock;
use crate::store::Store;
use crate::sync::{AtomicUsize, Mutex};

/// Parts that the list is cut into, each with a lock.
const PARTS: usize = 32;

/// The watched keys, each behind its database's byte, whatever place that has.
#[derive(Default)]
pub(crate) struct Watches {
    /// How many there are.
    count: AtomicUsize,
    parts: [Part; PARTS],
}

impl Default for Part {
    fn default() -> Self {
        Self { count: AtomicUsize::new(0), keys: Mutex::new(BTreeMap::new()) }
    }
}

struct Part {
    count: AtomicUsize,
    keys: Mutex<BTreeMap<Box<[u8]>, Watched>>,
}

#[derive(Default)]
struct Watched {
    watchers: usize,
    changes: u64,
}

fn name(db: u8, key: &[u8]) -> Box<[u8]> {
    [&[db], key].concat().into()
}

impl Watches {
    fn part(&self, hash: Hash) -> &Part {
        &self.parts[hash.at(0).fingerprint() as usize % PARTS]
    }

    /// The keys that `is` says have changed.
    pub fn change(&self, is: impl Fn(u8, &[u8]) -> bool) {
        for part in self.parts.iter().filter(|part| part.count.load(Relaxed) != 0) {
            for (name, watched) in lock(&part.keys).iter_mut() {
                watched.changes += u64::from(is(name[0], &name[1..]));
            }
        }
    }
}

impl Store {
    /// How many watches there are.
    pub fn watches(&self) -> usize {
        self.watches.count.load(Relaxed)
    }

    /// Somebody watches the key.
    pub fn is_watched(&self, db: u8, key: &[u8]) -> bool {
        let hash = self.seed.hash(key).in_place(self.place(db));
        lock(&self.watches.part(hash).keys).contains_key(&name(db, key))
    }

    /// The key is stored, or its expiry set. The caller has its buckets locked, as has whoever begins
    /// to watch.
    #[inline]
    pub(crate) fn changed(&self, hash: Hash, key: &[u8]) {
        if self.watches.count.load(Relaxed) != 0 {
            self.count_change(hash, key);
        }
    }

    #[cold]
    fn count_change(&self, hash: Hash, key: &[u8]) {
        let part = self.watches.part(hash);
        if part.count.load(Relaxed) != 0 {
            let name = name(self.database(hash.place()), key);
            if let Some(watched) = lock(&part.keys).get_mut(&name) {
                watched.changes += 1;
            }
        }
    }
}

/// A key that is watched, until this is dropped.
pub struct Watch {
    store: Arc<Store>,
    /// Behind its database's byte.
    name: Box<[u8]>,
    changes: u64,
    /// There was a live item.
    there: bool,
}

impl Local {
    /// Begins to watch a key.
    pub fn watch(&self, db: u8, key: &[u8]) -> Watch {
        let (store, hash, name) = (self.store.clone(), self.hash_in(db, key), name(db, key));
        let entry = self.lock_in(db, key);
        let there = entry.item().is_some();
        let part = store.watches.part(hash);
        let mut keys = lock(&part.keys);
        let watched = keys.entry(name.clone()).or_default();
        watched.watchers += 1;
        let changes = watched.changes;
        part.count.fetch_add(1, Relaxed);
        store.watches.count.fetch_add(1, Relaxed);
        drop(keys);
        drop(entry);
        Watch { store, name, changes, there }
    }

    /// Whoever watches the key is told that it has changed, be it that it is here as it was: it is kept elsewhere.
    pub fn change(&self, db: u8, key: &[u8]) {
        let _locked = self.lock_in(db, key);
        self.store.changed(self.hash_in(db, key), key);
    }
}

impl Watch {
    pub fn hash(&self) -> Hash {
        self.store.seed.hash(self.key()).in_place(self.store.place(self.db()))
    }

    pub fn db(&self) -> u8 {
        self.name[0]
    }

    pub fn key(&self) -> &[u8] {
        &self.name[1..]
    }

    /// The key is as it was when this was made, and has been all the time: its value, whether there is
    /// one, and its expiry, which was not even set to what it was. Others may change it as soon as
    /// this is said, unless the caller has it locked.
    pub fn is_unchanged(&self, local: &Local) -> bool {
        assert!(Arc::ptr_eq(&self.store, &local.store), "a watch of another store");
        // What is stored after this look is seen by the next one, and the other way round it is not.
        let hash = self.hash();
        let there = local.get(self.key(), hash).is_some();
        let keys = lock(&self.store.watches.part(hash).keys);
        keys[&self.name].changes == self.changes && (there || !self.there)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let watches = &self.store.watches;
        let part = watches.part(self.hash());
        let mut keys = lock(&part.keys);
        let watched = keys.get_mut(&self.name).expect("it is watched");
        watched.watchers -= 1;
        if watched.watchers == 0 {
            keys.remove(&self.name);
        }
        part.count.fetch_sub(1, Relaxed);
        watches.count.fetch_sub(1, Relaxed);
    }
}
