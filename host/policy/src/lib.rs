//! What share of GETs a cache in the NIC answers: a model of its table, managed by the firmware's own policy.c.

#![warn(missing_docs)]

pub mod compare;
pub mod firmware;
pub mod streams;
pub mod table;

#[cfg(test)]
mod tests;
