//! Stand-in for wirekv-store until it is there: a map behind a mutex, with the same interface.

use std::cell::RefCell;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Hash(u64);

#[derive(Debug)]
pub struct Full;

struct Stored {
    value: Vec<u8>,
    flags: u32,
    exptime: AtomicU32,
    time: AtomicU32,
    cas: AtomicU64,
    attr: AtomicU8,
    seq: u64,
}

const FETCHED: u8 = 1;
const STALE: u8 = 2;
const WIN_SENT: u8 = 4;
const KEY_BINARY: u8 = 8;

type Map = HashMap<Vec<u8>, Arc<Stored>>;

#[derive(Default)]
pub struct Store {
    map: Mutex<Map>,
    now: AtomicU32,
    cas: AtomicU64,
    seq: AtomicU64,
    flush: Mutex<(u32, u64)>,
}

impl Store {
    pub fn stub() -> Arc<Store> {
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
    fn expired(&self, item: &Stored) -> bool {
        let e = item.exptime.load(Relaxed);
        e != 0 && e <= self.now()
    }
    fn flushed(&self, item: &Stored) -> bool {
        let (at, cas) = *self.flush.lock().unwrap();
        at != 0
            && at <= self.now()
            && (item.seq < cas)
    }
}

pub enum Lookup<'a> {
    Live(Item<'a>),
    Expired,
    Flushed,
    Absent,
}

pub struct Local {
    store: Arc<Store>,
    held: RefCell<Vec<Arc<Stored>>>,
}

#[derive(Clone, Copy)]
pub struct Item<'a> {
    it: &'a Stored,
    arc: *const Stored,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp(usize, u64);

pub struct Reservation {
    key: Vec<u8>,
    hash: Hash,
    value: Vec<u8>,
    flags: u32,
    exptime: u32,
    time: u32,
    attr: u8,
}

pub struct Entry<'a> {
    map: MutexGuard<'a, Map>,
    local: &'a Local,
    key: Vec<u8>,
    _l: PhantomData<&'a ()>,
}

impl Local {
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }
    pub fn hash(&self, key: &[u8]) -> Hash {
        Hash(key.iter().fold(0, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100000001b3)))
    }
    pub fn prefetch_buckets(&self, _: Hash) {}
    pub fn prefetch_item(&self, _: Hash) {}
    fn item(&self, it: &Arc<Stored>) -> Item<'_> {
        self.held.borrow_mut().push(it.clone());
        let arc = Arc::as_ptr(it);
        // SAFETY: held until this Local is borrowed mutably.
        Item { it: unsafe { &*arc }, arc }
    }
    pub fn get(&self, key: &[u8], hash: Hash) -> Option<Item<'_>> {
        match self.look_up(key, hash) {
            Lookup::Live(item) => Some(item),
            _ => None,
        }
    }
    pub fn look_up(&self, key: &[u8], _: Hash) -> Lookup<'_> {
        match self.store.map.lock().unwrap().get(key) {
            None => Lookup::Absent,
            Some(it) if self.store.expired(it) => Lookup::Expired,
            Some(it) if self.store.flushed(it) => Lookup::Flushed,
            Some(it) => Lookup::Live(self.item(it)),
        }
    }
    pub fn hit(&self, item: &Item<'_>) {
        item.it.attr.fetch_or(FETCHED, Relaxed);
        item.it.time.store(self.store.now(), Relaxed);
    }
    pub fn reserve(
        &mut self,
        key: &[u8],
        hash: Hash,
        len: usize,
        flags: u32,
        exptime: u32,
    ) -> Result<Reservation, Full> {
        self.held.borrow_mut().clear();
        let time = self.store.now();
        let (key, value) = (key.to_vec(), vec![0; len]);
        Ok(Reservation { key, hash, value, flags, exptime, time, attr: 0 })
    }
    pub fn reserve_wide(
        &mut self,
        key: &[u8],
        hash: Hash,
        len: usize,
        flags: u32,
        exptime: u32,
    ) -> Result<Reservation, Full> {
        self.reserve(key, hash, len, flags, exptime)
    }
    pub fn lock(&self, key: &[u8], _: Hash) -> Entry<'_> {
        let map = self.store.map.lock().unwrap();
        Entry { map, local: self, key: key.to_vec(), _l: PhantomData }
    }
    pub fn next_cas(&self) -> u64 {
        self.store.cas.fetch_add(1, Relaxed) + 1
    }
    fn next_seq(&self) -> u64 {
        self.store.seq.fetch_add(1, Relaxed)
    }
    pub fn flush(&self) {
        *self.store.flush.lock().unwrap() = (self.store.now() - 1, self.next_seq());
    }
    pub fn flush_at(&self, at: u32) {
        *self.store.flush.lock().unwrap() = (at - 1, u64::MAX);
    }
    pub fn quiesce(&mut self) {
        self.held.borrow_mut().clear();
    }
    pub fn offline(&mut self) {}
    pub fn online(&mut self) {}
}

impl Reservation {
    pub fn hash(&self) -> Hash {
        self.hash
    }
    pub fn key(&self) -> &[u8] {
        &self.key
    }
    pub fn value(&mut self) -> &mut [u8] {
        &mut self.value
    }
    fn set(&mut self, attr: u8, on: bool) {
        self.attr = if on { self.attr | attr } else { self.attr & !attr };
    }
    pub fn inherit(&mut self, item: &Item<'_>) {
        self.attr = item.it.attr.load(Relaxed);
        self.time = item.time();
    }
    pub fn set_stale(&mut self, on: bool) {
        self.set(STALE, on);
    }
    pub fn set_win_sent(&mut self, on: bool) {
        self.set(WIN_SENT, on);
    }
    pub fn set_binary_key(&mut self, on: bool) {
        self.set(KEY_BINARY, on);
    }
}

impl<'a> Entry<'a> {
    fn live(&self) -> Option<&Arc<Stored>> {
        let it = self.map.get(&self.key)?;
        let store = &self.local.store;
        (!store.expired(it) && !store.flushed(it)).then_some(it)
    }
    pub fn item(&self) -> Option<Item<'_>> {
        self.live().map(|it| self.local.item(it))
    }
    pub fn link(mut self, r: Reservation, cas: Option<u64>) -> u64 {
        let cas = cas.unwrap_or_else(|| self.local.next_cas());
        let it = Stored {
            value: r.value,
            flags: r.flags,
            exptime: r.exptime.into(),
            time: r.time.into(),
            cas: cas.into(),
            attr: r.attr.into(),
            seq: self.local.next_seq(),
        };
        let key = std::mem::take(&mut self.key);
        self.map.insert(key, Arc::new(it));
        cas
    }
    pub fn remove(mut self) -> bool {
        let key = std::mem::take(&mut self.key);
        self.map.remove(&key).is_some()
    }
    pub fn touch(&self, exptime: u32) -> bool {
        match self.live() {
            Some(it) if it.exptime.load(Relaxed) != 0 || exptime == 0 => {
                it.exptime.store(exptime, Relaxed);
                true
            }
            _ => false,
        }
    }
    pub fn set_cas(&self, cas: u64) -> bool {
        self.live().unwrap().cas.store(cas, Relaxed);
        true
    }
    fn set(&self, attr: u8, on: bool) {
        let item = &self.live().unwrap().attr;
        if on {
            item.fetch_or(attr, Relaxed);
        } else {
            item.fetch_and(!attr, Relaxed);
        }
    }
    pub fn set_stale(&self, on: bool) {
        self.set(STALE, on);
    }
    pub fn set_win_sent(&self, on: bool) {
        self.set(WIN_SENT, on);
    }
}

impl<'a> Item<'a> {
    pub fn value(&self) -> &'a [u8] {
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
        self.it.cas.load(Relaxed)
    }
    pub fn stamp(&self) -> Stamp {
        Stamp(self.arc as usize, self.cas())
    }
    pub fn fetched(&self) -> bool {
        self.it.attr.load(Relaxed) & FETCHED != 0
    }
    pub fn stale(&self) -> bool {
        self.it.attr.load(Relaxed) & STALE != 0
    }
    pub fn win_sent(&self) -> bool {
        self.it.attr.load(Relaxed) & WIN_SENT != 0
    }
    pub fn binary_key(&self) -> bool {
        self.it.attr.load(Relaxed) & KEY_BINARY != 0
    }
    pub fn pin(&self) -> Option<Pin> {
        Some(Pin(self.it.value.clone()))
    }
}

pub struct Pin(Vec<u8>);

impl Deref for Pin {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}
