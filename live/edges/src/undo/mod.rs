//! The undo log, which reverts a daemon's changes of the system when the daemon ends.
//!
//! Each change is recorded before it is made, in memory and in a file. When the log is dropped, it reverts all changes,
//! last first. If the process was killed, the file stays, and the next [`UndoLog::open`] in the same network namespace
//! takes its steps.

mod error;
mod file;
mod folder;
pub mod standing;
mod step;

use std::fs::File;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use planted::Bug;

use crate::diversion::Diversion;
use crate::forwarding::Forwarding;
use crate::hold::Hold;
use crate::lease::Lease;
use crate::nameserver::NameServer;
use crate::namespace::{Namespace, NamespaceError};
use crate::nat::Masquerade;
use crate::netlink::{Netlink, Route, Rule};
use crate::nft::{NftError, Table};
use crate::sysctl;
use error::file_error;
use file::{Line, Owner};

pub use error::UndoError;
pub(crate) use folder::is_alive;
pub use folder::{Recovery, daemon_addresses};
pub use step::UndoStep;

/// Default folder of undo files.
pub const STATE_FOLDER: &str = "/run/lasthop";

/// Number of steps from which a log is shortened, if most are complete.
const LONG: usize = 256;

/// A log of changes to the system, which reverts them.
pub struct UndoLog {
    path: PathBuf,
    file: File,
    /// Steps by their number in the file; `None` if a step is complete.
    steps: Vec<Option<UndoStep>>,
    namespace: Namespace,
    netlink: Netlink,
    owner: Owner,
    /// Tables of a dead process that stand until this one installs its own in their place.
    left_tables: Vec<Table>,
    /// True if nothing is left to take back here.
    is_done: bool,
}

impl UndoLog {
    /// Undoes the changes of dead processes of any instance in this network namespace, then begins the log of
    /// `instance`. It creates `folder` (usually [`STATE_FOLDER`]) if it is missing.
    ///
    /// Tables of `instance` itself stay until the next process installs its own in their place, or calls
    /// [`remove_left_tables`](Self::remove_left_tables): meanwhile this host would answer segments for translated
    /// addresses with resets.
    pub fn open(folder: &Path, instance: &str) -> Result<(Self, Vec<Recovery>), UndoError> {
        let namespace = Namespace::current()?;
        let mut netlink = Netlink::open()?;
        let folder = folder::StateFolder::open(folder, namespace.id())?;
        let path = folder.path_of(instance)?;
        let (steps, recoveries, obsolete) = folder.recover(instance, &mut netlink)?;
        let table = |step: &UndoStep| match step {
            UndoStep::RemoveTable { table } => Some(table.clone()),
            _ => None,
        };
        let left_tables = steps.iter().filter_map(table).collect();
        let owner = Owner::this_process().map_err(file_error(&path))?;
        let file = folder::StateFolder::begin(&path, &owner, &steps)?;
        for left in obsolete.iter().filter(|left| **left != path) {
            std::fs::remove_file(left).map_err(file_error(left))?;
        }
        let steps = steps.into_iter().map(Some).collect();
        Ok((
            Self {
                path,
                file,
                steps,
                namespace,
                netlink,
                owner,
                left_tables,
                is_done: false,
            },
            recoveries,
        ))
    }

    /// Returns the path of the undo file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the changes to a process that has called [`take_over`](Self::take_over). This process stays the owner of
    /// the file.
    pub fn hand_over(mut self) {
        self.is_done = true;
    }

    /// Takes over the log of a living process, in the same network namespace.
    ///
    /// # Errors
    /// [`UndoError::File`] if there is no such log.
    pub fn take_over(path: &Path) -> Result<Self, UndoError> {
        let content = file::read(path).map_err(file_error(path))?;
        let no_owner = || io::Error::new(io::ErrorKind::InvalidData, "it does not say whose it is");
        let owner = content
            .owner
            .ok_or_else(no_owner)
            .map_err(file_error(path))?;
        let file = folder::StateFolder::begin(path, &owner, &content.steps)?;
        Ok(Self {
            path: path.into(),
            file,
            steps: content.steps.into_iter().map(Some).collect(),
            namespace: Namespace::current()?,
            netlink: Netlink::open()?,
            owner,
            left_tables: Vec::new(),
            is_done: false,
        })
    }

    /// Reverts all changes like [`undo`](Self::undo) and then calls `then`, unless a later process has done that in its
    /// place and owns the file now. No other process of this folder starts meanwhile.
    ///
    /// # Errors
    /// Those of [`undo`](Self::undo).
    pub fn undo_own(mut self, then: impl FnOnce()) -> Result<(), UndoError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let _locked = folder::StateFolder::open(folder, self.namespace.id())?;
        let present = file::read(&self.path).map_err(file_error(&self.path));
        let is_own = present.is_ok_and(|present| present.owner.as_ref() == Some(&self.owner));
        if !is_own {
            self.is_done = true;
            return Ok(());
        }
        let undone = self.take_all_steps();
        then();
        undone
    }

    /// Returns the log's own netlink socket, for queries and for changes that need no undoing.
    pub fn netlink(&mut self) -> &mut Netlink {
        &mut self.netlink
    }

    /// Returns the steps to take, in the order in which they were recorded.
    pub fn steps(&self) -> impl Iterator<Item = &UndoStep> {
        self.steps.iter().flatten()
    }

    /// Records `step`, then makes the change that it reverts. A change that fails is not recorded.
    pub fn guard<R, E>(
        &mut self,
        step: UndoStep,
        change: impl FnOnce(&mut Netlink) -> Result<R, E>,
    ) -> Result<R, UndoError>
    where
        UndoError: From<E>,
    {
        if !planted::is(Bug::UndoIsInMemoryOnly) {
            self.append(&Line::Step(step.clone()))?;
        }
        self.steps.push(Some(step));
        let made = change(&mut self.netlink);
        if made.is_err() {
            self.mark_done(self.steps.len() - 1)?;
        }
        Ok(made?)
    }

    /// Creates a pair of virtual Ethernet links, removed at the end.
    pub fn create_veth(&mut self, name: &str, peer: &str) -> Result<(), UndoError> {
        let step = UndoStep::DeleteLink { link: name.into() };
        self.guard(step, |netlink| netlink.create_veth(name, peer))
    }

    /// Adds an address to a link, removed at the end.
    pub fn add_address(&mut self, link: &str, address: IpNet) -> Result<(), UndoError> {
        let step = UndoStep::RemoveAddress {
            link: link.into(),
            address,
        };
        self.guard(step, |netlink| netlink.add_address(link, address))
    }

    /// Adds a route, removed at the end.
    pub fn add_route(&mut self, route: &Route) -> Result<(), UndoError> {
        let step = UndoStep::RemoveRoute {
            route: route.clone(),
        };
        self.guard(step, |netlink| netlink.add_route(route))
    }

    /// Has this host answer for an address on a link, until the end.
    pub fn add_proxy(&mut self, link: &str, address: IpAddr) -> Result<(), UndoError> {
        let step = UndoStep::RemoveProxy {
            link: link.into(),
            address,
        };
        self.guard(step, |netlink| netlink.add_proxy(link, address))
    }

    /// Adds a rule, removed at the end.
    pub fn add_rule(&mut self, rule: &Rule) -> Result<(), UndoError> {
        let step = UndoStep::RemoveRule { rule: rule.clone() };
        self.guard(step, |netlink| netlink.add_rule(rule))
    }

    /// Sets a kernel parameter, restored at the end. A parameter that has the value already is not logged.
    pub fn set_sysctl(&mut self, name: &str, value: &str) -> Result<(), UndoError> {
        let old = sysctl::read(name)?;
        if old.split_whitespace().eq(value.split_whitespace()) {
            return Ok(());
        }
        let step = UndoStep::RestoreSysctl {
            name: name.into(),
            value: old,
        };
        self.guard(step, |_| sysctl::write(name, value))
    }

    /// Installs address translation, removed at the end.
    pub fn install_nat(&mut self, masquerade: &Masquerade) -> Result<(), UndoError> {
        self.guard_table(masquerade.table(), || masquerade.install())
    }

    /// Installs the way of questions to a resolver, removed at the end.
    pub fn install_name_server(&mut self, server: &NameServer) -> Result<(), UndoError> {
        self.guard_table(server.table(), || server.install())
    }

    /// Installs rules of forwarding, removed at the end.
    pub fn install_forwarding(&mut self, forwarding: &Forwarding) -> Result<(), UndoError> {
        self.guard_table(forwarding.table(), || forwarding.install())
    }

    /// Installs a diversion of connections, removed at the end.
    pub fn install_diversion(&mut self, diversion: &Diversion) -> Result<(), UndoError> {
        self.guard_table(diversion.table(), || diversion.install())
    }

    /// Begins a lease, or adapts the present one to other addresses; without it they are answered for until the end.
    pub fn install_lease(&mut self, lease: &Lease) -> Result<(), UndoError> {
        // It is made anew if somebody has removed it, as a firewall that is loaded again may.
        if self.has_table(&lease.table()) && lease.adapt().is_ok() {
            return Ok(());
        }
        self.guard_table(lease.table(), || lease.install())
    }

    /// Has packets to connections dropped, until the end.
    pub fn install_hold(&mut self, hold: &Hold) -> Result<(), UndoError> {
        self.guard_table(hold.table(), || hold.install())
    }

    /// Removes at the end a diversion that other processes may install later.
    pub fn expect_diversion(&mut self, diversion: &Diversion) -> Result<(), UndoError> {
        let table = diversion.table();
        table.name()?;
        self.guard(UndoStep::RemoveTable { table }, |_| Ok::<_, NftError>(()))
    }

    fn guard_table(
        &mut self,
        table: Table,
        install: impl FnOnce() -> Result<(), NftError>,
    ) -> Result<(), UndoError> {
        table.name()?;
        self.left_tables.retain(|left| *left != table);
        if self.has_table(&table) {
            return Ok(install()?);
        }
        self.guard(UndoStep::RemoveTable { table }, |_| install())
    }

    fn has_table(&self, table: &Table) -> bool {
        let is_it = |step: &UndoStep| matches!(step, UndoStep::RemoveTable { table: known } if known == table);
        self.steps().any(is_it)
    }

    /// Removes those tables of a dead process in whose place none was installed.
    pub fn remove_left_tables(&mut self) -> Result<(), UndoError> {
        for table in std::mem::take(&mut self.left_tables) {
            self.take_step(&UndoStep::RemoveTable { table })?;
        }
        Ok(())
    }

    /// Takes one step now, e.g. because a path has changed; does nothing if it is not recorded.
    pub fn take_step(&mut self, step: &UndoStep) -> Result<(), UndoError> {
        let Some(number) = self
            .steps
            .iter()
            .rposition(|known| known.as_ref() == Some(step))
        else {
            return Ok(());
        };
        let namespace = self.namespace.clone();
        in_namespace(&namespace, || step.run(&mut self.netlink))??;
        self.mark_done(number)?;
        if self.steps.len() >= LONG && self.steps().count() * 2 < self.steps.len() {
            self.shorten()?;
        }
        Ok(())
    }

    /// Writes the file anew without the steps that are complete: a log may serve for months.
    fn shorten(&mut self) -> Result<(), UndoError> {
        let left: Vec<_> = self.steps().cloned().collect();
        self.file = folder::StateFolder::begin(&self.path, &self.owner, &left)?;
        self.steps = left.into_iter().map(Some).collect();
        Ok(())
    }

    /// Reverts all changes, last first, and removes the file. After a failed step it continues with the others.
    /// Dropping the log does the same, and logs failures.
    pub fn undo(mut self) -> Result<(), UndoError> {
        self.take_all_steps()
    }

    fn take_all_steps(&mut self) -> Result<(), UndoError> {
        if std::mem::replace(&mut self.is_done, true) {
            return Ok(());
        }
        let namespace = self.namespace.clone();
        let failures = in_namespace(&namespace, || {
            let mut failures = Vec::new();
            for number in (0..self.steps.len()).rev() {
                let Some(step) = self.steps[number].clone() else {
                    continue;
                };
                let taken = step
                    .run(&mut self.netlink)
                    .and_then(|()| self.mark_done(number));
                failures.extend(taken.err().map(|error| error.to_string()));
            }
            failures
        })?;
        if !failures.is_empty() {
            return Err(UndoError::Incomplete {
                path: self.path.clone(),
                failures,
            });
        }
        match std::fs::remove_file(&self.path) {
            // A daemon that gave up its privileges leaves a file whose steps are all complete.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.map_err(file_error(&self.path)),
        }
    }

    fn mark_done(&mut self, number: usize) -> Result<(), UndoError> {
        self.steps[number] = None;
        self.append(&Line::Done(number))
    }

    fn append(&mut self, line: &Line) -> Result<(), UndoError> {
        let appended = line
            .to_bytes()
            .and_then(|bytes| self.file.write_all(&bytes));
        appended.map_err(file_error(&self.path))
    }
}

impl Drop for UndoLog {
    fn drop(&mut self) {
        if let Err(error) = self.take_all_steps() {
            tracing::warn!("{error}");
        }
    }
}

/// Runs `closure` in a namespace: kernel parameters and `nft` act on that of the thread.
fn in_namespace<R: Send>(
    namespace: &Namespace,
    closure: impl FnOnce() -> R + Send,
) -> Result<R, NamespaceError> {
    if namespace.is_current()? {
        Ok(closure())
    } else {
        namespace.run(closure)
    }
}
