//! Nothing is allocated for a frame.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use wirekv_card::Port;
use wirekv_link::stand_in::{Model, StandIn};
use wirekv_link::{Config, Device, Link};

struct Counting;

thread_local! {
    // Of this thread: that of the test harness allocates when it likes.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: all is the system's allocator's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn no_frame_takes_memory() {
    let mut link = Link::open(StandIn::new(Model::default()), Config::default()).unwrap();
    let frame = [7; 1514];
    let mut moved = 0;
    let mut rounds = |count: u64| {
        for _ in 0..count {
            for length in [60, 61, 1514] {
                assert!(link.send(Port::Wire, &frame[..length]));
            }
            link.flush();
            link.device().advance(1);
            link.poll().unwrap();
            link.receive(Port::Wire, |frame| moved += frame.len()).unwrap();
        }
    };
    rounds(100); // the card's own queue has its size then
    let before = COUNT.get();
    assert!(before > 0);
    rounds(100_000);
    assert_eq!(COUNT.get(), before);
    assert_eq!(moved, 100_100 * (60 + 61 + 1514));
}
