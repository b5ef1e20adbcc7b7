//! A discrete-event simulator of machines in virtual time.
//!
//! A [`Simulation`] holds nodes and the links between their ports. A node is any [`Machine`](machine::Machine) that
//! takes an [`Input`] and gives an [`Output`]; the user of this crate chooses its content (a TCP endpoint, an agent of
//! a base station, a whole host). A link is the same [`Channel`](channel::Channel) that the emulator runs in real time;
//! a wire is one without errors. The simulator knows no protocol.
//!
//! # Reading order
//!
//! 1. `schedule.rs`: the event queue. Every node and every link is an *actor* with one deadline, so a
//!    timer that is moved or cancelled leaves no entry behind.
//! 2. `simulation.rs`: the topology and its counters; `run.rs`: the loop. It takes the actor that is due first, calls
//!    it, and passes its outputs on, until nothing is left to do at that instant.
//! 3. `node.rs`, `packet.rs`, `line.rs`: the parts that the user provides: nodes, packets, links.
//! 4. `observer.rs`: everything that watches a run without changing it. [`Pcap`], [`Series`] and
//!    [`FlowCounters`] are observers; a run without one has no cost for them and keeps no history.
//! 5. `limits.rs`: reasons why a run ends, and errors that name the busiest actor.
//! 6. `encoded.rs`: the same nodes, with packets that cross the links as bytes.
//! 7. `testing`: virtual time for the tests of single machines, without nodes and channels.
//!
//! # The order of events
//!
//! Deadlines are ordered by time, and at one time by the order in which they were set. All consequences of a deadline
//! at the same instant (a packet on a link that takes no time) are processed, in the order in which they arose, before
//! the next deadline. So a run is a function of its nodes, links and seeds alone.

mod counters;
mod encoded;
mod limits;
mod line;
mod node;
mod observer;
mod packet;
mod pcap;
mod run;
mod schedule;
mod series;
mod simulation;
pub mod testing;
mod trace;

pub use counters::{FlowCount, FlowCounters, NodeCounters};
pub use encoded::{Encoded, EncodedPacket};
pub use limits::{Busy, Ending, Limits, RunError};
pub use line::{End, Line, LinkId};
pub use node::{Input, Node, NodeId, Output, Port};
pub use observer::{Loss, Moment, Observer, OnEvent, Sighting};
pub use packet::{Coding, Packet};
pub use pcap::Pcap;
pub use series::{Probe, Series};
pub use simulation::{ConnectError, Simulation};
pub use trace::TraceError;
