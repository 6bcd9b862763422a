//! The mover: frames between a program and a card, through rings in the memory of the program's machine. It is written once,
//! for the card that is simulated in this process and for one on PCIe.
//!
//! [`Device`] is what a card gives: registers, and memory that it reads and writes. [`Link`] brings the card's link up and
//! moves frames; [`RingCard`] makes a [`wirekv_card::Card`] of it. docs/rtl/LINK.md has the rings and the registers.
//!
//! ```
//! use std::time::Duration;
//! use wirekv_card::Port;
//! use wirekv_link::stand_in::{Model, StandIn};
//! use wirekv_link::{Config, Device, Link};
//!
//! let mut link = Link::open(StandIn::new(Model::default()), Config::default())?;
//! assert!(link.send(Port::Wire, b"a frame"));
//! link.flush();
//! link.device().advance(100); // a card on PCIe needs no letting
//! link.poll()?;
//! link.receive(Port::Wire, |frame| assert_eq!(frame, b"a frame"))?;
//! link.stop()?;
//! # Ok::<(), wirekv_link::LinkError>(())
//! ```
//!
//! **Nothing that a card writes is trusted.** Indices, lengths and preambles are checked; bytes are copied before they are
//! looked at. So whatever the card writes, the program gets frames or an error with its place.
//!
//! **Memory outlives the card's access to it.** It is given back when all channels have stopped, or the card was cut off from
//! memory; and else it stays.
#![warn(missing_docs)]

mod card;
mod device;
mod error;
mod link;
mod pci;
mod region;
pub mod registers;
mod rings;
pub mod stand_in;

pub use card::RingCard;
pub use device::{Block, Device};
pub use error::{Index, LinkError};
pub use link::{Config, Link};
pub use pci::{Address, Function, Pci, PciError, Places};
pub use region::{Region, REGION};
