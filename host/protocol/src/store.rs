//! Stand-in for wirekv-store until it is there: a map behind a mutex, with the same interface.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

#[derive(Copy, Clone, Debug)]
pub struct Hash(pub u64);

pub struct Full;

pub struct Stored {
    value: Vec<u8>,
    flags: u32,
    exptime: AtomicU32,
    time: AtomicU32,
    cas: u64,
    attr: AtomicU8,
}

pub const FETCHED: u8 = 1;
pub const STALE: u8 = 2;
pub const WIN_SENT: u8 = 4;
pub const KEY_BINARY: u8 = 8;

type Map = HashMap<Vec<u8>, Arc<Stored>>;

#[derive(Default)]
pub struct Store {
    map: Mutex<Map>,
    now: AtomicU32,
    cas: AtomicU64,
    flush: Mutex<(u32, u64)>,
}

impl Store {
    pub fn new() -> Arc<Store> {
        Arc::new(Store::default())
    }
    pub fn local(self: &Arc<Store>) -> Local {
        Local { store: self.clone(), held: RefCell::default() }
    }
    pub fn now(&self) -> u32 {
        self.now.load(Relaxed)
    }
    pub fn set_now(&self, now: u32) {
        self.now.store(now, Relaxed);
    }
    fn live(&self, item: &Stored) -> bool {
        let e = item.exptime.load(Relaxed);
        let (at, cas) = *self.flush.lock().unwrap();
        if at != 0 && at <= self.now() && (item.time.load(Relaxed) <= at || item.cas < cas) {
            return false;
        }
        e == 0 || e > self.now()
    }
}

pub struct Local {
    pub store: Arc<Store>,
    held: RefCell<Vec<Arc<Stored>>>,
}

pub struct Item {
    it: Arc<Stored>,
}

pub struct Reservation {
    value: Vec<u8>,
    flags: u32,
    exptime: u32,
    attr: u8,
}

pub struct Entry<'a> {
    map: MutexGuard<'a, Map>,
    local: &'a Local,
    key: Vec<u8>,
}

impl Local {
    pub fn hash(&self, key: &[u8]) -> Hash {
        Hash(key.iter().fold(0, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100000001b3)))
    }
    pub fn now(&self) -> u32 {
        self.store.now()
    }
    pub fn prefetch_buckets(&self, _: Hash) {}
    pub fn prefetch_item(&self, _: Hash) {}
    pub fn get(&self, key: &[u8], _: Hash) -> Option<Item> {
        let it = self.store.map.lock().unwrap().get(key)?.clone();
        if !self.store.live(&it) {
            return None;
        }
        self.held.borrow_mut().push(it.clone());
        Some(Item { it })
    }
    pub fn hit(&self, item: &Item) {
        item.it.attr.fetch_or(FETCHED, Relaxed);
        item.it.time.store(self.now(), Relaxed);
    }
    pub fn reserve(
        &mut self,
        _key: &[u8],
        _: Hash,
        len: usize,
        flags: u32,
        exptime: u32,
    ) -> Result<Reservation, Full> {
        Ok(Reservation { value: vec![0; len], flags, exptime, attr: 0 })
    }
    pub fn lock(&self, key: &[u8], _: Hash) -> Entry<'_> {
        let map = self.store.map.lock().unwrap();
        Entry { map, local: self, key: key.to_vec() }
    }
    pub fn flush(&self) {
        *self.store.flush.lock().unwrap() =
            (self.now() - 1, self.store.cas.fetch_add(1, Relaxed) + 1);
    }
    pub fn flush_at(&self, at: u32) {
        *self.store.flush.lock().unwrap() = (at - 1, 0);
    }
    pub fn quiesce(&self) {
        self.held.borrow_mut().clear();
    }
}

impl Reservation {
    pub fn value(&mut self) -> &mut [u8] {
        &mut self.value
    }
    pub fn set_attr(&mut self, attr: u8) {
        self.attr = attr;
    }
}

impl Entry<'_> {
    pub fn item(&self) -> Option<Item> {
        let it = self.map.get(&self.key)?.clone();
        if !self.local.store.live(&it) {
            return None;
        }
        self.local.held.borrow_mut().push(it.clone());
        Some(Item { it })
    }
    pub fn link(mut self, r: Reservation, cas: Option<u64>) -> u64 {
        let cas = cas.unwrap_or_else(|| self.local.store.cas.fetch_add(1, Relaxed) + 1);
        let it = Stored {
            value: r.value,
            flags: r.flags,
            exptime: r.exptime.into(),
            time: self.local.now().into(),
            cas,
            attr: r.attr.into(),
        };
        let key = std::mem::take(&mut self.key);
        self.map.insert(key, Arc::new(it));
        cas
    }
    pub fn remove(mut self) {
        let key = std::mem::take(&mut self.key);
        self.map.remove(&key);
    }
    /// False: has no room for an expiry time.
    pub fn touch(&self, exptime: u32) -> bool {
        match self.map.get(&self.key) {
            Some(it) if it.exptime.load(Relaxed) != 0 || exptime == 0 => {
                it.exptime.store(exptime, Relaxed);
                true
            }
            _ => false,
        }
    }
}

impl Item {
    pub fn value(&self) -> &[u8] {
        &self.it.value
    }
    pub fn flags(&self) -> u32 {
        self.it.flags
    }
    pub fn exptime(&self) -> u32 {
        self.it.exptime.load(Relaxed)
    }
    pub fn time(&self) -> u32 {
        self.it.time.load(Relaxed)
    }
    pub fn cas(&self) -> u64 {
        self.it.cas
    }
    pub fn attr(&self) -> u8 {
        self.it.attr.load(Relaxed)
    }
    pub fn set_attr(&self, set: u8, clear: u8) {
        self.it.attr.store((self.attr() | set) & !clear, Relaxed);
    }
}
