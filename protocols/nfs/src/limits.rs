//! The limits of received values.

/// Maximum length of a name that is sent, in bytes (RFC 1813, `MNTNAMLEN`; `NAME_MAX` of the usual systems).
pub const NAME_MAX: usize = 255;

/// Maximum length of a path that is sent, in bytes, as on the usual systems. (MOUNT's `MNTPATHLEN` is 1,024: its
/// server refuses longer paths.)
pub const PATH_MAX: usize = 4_095;

/// Maximum lengths of values that are read, in bytes. Longer values are refused before they are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Name of a directory entry, of a host or of a group of hosts.
    pub name: usize,
    /// Path: the target of a symbolic link, or an exported directory.
    pub path: usize,
    /// Data of a READ or a WRITE.
    pub data: usize,
}

impl Limits {
    /// Names and paths as on the usual systems, and blocks of at most 32 KiB.
    pub const USUAL: Self = Self {
        name: NAME_MAX,
        path: PATH_MAX,
        data: 32_768,
    };

    /// No limits, for bytes that were read within other limits before.
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
