//! A partly written file of this host.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

use bytes::Bytes;
use nfs::Time;
use rustix::fs::{Timestamps, UTIME_OMIT, futimens};

use super::meta::{Meta, READ_NOW, timespec};
use super::options::How;
use super::part::{MARKED, Part, mode, part_name};
use crate::nfs::problem::Problem;
use crate::nfs::transfer::{Arrival, LocalFile, Sink};

/// A partly written file of this host: it is written from its beginning, so its length is the progress.
pub(super) struct LocalPart {
    file: LocalFile,
    path: PathBuf,
    target: PathBuf,
    present: u64,
}

impl LocalPart {
    /// Starts the file `name`, or resumes it.
    pub(super) fn begin(
        folder: &Path,
        name: &[u8],
        meta: &Meta,
        how: How,
    ) -> Result<Self, Problem> {
        let path = folder.join(OsStr::from_bytes(&part_name(name)));
        let target = folder.join(OsStr::from_bytes(name));
        let failed = |error: std::io::Error| Problem::at(path.display(), error);
        let present = if how.resume { present(&path, meta) } else { 0 };
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(present == 0)
            .mode(mode(meta, how) & 0o777 | 0o600)
            .custom_flags(libc_flags())
            .open(&path)
            .map_err(failed)?;
        if present == 0 && meta.size >= MARKED {
            mark(&file, meta).map_err(failed)?;
        }
        let shown = path.display().to_string().into();
        Ok(Self {
            file: LocalFile { file, shown },
            path,
            target,
            present,
        })
    }
}

/// Returns the open flags that refuse a symbolic link with the name of the part, by which somebody could redirect the
/// copy.
fn libc_flags() -> i32 {
    rustix::fs::OFlags::NOFOLLOW.bits() as i32
}

/// Returns the number of bytes that are present, if they belong to this version of the source.
fn present(path: &Path, meta: &Meta) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return 0;
    };
    let there = Meta::from(&metadata);
    let is_ours =
        metadata.is_file() && there.accessed.seconds == meta.version() && there.size <= meta.size;
    if is_ours { there.size } else { 0 }
}

/// Stores the version of the source in the access time, which nobody else needs yet.
fn mark(file: &File, meta: &Meta) -> std::io::Result<()> {
    let version = Time {
        seconds: meta.version(),
        nanoseconds: 0,
    };
    let mut times = Timestamps {
        last_access: timespec(version),
        last_modification: timespec(version),
    };
    times.last_modification.tv_nsec = UTIME_OMIT;
    Ok(futimens(file, &times)?)
}

impl Sink for LocalPart {
    fn put(&mut self, offset: u64, data: Vec<Bytes>, to: &Sender<Arrival>) {
        self.file.put(offset, data, to);
    }
}

impl Part for LocalPart {
    fn present(&self) -> u64 {
        self.present
    }

    fn finish(&mut self, meta: &Meta, how: How) -> Result<(), Problem> {
        let failed = |error: std::io::Error| Problem::at(self.path.display(), error);
        let file = &self.file.file;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.len() != meta.size {
            let (there, size) = (metadata.len(), meta.size);
            let what = format!("it has {there} bytes instead of {size}: somebody else changed it");
            return Err(Problem::at(self.path.display(), what));
        }
        let wanted = mode(meta, how);
        if metadata.permissions().mode() & 0o7777 != wanted {
            file.set_permissions(fs::Permissions::from_mode(wanted))
                .map_err(failed)?;
        }
        let times = if how.preserve {
            meta.timestamps()
        } else {
            READ_NOW
        };
        futimens(file, &times).map_err(|error| failed(error.into()))?;
        fs::rename(&self.path, &self.target)
            .map_err(|error| Problem::at(self.target.display(), error))
    }
}
