//! Reasons why there is no connection, and remedies.

use std::io;

use nfs::attach::AttachError;
use rpc::Failure;
use units::Duration;

use crate::files::Protocol;

/// Reason why a server, or one of its programs, could not be reached.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The port is closed.
    #[error("{protocol} port {port} is closed (connection refused)")]
    Refused {
        /// The transport.
        protocol: Protocol,
        /// The port.
        port: u16,
    },
    /// There was no reply.
    #[error("no answer from {protocol} port {port} within {after}{}", reported(.trouble.as_ref()))]
    NoAnswer {
        /// The transport.
        protocol: Protocol,
        /// The port.
        port: u16,
        /// Time that we waited.
        after: Duration,
        /// Last error reported by the network.
        trouble: Option<io::Error>,
    },
    /// The port mapper does not know the program.
    #[error("its port mapper has no such program for {protocol}")]
    NotRegistered {
        /// The transport.
        protocol: Protocol,
    },
    /// The program replied with an error.
    #[error("{protocol} port {port}: {failure}")]
    Failed {
        /// The transport.
        protocol: Protocol,
        /// The port.
        port: u16,
        /// Error of the call.
        failure: Failure,
    },
    /// Our own system refuses.
    #[error("cannot open a {protocol} socket: {source}")]
    Socket {
        /// The transport.
        protocol: Protocol,
        /// Error of the system.
        source: io::Error,
    },
    /// The user interrupted the call.
    #[error("interrupted")]
    Interrupted,
}

impl ProgramError {
    fn protocol(&self) -> Option<Protocol> {
        match self {
            Self::Refused { protocol, .. }
            | Self::NoAnswer { protocol, .. }
            | Self::NotRegistered { protocol }
            | Self::Failed { protocol, .. }
            | Self::Socket { protocol, .. } => Some(*protocol),
            Self::Interrupted => None,
        }
    }
}

fn reported(trouble: Option<&io::Error>) -> String {
    trouble.map_or(String::new(), |error| format!(" ({error})"))
}

/// Reason why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The user interrupted it.
    #[error("interrupted")]
    Interrupted,
    /// The host has no address.
    #[error("host `{host}` has no address: {source}; check the name, or give an address")]
    Host {
        /// The host.
        host: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The service cannot be reached.
    #[error("cannot reach the file service of {host}: {}; {}", all(.tried), remedy(.tried))]
    Nfs {
        /// The host.
        host: String,
        /// Attempts, in order.
        tried: Vec<ProgramError>,
    },
    /// The service that gives handles cannot be reached.
    #[error("cannot reach the mount service of {host}: {}; {REMEDY_MOUNT}", all(.tried))]
    Mount {
        /// The host.
        host: String,
        /// Attempts, in order.
        tried: Vec<ProgramError>,
    },
    /// The path is outside of the export that the user names.
    #[error(
        "`{path}` does not lie in the export `{export}`; name a path that does, or leave the export out"
    )]
    OutsideExport {
        /// The path.
        path: String,
        /// The export.
        export: String,
    },
    /// No part of the path is exported.
    #[error("{host} exports nothing that `{path}` lies in: {error}{}", offer(.exports))]
    NotExported {
        /// The host.
        host: String,
        /// The path.
        path: String,
        /// Error of the server for the last candidate.
        error: Box<AttachError>,
        /// Exports of the server, if it lists them.
        exports: Vec<String>,
    },
    /// The server does not allow us to mount the export.
    #[error(
        "{host} does not let us mount `{export}`: {error}; have it exported to this host, and if we use no privileged \
         port, as root or with the server's option `insecure`"
    )]
    Denied {
        /// The host.
        host: String,
        /// The export.
        export: String,
        /// Error of the server.
        error: Box<AttachError>,
    },
    /// The server returns a handle, but fails afterwards.
    #[error("export `{export}` of {host}: {error}")]
    Export {
        /// The host.
        host: String,
        /// The export.
        export: String,
        /// Error of the server.
        error: Box<AttachError>,
    },
    /// The path is not valid.
    #[error("the path `{path}`: {fault}")]
    Path {
        /// The path.
        path: String,
        /// Fault of the path.
        fault: nfs::BadName,
    },
    /// A setting makes no sense.
    #[error(transparent)]
    Setting(#[from] machine::ConfigError),
    /// Our own system refuses.
    #[error("cannot start the connection: {0}")]
    System(#[source] io::Error),
}

const REMEDY_MOUNT: &str = "check that the server runs MOUNT version 3 and that no firewall is between, or say where \
    it listens (mountport=PORT)";

/// Returns a remedy if the NFS service cannot be reached: another transport only if one was not tried.
fn remedy(tried: &[ProgramError]) -> String {
    let protocols = [Protocol::Udp, Protocol::Tcp];
    let is_tried = |protocol: &Protocol| tried.iter().any(|one| one.protocol() == Some(*protocol));
    let other = match protocols.iter().find(|protocol| !is_tried(protocol)) {
        Some(Protocol::Udp) => ", try UDP (proto=udp)",
        Some(Protocol::Tcp) => ", try TCP (proto=tcp)",
        None => "",
    };
    format!(
        "check that the server runs and that no firewall is between{other}, or say where it listens \
         (nfs://HOST:PORT/...)"
    )
}

fn all(tried: &[ProgramError]) -> String {
    let texts: Vec<_> = tried.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

fn offer(exports: &[String]) -> String {
    match exports {
        [] => String::new(),
        exports => format!("; it exports {}", exports.join(", ")),
    }
}
