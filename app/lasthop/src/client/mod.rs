//! The client of files as the user wants it: what `lasthop nfs` takes as flags, and `lasthop mount` behind `-o`.

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

/// How long the server may take to answer at all, unless the user says it.
pub(crate) const CONNECT_TIME: Duration = Duration::from_secs(30);

/// What the user says of the client of files.
#[derive(Debug, Clone)]
pub(crate) struct ClientOptions {
    /// How it behaves.
    pub(crate) files: files::Config,
    /// How its calls are repeated.
    pub(crate) calls: rpc::Config,
    /// In whose name it asks, if not in that of this process.
    pub(crate) caller: Option<Identity>,
    /// How long the server may take to answer at all.
    pub(crate) connect_time: Duration,
    pub(crate) source_port: SourcePort,
    /// Where the hop's fades and hand-offs are told, unless nobody is to listen.
    pub(crate) signals: Option<PathBuf>,
    /// What can also stand behind the address, and comes before what stands there.
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
    /// As connections are made with them.
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

    /// The address with what is said here of its server.
    pub(crate) fn address(&self, url: &Url) -> Url {
        Url {
            options: self.url.clone().or(url.options.clone()),
            ..url.clone()
        }
    }

    /// Lets a connection hear what a daemon tells of the hop, if there is one, now or later.
    ///
    /// # Errors
    /// When the system has no thread or no descriptor.
    pub(crate) fn hear_the_hop(&self, connection: &Connection) -> io::Result<Option<Reader>> {
        let hear = |path: &PathBuf| {
            let connection = connection.clone();
            Reader::start(path.clone(), move |event| connection.link_event(event))
        };
        self.signals.as_ref().map(hear).transpose()
    }
}

/// Reads an address from the command line.
///
/// # Errors
/// What is wrong with it, and where.
pub(crate) fn parse_url(text: &OsStr) -> Result<Url, String> {
    Url::parse(text.as_bytes()).map_err(|error| format!("{}: {error}", text.display()))
}

/// The server that an address names.
///
/// # Errors
/// What in the address contradicts itself.
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

/// This host's name, which servers are told.
pub(crate) fn host_name() -> String {
    let system = rustix::system::uname();
    system.nodename().to_string_lossy().into_owned()
}

/// The user and the groups that this process belongs to; of many groups, the first 16.
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
