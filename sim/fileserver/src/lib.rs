//! A file server in memory (NFS version 3 and MOUNT version 3, RFC 1813; GETPORT, RFC 1833), for tests, for fuzzing,
//! and for simulated hosts.
//!
//! [`Server`] is the machine. It follows the rules of UNIX, and separates stable data from data that a crash loses
//! ([`Input::Restart`]). It has a reply cache like real servers (keyed on client, address, and the bytes of the call; a
//! copy of a call in progress is dropped), simulates service times ([`Service`]), and produces on demand the faults of
//! a lossy network ([`Faults`]) and of a hostile server ([`FalseAnswer`]).
//!
//! There is no access control: every caller may do everything, like root at an export with `no_root_squash`. New files
//! belong to their creator, and modes are kept but not enforced.
//!
//! ```
//! use fileserver::{Config, Input, Output, Peer, Server};
//! use machine::Machine;
//! use nfs::{GetAttributes, Procedure, Value};
//! use rpc::message::{Call, Credentials, Reply};
//! use units::Instant;
//!
//! let mut server = Server::new(Config::default())?;
//! let file = server.add_file("notes/today.txt", b"nothing yet")?;
//! let mut arguments = Vec::new();
//! GetAttributes { object: file }.encode(&mut arguments);
//! let mut message = Vec::new();
//! Call {
//!     xid: 1,
//!     procedure: Procedure::GetAttributes.into(),
//!     credentials: std::borrow::Cow::Owned(Credentials::None),
//!     arguments: &arguments,
//! }
//! .write(&mut message);
//!
//! server.handle_input(Instant::ZERO, Input::Received { from: Peer(7), message: message.into() });
//! let Some(Output::Send { to, message }) = server.poll_output() else { panic!() };
//! assert_eq!(to, Peer(7));
//! assert!(Reply::parse(&message)?.outcome.is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chances;
mod config;
mod counters;
mod events;
mod line;
mod programs;
mod replies;
mod server;
mod storage;
mod stream;

pub use config::{Config, ConfigError, Faults, Service};
pub use counters::{Counters, Injected};
pub use events::{FalseAnswer, Fault, Input, Output, Peer};
pub use server::Server;
pub use storage::{Item, Tree};
pub use stream::RecordStream;
