//! The store of the `soft` body: items in two logs, S3-FIFO between them, and one index.
//!
//! - [`Store`] holds everything, in one mapping of a fixed size ([`Config::memory`]).
//! - Each thread has a [`Local`], through which it looks up ([`Local::get`]), takes room for items
//!   ([`Local::reserve`]) and changes what keys stand for ([`Local::lock`]).
//! - An [`Item`] is read in place, without a lock, and stays where it is while its `Local` is
//!   borrowed, or longer with a [`Pin`].
//! - [`Local::lock_all`] makes what is done to several keys one step; [`Local::watch`] notes whether a
//!   key is changed; [`Local::scan`] walks all of them; [`Local::swap`] swaps two databases.
//! - A [`Reservation`] is room for an item that is being filled; [`Entry::link`] makes it visible.
//!
//! ```
//! # use wirekv_store::{Config, Store};
//! let store = Store::new(Config::new(64 << 20))?;
//! let mut local = store.local();
//! let hash = local.hash(b"key");
//! let mut room = local.reserve(b"key", 5, 0, 0)?;
//! room.value().copy_from_slice(b"value");
//! local.lock_for(&room).link(room, None)?;
//! assert_eq!(local.get(b"key", hash).unwrap().value(), b"value");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Files, in about the order in which they build on each other: `hash`, `sync`, `index` (buckets),
//! `item` (an item's bytes), `chunk` and `pool` (the log's pieces, and which is where), `qsbr` (when
//! room may be used again), `flush`, `populate`, `store` (all of these); `local` (a thread's handle,
//! looking up), `entry` (changing what a key stands for); `walk` (emptying a chunk), `compact` and
//! `evict` (which one), `room` and `runs` (free chunks, one or several in a row); `reserve`, `pin`;
//! `stage` and `lent` (values on their way in); `together` (several keys as one step), `watch` (was a
//! key changed), `scan` (all keys), `swap` (databases that change places); `restart` (a file that keeps all of it),
//! `format` (which of its bytes mean what).

mod chunk;
mod compact;
mod config;
mod entry;
mod evict;
mod flush;
mod format;
mod hash;
mod index;
mod item;
mod lent;
mod local;
mod map;
mod pin;
mod pool;
mod populate;
mod qsbr;
mod reserve;
mod restart;
mod room;
mod runs;
mod scan;
mod stage;
mod stats;
mod store;
mod swap;
mod sync;
mod together;
mod walk;
mod watch;

pub use config::{Config, Error, Full, DATABASES, KEY_MAX};
pub use entry::Entry;
pub use hash::{Hash, HashKey};
pub use local::{Item, Local, Lookup, Stamp};
pub use pin::Pin;
pub use reserve::{Fields, Reservation};
pub use stage::{Blocks, Room, Stage, Wanting, Whole};
pub use stats::Stats;
pub use store::Store;
pub use watch::Watch;
