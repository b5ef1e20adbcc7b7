//! Connecting by the name of a server and a path: finds the ports of its programs, the exported part of the path, and
//! the properties of the server, and returns a [`Connection`].

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

pub use error::{ConnectError, ProgramError};
pub use nfs::url::Transport;

/// Address and options of a file server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Name or address of the host.
    pub host: String,
    /// Port of NFS; by default the port mapper is queried, and 2049 taken if there is none.
    pub nfs_port: Option<u16>,
    /// Port of MOUNT, which returns handles of exports; by default the port mapper is queried.
    pub mount_port: Option<u16>,
    /// Transport of the calls.
    pub transport: Transport,
    /// Path at the server: an export, and a path below it.
    pub path: Vec<u8>,
    /// The part of the path that is the export, if it is known; by default the server is queried.
    pub export: Option<Vec<u8>>,
    /// Largest READ and WRITE, in bytes, if less than the server's limits.
    pub largest: Largest,
}

/// Upper bounds of transfers, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Largest {
    /// Largest READ.
    pub read: Option<u32>,
    /// Largest WRITE.
    pub write: Option<u32>,
}

impl Server {
    /// Returns a server with this host and path, and defaults otherwise.
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

/// Options of a connection and of making it.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// Configuration of the client of files.
    pub files: Config,
    /// Configuration of retransmission; the transport is that of the server.
    pub calls: rpc::Config,
    /// Credentials for making the connection.
    pub caller: Arc<Credentials>,
    /// Total time limit for making the connection.
    pub time: Duration,
    /// Local port.
    pub source_port: SourcePort,
    /// First transaction number. It must differ between connections made to a server in quick succession, so that the
    /// server does not take calls of one for retransmissions of the other.
    pub seed: u64,
}

impl Default for ConnectOptions {
    /// Returns options with a time limit of 30 s, and transaction numbers that start from the clock.
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

/// The export, and the path below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Handle of the export.
    pub handle: FileHandle,
    /// Attributes of the export's directory, if the server returned them.
    pub attributes: Option<Attributes>,
    /// Properties of the server.
    pub abilities: ServerAbilities,
    /// Part of the path that is the export.
    pub export: Vec<u8>,
    /// Rest of the path, without `/` at its ends: see [`Resolver`](super::Resolver).
    pub rest: Vec<u8>,
}

impl Root {
    /// Returns the rest of a path at the server below this export, if it lies there.
    pub fn below(&self, path: &[u8]) -> Option<Vec<u8>> {
        export::below(&export::normal(path), &self.export).map(<[u8]>::to_vec)
    }
}

/// Connects to a server. It stops when `interrupted` returns true, which is called every 50 ms.
///
/// # Errors
/// [`ConnectError`] names the reason and a remedy.
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

/// Returns the limits that the server reports, reduced to those of the user.
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
