//! What the protocols of a cache over the WireKV store share: incremental parsing and execution,
//! without copies or allocation per request.
//!
//! A protocol is a [`Dialect`]. A server keeps one [`Session`] of it a connection, one [`Engine`] a
//! thread. It serves in four passes, over as many requests and connections as it has at hand:
//!
//! 1. [`Session::parse`] until it says [`Parse::Need`] or [`Parse::Close`]; it takes
//!    `request.len` bytes of input each time;
//! 2. [`Request::prefetch_bucket`] of each request, then [`Request::prefetch_item`] of each;
//! 3. [`Session::execute`] of each, in the order of its connection, with the same bytes of input;
//! 4. [`Out::slices`] of what they answered, written at once. What the kernel did not take stays in
//!    the [`Out`].
//!
//! `wirekv-memcache` and `wirekv-resp` have the dialects. A session's functions are generic, and those
//! of the dialects on the request path `#[inline]`: the server's crate compiles and inlines both.
#![forbid(unsafe_code)]

mod counters;
mod dialect;
pub mod events;
pub mod limits;
pub mod number;
mod out;
mod prefixes;
mod request;
mod server;
mod session;
pub mod users;

// begin version: Made by spec/gen.py from spec/commands.toml: `make spec`.
/// The memcached whose protocols these are.
pub const MEMCACHED_VERSION: &str = "1.6.38";
// end version

pub use wirekv_store as store;

pub use counters::Counters;
pub use dialect::{Dialect, Plan, Value};
pub use events::Events;
pub use out::{Mark, Out, Writer};
pub use prefixes::Prefixes;
pub use request::{Asked, Next, Parse, Parsed, Request, Span};
pub use server::{Engine, Protocol, Server, Settings, Told};
pub use session::Session;
pub use users::Users;
