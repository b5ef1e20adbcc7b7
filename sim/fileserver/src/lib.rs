//! A server of files in memory (NFS version 3 and MOUNT version 3, RFC 1813; GETPORT, RFC 1833), for tests, for
//! fuzzing, and for simulated hosts.
//!
//! [`Server`] is the machine. It keeps the rules of UNIX and tells the difference between data that it has and data
//! that a crash would leave ([`Input::Restart`]). It has a reply cache as real servers have (keyed on who asks, from
//! where, and on the bytes of the call; a copy of a call that is under way is dropped), takes its time
//! ([`Service`]), and makes on demand the mistakes of a lossy network ([`Faults`]) and of a hostile server
//! ([`Lie`]).
//!
//! There is no protection: every caller may do everything, as root at an export with `no_root_squash`. New files
//! belong to who made them, and modes are kept, but nothing looks at them.
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
pub use events::{Fault, Input, Lie, Output, Peer};
pub use server::Server;
pub use storage::{Item, Tree};
pub use stream::Stream;
