//! Why there is no connection, and what helps.

use std::io;

use nfs::attach::AttachError;
use rpc::Failure;
use units::Duration;

use crate::files::Protocol;

/// How a server, or one of its programs, could not be reached.
#[derive(Debug, thiserror::Error)]
pub enum Silence {
    /// Nobody listens there.
    #[error("{protocol} port {port} is closed (connection refused)")]
    Refused {
        /// The transport.
        protocol: Protocol,
        /// The port.
        port: u16,
    },
    /// Nobody answered.
    #[error("no answer from {protocol} port {port} within {after}{}", reported(.trouble.as_ref()))]
    NoAnswer {
        /// The transport.
        protocol: Protocol,
        /// The port.
        port: u16,
        /// How long we waited.
        after: Duration,
        /// What the network reported last.
        trouble: Option<io::Error>,
    },
    /// The port mapper knows nothing of it.
    #[error("its port mapper has no such program for {protocol}")]
    NotRegistered {
        /// The transport.
        protocol: Protocol,
    },
    /// It answered, and said no.
    #[error("{protocol} port {port}: {failure}")]
    Failed {
        /// The transport.
        protocol: Protocol,
        /// The port.
        port: u16,
        /// Why.
        failure: Failure,
    },
    /// Our own system does not let us.
    #[error("cannot open a {protocol} socket: {source}")]
    Socket {
        /// The transport.
        protocol: Protocol,
        /// Why.
        source: io::Error,
    },
    /// The user does not wait any more.
    #[error("interrupted")]
    Interrupted,
}

impl Silence {
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

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The user broke it off.
    #[error("interrupted")]
    Interrupted,
    /// The host has no address.
    #[error("host `{host}` has no address: {source}; check the name, or give an address")]
    Host {
        /// The host.
        host: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The service cannot be reached.
    #[error("cannot reach the file service of {host}: {}; {}", all(.tried), remedy(.tried))]
    Nfs {
        /// The host.
        host: String,
        /// What was tried, one after the other.
        tried: Vec<Silence>,
    },
    /// The service that gives handles cannot be reached.
    #[error("cannot reach the mount service of {host}: {}; {REMEDY_MOUNT}", all(.tried))]
    Mount {
        /// The host.
        host: String,
        /// What was tried, one after the other.
        tried: Vec<Silence>,
    },
    /// The path lies elsewhere than in the export that the user names.
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
        /// What the server said of the last that was tried.
        error: Box<AttachError>,
        /// What it exports, if it told.
        exports: Vec<String>,
    },
    /// The export is not for us.
    #[error(
        "{host} does not let us mount `{export}`: {error}; have it exported to this host, and if we use no privileged \
         port, as root or with the server's option `insecure`"
    )]
    Denied {
        /// The host.
        host: String,
        /// The export.
        export: String,
        /// What the server said.
        error: Box<AttachError>,
    },
    /// The server gives a handle and then does not go on.
    #[error("export `{export}` of {host}: {error}")]
    Export {
        /// The host.
        host: String,
        /// The export.
        export: String,
        /// What the server said.
        error: Box<AttachError>,
    },
    /// The path is none.
    #[error("the path `{path}`: {fault}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        fault: nfs::BadName,
    },
    /// A setting makes no sense.
    #[error(transparent)]
    Setting(#[from] machine::ConfigError),
    /// Our own system does not let us.
    #[error("cannot start the connection: {0}")]
    System(#[source] io::Error),
}

const REMEDY_MOUNT: &str = "check that the server runs MOUNT version 3 and that no firewall is between, or say where \
    it listens (mountport=PORT)";

/// What helps to reach the file service: another transport only if there is one that was not tried.
fn remedy(tried: &[Silence]) -> String {
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

fn all(tried: &[Silence]) -> String {
    let texts: Vec<_> = tried.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

fn offer(exports: &[String]) -> String {
    match exports {
        [] => String::new(),
        exports => format!("; it exports {}", exports.join(", ")),
    }
}
