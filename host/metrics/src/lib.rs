//! A server's figures for Prometheus: its text format over HTTP, the names that memcached_exporter has given to
//! memcached's statistics, and histograms of latency.
//!
//! The server writes its figures into a [`Text`] each time that somebody asks [`serve`] for them.
#![warn(missing_docs)]

mod http;
mod keys;
mod latency;
mod memcached;
mod process;
mod text;

pub use http::{serve, Asked, Reply};
pub use keys::HotKeys;
pub use latency::{Label, Latencies, Sampler};
pub use memcached::{memcached, Statistics};
pub use process::{Process, Usage};
pub use text::{Kind, Text};
