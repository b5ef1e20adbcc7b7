//! The classes of calls.

use serde::{Deserialize, Serialize};

/// Class of a call by its cost for a server and a hop. Calls of one class take about the same time, so each class has
/// its own round-trip estimate.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Changes names or attributes; also calls of no other class.
    #[default]
    Other,
    /// Reads attributes or access rights.
    Attributes,
    /// Looks up a name.
    Lookup,
    /// Returns data or names.
    Read,
    /// Sends data.
    Write,
    /// Waits for a disk.
    Commit,
}

impl Class {
    /// All classes.
    pub const ALL: [Self; 6] = [
        Self::Other,
        Self::Attributes,
        Self::Lookup,
        Self::Read,
        Self::Write,
        Self::Commit,
    ];

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}
