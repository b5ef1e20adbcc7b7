//! The switch: it gives the system other servers, by the first way that this host has, and takes them back.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use wire::hop::Resolvers;

use super::conf::{self, RESOLV_CONF};
use super::record::{Place, Record};
use super::{file, program};
use crate::namespace::Namespace;
use crate::undo::is_alive;

/// A way to set the servers of this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// By systemd-resolved, for the link of the hop.
    Resolved,
    /// By the program `resolvconf`.
    Resolvconf,
    /// By another file over `/etc/resolv.conf`.
    Mount,
    /// By another text in `/etc/resolv.conf`, which others have mounted for this network, or where nothing can be
    /// mounted.
    File,
}

impl fmt::Display for Way {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Resolved => "systemd-resolved",
            Self::Resolvconf => "resolvconf",
            Self::Mount => "a file over /etc/resolv.conf",
            Self::File => "/etc/resolv.conf",
        })
    }
}

/// Reason why the servers could not be set or taken back.
#[derive(Debug, Error)]
pub enum ResolverError {
    /// The files of this process may be those of another network namespace.
    #[error(
        "/etc/resolv.conf may be that of another network namespace; start the daemon with `ip netns exec`, and a file \
         /etc/netns/NAME/resolv.conf"
    )]
    Foreign,
    /// The files of this process are those of a service.
    #[error(
        "a service may not change /etc/resolv.conf, and this host has no program that it could ask; install \
         systemd-resolved or resolvconf"
    )]
    Sandbox,
    /// The record of the change cannot be kept.
    #[error("cannot keep the record {}: {source}", path.display())]
    Record {
        /// Its path.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// No way works.
    #[error("no way to set the resolver works ({})", failures.join("; "))]
    NoWay {
        /// Reason of each failed way.
        failures: Vec<String>,
    },
    /// The change could not be taken back.
    #[error("cannot take back the resolver that {way} has: {source}")]
    NotTakenBack {
        /// The way.
        way: Way,
        /// Error of the system.
        source: io::Error,
    },
    /// A system error.
    #[error("cannot see what this host's resolver is: {0}")]
    System(#[from] io::Error),
}

/// The relation of this process to the network that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Surroundings {
    /// It is in the first network, and its files and services are those of that network.
    Host,
    /// It is in the first network, and has mounts of its own, as services of systemd do. Others would not see a file
    /// that it mounts, and it may not see one that they put in the place of `/etc/resolv.conf`.
    Sandbox,
    /// It is in another network, which has a `/etc/resolv.conf` of its own, as with `ip netns exec`.
    Own,
    /// It is in another network, or in one that is not known to be the first, and the file may be that of the first.
    Foreign,
}

impl Surroundings {
    /// Finds it out, for a process that reads the file `target`.
    fn look(target: Option<&Path>) -> io::Result<Self> {
        let shares_mounts = shares_mounts_with_first();
        if shares_network_with_first() {
            return Ok(if shares_mounts {
                Self::Host
            } else {
                Self::Sandbox
            });
        }
        let Some(target) = target.filter(|_| !shares_mounts) else {
            return Ok(Self::Foreign);
        };
        // Somebody has made this file, or its folder, for this network.
        let folder = target.parent().unwrap_or(target);
        let is_made = file::is_mounted(target)? || file::is_mounted(folder)?;
        let identity = |path: &str| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
        let is_shared = identity(&format!("/proc/1/root{RESOLV_CONF}")) == identity(RESOLV_CONF);
        Ok(if is_made && !is_shared {
            Self::Own
        } else {
            Self::Foreign
        })
    }
}

/// Returns true if this process is in the network of the first one. The entries of `/proc/PID/net` have other numbers
/// in each network. Unlike `/proc/PID/ns`, a process may look at them that has fewer capabilities than the first one.
fn shares_network_with_first() -> bool {
    let number = |process: &str| {
        let entry = fs::metadata(format!("/proc/{process}/net/dev"));
        entry.ok().map(|entry| entry.ino())
    };
    let first = number("1");
    first.is_some() && first == number("thread-self")
}

/// Returns true if this process sees the mounts of the first one: the system numbers each mount of each namespace.
fn shares_mounts_with_first() -> bool {
    let root = |process: &str| {
        let mounts = fs::read_to_string(format!("/proc/{process}/mountinfo")).ok()?;
        mounts.lines().next().map(ToOwned::to_owned)
    };
    let first = root("1");
    first.is_some() && first == root("thread-self")
}

/// The switch of one daemon.
#[derive(Debug)]
pub struct Switch {
    link: String,
    place: Place,
    surroundings: Surroundings,
}

impl Switch {
    /// Returns the switch of a daemon with the hop's link `link`, and records in `folder`. The process may drop rights
    /// after it: only one with all rights may look at the files of the first process.
    ///
    /// # Errors
    /// System errors.
    pub fn new(folder: &Path, instance: &str, link: &str) -> Result<Self, ResolverError> {
        Ok(Self {
            link: link.into(),
            place: Place::new(folder, instance, namespace()?),
            surroundings: Surroundings::look(file::target().ok().as_deref())?,
        })
    }

    /// Returns the way by which servers are set now, if they are.
    ///
    /// # Errors
    /// [`ResolverError::Record`].
    pub fn way(&self) -> Result<Option<Way>, ResolverError> {
        Ok(self.record()?.map(|record| record.way))
    }

    /// Gives these servers to the system, in the place of its own and of earlier ones.
    ///
    /// # Errors
    /// [`ResolverError`]; then the system has its own.
    pub fn set(&self, resolvers: &Resolvers) -> Result<Way, ResolverError> {
        if let Some(record) = self.record()? {
            if self.try_way(&record, resolvers).is_ok() {
                return Ok(record.way);
            }
            self.take_back()?;
        }
        let mut failures = Vec::new();
        for record in self.ways()? {
            self.place.write(&record).map_err(self.record_error())?;
            match self.try_way(&record, resolvers) {
                Ok(()) => return Ok(record.way),
                Err(error) => failures.push(format!("{}: {error}", record.way)),
            }
            self.take_back()?;
        }
        if failures.is_empty() {
            failures.push(format!("there is no {RESOLV_CONF}"));
        }
        Err(ResolverError::NoWay { failures })
    }

    /// Takes the servers back; returns true if some were set.
    ///
    /// # Errors
    /// [`ResolverError::NotTakenBack`]; the record stays.
    pub fn take_back(&self) -> Result<bool, ResolverError> {
        take_back(&self.place)
    }

    fn record(&self) -> Result<Option<Record>, ResolverError> {
        self.place.read().map_err(self.record_error())
    }

    fn record_error(&self) -> impl Fn(io::Error) -> ResolverError {
        record_error(&self.place)
    }

    /// Returns the ways that this host may have, the best one first.
    fn ways(&self) -> Result<Vec<Record>, ResolverError> {
        let record = |way, target: &Path| Record {
            way,
            link: self.link.clone(),
            target: target.into(),
        };
        let mut ways = Vec::new();
        if let Surroundings::Host | Surroundings::Sandbox = self.surroundings {
            let none = Path::new("");
            ways.extend(program::has_resolved().then(|| record(Way::Resolved, none)));
            ways.extend(program::has_resolvconf().then(|| record(Way::Resolvconf, none)));
        }
        match (self.surroundings, file::target()) {
            (Surroundings::Foreign, _) => return Err(ResolverError::Foreign),
            (Surroundings::Host | Surroundings::Own, Ok(target)) => {
                if !file::is_mounted(&target)? {
                    ways.push(record(Way::Mount, &target));
                }
                ways.push(record(Way::File, &target));
            }
            (Surroundings::Sandbox, _) if ways.is_empty() => return Err(ResolverError::Sandbox),
            _ => {}
        }
        Ok(ways)
    }

    fn try_way(&self, record: &Record, resolvers: &Resolvers) -> io::Result<()> {
        match record.way {
            Way::Resolved => return program::set_resolved(&record.link, resolvers),
            Way::Resolvconf => program::set_resolvconf(&record.link, resolvers)?,
            Way::Mount => file::mount(&record.target, &self.place.mounted(), resolvers)?,
            Way::File => file::write(&record.target, resolvers)?,
        }
        // A program may keep other servers beside ours, or nobody may read what it wrote.
        let present = conf::read(Path::new(RESOLV_CONF))?;
        let present: Vec<IpAddr> = conf::servers_in(&present).collect();
        // A service has no other way, and a server that is asked after ours hears less than one that is asked alone.
        let is_last = self.surroundings == Surroundings::Sandbox;
        if present == resolvers.servers() || is_last && present.starts_with(resolvers.servers()) {
            return Ok(());
        }
        // openresolv says nothing if it cannot write the file.
        let denied = OpenOptions::new().append(true).open(RESOLV_CONF).err();
        let is_read_only = |denied: io::Error| denied.kind() == io::ErrorKind::ReadOnlyFilesystem;
        Err(io::Error::other(if denied.is_some_and(is_read_only) {
            format!(
                "this service may not change {RESOLV_CONF}; `systemctl edit lasthop-mobile`, with the lines [Service] \
                 and ReadWritePaths={RESOLV_CONF}"
            )
        } else {
            format!("{RESOLV_CONF} has other servers all the same")
        }))
    }
}

fn record_error(place: &Place) -> impl Fn(io::Error) -> ResolverError + use<> {
    let path = place.path().to_owned();
    move |source| ResolverError::Record {
        path: path.clone(),
        source,
    }
}

fn take_back(place: &Place) -> Result<bool, ResolverError> {
    let Some(record) = place.read().map_err(record_error(place))? else {
        return Ok(false);
    };
    let undone = match record.way {
        Way::Resolved => program::revert_resolved(&record.link),
        Way::Resolvconf => program::revert_resolvconf(&record.link),
        Way::Mount => file::unmount_again(&record.target, &place.mounted()),
        Way::File => file::write_back(&record.target),
    };
    match undone {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            let way = record.way;
            return Err(ResolverError::NotTakenBack { way, source });
        }
        _ => {}
    }
    place.remove().map_err(record_error(place))?;
    Ok(true)
}

/// Takes back what the daemon of this instance has set; returns true if there was something.
///
/// # Errors
/// [`ResolverError`].
pub fn lift(folder: &Path, instance: &str) -> Result<bool, ResolverError> {
    take_back(&Place::new(folder, instance, namespace()?))
}

/// Takes back what daemons that are dead have set in this network namespace; returns the record of each, and the error
/// if it could not be taken back.
///
/// # Errors
/// If the folder cannot be read.
pub fn lift_abandoned(
    folder: &Path,
) -> Result<Vec<(PathBuf, Option<ResolverError>)>, ResolverError> {
    let mut places = Place::all(folder, namespace()?)?;
    places.retain(|place| !is_alive(&place.undo_file()));
    let lift = |place: &Place| (place.path().to_owned(), take_back(place).err());
    Ok(places.iter().map(lift).collect())
}

fn namespace() -> io::Result<u64> {
    let current = Namespace::current().map_err(io::Error::other)?;
    Ok(current.id().inode)
}
