//! The attributes of a file that a copy keeps.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use nfs::{Attributes, NewAttributes, SetTime, Time};
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};

/// The attributes of a file that a copy keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meta {
    pub(super) size: u64,
    /// The twelve mode bits.
    pub(super) mode: u32,
    pub(super) accessed: Time,
    pub(super) modified: Time,
}

impl Meta {
    /// Returns true if the content is probably the same.
    pub(super) fn is_same_content(&self, other: &Self) -> bool {
        (self.size, self.modified) == (other.size, other.modified)
    }

    /// Returns a number that identifies this version of a file. It fits into a time before 2038, which every file
    /// system stores.
    pub(super) fn version(&self) -> u32 {
        let words = [
            self.size,
            u64::from(self.modified.seconds),
            u64::from(self.modified.nanoseconds),
        ];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let digest = ring::digest::digest(&ring::digest::SHA256, &bytes);
        let first = digest.as_ref().first_chunk().copied().unwrap_or_default();
        u32::from_be_bytes(first) >> 1
    }

    /// Returns the times as attributes to set at a server.
    pub(super) fn times(&self) -> NewAttributes {
        NewAttributes {
            accessed: SetTime::To(self.accessed),
            modified: SetTime::To(self.modified),
            ..NewAttributes::default()
        }
    }

    /// Returns the times in the form of this host.
    pub(super) fn timestamps(&self) -> Timestamps {
        Timestamps {
            last_access: timespec(self.accessed),
            last_modification: timespec(self.modified),
        }
    }
}

/// Access time now, modification time unchanged.
pub(super) const READ_NOW: Timestamps = Timestamps {
    last_access: special(UTIME_NOW),
    last_modification: special(UTIME_OMIT),
};

const fn special(nanoseconds: i64) -> Timespec {
    Timespec {
        tv_sec: 0,
        tv_nsec: nanoseconds,
    }
}

/// Returns a time in the form of this host.
pub(super) fn timespec(time: Time) -> Timespec {
    let time = time.clamped();
    Timespec {
        tv_sec: time.seconds.into(),
        tv_nsec: time.nanoseconds.into(),
    }
}

impl From<&Attributes> for Meta {
    fn from(attributes: &Attributes) -> Self {
        Self {
            size: attributes.size,
            mode: attributes.mode & 0o7777,
            accessed: attributes.times.accessed.clamped(),
            modified: attributes.times.modified.clamped(),
        }
    }
}

impl From<&Metadata> for Meta {
    /// Times before 1970 and after 2106 become the nearest that a server can store.
    fn from(metadata: &Metadata) -> Self {
        let time = |seconds: i64, nanoseconds: i64| Time {
            seconds: seconds.clamp(0, u32::MAX.into()) as u32,
            nanoseconds: nanoseconds.clamp(0, 999_999_999) as u32,
        };
        Self {
            size: metadata.len(),
            mode: metadata.mode() & 0o7777,
            accessed: time(metadata.atime(), metadata.atime_nsec()),
            modified: time(metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}
