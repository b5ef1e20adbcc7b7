//! The user's settings of the NFS client: the flags of `lasthop nfs`, and the options of `lasthop mount -o`.

pub(crate) mod values;

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nfs::url::{Url, UrlOptions};
use rpc::message::{Credentials, GROUPS_MAX, Identity, SystemCredentials};
use runtime::files::{ConnectOptions, Connection, Largest, Server, SourcePort};
use runtime::signals::{ENDING, Reader};
use units::Duration;

use crate::entropy;
use crate::failure::Failure;

/// Default of the time limit of the first connection to the server.
pub(crate) const CONNECT_TIME: Duration = Duration::from_secs(30);

/// The user's settings of the NFS client.
#[derive(Debug, Clone)]
pub(crate) struct ClientOptions {
    /// Settings of files, such as block and window.
    pub(crate) files: files::Config,
    /// Settings of calls, such as the retransmission policy.
    pub(crate) calls: rpc::Config,
    /// User and groups of the calls, if not those of this process.
    pub(crate) caller: Option<Identity>,
    /// Time limit of the first connection to the server.
    pub(crate) connect_time: Duration,
    pub(crate) source_port: SourcePort,
    /// Socket with the fades and hand-offs of the hop; `None` to ignore them.
    pub(crate) signals: Option<PathBuf>,
    /// Options that may also be part of the URL; these take precedence.
    pub(crate) url: UrlOptions,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            files: files::Config::default(),
            calls: rpc::Config::default(),
            caller: None,
            connect_time: CONNECT_TIME,
            source_port: SourcePort::default(),
            signals: Some(Path::new(edges::undo::STATE_FOLDER).join(format!("mobile.{ENDING}"))),
            url: UrlOptions::default(),
        }
    }
}

impl ClientOptions {
    /// Returns the options for a connection.
    pub(crate) fn connect_options(&self) -> Result<ConnectOptions, Failure> {
        self.files.check().map_err(Failure::setting)?;
        self.calls.check().map_err(Failure::setting)?;
        let identity = match &self.caller {
            Some(identity) => identity.clone(),
            None => own_identity()?,
        };
        let stamp = std::process::id();
        let caller =
            SystemCredentials::new(stamp, &host_name(), identity).map_err(Failure::setting)?;
        let mut seed = [0; 8];
        entropy::fill(&mut seed);
        Ok(ConnectOptions {
            files: self.files.clone(),
            calls: self.calls.clone(),
            caller: Arc::new(Credentials::System(caller)),
            time: self.connect_time,
            source_port: self.source_port,
            seed: u64::from_le_bytes(seed),
        })
    }

    /// Returns the URL with these options of its server.
    pub(crate) fn address(&self, url: &Url) -> Url {
        Url {
            options: self.url.clone().or(url.options.clone()),
            ..url.clone()
        }
    }

    /// Passes the events of a daemon of the hop to a connection, as soon as a daemon runs.
    ///
    /// # Errors
    /// If the system has no thread or no descriptor left.
    pub(crate) fn hear_the_hop(&self, connection: &Connection) -> io::Result<Option<Reader>> {
        let hear = |path: &PathBuf| {
            let connection = connection.clone();
            Reader::start(path.clone(), move |event| connection.link_event(event))
        };
        self.signals.as_ref().map(hear).transpose()
    }
}

/// Reads a URL from the command line.
///
/// # Errors
/// The fault, and its place in the text.
pub(crate) fn parse_url(text: &OsStr) -> Result<Url, String> {
    Url::parse(text.as_bytes()).map_err(|error| format!("{}: {error}", text.display()))
}

/// Returns the server of a URL.
///
/// # Errors
/// Options of the URL that contradict each other.
pub(crate) fn server_of(url: &Url) -> Result<Server, String> {
    let options = &url.options;
    let nfs_port = match (url.port, options.nfs_port) {
        (Some(one), Some(other)) if one != other => {
            return Err(format!(
                "{url}: port {one} behind the host and nfsport={other}: leave one out"
            ));
        }
        (one, other) => one.or(other),
    };
    Ok(Server {
        nfs_port,
        mount_port: options.mount_port,
        transport: options.transport.unwrap_or_default(),
        export: options.export.clone(),
        largest: Largest {
            read: options.read_size,
            write: options.write_size,
        },
        ..Server::new(&url.host, &url.path)
    })
}

/// Returns the name of this host, which is sent to servers.
pub(crate) fn host_name() -> String {
    let system = rustix::system::uname();
    system.nodename().to_string_lossy().into_owned()
}

/// Returns the user and the groups of this process; of more than 16 groups, the first 16.
fn own_identity() -> Result<Identity, Failure> {
    let group = rustix::process::getegid();
    let groups = rustix::process::getgroups()
        .map_err(|error| Failure::broken(format!("cannot list this process's groups: {error}")))?;
    let others = groups.into_iter().filter(|other| *other != group);
    Ok(Identity {
        user: rustix::process::geteuid().as_raw(),
        group: group.as_raw(),
        groups: others
            .take(GROUPS_MAX)
            .map(rustix::process::Gid::as_raw)
            .collect(),
    })
}
