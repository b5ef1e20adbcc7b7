//! Cross traffic on a channel: TCP connections that send as much as they can, and small requests that wait for their
//! replies.
//!
//! The owner of the channel drives [`Rivals`]: their segments come out as [`Crossing`]s, and are passed back in at the
//! far end. [`Alone`] is such a driver with nothing else on the channel: it measures a present-day TCP on a link, as a
//! reference for everything else that is tried there with the same seed.

mod alone;
mod rival;
mod set;

pub use alone::{Alone, Outcome, Percentiles, alone};
pub use rival::Kind;
pub use set::{Crossing, Rivals};
