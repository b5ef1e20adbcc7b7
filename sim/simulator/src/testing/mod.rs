//! Virtual time for the tests of machines: a clock with what is under way, and a link that does as it is told.
//!
//! A [`Simulation`](crate::Simulation) runs whole nodes over channels. The tests of one core want less and more: two or
//! three machines that need not be nodes, every output in the hands of the test, packets that are lost by number. Such
//! a test holds its machines and a [`Clock`], which says what happens next: a deadline of the machines, or something
//! that was under way. A [`Wire`] is the link that most of them want.

mod clock;
mod wire;

pub use clock::{Clock, Next};
pub use wire::{Decision, Fate, Sighting, Wire};
