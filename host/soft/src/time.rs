//! Keeps the store's clock.

use std::sync::Arc;

use crate::shared::Shared;
use crate::worker::Inbox;

/// Milliseconds since the 0 of the store's clock.
pub type Clock = Box<dyn Fn() -> u64 + Send + Sync>;

pub struct Time {
    pub shared: Arc<Shared>,
    pub inboxes: Vec<Arc<Inbox>>,
}

impl Time {
    /// A new second.
    pub fn tick(&self) {
        self.shared.tell_time();
        wirekv_log::tick();
        let (read, written) = self.shared.transferred();
        self.shared.redis.measure(read, written);
        if self.shared.options.idle_timeout.is_some() || !self.shared.keys.is_empty() {
            // Workers that have nothing to do sleep, but silent connections are theirs to close, and handshakes
            // that take too long.
            for inbox in &self.inboxes {
                // The next second tries again.
                let _ = inbox.waker.wake();
            }
        }
    }
}
