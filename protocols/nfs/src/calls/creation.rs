//! CREATE, MKDIR, SYMLINK and MKNOD: new names.

use rpc::xdr::{Reader, Writer};

use super::directory::Place;
use crate::outcome::request;
use crate::value::{fields, verifier};
use crate::{
    Attributes, Device, FileHandle, FileType, Limits, Malformed, NewAttributes, Path, Value,
    WeakCacheData,
};

verifier! {
    /// Names one creation: a server that made the file already with the same verifier says so again
    /// instead of that it exists (`createverf3`).
    CreateVerifier
}

/// How a file is made if its name is taken (`createhow3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CreateHow {
    /// The file that has the name gets these attributes.
    Unchecked(NewAttributes),
    /// Not at all.
    Guarded(NewAttributes),
    /// Not at all, unless it was made with the same verifier: safe to repeat. Attributes are set by a
    /// SETATTR behind it, which also frees the attributes that hold the verifier at many servers.
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

/// CREATE: makes a regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Create<'a> {
    /// Its name.
    pub place: Place<'a>,
    /// How.
    pub how: CreateHow,
}

fields!(Create<'a> { place, how });
request!(Create<'_>, Create => Created, WeakCacheData);

/// What was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Created {
    /// Its handle; a server may leave it to a LOOKUP.
    pub object: Option<FileHandle>,
    /// Its attributes.
    pub attributes: Option<Attributes>,
    /// Its directory.
    pub directory: WeakCacheData,
}

fields!(Created {
    object,
    attributes,
    directory
});

/// MKDIR: makes a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MakeDirectory<'a> {
    /// Its name.
    pub place: Place<'a>,
    /// Its attributes.
    pub attributes: NewAttributes,
}

fields!(MakeDirectory<'a> { place, attributes });
request!(MakeDirectory<'_>, MakeDirectory => Created, WeakCacheData);

/// SYMLINK: makes a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MakeSymbolicLink<'a> {
    /// Its name.
    pub place: Place<'a>,
    /// Its attributes.
    pub attributes: NewAttributes,
    /// Where it leads.
    pub path: Path<'a>,
}

fields!(MakeSymbolicLink<'a> { place, attributes, path });
request!(MakeSymbolicLink<'_>, MakeSymbolicLink => Created, WeakCacheData);

/// A device that is made (`devicedata3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceData {
    /// Its attributes.
    pub attributes: NewAttributes,
    /// Its numbers.
    pub device: Device,
}

fields!(DeviceData { attributes, device });

/// What MKNOD can make (`mknoddata3`). Other types are refused when they are read, which a server
/// answers with [`BadType`](crate::Status::BadType).
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

/// MKNOD: makes a device, a socket or a named pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MakeNode<'a> {
    /// Its name.
    pub place: Place<'a>,
    /// What it is.
    pub node: Node,
}

fields!(MakeNode<'a> { place, node });
request!(MakeNode<'_>, MakeNode => Created, WeakCacheData);
