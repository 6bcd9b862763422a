//! The firmware's policy.c: what it calls is answered by a table, and it is told of GETs and writes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::streams::Sizes;
use crate::table::{Put, Table, WAYS};

/// The table that policy.c has, and how large keys and values are.
static TABLE: Mutex<Option<(Table, Sizes)>> = Mutex::new(None);
/// Who runs policy.c, of which there is one.
static RUNS: Mutex<()> = Mutex::new(());

mod ffi {
    extern "C" {
        pub fn policy_start();
        pub fn policy_idle(now: u32) -> bool;
        pub fn wk_get(key: *const u8, length: usize);
        pub fn wk_write(key: *const u8, length: usize);
    }
}

fn with<T>(act: impl FnOnce(&mut Table, &Sizes) -> T) -> T {
    let mut table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
    let (table, sizes) = table.as_mut().expect("policy.c runs");
    act(table, sizes)
}

/// A key's bytes: its number, then nothing.
fn bytes(key: u32) -> [u8; 250] {
    let mut bytes = [0; 250];
    bytes[..4].copy_from_slice(&key.to_le_bytes());
    bytes
}

/// # Safety
///
/// There are four bytes.
unsafe fn number(key: *const u8) -> u32 {
    // SAFETY: as above.
    u32::from_le_bytes(unsafe { *key.cast::<[u8; 4]>() })
}

/// A table that policy.c manages, and the software behind it.
pub struct Managed {
    waiting: Vec<(u32, bool)>,
    every: u32,
    turn: u32,
    _run: MutexGuard<'static, ()>,
}

impl Managed {
    /// The software runs after every so many requests, and serves all that have come to it since.
    pub fn new(table: Table, sizes: Sizes, every: u32) -> Managed {
        let run = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
        *TABLE.lock().unwrap_or_else(PoisonError::into_inner) = Some((table, sizes));
        // SAFETY: policy.c is run by who has RUNS alone.
        unsafe { ffi::policy_start() };
        Managed { waiting: Vec::new(), every, turn: 0, _run: run }
    }

    /// A GET; whether gates answered it.
    pub fn get(&mut self, key: u32) -> bool {
        let hit = with(|table, sizes| {
            let lines = sizes.of(key).0.div_ceil(64) as u32;
            table.get(key, lines)
        });
        if !hit {
            self.waiting.push((key, false));
        }
        self.tick();
        hit
    }

    /// A write.
    pub fn write(&mut self, key: u32) {
        self.waiting.push((key, true));
        self.tick();
    }

    fn tick(&mut self) {
        self.turn += 1;
        if !self.turn.is_multiple_of(self.every) {
            return;
        }
        for (key, is_write) in self.waiting.drain(..) {
            let length = with(|_, sizes| sizes.of(key).0);
            let bytes = bytes(key);
            // SAFETY: a key has at most 250 bytes; policy.c is run by who has RUNS alone.
            unsafe {
                if is_write {
                    ffi::wk_write(bytes.as_ptr(), length);
                } else {
                    ffi::wk_get(bytes.as_ptr(), length);
                }
            }
        }
        // SAFETY: as above.
        while unsafe { ffi::policy_idle(0) } {}
    }

    /// Looks at the table.
    pub fn table<T>(&self, look: impl FnOnce(&mut Table) -> T) -> T {
        with(|table, _| look(table))
    }
}

// ---------------------------------------------------------------- what policy.c calls
#[no_mangle]
extern "C" fn accel_hot(threshold: u32) {
    with(|t, _| t.hot(threshold as u8));
}

#[no_mangle]
extern "C" fn accel_age() {
    with(|t, _| t.age());
}

/// # Safety
///
/// There is room for 250 bytes.
#[no_mangle]
unsafe extern "C" fn accel_take(to: *mut u8) -> usize {
    with(|t, sizes| {
        let Some(key) = t.take() else { return 0 };
        let length = sizes.of(key).0;
        // SAFETY: there is room.
        unsafe { to.copy_from_nonoverlapping(bytes(key).as_ptr(), length) };
        length
    })
}

#[no_mangle]
extern "C" fn accel_stat(which: u32) -> u32 {
    with(|t, _| match which {
        0 => t.free(),
        1 | 7 => t.counts.hits as u32,
        3 => t.counts.lost as u32,
        4 => t.sets() as u32,
        5 => WAYS as u32,
        _ => panic!("the model does not count what {which} says"),
    })
}

#[no_mangle]
extern "C" fn accel_drop(set: u32, ways: u32) -> u32 {
    with(|t, _| u32::from(t.drop(set as usize, ways as usize)))
}

/// # Safety
///
/// There are four bytes.
#[no_mangle]
unsafe extern "C" fn accel_key(key: *const u8, _length: usize) {
    // SAFETY: there are.
    let key = unsafe { number(key) };
    with(|t, _| t.key(key));
}

#[no_mangle]
extern "C" fn accel_ticket() -> u32 {
    with(|t, _| u32::from(t.ticket()))
}

#[no_mangle]
extern "C" fn wk_put(bytes: u32, ways: u32) -> u32 {
    with(|t, _| match t.put(bytes, ways as usize) {
        Put::Refused => 0,
        Put::Done => 1,
        Put::NoLines => 2,
    })
}

#[no_mangle]
extern "C" fn accel_move(ways: u32) -> u32 {
    with(|t, _| u32::from(t.move_to(ways as usize)))
}

#[no_mangle]
extern "C" fn accel_inv() -> u32 {
    with(|t, _| u32::from(t.inv()))
}

#[no_mangle]
extern "C" fn accel_close() -> u32 {
    with(|t, _| u32::from(t.close()))
}

/// # Safety
///
/// There are four bytes.
#[no_mangle]
unsafe extern "C" fn wk_value_length(key: *const u8, _length: usize) -> u32 {
    // SAFETY: there are.
    let key = unsafe { number(key) };
    with(|_, sizes| sizes.of(key).1 as u32)
}
