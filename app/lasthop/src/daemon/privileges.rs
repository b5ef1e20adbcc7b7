//! The privileges that a daemon keeps while it runs, and the helper that keeps those for its end.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use ::split::End;
use edges::detour::Detour;
use edges::sysctl;
use edges::undo::UndoLog;
use runtime::helper::{self, Charge, Claimed, Helper};
use runtime::privileges::{self, Remains, User};
use runtime::sockets::Divert;
use runtime::{Change, Changed, KeyClaim};
use rustix::thread::CapabilitySet;

use super::reading::Reading;
use super::split;
use crate::config::Source;
use crate::config::gateway::GatewayConfig;
use crate::failure::Failure;
use crate::{log, state};

/// The internal command of a helper.
pub(crate) const COMMAND: &str = "network-helper";
/// This program, even if its file was replaced.
pub(super) const PROGRAM: &str = "/proc/self/exe";
/// Files that name resolution reads, or their folders.
const NAMES: [&str; 3] = ["/etc", "/run/systemd/resolve", "/run/resolvconf"];
/// Congestion controls that any user may choose.
const ALLOWED: &str = "net/ipv4/tcp_allowed_congestion_control";

/// The privileges that a daemon needs while it runs.
pub(super) struct Needs {
    user: User,
    capabilities: CapabilitySet,
    resolves_names: bool,
}

/// What a daemon opens after its start with a mark, so that it goes beside the hop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks {
    /// Queries for names.
    pub(super) queries: bool,
    /// Connections of TLS to the gateway.
    pub(super) connections: bool,
}

impl Needs {
    /// Returns the needs of a daemon that splits TCP by `plan`, if at all.
    pub(super) fn of(
        user: Option<&str>,
        plan: Option<&split::Plan>,
        marks: Marks,
    ) -> Result<Self, Failure> {
        let mut capabilities = CapabilitySet::empty();
        // For the marks.
        if marks.queries || marks.connections {
            capabilities |= CapabilitySet::NET_RAW;
        }
        if let Some(plan) = plan.filter(|plan| plan.end != End::Mobile) {
            // For sockets with addresses and ports of other hosts.
            capabilities |= CapabilitySet::NET_RAW | CapabilitySet::NET_BIND_SERVICE;
            let name = plan.settings.congestion_control.as_deref();
            if name.is_some_and(|name| !anyone_may_choose(name)) {
                capabilities |= CapabilitySet::NET_ADMIN;
            }
        }
        Ok(Self {
            user: User::find(user).map_err(Failure::setting)?,
            capabilities,
            resolves_names: marks.queries,
        })
    }

    /// Drops everything else.
    pub(super) fn drop_others(&self) -> Result<(), Failure> {
        let names = NAMES.map(Path::new);
        let remains = Remains {
            capabilities: self.capabilities,
            read: if self.resolves_names { &names } else { &[] },
        };
        privileges::drop_all_but(&self.user, &remains).map_err(Failure::setting)
    }
}

fn anyone_may_choose(congestion_control: &str) -> bool {
    // Outside of the first network namespace the parameter does not exist.
    let allowed = sysctl::read(ALLOWED).unwrap_or_default();
    allowed
        .split_whitespace()
        .any(|one| one == congestion_control)
}

/// What the process that configures the network has to know.
pub(super) struct Duties<'a> {
    /// Sockets to remove at the end.
    pub(super) sockets: Vec<PathBuf>,
    pub(super) splitting: Option<&'a split::Opened>,
    pub(super) detour: Option<Detour>,
    /// The configuration.
    pub(super) source: &'a Source,
    /// Name of the link to the peers.
    pub(super) link: &'a str,
}

/// The process that configures the network from now on.
#[derive(Clone)]
pub(super) struct Keeper(Arc<Mutex<Helper>>);

impl Keeper {
    /// Starts it, and hands the changes to the system over to it.
    pub(super) fn start(undo: UndoLog, duties: Duties<'_>) -> Result<Self, Failure> {
        let Duties {
            sockets,
            splitting,
            detour,
            source,
            link,
        } = duties;
        let detour = detour.map(|detour| Detour {
            inner_link: link.into(),
            ..detour
        });
        let path = source.path();
        let configuration = std::path::absolute(path).unwrap_or_else(|_| path.into());
        let claims = claims_folders(source)?;
        let charge = Charge {
            undo: undo.path().into(),
            sockets,
            diversion: splitting.and_then(split::Opened::later),
            detour,
            configuration,
            text: source.text().into(),
            link: link.into(),
            claims,
            installed: splitting.and_then(split::Opened::installed),
        };
        let mut command = Command::new(PROGRAM);
        command.arg(COMMAND);
        let helper = Helper::start(command, &charge).map_err(|error| {
            let what = "cannot start the process that configures the network";
            Failure::setting(format!("{what}: {error}"))
        })?;
        undo.hand_over();
        Ok(Self(Arc::new(Mutex::new(helper))))
    }

    /// Returns the request for the diversion.
    pub(super) fn divert(&self) -> Divert {
        let helper = Arc::clone(&self.0);
        Box::new(move || lock(&helper).divert())
    }

    /// Makes changes of the ways of packets.
    pub(super) fn change(&self, changes: Vec<Change>) -> io::Result<Changed> {
        lock(&self.0).change(changes)
    }

    /// Has the configuration read again, with the changes of hosts since a version; returns the answer of [`Reading`].
    pub(super) fn read(&self, since: u64) -> io::Result<String> {
        lock(&self.0).read(since)
    }

    /// Has a claimed key stored.
    pub(super) fn claim(&self, claim: &KeyClaim) -> io::Result<Claimed> {
        lock(&self.0).claim(claim)
    }

    /// Adapts the system to the configuration that was read last.
    pub(super) fn apply(&self) -> io::Result<()> {
        lock(&self.0).apply()
    }

    /// Leaves all changes to the next process of this daemon.
    pub(super) fn leave(self) -> Result<(), Failure> {
        lock(&self.0).leave().map_err(Failure::broken)
    }

    /// Takes back all changes to the system.
    pub(super) fn undo(self) -> Result<(), Failure> {
        lock(&self.0).undo().map_err(Failure::broken)
    }
}

/// Returns the folders in which claimed keys are stored; they exist then. A gateway has one for mobile hosts and one
/// for other gateways of its site, and a mobile host one for its gateway's key.
fn claims_folders(source: &Source) -> Result<Vec<PathBuf>, Failure> {
    let mut folders: Vec<_> = state::successor_folder(source).into_iter().collect();
    folders.extend(GatewayConfig::folders_in(source)?.into_values());
    for folder in &mut folders {
        state::create_folder(folder)?;
        *folder = std::path::absolute(&*folder).unwrap_or_else(|_| folder.clone());
    }
    Ok(folders)
}

fn lock(helper: &Mutex<Helper>) -> std::sync::MutexGuard<'_, Helper> {
    helper.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a helper, which a daemon has started with its end of a stream as standard input.
pub(crate) fn run_helper() -> Result<(), Failure> {
    log::start()?;
    let served = own_end().and_then(|own| helper::serve(own.into(), Reading::new));
    served.map_err(Failure::broken)
}

/// Returns a helper's end of the stream to its daemon: standard input.
pub(super) fn own_end() -> io::Result<OwnedFd> {
    io::stdin().as_fd().try_clone_to_owned()
}
