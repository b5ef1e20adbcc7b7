//! The options of a copy.

/// Options that the copy of each file follows.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    pub(super) preserve: bool,
    pub(super) resume: bool,
    pub(super) verify: bool,
    /// Mode bits that new files do not get.
    pub(super) mask: u32,
}
