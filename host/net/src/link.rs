//! Where a network's thread and the card's thread exchange frames.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use mio::Waker;

use crate::Frames;

/// Bytes that may wait for the card before the network must hold back. Enough to keep the card
/// busy for milliseconds; more would only be delay.
const ROOM: usize = 256 * 1024;

#[derive(Default)]
struct State {
    to_card: Frames,
    /// Bytes the card's thread has taken over but the card itself has not.
    backlog: usize,
    from_card: Frames,
    /// The network found no room and waits to be woken.
    starved: bool,
    /// The card's thread is to look at what does not come over the link.
    nudged: bool,
    stop: bool,
}

pub struct Link {
    state: Mutex<State>,
    for_card: Condvar,
    for_net: Waker,
}

impl Link {
    /// `waker` wakes the network's thread when frames have come, room has come, or it is to stop.
    pub fn ends(waker: Waker) -> (NetEnd, CardEnd) {
        let link =
            Arc::new(Link { state: Mutex::default(), for_card: Condvar::new(), for_net: waker });
        (NetEnd(link.clone()), CardEnd(link))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("neither thread panics while it holds the lock")
    }
}

/// The network's end.
pub struct NetEnd(Arc<Link>);

impl NetEnd {
    /// Passes frames to the card and says how many more bytes there is room for now. If that is
    /// none, the network is woken when there is.
    pub fn send(&self, frames: &mut Frames) -> usize {
        let mut state = self.0.state();
        if !frames.is_empty() {
            state.to_card.append(frames);
            self.0.for_card.notify_one();
        }
        let room = ROOM.saturating_sub(state.to_card.bytes() + state.backlog);
        state.starved = room == 0;
        room
    }

    /// Takes the frames that came from the card.
    pub fn receive(&self, frames: &mut Frames) {
        frames.append(&mut self.0.state().from_card);
    }

    pub fn stopped(&self) -> bool {
        self.0.state().stop
    }
}

/// The card's end. Its clones can stop the link, and wake the card's thread.
#[derive(Clone)]
pub struct CardEnd(Arc<Link>);

impl CardEnd {
    /// Exchanges frames: gives those from the card, takes those for it. `backlog` is what the card
    /// itself has yet to take in.
    pub fn exchange(
        &self,
        from_card: &mut Frames,
        to_card: &mut Frames,
        backlog: usize,
    ) -> io::Result<()> {
        let mut state = self.0.state();
        to_card.append(&mut state.to_card);
        state.backlog = backlog + to_card.bytes();
        let has_room = state.starved && state.backlog < ROOM / 2;
        let wake = !from_card.is_empty() || has_room;
        state.from_card.append(from_card);
        if has_room {
            state.starved = false;
        }
        drop(state);
        if wake {
            self.0.for_net.wake()?;
        }
        Ok(())
    }

    /// Sleeps until there are frames for the card, somebody [nudges](CardEnd::nudge), the link is stopped or the time is
    /// over.
    pub fn wait(&self, at_most: Duration) {
        let mut state = self.0.state();
        if state.to_card.is_empty() && !state.nudged && !state.stop {
            let waited = self.0.for_card.wait_timeout(state, at_most);
            state = waited.expect("neither thread panics while it holds the lock").0;
        }
        state.nudged = false;
    }

    /// Ends the card's thread's sleep, the present one or else the next.
    pub fn nudge(&self) {
        self.0.state().nudged = true;
        self.0.for_card.notify_one();
    }

    /// Ends both threads.
    pub fn stop(&self) {
        self.0.state().stop = true;
        self.0.for_card.notify_all();
        // If it cannot be woken, the network sees it at its next event.
        let _ = self.0.for_net.wake();
    }

    pub fn stopped(&self) -> bool {
        self.0.state().stop
    }
}
