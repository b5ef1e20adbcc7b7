//! Other people's traffic on a channel: TCP connections that send all they can, and small requests that wait for
//! their answers.
//!
//! [`Rivals`] are driven by whoever owns the channel: what they send comes out as [`Crossing`]s, and goes back in
//! at the far end. [`Alone`] is such a driver with nothing else on the channel: what a present-day TCP makes of a link,
//! as the measure of whatever else is tried there with the same seed.

mod alone;
mod rival;
mod set;

pub use alone::{Alone, Outcome, Percentiles, alone};
pub use rival::Kind;
pub use set::{Crossing, Rivals};
