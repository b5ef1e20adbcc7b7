//! The effects of the air on packets, as a [`Machine`](machine::Machine).
//!
//! A [`Channel`] has, in each direction, a rate, a delay, a bounded queue and an error model. Packets are its input;
//! its output is their arrival or loss. The simulator drives it in virtual time, the emulator in real time. A [`Link`]
//! is its configuration: a TOML file, or one of the [`links`] with a name.
//!
//! A [`CsmaAir`] is a medium of many mobile hosts, which take turns on it by carrier sense; a
//! [`SharedChannel`](shared::SharedChannel) is a simpler one, with one queue of the gateway for all of them.
//!
//! State changes of the error models that work in time depend on the seed alone, so two schemes that are compared meet
//! the same fades.

mod airtime;
mod capacity;
mod channel;
mod config;
mod counters;
mod csma;
mod direction;
pub mod errors;
mod journey;
mod lane;
mod link;
pub mod links;
mod mtu;
mod opportunities;
mod outages;
mod pacer;
mod plan;
mod problem;
mod process;
pub mod shared;
mod traffic;

pub use channel::Channel;
pub use config::{DirectionConfig, LinkConfig, Medium, StepConfig};
pub use counters::{Amount, Cause, Counters, FaultCounters};
pub use csma::{CsmaAir, CsmaConfig, CsmaCounters, Frame, Heard, Station, TransmitResult};
pub use direction::{Direction, PerDirection};
pub use journey::{
    BitFlips, ExponentialConfig, FaultsConfig, JitterConfig, PolicerConfig, ReorderingConfig,
    RetriesConfig, TrainsConfig, UniformConfig,
};
pub use link::{FaultChanges, Link, ReadFile};
pub use mtu::Mtu;
pub use opportunities::{OPPORTUNITY, Opportunities};
pub use outages::Outage;
pub use plan::{Plan, QueueBound, Rate, Step};
pub use problem::LinkError;
pub use process::{Chances, MarkovRateConfig, ProcessConfig, RateStateConfig, WalkConfig};
pub use traffic::{Input, Output};
