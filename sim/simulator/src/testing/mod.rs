//! Virtual time for the tests of machines: a clock with what is under way, a loop, and a link that does as it is told.
//!
//! A [`Simulation`](crate::Simulation) runs whole nodes over channels. The tests of one core want less and more: two or
//! three machines that need not be nodes, every output in the hands of the test, packets that are lost by number. Such
//! a test is a [`VirtualTime`]: it holds machines and a [`Clock`], says what becomes of an output and of what arrives, and
//! has the loop, the deadlines and the order of events from here. A [`Wire`] is the link that most of them want.

mod clock;
mod wire;
mod world;

pub use clock::Clock;
pub use wire::{Decision, Fate, Passage, Sighting, Wire};
pub use world::VirtualTime;
