//! Mount points, and the sockets of the processes of mounts.

use std::io;
use std::path::{Path, PathBuf};

use edges::fuse::Mounted;
use runtime::mount::control::{Query, ask};
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::failure::Failure;

/// Folder of the sockets and logs of root's mounts.
const SYSTEM: &str = edges::undo::STATE_FOLDER;

/// Returns the folder of this user's sockets and logs.
pub(super) fn folder() -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return SYSTEM.into();
    }
    let set = |name| std::env::var_os(name).filter(|folder| !folder.is_empty());
    let below_home =
        || PathBuf::from(set("HOME").unwrap_or_else(|| "/".into())).join(".local/state");
    set("XDG_RUNTIME_DIR")
        .map_or_else(below_home, PathBuf::from)
        .join("lasthop")
}

/// Returns the control socket of the mount with this device number. Its name differs from that of a daemon, for which
/// `lasthop status` searches the same folder.
pub(super) fn socket(device: u32) -> PathBuf {
    file(device, "control")
}

/// Returns the log of the mount with this device number.
pub(super) fn log(device: u32) -> PathBuf {
    file(device, "log")
}

fn file(device: u32, ending: &str) -> PathBuf {
    folder().join(format!("mount-{device}.{ending}"))
}

/// A mount and the socket of its process.
pub(super) struct Place {
    pub(super) mounted: Mounted,
    pub(super) socket: PathBuf,
}

impl Place {
    /// Returns the mount at `point`. Does not access its files, which might wait for the server.
    pub(super) fn find(point: &Path) -> Result<Self, Failure> {
        let point = resolve(point)?;
        let mut mounted = mounted_at(&point)?;
        if mounted.is_none()
            && let Ok(behind_links) = point.canonicalize()
        {
            mounted = mounted_at(&behind_links)?;
        }
        match mounted {
            Some(mounted) => Ok(Self {
                socket: socket(mounted.device),
                mounted,
            }),
            None => Err(Failure::setting(format!(
                "nothing of lasthop is mounted at {}; `lasthop mount --list` shows what is",
                point.display()
            ))),
        }
    }

    /// Requests the status from its process.
    pub(super) fn status<S: DeserializeOwned>(&self) -> Result<S, Failure> {
        ask(&self.socket, Query::Status, Some(super::PATIENCE))
            .map_err(|error| self.unanswered(&error))
    }

    /// Returns the error that its process does not answer, with a remedy.
    pub(super) fn unanswered(&self, error: &io::Error) -> Failure {
        let point = self.mounted.point.display();
        Failure::setting(match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => format!(
                "the process that kept {point} is gone; `lasthop unmount {point}` removes the mount"
            ),
            io::ErrorKind::PermissionDenied => {
                format!("{point} belongs to another user; run this as that user")
            }
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                format!("the process that keeps {point} does not answer")
            }
            io::ErrorKind::UnexpectedEof => {
                format!("the process that kept {point} ended before it answered; see its log")
            }
            io::ErrorKind::InvalidData => format!(
                "the process that keeps {point} does not answer as version {} of this command expects: {error}",
                env!("CARGO_PKG_VERSION")
            ),
            _ => format!("cannot ask the process that keeps {point}: {error}"),
        })
    }

    /// Unmounts the mount of a dead process.
    pub(super) fn remove(&self) -> Result<(), Failure> {
        edges::fuse::unmount(&self.mounted.point, true).map_err(Failure::setting)?;
        // There may be no socket yet.
        let _ = std::fs::remove_file(&self.socket);
        Ok(())
    }

    /// Returns true if its process is dead.
    pub(super) fn is_abandoned(&self) -> bool {
        let gone = [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused];
        let patience = Some(super::PATIENCE);
        ask::<IgnoredAny>(&self.socket, Query::Status, patience)
            .is_err_and(|error| gone.contains(&error.kind()))
    }
}

/// Returns our topmost mount at exactly this path.
fn mounted_at(point: &Path) -> Result<Option<Mounted>, Failure> {
    let all = edges::fuse::mounted()
        .map_err(|error| Failure::broken(format!("cannot read the list of mounts: {error}")))?;
    Ok(all.into_iter().rev().find(|mounted| mounted.point == point))
}

/// Returns the path with all but its last part resolved: the last part may be a mount whose server is silent.
fn resolve(point: &Path) -> Result<PathBuf, Failure> {
    let failed = |error: io::Error| Failure::setting(format!("{}: {error}", point.display()));
    let absolute = std::path::absolute(point).map_err(failed)?;
    match (absolute.parent(), absolute.file_name()) {
        (Some(parent), Some(name)) => Ok(parent.canonicalize().map_err(failed)?.join(name)),
        _ => absolute.canonicalize().map_err(failed),
    }
}

/// Returns the directory to mount at. A mount of a dead process there is removed first.
pub(super) fn directory(point: &Path) -> Result<PathBuf, Failure> {
    let resolved = resolve(point)?;
    if let Some(mounted) = mounted_at(&resolved)? {
        let (source, shown) = (mounted.source.clone(), point.display());
        let place = Place {
            socket: socket(mounted.device),
            mounted,
        };
        if !place.is_abandoned() {
            return Err(Failure::setting(format!(
                "{source} is mounted at {shown} already; `lasthop unmount {shown}` first"
            )));
        }
        eprintln!("a dead process left {source} mounted at {shown}: unmounting it");
        place.remove()?;
    }
    let metadata = std::fs::metadata(&resolved).map_err(|error| {
        let remedy = match error.kind() {
            io::ErrorKind::NotFound => "; make the directory first",
            _ => "",
        };
        Failure::setting(format!("{}: {error}{remedy}", point.display()))
    })?;
    if !metadata.is_dir() {
        return Err(Failure::setting(format!(
            "{}: no directory; a mount needs one, which may have files in it",
            point.display()
        )));
    }
    resolved
        .canonicalize()
        .map_err(|error| Failure::setting(format!("{}: {error}", point.display())))
}
