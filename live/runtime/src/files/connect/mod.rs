//! From the name of a server and a path to a [`Connection`]: where its programs listen, which part of the path it
//! exports, and what it can do.

mod caller;
mod error;
mod export;
mod step;

use std::sync::Arc;

use files::{Client, Config, ServerLimits};
use nfs::{Attributes, FileHandle, ServerAbilities};
use rpc::message::Credentials;
use units::Duration;

use super::driver::{self, Parts};
use super::{Connection, SourcePort};

pub use error::{ConnectError, Silence};
pub use nfs::url::Transport;

/// A server of files, and what is wanted of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its name or address.
    pub host: String,
    /// Where it serves files; without it the port mapper is asked, and 2049 taken if there is none.
    pub nfs_port: Option<u16>,
    /// Where it gives handles of exports; without it the port mapper is asked.
    pub mount_port: Option<u16>,
    /// Through what it is reached.
    pub transport: Transport,
    /// The path at the server: an export, and what is below.
    pub path: Vec<u8>,
    /// Which part of the path is the export, if it is known; else the server is asked.
    pub export: Option<Vec<u8>>,
    /// The largest READ and WRITE, in bytes, if less than the server takes.
    pub largest: Largest,
}

/// Upper bounds of blocks, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Largest {
    /// Of a READ.
    pub read: Option<u32>,
    /// Of a WRITE.
    pub write: Option<u32>,
}

impl Server {
    /// A server of which nothing is known but its host and the path.
    pub fn new(host: &str, path: &[u8]) -> Self {
        Self {
            host: host.into(),
            nfs_port: None,
            mount_port: None,
            transport: Transport::default(),
            path: path.into(),
            export: None,
            largest: Largest::default(),
        }
    }
}

/// How a connection is made, and behaves.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// How the client of files behaves.
    pub files: Config,
    /// How its calls are repeated; the transport is the server's.
    pub calls: rpc::Config,
    /// Who asks while the connection is made.
    pub caller: Arc<Credentials>,
    /// How long it may take to make the connection, altogether.
    pub time: Duration,
    /// The local port.
    pub source_port: SourcePort,
    /// Where transactions begin. It must be another one for each connection that is made to a server in quick
    /// succession, lest the server takes calls of one for repeated calls of the other.
    pub seed: u64,
}

impl Default for ConnectOptions {
    /// Gives up after 30 s; transactions begin where the clock says.
    fn default() -> Self {
        Self {
            files: Config::default(),
            calls: rpc::Config::default(),
            caller: Arc::new(Credentials::None),
            time: Duration::from_secs(30),
            source_port: SourcePort::default(),
            seed: edges::clock::wall().as_nanos(),
        }
    }
}

/// The export, and what lies below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The export's handle.
    pub handle: FileHandle,
    /// What is known of the export's directory, if the server told.
    pub attributes: Option<Attributes>,
    /// What the server can do.
    pub abilities: ServerAbilities,
    /// The part of the path that is the export.
    pub export: Vec<u8>,
    /// The rest of the path, without `/` at its ends: see [`Resolver`](super::Resolver).
    pub rest: Vec<u8>,
}

impl Root {
    /// What is left of a path at the server below this export, if it lies there.
    pub fn below(&self, path: &[u8]) -> Option<Vec<u8>> {
        export::below(&export::normal(path), &self.export).map(<[u8]>::to_vec)
    }
}

/// Connects to a server. It gives up when `interrupted` says so, which is asked every 50 ms.
///
/// # Errors
/// [`ConnectError`] says what is wrong, and what helps.
pub fn connect(
    server: &Server,
    options: &ConnectOptions,
    interrupted: &dyn Fn() -> bool,
) -> Result<(Connection, Root), ConnectError> {
    options.files.check()?;
    options.calls.check()?;
    let reached = step::reach(server, options, interrupted)?;
    let abilities = reached.root.abilities;
    let limits = limits(&abilities, server.largest);
    let (link, rpc, waiter, way) = reached.nfs.into_parts();
    let client = Client::new(options.files.clone(), limits, rpc, options.seed)?;
    let parts = Parts {
        client,
        link,
        waiter,
        way,
    };
    let connection = driver::start(parts).map_err(ConnectError::System)?;
    Ok((connection, reached.root))
}

/// What the server says of itself, within what the user wants.
fn limits(abilities: &ServerAbilities, largest: Largest) -> ServerLimits {
    let said = ServerLimits::new(abilities);
    ServerLimits {
        read: largest.read.map_or(said.read, |most| most.min(said.read)),
        write: largest
            .write
            .map_or(said.write, |most| most.min(said.write)),
        ..said
    }
}
