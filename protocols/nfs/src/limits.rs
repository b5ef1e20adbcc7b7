//! How much a peer may send.

/// The longest name that is sent, in bytes (RFC 1813, `MNTNAMLEN`; `NAME_MAX` of the usual systems).
pub const NAME_MAX: usize = 255;

/// The longest path that is sent, in bytes: what the usual systems can name. (MOUNT's `MNTPATHLEN` is 1,024: its server
/// refuses what is longer.)
pub const PATH_MAX: usize = 4_095;

/// The most that values may hold when they are read, in bytes. Beyond it they are refused before anything
/// looks at them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A name in a directory, of a host or of a group of hosts.
    pub name: usize,
    /// A path: the target of a symbolic link, an exported directory.
    pub path: usize,
    /// The data of a READ or a WRITE.
    pub data: usize,
}

impl Limits {
    /// What the usual systems can name, and blocks of at most 32 KiB.
    pub const USUAL: Self = Self {
        name: NAME_MAX,
        path: PATH_MAX,
        data: 32_768,
    };

    /// For bytes that were read within other limits before.
    pub(crate) const CHECKED: Self = Self {
        name: usize::MAX,
        path: usize::MAX,
        data: usize::MAX,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::USUAL
    }
}
