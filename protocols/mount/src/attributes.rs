//! The conversion of attributes between the server's form and the kernel's.

use nfs::{Attributes, FileType, NewAttributes, SetTime, Space, Time};

use crate::{Changes, KindAndMode, NewTime, Timestamp};

/// Block size in which free space is counted, in bytes.
const BLOCK: u32 = 4_096;
/// Preferred size of reads and writes that is reported to programs, in bytes.
const BEST_BLOCK: u32 = 128 * 1_024;
/// Bits of the file type in `st_mode`.
const KIND: u32 = 0o170_000;

fn kind_bits(kind: FileType) -> u32 {
    match kind {
        FileType::Pipe => 0o010_000,
        FileType::CharacterDevice => 0o020_000,
        FileType::Directory => 0o040_000,
        FileType::BlockDevice => 0o060_000,
        FileType::Regular => 0o100_000,
        FileType::SymbolicLink => 0o120_000,
        FileType::Socket => 0o140_000,
    }
}

/// Returns the file type in `st_mode`, or none if it is invalid. Without type bits it is a regular file (mknod(2)).
pub(crate) fn kind_of(mode: u32) -> Option<FileType> {
    let kinds = [
        FileType::Pipe,
        FileType::CharacterDevice,
        FileType::Directory,
        FileType::BlockDevice,
        FileType::Regular,
        FileType::SymbolicLink,
        FileType::Socket,
    ];
    match mode & KIND {
        0 => Some(FileType::Regular),
        bits => kinds.into_iter().find(|kind| kind_bits(*kind) == bits),
    }
}

fn timestamp(time: Time) -> Timestamp {
    let time = time.clamped();
    Timestamp(time.seconds.into(), time.nanoseconds)
}

/// Returns the attributes in the kernel's form.
pub(crate) fn to_kernel(attributes: &Attributes) -> crate::Attributes {
    crate::Attributes {
        number: attributes.file_id,
        mode: KindAndMode(kind_bits(attributes.kind) | (attributes.mode & 0o7777)),
        links: attributes.links,
        owner: (attributes.user, attributes.group),
        size: attributes.size,
        used: attributes.used,
        device: (attributes.device.major, attributes.device.minor),
        accessed: timestamp(attributes.times.accessed),
        modified: timestamp(attributes.times.modified),
        changed: timestamp(attributes.times.changed),
        best_block: BEST_BLOCK,
    }
}

/// Returns the nearest time that the protocol can represent, from 1970 to 2106.
fn set_time(time: Option<NewTime>) -> SetTime {
    match time {
        None => SetTime::Keep,
        Some(NewTime::Now) => SetTime::ServerTime,
        Some(NewTime::At(seconds, nanoseconds)) => SetTime::To(Time {
            seconds: seconds.clamp(0, u32::MAX.into()) as u32,
            nanoseconds,
        }),
    }
}

/// Returns the changes in the server's form.
pub(crate) fn from_kernel(changes: &Changes) -> NewAttributes {
    NewAttributes {
        mode: changes.mode,
        user: changes.user,
        group: changes.group,
        size: changes.size,
        accessed: set_time(changes.accessed),
        modified: set_time(changes.modified),
    }
}

/// Returns the attributes of a new entry.
pub(crate) fn with_mode(mode: u32) -> NewAttributes {
    NewAttributes {
        mode: Some(mode & 0o7777),
        ..NewAttributes::default()
    }
}

/// Returns the attributes of a new file. An exclusive CREATE may leave its verifier in the times (RFC 1813 §3.3.8):
/// they are set.
pub(crate) fn new_file(mode: u32, exclusive: bool) -> NewAttributes {
    let time = if exclusive {
        SetTime::ServerTime
    } else {
        SetTime::Keep
    };
    NewAttributes {
        accessed: time,
        modified: time,
        ..with_mode(mode)
    }
}

/// Returns the space of a file system in the kernel's form.
pub(crate) fn room(space: &Space) -> crate::Space {
    let blocks = |bytes: u64| bytes / u64::from(BLOCK);
    crate::Space {
        block: BLOCK,
        blocks: (
            blocks(space.total_bytes),
            blocks(space.free_bytes),
            blocks(space.available_bytes),
        ),
        files: (space.total_files, space.free_files),
        name_max: nfs::NAME_MAX as u32,
    }
}
