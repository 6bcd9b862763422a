//! Frames in, frames out, on the simulated machine.

use super::frames::{request, text};
use super::*;
