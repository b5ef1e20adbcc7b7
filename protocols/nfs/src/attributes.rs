//! The attributes of files.

use rpc::xdr::{Reader, Writer};

use crate::value::{fields, numbers};
use crate::{Limits, Malformed, Value};

/// Nanoseconds in a second.
const SECOND: u32 = 1_000_000_000;

/// Type of a file (`ftype3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum FileType {
    /// A regular file.
    Regular = 1,
    /// A directory.
    Directory = 2,
    /// A block device.
    BlockDevice = 3,
    /// A character device.
    CharacterDevice = 4,
    /// A symbolic link.
    SymbolicLink = 5,
    /// A socket.
    Socket = 6,
    /// A named pipe.
    Pipe = 7,
}

numbers!(FileType {
    Regular,
    Directory,
    BlockDevice,
    CharacterDevice,
    SymbolicLink,
    Socket,
    Pipe,
});

/// A time of the server (`nfstime3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time {
    /// Seconds since the start of 1970.
    pub seconds: u32,
    /// Nanoseconds since the start of the second, as the server sends them: see [`clamped`](Self::clamped).
    pub nanoseconds: u32,
}

fields!(Time {
    seconds,
    nanoseconds
});

impl Time {
    /// Returns the time with its nanoseconds below one second, for callers that rely on that.
    pub fn clamped(self) -> Self {
        Self {
            nanoseconds: self.nanoseconds.min(SECOND - 1),
            ..self
        }
    }
}

/// Device numbers (`specdata3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Device {
    /// Number of the driver.
    pub major: u32,
    /// Number of the device within the driver.
    pub minor: u32,
}

fields!(Device { major, minor });

/// Times of the last accesses and changes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Times {
    /// Last read of the content.
    pub accessed: Time,
    /// Last change of the content.
    pub modified: Time,
    /// Last change of the content or the attributes.
    pub changed: Time,
}

fields!(Times {
    accessed,
    modified,
    changed
});

/// Attributes of a file (`fattr3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Attributes {
    /// Type of the file.
    pub kind: FileType,
    /// Permissions: the usual twelve mode bits.
    pub mode: u32,
    /// Number of hard links.
    pub links: u32,
    /// User ID of the owner.
    pub user: u32,
    /// Group ID.
    pub group: u32,
    /// Length, in bytes.
    pub size: u64,
    /// Disk space used, in bytes.
    pub used: u64,
    /// Device numbers, for a device file.
    pub device: Device,
    /// ID of its file system at the server.
    pub file_system: u64,
    /// ID within its file system: the inode number.
    pub file_id: u64,
    /// Times of the last accesses and changes.
    pub times: Times,
}

fields!(Attributes {
    kind,
    mode,
    links,
    user,
    group,
    size,
    used,
    device,
    file_system,
    file_id,
    times,
});

/// Attributes of a file before a call, which show changes by other clients (`wcc_attr`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AttributesBefore {
    /// Length, in bytes.
    pub size: u64,
    /// Last change of the content.
    pub modified: Time,
    /// Last change of the content or the attributes.
    pub changed: Time,
}

fields!(AttributesBefore {
    size,
    modified,
    changed
});

/// Attributes of a file before and after a call that changed it: weak cache consistency data (`wcc_data`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct WeakCacheData {
    /// Attributes before, if the server sends them.
    pub before: Option<AttributesBefore>,
    /// Attributes after, if the server sends them.
    pub after: Option<Attributes>,
}

fields!(WeakCacheData { before, after });

/// Change of a time of a file (`set_atime`, `set_mtime`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SetTime {
    /// Keep the time.
    #[default]
    Keep,
    /// Set it to the server's clock.
    ServerTime,
    /// Set it to this time.
    To(Time),
}

impl Value<'_> for SetTime {
    fn read(
        what: &'static str,
        reader: &mut Reader<'_>,
        limits: &Limits,
    ) -> Result<Self, Malformed> {
        let at = reader.at();
        match reader.u32(what)? {
            0 => Ok(Self::Keep),
            1 => Ok(Self::ServerTime),
            2 => Ok(Self::To(Time::read(what, reader, limits)?)),
            how => Err(Reader::unknown(what, at, how).into()),
        }
    }

    fn write(&self, out: &mut Writer<'_>) {
        match self {
            Self::Keep => 0_u32.write(out),
            Self::ServerTime => 1_u32.write(out),
            Self::To(time) => time.write(out.u32(2)),
        }
    }
}

/// Attributes to set (`sattr3`); absent ones are not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NewAttributes {
    /// Permissions.
    pub mode: Option<u32>,
    /// User ID of the owner.
    pub user: Option<u32>,
    /// Group ID.
    pub group: Option<u32>,
    /// Length, in bytes: truncates the file, or extends it with zeros.
    pub size: Option<u64>,
    /// Time of the last read.
    pub accessed: SetTime,
    /// Time of the last change of the content.
    pub modified: SetTime,
}

fields!(NewAttributes {
    mode,
    user,
    group,
    size,
    accessed,
    modified
});
