//! Calls to a server and their answers (ONC RPC version 2, RFC 5531).
//!
//! [`Client`] is the machine: it sends calls, sends them again by a [`Policy`], and tells replies from what is none.
//! [`message`] and [`record`] read and write what crosses the wire, for clients and servers alike; [`xdr`] has the
//! values that arguments and results are made of.

mod class;
mod client;
mod config;
mod counters;
mod events;
pub mod message;
mod policy;
pub mod record;
mod round_trip;
pub mod xdr;

pub use class::Class;
pub use client::Client;
pub use config::{Config, ConfigError, Transport};
pub use counters::{Counters, Received, Repeated, Sent};
pub use events::{Answer, Failure, Input, LinkEvent, Output, Request, Ticket};
pub use message::Procedure;
pub use policy::{Adaptive, Cascade, Exponential, HybridLinear, Linear, Policy, Situation};
pub use round_trip::RoundTrip;
