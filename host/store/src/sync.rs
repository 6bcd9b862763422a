//! What threads share: atomics, locks, giving way.
//!
//! With the feature `shuttle` (for tests/interleavings.rs) each operation on them may be a point at which
//! the scheduler of the shuttle crate may let another thread go on: it tries orders that a processor
//! would show once in a long time. The atomics are the processor's own all the same, as they have to
//! lie in zeroed memory; so all threads see one order, and what only weaker memory allows is not
//! tried.

#[cfg(not(feature = "shuttle"))]
pub(crate) use std::{
    hint::spin_loop,
    sync::atomic::{fence, AtomicBool, AtomicU16, AtomicU32, AtomicU64, AtomicU8, AtomicUsize},
    sync::{Mutex, MutexGuard},
    thread::yield_now,
};

#[cfg(feature = "shuttle")]
pub(crate) use model::*;

#[cfg(feature = "shuttle")]
mod model {
    use std::sync::atomic::Ordering;

    pub(crate) use shuttle::sync::{Mutex, MutexGuard};
    pub(crate) use shuttle::thread::yield_now;
    pub(crate) use shuttle::thread::yield_now as spin_loop;

    /// Others may go on here. Not each time: what goes wrong needs one thread to stop at the wrong
    /// place and another one to get far.
    fn step() {
        use shuttle::rand::RngCore;
        if shuttle::rand::thread_rng().next_u32().is_multiple_of(6) {
            yield_now();
        }
    }

    pub(crate) fn fence(order: Ordering) {
        step();
        std::sync::atomic::fence(order);
    }

    macro_rules! atomic {
        ($name:ident, $value:ty $(, $method:ident)*) => {
            #[derive(Default)]
            #[repr(transparent)]
            pub(crate) struct $name(std::sync::atomic::$name);

            #[allow(dead_code)]
            impl $name {
                pub const fn new(value: $value) -> Self {
                    Self(std::sync::atomic::$name::new(value))
                }

                pub fn load(&self, order: Ordering) -> $value {
                    step();
                    self.0.load(order)
                }

                pub fn store(&self, value: $value, order: Ordering) {
                    step();
                    self.0.store(value, order);
                }

                pub fn compare_exchange(
                    &self,
                    old: $value,
                    new: $value,
                    done: Ordering,
                    not: Ordering,
                ) -> Result<$value, $value> {
                    step();
                    self.0.compare_exchange(old, new, done, not)
                }

                pub fn fetch_update(
                    &self,
                    done: Ordering,
                    not: Ordering,
                    change: impl FnMut($value) -> Option<$value>,
                ) -> Result<$value, $value> {
                    step();
                    self.0.fetch_update(done, not, change)
                }

                $(
                    pub fn $method(&self, value: $value, order: Ordering) -> $value {
                        step();
                        self.0.$method(value, order)
                    }
                )*
            }
        };
    }

    atomic!(AtomicBool, bool, swap);
    atomic!(AtomicU8, u8, swap);
    atomic!(AtomicU16, u16, fetch_or, fetch_and);
    atomic!(AtomicU32, u32, swap, fetch_add, fetch_sub, fetch_max);
    atomic!(AtomicU64, u64, swap, fetch_add, fetch_sub, fetch_max, fetch_or, fetch_and);
    atomic!(AtomicUsize, usize, swap, fetch_add, fetch_sub);
}
