//! A request in progress, and its calls.

use std::sync::Arc;

use bytes::Bytes;
use nfs::{
    Call, Create, CreateHow, CreateVerifier, DeviceData, FileHandle, FileSystemStatus, FileType,
    GetAttributes, Link, LookUp, MakeDirectory, MakeNode, MakeSymbolicLink, Name, NewAttributes,
    Node, Path, Place, Procedure, ReadDirectory, ReadDirectoryPlus, ReadLink, Remove,
    RemoveDirectory, Rename, SetAttributes, SetTime, Value,
};
use rpc::message::Credentials;

use crate::{Entry, Found, ListPlace, Operation};

/// Stage of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Waits for something other than a call of its own.
    Parked,
    /// Its own call is in flight.
    Main,
    /// Requests the attributes that the server left out.
    Attributes(FileHandle),
    /// Looks up what it made, because the server did not report it.
    Untold,
    /// Looks up what exists already: perhaps the work of this very request, sent twice.
    Mine,
    /// Reads the symbolic link that exists already.
    MineTarget(Found),
    /// Looks up the file that it would have created.
    Existing,
    /// Sets the requested attributes of a file that it created or found.
    Dress(Found),
    /// Looks up the file that it will remove or replace.
    Victim,
    /// Renames an open file to a name of its own.
    Doom(FileHandle, u64),
    /// Looks up the file that it will rename.
    Source,
    /// Looks up, after its rename seems to have failed, if it succeeded.
    Moved,
}

/// A request in progress.
#[derive(Debug, Clone)]
pub(super) struct ActiveRequest {
    pub(super) caller: Arc<Credentials>,
    pub(super) operation: Operation,
    pub(super) stage: Stage,
    /// Number of its call, if one is in flight.
    pub(super) call: Option<u64>,
    /// The renamed file, in a rename.
    pub(super) moved: Option<FileHandle>,
    /// The file whose writers it holds.
    pub(super) barrier: Option<FileHandle>,
    /// The file that existed, in a CREATE.
    pub(super) found: Option<Found>,
    /// The verifier that identifies an exclusive CREATE.
    pub(super) verifier: Option<CreateVerifier>,
    /// True if a call of the request was sent more than once before this one.
    pub(super) repeated: bool,
}

impl ActiveRequest {
    pub(super) fn new(caller: Arc<Credentials>, operation: Operation) -> Self {
        Self {
            caller,
            operation,
            stage: Stage::Parked,
            call: None,
            moved: None,
            barrier: None,
            found: None,
            verifier: None,
            repeated: false,
        }
    }

    /// Returns the entry that the request makes or removes.
    pub(super) fn entry(&self) -> Option<&Entry> {
        entry(&self.operation)
    }
}

/// Returns the entry that an operation looks up, makes or removes; of a rename, the new one.
pub(super) fn entry(operation: &Operation) -> Option<&Entry> {
    match operation {
        Operation::LookUp(entry)
        | Operation::MakeDirectory { entry, .. }
        | Operation::MakeSymbolicLink { entry, .. }
        | Operation::MakeNode { entry, .. }
        | Operation::Link { entry, .. }
        | Operation::Remove(entry)
        | Operation::RemoveDirectory(entry)
        | Operation::Rename { to: entry, .. }
        | Operation::Create { entry, .. } => Some(entry),
        _ => None,
    }
}

fn place(entry: &Entry) -> Place<'_> {
    Place {
        directory: entry.directory(),
        name: entry.name(),
    }
}

/// Form of the calls for directory pages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paging {
    /// True if they request attributes and handles.
    pub(super) plus: bool,
    /// Limit of a page, in bytes.
    pub(super) bytes: u32,
}

/// The encoded arguments of a call.
pub(super) struct EncodedCall {
    pub(super) procedure: Procedure,
    pub(super) arguments: Bytes,
}

/// Encodes a call of `request`; `room` is the initial capacity in bytes.
pub(super) fn encoded<'a, R>(request: &R, room: usize) -> EncodedCall
where
    R: nfs::Request + Value<'a>,
{
    let mut arguments = Vec::with_capacity(room);
    request.encode(&mut arguments);
    EncodedCall {
        procedure: R::PROCEDURE,
        arguments: arguments.into(),
    }
}

/// Encodes the call of a request at its stage; `None` if it makes none.
pub(super) fn encode(running: &ActiveRequest, paging: Paging) -> Option<EncodedCall> {
    let mut bytes = Vec::new();
    let mut write = |call: Call<'_>| {
        call.encode(&mut bytes);
        call.procedure()
    };
    let look_up = |entry| {
        Call::from(LookUp {
            place: place(entry),
        })
    };
    let procedure = match running.stage {
        Stage::Parked => return None,
        Stage::Main => main(running, paging, &mut write)?,
        Stage::Attributes(object) => write(GetAttributes { object }.into()),
        Stage::Untold | Stage::Mine | Stage::Existing | Stage::Victim | Stage::Moved => {
            write(look_up(running.entry()?))
        }
        Stage::Source => match &running.operation {
            Operation::Rename { from, .. } => write(look_up(from)),
            _ => return None,
        },
        Stage::MineTarget(found) => write(ReadLink { link: found.file }.into()),
        Stage::Dress(found) => match &running.operation {
            Operation::Create { attributes, .. } => {
                write(set(found.file, dress(running, attributes)))
            }
            _ => return None,
        },
        Stage::Doom(_, number) => {
            let entry = running.entry()?;
            let name = doomed_name(number);
            let name = Name::new(name.as_bytes()).ok()?;
            let directory = entry.directory();
            let to = Place { directory, name };
            write(
                Rename {
                    from: place(entry),
                    to,
                }
                .into(),
            )
        }
    };
    Some(EncodedCall {
        procedure,
        arguments: bytes.into(),
    })
}

/// Returns the attributes to set after CREATE: all requested ones if CREATE could not carry them, and the times, which
/// the server may have used to keep the verifier (RFC 1813 §3.3.8). Only the length if the file existed before.
fn dress(running: &ActiveRequest, attributes: &NewAttributes) -> NewAttributes {
    let time = |wanted| match wanted {
        SetTime::Keep => SetTime::ServerTime,
        wanted => wanted,
    };
    match running.verifier {
        Some(_) => NewAttributes {
            accessed: time(attributes.accessed),
            modified: time(attributes.modified),
            ..*attributes
        },
        None => NewAttributes {
            size: attributes.size,
            ..NewAttributes::default()
        },
    }
}

/// Returns the name that an open file gets when its last one is removed. Other hosts know the pattern from the usual
/// clients, and leave such files alone.
pub(super) fn doomed_name(number: u64) -> String {
    format!(".nfs{number:016x}")
}

/// Encodes the call that an operation is named after.
fn main(
    running: &ActiveRequest,
    paging: Paging,
    write: &mut impl FnMut(Call<'_>) -> Procedure,
) -> Option<Procedure> {
    let call = match &running.operation {
        Operation::LookUp(entry) => LookUp {
            place: place(entry),
        }
        .into(),
        Operation::Attributes(object) | Operation::Open(object) => {
            GetAttributes { object: *object }.into()
        }
        Operation::SetAttributes { file, attributes } => set(*file, *attributes),
        Operation::ReadLink(link) => ReadLink { link: *link }.into(),
        Operation::List { directory, from } => list(*directory, *from, paging),
        Operation::MakeDirectory { entry, attributes } => MakeDirectory {
            place: place(entry),
            attributes: *attributes,
        }
        .into(),
        Operation::MakeSymbolicLink {
            entry,
            target,
            attributes,
        } => MakeSymbolicLink {
            place: place(entry),
            attributes: *attributes,
            path: Path::new(target).ok()?,
        }
        .into(),
        Operation::MakeNode { entry, .. } => MakeNode {
            place: place(entry),
            node: node(&running.operation)?,
        }
        .into(),
        Operation::Link { file, entry } => Link {
            file: *file,
            place: place(entry),
        }
        .into(),
        Operation::Create {
            entry, attributes, ..
        } => Create {
            place: place(entry),
            how: how(running, attributes),
        }
        .into(),
        Operation::Remove(entry) => Remove {
            place: place(entry),
        }
        .into(),
        Operation::RemoveDirectory(entry) => RemoveDirectory {
            place: place(entry),
        }
        .into(),
        Operation::Rename { from, to } => Rename {
            from: place(from),
            to: place(to),
        }
        .into(),
        Operation::Space(root) => FileSystemStatus { root: *root }.into(),
        _ => return None,
    };
    Some(write(call))
}

fn set(object: FileHandle, attributes: NewAttributes) -> Call<'static> {
    SetAttributes {
        object,
        attributes,
        guard: None,
    }
    .into()
}

fn how(running: &ActiveRequest, attributes: &NewAttributes) -> CreateHow {
    match running.verifier {
        Some(verifier) => CreateHow::Exclusive(verifier),
        None => CreateHow::Guarded(*attributes),
    }
}

fn list(directory: FileHandle, from: ListPlace, paging: Paging) -> Call<'static> {
    let ListPlace { cookie, verifier } = from;
    if paging.plus {
        ReadDirectoryPlus {
            directory,
            cookie,
            verifier,
            directory_count: paging.bytes,
            maximum_count: paging.bytes,
        }
        .into()
    } else {
        ReadDirectory {
            directory,
            cookie,
            verifier,
            count: paging.bytes,
        }
        .into()
    }
}

/// Returns the node to make; `None` if the operation makes none.
fn node(operation: &Operation) -> Option<Node> {
    let Operation::MakeNode {
        kind,
        device,
        attributes,
        ..
    } = operation
    else {
        return None;
    };
    let data = DeviceData {
        attributes: *attributes,
        device: *device,
    };
    Some(match kind {
        FileType::BlockDevice => Node::BlockDevice(data),
        FileType::CharacterDevice => Node::CharacterDevice(data),
        FileType::Socket => Node::Socket(*attributes),
        FileType::Pipe => Node::Pipe(*attributes),
        FileType::Regular | FileType::Directory | FileType::SymbolicLink => return None,
    })
}
