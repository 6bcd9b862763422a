//! memcached 1.6.38's protocols and that of Redis 7.0 over the WireKV store: incremental, without
//! copies or allocation per request.
//!
//! A server keeps one [`Session`] a connection, one [`Engine`] a thread. It serves in four passes,
//! over as many requests and connections as it has at hand:
//!
//! 1. [`Session::parse`] until it says [`Parse::Need`] or [`Parse::Close`]; it takes
//!    `request.len` bytes of input each time;
//! 2. [`Request::prefetch_bucket`] of each request, then [`Request::prefetch_item`] of each;
//! 3. [`Session::execute`] of each, in the order of its connection, with the same bytes of input;
//! 4. [`Out::slices`] of what they answered, written at once. What the kernel did not take stays in
//!    the [`Out`].
#![forbid(unsafe_code)]

pub mod base64;
pub mod binary;
pub mod classic;
mod counters;
mod dialect;
mod dump;
mod line;
pub mod meta;
pub mod number;
pub mod ops;
mod out;
pub mod redis;
mod request;
mod server;
mod session;
mod text;
mod texts;
pub mod udp;

// begin version: Made by spec/gen.py from spec/commands.toml: `make spec`.
/// The memcached whose protocols these are.
pub const MEMCACHED_VERSION: &str = "1.6.38";
// end version

pub use wirekv_store as store;

pub use counters::Counters;
pub use out::Out;
pub use request::{Next, Op, Parse, Request, Span};
pub use server::{Engine, Place, Protocol, Server, Settings, Told, Walk};
pub use session::Session;
