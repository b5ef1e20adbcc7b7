//! A client for remote procedure calls (ONC RPC version 2, RFC 5531).
//!
//! [`Client`] is the machine: it sends calls, sends them again by a [`Policy`], and matches replies to calls.
//! [`message`] and [`record`] read and write messages, for clients and servers alike; [`xdr`] has the values that
//! arguments and results are made of.
//!
//! ```
//! use std::sync::Arc;
//!
//! use machine::Machine;
//! use rpc::message::{Call, Credentials, Reply};
//! use rpc::{Class, Client, Config, Input, Output, Procedure, Request, Ticket};
//! use units::Instant;
//!
//! let mut client = Client::new(Config::default(), 7)?;
//! let request = Request {
//!     ticket: Ticket(1),
//!     procedure: Procedure { program: 100_003, version: 3, number: 0 },
//!     class: Class::Other,
//!     credentials: Arc::new(Credentials::None),
//!     arguments: Default::default(),
//!     patience: None,
//! };
//! client.handle_input(Instant::ZERO, Input::Call(request));
//! let Some(Output::Send(datagram)) = client.poll_output() else { panic!() };
//!
//! // The server's end:
//! let xid = Call::parse(&datagram)?.xid;
//! let mut reply = Vec::new();
//! Reply { xid, outcome: Ok(&[]) }.write(&mut reply);
//!
//! client.handle_input(Instant::from_millis(20), Input::Received(reply.into()));
//! let Some(Output::Answer(answer)) = client.poll_output() else { panic!() };
//! assert_eq!((answer.ticket, answer.transmissions), (Ticket(1), 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
pub use client::{Client, ResultCheck};
pub use config::{Config, ConfigError, Transport};
pub use counters::{Counters, Received, Repeated, Sent};
pub use events::{Answer, Failure, Input, LinkEvent, Output, Request, Ticket};
pub use message::Procedure;
pub use policy::{Adaptive, Cascade, Exponential, HybridLinear, Linear, Policy, RuleInput};
pub use round_trip::RoundTrip;
