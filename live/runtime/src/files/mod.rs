//! Files at a server, driven in real time: one thread owns a [`files::Client`] and the only socket by which its server
//! identifies it.
//!
//! [`connect()`] finds a server and its export; the [`Connection`] that it returns accepts [`Operation`]s from any
//! thread.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use files::Operation;
//! use rpc::message::Credentials;
//! use runtime::files::{ConnectOptions, Server, connect};
//!
//! let server = Server::new("files.example", b"/srv/export/notes");
//! let (connection, root) = connect(&server, &ConnectOptions::default(), &|| false)?;
//! let nobody = Arc::new(Credentials::None);
//! let space = connection.call(&nobody, Operation::Space(root.handle))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Operation`]: files::Operation

mod connect;
mod connection;
mod driver;
mod link;
mod port;
mod resolve;
mod socket;
mod status;
mod stream;

pub use connect::{
    ConnectError, ConnectOptions, Largest, ProgramError, Root, Server, Transport, connect,
};
pub use connection::{CallError, Connection};
pub use link::Protocol;
pub use port::SourcePort;
pub use resolve::{ResolveError, Resolver};
pub use status::{Event, Status};
