//! Quantities whose types carry their unit.
//!
//! Everything is an integer, so that equal inputs give equal results on every machine. Time is counted in nanoseconds
//! from an origin that the driver chooses; a core has no access to the wall clock. Every quantity reads and prints the
//! way people write it in a configuration: `20 ms`, `2 Mbit/s`, `64 KiB`, `1.5 %`. Sets of sequence numbers and
//! positions are kept as ranges ([`RangeSet`]).

mod bytes;
mod parse;
mod probability;
mod ranges;
mod rate;
mod scale;
mod sequence;
mod time;

pub use bytes::Bytes;
pub use parse::ParseQuantityError;
pub use probability::Probability;
pub use ranges::RangeSet;
pub use rate::BitRate;
pub use sequence::SeqNumber;
pub use time::{Duration, Instant};
