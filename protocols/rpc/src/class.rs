//! Kinds of calls.

use serde::{Deserialize, Serialize};

/// What a call costs a server and a hop. Calls of one class take alike long, so each class has a round-trip estimate
/// of its own.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// What changes names or attributes, and all else.
    #[default]
    Other,
    /// Looks at attributes and rights.
    Attributes,
    /// Looks for a name.
    Lookup,
    /// Brings data or names.
    Read,
    /// Takes data.
    Write,
    /// Waits for a disk.
    Commit,
}

impl Class {
    /// Every class.
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
