//! What a server tells of a file.

use rpc::xdr::{Reader, Writer};

use crate::value::{fields, numbers};
use crate::{Limits, Malformed, Value};

/// Nanoseconds in a second.
const SECOND: u32 = 1_000_000_000;

/// What kind of file it is (`ftype3`).
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

/// A server's time (`nfstime3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time {
    /// Seconds since 1970 began.
    pub seconds: u32,
    /// Nanoseconds since the second began, as the server says: see [`clamped`](Self::clamped).
    pub nanoseconds: u32,
}

fields!(Time {
    seconds,
    nanoseconds
});

impl Time {
    /// The time with its nanoseconds below one second, for those who rely on that.
    pub fn clamped(self) -> Self {
        Self {
            nanoseconds: self.nanoseconds.min(SECOND - 1),
            ..self
        }
    }
}

/// A device's numbers (`specdata3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Device {
    /// The driver's number.
    pub major: u32,
    /// The number of the driver's device.
    pub minor: u32,
}

fields!(Device { major, minor });

/// When something happened to a file last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Times {
    /// Somebody read it.
    pub accessed: Time,
    /// Its content changed.
    pub modified: Time,
    /// Its content or its attributes changed.
    pub changed: Time,
}

fields!(Times {
    accessed,
    modified,
    changed
});

/// What is known of a file (`fattr3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Attributes {
    /// What it is.
    pub kind: FileType,
    /// Who may do what: the usual twelve bits.
    pub mode: u32,
    /// How many names it has.
    pub links: u32,
    /// The owner's number.
    pub user: u32,
    /// The group's number.
    pub group: u32,
    /// Its length, in bytes.
    pub size: u64,
    /// What it takes of the disk, in bytes.
    pub used: u64,
    /// Which device it stands for, if any.
    pub device: Device,
    /// Names its file system at the server.
    pub file_system: u64,
    /// Names it in its file system: the inode's number.
    pub file_id: u64,
    /// When something happened to it last.
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

/// What a file was before a call, to tell whether somebody else changed it (`wcc_attr`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AttributesBefore {
    /// Its length, in bytes.
    pub size: u64,
    /// When its content had changed last.
    pub modified: Time,
    /// When its content or attributes had changed last.
    pub changed: Time,
}

fields!(AttributesBefore {
    size,
    modified,
    changed
});

/// What a file was before and after a call that changed it: weak cache consistency data (`wcc_data`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct WeakCacheData {
    /// Before, if the server knows.
    pub before: Option<AttributesBefore>,
    /// After, if the server knows.
    pub after: Option<Attributes>,
}

fields!(WeakCacheData { before, after });

/// What a file's time shall be (`set_atime`, `set_mtime`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SetTime {
    /// What it is.
    #[default]
    Keep,
    /// What the server's clock shows.
    ServerTime,
    /// This.
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

/// Which attributes a file shall have (`sattr3`); what is absent stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NewAttributes {
    /// Who may do what.
    pub mode: Option<u32>,
    /// The owner's number.
    pub user: Option<u32>,
    /// The group's number.
    pub group: Option<u32>,
    /// The length, in bytes: cuts the file, or extends it with zeros.
    pub size: Option<u64>,
    /// When somebody read it last.
    pub accessed: SetTime,
    /// When its content changed last.
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
