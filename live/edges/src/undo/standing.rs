//! Changes that outlive the process that made them, such as a block of traffic while a daemon is down. They stand until
//! they are lifted.
//!
//! They are recorded in a file `<instance>-<number of the network namespace>.standing` beside the undo files.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::{UndoError, file_error};
use super::file::{self, Owner};
use super::folder::{Recovery, StateFolder};
use super::step::UndoStep;
use crate::namespace::Namespace;
use crate::netlink::{Netlink, NetlinkError, Route, Rule};

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A route.
    Route(Route),
    /// A rule.
    Rule(Rule),
}

impl Change {
    fn step(&self) -> UndoStep {
        match self.clone() {
            Self::Route(route) => UndoStep::RemoveRoute { route },
            Self::Rule(rule) => UndoStep::RemoveRule { rule },
        }
    }

    /// Makes the change, unless an earlier process has made it.
    fn make(&self, netlink: &mut Netlink) -> Result<(), NetlinkError> {
        let made = match self {
            Self::Route(route) => netlink.add_route(route),
            Self::Rule(rule) => netlink.add_rule(rule),
        };
        match made {
            Err(error) if error.is_existing() => Ok(()),
            other => other,
        }
    }
}

/// The standing changes of one instance.
struct Standing {
    path: PathBuf,
    netlink: Netlink,
    /// Steps that lift them.
    steps: Vec<UndoStep>,
}

impl Standing {
    fn open(path: PathBuf) -> Result<Self, UndoError> {
        let steps = match file::read(&path) {
            Ok(content) => content.steps,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(file_error(&path)(error)),
        };
        Ok(Self {
            path,
            netlink: Netlink::open()?,
            steps,
        })
    }

    /// Records which changes stand.
    fn record(&mut self, steps: Vec<UndoStep>) -> Result<(), UndoError> {
        self.steps = steps;
        if self.steps.is_empty() {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(file_error(&self.path)(error))
                }
                _ => Ok(()),
            };
        }
        let maker = Owner::this_process().map_err(file_error(&self.path))?;
        StateFolder::begin(&self.path, &maker, &self.steps).map(drop)
    }

    /// Lifts those changes for which `lifts` holds, last first. Those that cannot be lifted stay recorded.
    fn lift(&mut self, lifts: impl Fn(&UndoStep) -> bool) -> Result<usize, UndoError> {
        let (mut left, mut failures) = (Vec::new(), Vec::new());
        let mut lifted = 0;
        for step in std::mem::take(&mut self.steps).into_iter().rev() {
            match lifts(&step).then(|| step.run(&mut self.netlink)) {
                Some(Ok(())) => {
                    lifted += 1;
                    continue;
                }
                Some(Err(error)) => failures.push(error.to_string()),
                None => {}
            }
            left.push(step);
        }
        left.reverse();
        self.record(left)?;
        if failures.is_empty() {
            return Ok(lifted);
        }
        let path = self.path.clone();
        Err(UndoError::Incomplete { path, failures })
    }
}

/// Makes these changes for an instance, as far as they do not stand already, and then lifts its other ones: what both
/// have in common stands throughout.
///
/// # Errors
/// If a change cannot be made; then the ones from before stand.
pub fn stand(folder: &Path, instance: &str, changes: &[Change]) -> Result<(), UndoError> {
    let folder = StateFolder::open(folder, Namespace::current()?.id())?;
    let mut standing = Standing::open(folder.path_of_standing(instance)?)?;
    let before = standing.steps.clone();
    let wanted: Vec<_> = changes.iter().map(Change::step).collect();
    let fresh = wanted.iter().filter(|step| !before.contains(step));
    let all: Vec<_> = before.iter().chain(fresh).cloned().collect();
    standing.record(all)?;
    let mut made = changes.iter();
    match made.try_for_each(|change| change.make(&mut standing.netlink)) {
        Ok(()) => standing.lift(|step| !wanted.contains(step)).map(drop),
        Err(error) => {
            // The first error is the one to report.
            let _ = standing.lift(|step| !before.contains(step));
            Err(error.into())
        }
    }
}

/// Lifts all changes of an instance, and returns their number.
///
/// # Errors
/// Those of the system. What could not be lifted stays recorded.
pub fn lift(folder: &Path, instance: &str) -> Result<usize, UndoError> {
    let folder = StateFolder::open(folder, Namespace::current()?.id())?;
    Standing::open(folder.path_of_standing(instance)?)?.lift(|_| true)
}

/// Lifts the changes of all instances of which no process lives.
///
/// # Errors
/// If the folder cannot be read. Changes that could not be lifted are warnings of their recovery.
pub fn lift_abandoned(folder: &Path) -> Result<Vec<Recovery>, UndoError> {
    let folder = StateFolder::open(folder, Namespace::current()?.id())?;
    let mut recoveries = Vec::new();
    for path in folder.abandoned()? {
        let mut standing = Standing::open(path.clone())?;
        let (undone, warnings) = match standing.lift(|_| true) {
            Ok(lifted) => (lifted, Vec::new()),
            Err(error) => (0, vec![error.to_string()]),
        };
        recoveries.push(Recovery {
            path,
            undone,
            warnings,
        });
    }
    Ok(recoveries)
}
