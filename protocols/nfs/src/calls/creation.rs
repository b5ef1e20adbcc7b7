//! CREATE, MKDIR, SYMLINK and MKNOD: the creation of files and other entries.

use rpc::xdr::{Reader, Writer};

use super::directory::Place;
use crate::outcome::request;
use crate::value::{fields, verifier};
use crate::{
    Attributes, Device, FileHandle, FileType, Limits, Malformed, NewAttributes, Path, Value,
    WeakCacheData,
};

verifier! {
    /// Identifier of one creation: a server that has already created the file with the same verifier reports success
    /// again instead of "exists" (`createverf3`).
    CreateVerifier
}

/// Mode of a creation, for a name that may exist already (`createhow3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CreateHow {
    /// If the file exists, it gets these attributes.
    Unchecked(NewAttributes),
    /// If the file exists, the call fails.
    Guarded(NewAttributes),
    /// If the file exists, the call fails, unless it was created with the same verifier: safe to repeat. A SETATTR
    /// sets the attributes afterwards; it also frees the attributes in which many servers store the verifier.
    Exclusive(CreateVerifier),
}

impl Value<'_> for CreateHow {
    fn read(
        what: &'static str,
        reader: &mut Reader<'_>,
        limits: &Limits,
    ) -> Result<Self, Malformed> {
        let at = reader.at();
        match reader.u32(what)? {
            0 => NewAttributes::read(what, reader, limits).map(Self::Unchecked),
            1 => NewAttributes::read(what, reader, limits).map(Self::Guarded),
            2 => CreateVerifier::read(what, reader, limits).map(Self::Exclusive),
            mode => Err(Reader::unknown(what, at, mode).into()),
        }
    }

    fn write(&self, out: &mut Writer<'_>) {
        match self {
            Self::Unchecked(attributes) => attributes.write(out.u32(0)),
            Self::Guarded(attributes) => attributes.write(out.u32(1)),
            Self::Exclusive(verifier) => verifier.write(out.u32(2)),
        }
    }
}

/// CREATE: creates a regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Create<'a> {
    /// Its directory and name.
    pub place: Place<'a>,
    /// Mode of the creation.
    pub how: CreateHow,
}

fields!(Create<'a> { place, how });
request!(Create<'_>, Create => Created, WeakCacheData);

/// Result of a creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Created {
    /// Its handle; a server may omit it, so that a LOOKUP is needed.
    pub object: Option<FileHandle>,
    /// Its attributes.
    pub attributes: Option<Attributes>,
    /// Attributes of its directory.
    pub directory: WeakCacheData,
}

fields!(Created {
    object,
    attributes,
    directory
});

/// MKDIR: creates a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MakeDirectory<'a> {
    /// Its parent directory and name.
    pub place: Place<'a>,
    /// Its attributes.
    pub attributes: NewAttributes,
}

fields!(MakeDirectory<'a> { place, attributes });
request!(MakeDirectory<'_>, MakeDirectory => Created, WeakCacheData);

/// SYMLINK: creates a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MakeSymbolicLink<'a> {
    /// Its directory and name.
    pub place: Place<'a>,
    /// Its attributes.
    pub attributes: NewAttributes,
    /// Target of the link.
    pub path: Path<'a>,
}

fields!(MakeSymbolicLink<'a> { place, attributes, path });
request!(MakeSymbolicLink<'_>, MakeSymbolicLink => Created, WeakCacheData);

/// Attributes of a new device (`devicedata3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceData {
    /// Its attributes.
    pub attributes: NewAttributes,
    /// Its device numbers.
    pub device: Device,
}

fields!(DeviceData { attributes, device });

/// File that MKNOD creates (`mknoddata3`). Parsing rejects other types, which a server answers with
/// [`BadType`](crate::Status::BadType).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Node {
    /// A character device.
    CharacterDevice(DeviceData),
    /// A block device.
    BlockDevice(DeviceData),
    /// A socket.
    Socket(NewAttributes),
    /// A named pipe.
    Pipe(NewAttributes),
}

impl Value<'_> for Node {
    fn read(
        what: &'static str,
        reader: &mut Reader<'_>,
        limits: &Limits,
    ) -> Result<Self, Malformed> {
        let at = reader.at();
        match FileType::read(what, reader, limits)? {
            FileType::CharacterDevice => {
                DeviceData::read(what, reader, limits).map(Self::CharacterDevice)
            }
            FileType::BlockDevice => DeviceData::read(what, reader, limits).map(Self::BlockDevice),
            FileType::Socket => NewAttributes::read(what, reader, limits).map(Self::Socket),
            FileType::Pipe => NewAttributes::read(what, reader, limits).map(Self::Pipe),
            other => Err(Reader::unknown(what, at, other as u32).into()),
        }
    }

    fn write(&self, out: &mut Writer<'_>) {
        match self {
            Self::CharacterDevice(data) => {
                FileType::CharacterDevice.write(out);
                data.write(out);
            }
            Self::BlockDevice(data) => {
                FileType::BlockDevice.write(out);
                data.write(out);
            }
            Self::Socket(attributes) => {
                FileType::Socket.write(out);
                attributes.write(out);
            }
            Self::Pipe(attributes) => {
                FileType::Pipe.write(out);
                attributes.write(out);
            }
        }
    }
}

/// MKNOD: creates a device, a socket or a named pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MakeNode<'a> {
    /// Its directory and name.
    pub place: Place<'a>,
    /// Type and attributes of the file.
    pub node: Node,
}

fields!(MakeNode<'a> { place, node });
request!(MakeNode<'_>, MakeNode => Created, WeakCacheData);
