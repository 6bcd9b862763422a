//! The host's side of a card, whichever body it has: what the card leaves to a program on its host.
//!
//! A card serves its clients by itself. Over two of its ports ([`wirekv_card::Port`]) it asks its host:
//!
//! | port | what comes | who answers |
//! |---|---|---|
//! | `Exception` | requests that gates do not know: memcached's `stats`, Redis' rarer commands, which may want the card's items; and what comes of the requests that these make | [`Runner`] |
//! | `Host` | frames that a kernel would refuse in words of its own: RST, ICMP errors | [`Mover`], by `wirekv_net`'s `Refuser` |
//!
//! A card whose items are copies of another server's leaves all to its host that is no plain GET of one of them. Then
//! `wirekv_upstream` answers, and makes the items ([`Runner::before`]).
//!
//! It also wants to be told what time it is. A program makes the card ready ([`wirekv_card::init`]), makes a [`Mover`] of it
//! and of its end of a [`wirekv_net::Link`], and calls [`Runner::run`] on a thread of its own, which returns when the
//! link is stopped:
//!
//! ```no_run
//! # use std::{sync::Arc, time::Instant};
//! # use wirekv_cardhost::{Mover, Options, Runner};
//! # fn serve(card: Box<dyn wirekv_card::Card>, waker: mio::Waker, addresses: wirekv_net::Addresses) -> anyhow::Result<()> {
//! let (_network, link) = wirekv_net::Link::ends(waker);
//! let wire = wirekv_net::Wire::new(None, None);
//! let refuser = wirekv_net::Refuser::new(&addresses, false, Instant::now());
//! let options = Options { tcp_port: addresses.card_tcp_port, ..Options::default() };
//! let runner = Runner::new(Mover::new(card, link, wire, refuser), options, Arc::default())?;
//! runner.run()?;
//! # Ok(())
//! # }
//! ```
//!
//! The network's end of the link brings the frames of a card whose wire is a program's, as the simulated one's is. A card
//! with a wire of its own takes none there, and gives none: that end stays as it is.
//!
//! **Units.** Clocks are the card's. Times are [`Duration`](std::time::Duration)s; one since an epoch says so. Sizes are bytes.
//!
//! **Errors.** What [`Runner::run`] returns is the end of the card or of its wire: a register that cannot be read, a capture
//! that cannot be written. A client's mistakes, and a card that does not answer in time, are answers to clients.
#![warn(missing_docs)]

mod clients;
mod datagrams;
mod dump;
mod exceptions;
mod items;
mod memcached;
mod mover;
mod options;
mod port;
mod redis;
mod runner;
mod stats;
mod trace;
mod upstream;
mod walk;

pub use mover::Mover;
pub use options::Options;
pub use runner::{unix_time, Runner, Summary};
