//! The file resolv.conf(5): another one over it, or another text in it.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::mount::{UnmountFlags, mount_bind, unmount};
use wire::hop::Resolvers;

use super::conf::{self, RESOLV_CONF};

/// Mounts of this process (`/proc/PID/mountinfo`): position of the root in the mounted file system, and of the place.
const MOUNTS: &str = "/proc/thread-self/mountinfo";
const ROOT: usize = 3;
const PLACE: usize = 4;
/// Permissions of the file over the other one: all programs read it.
const READABLE: u32 = 0o644;

/// Returns the file behind the links at the usual place.
pub(super) fn target() -> io::Result<PathBuf> {
    fs::canonicalize(RESOLV_CONF)
}

/// Returns the roots of all mounts at `place`; the last one is in front.
fn mounts_at(place: &Path) -> io::Result<Vec<String>> {
    let mounts = fs::read_to_string(MOUNTS)?;
    let root = |line: &str| {
        let fields: Vec<_> = line.split(' ').collect();
        let is_here = Path::new(fields.get(PLACE)?) == place;
        is_here.then(|| fields.get(ROOT).map(|root| (*root).to_owned()))?
    };
    Ok(mounts.lines().filter_map(root).collect())
}

/// Returns true if something is mounted over the file. Then others have made it for this network, and share it.
pub(super) fn is_mounted(target: &Path) -> io::Result<bool> {
    Ok(!mounts_at(target)?.is_empty())
}

/// Mounts the file `over`, with a text for these servers, over `target`; if it is there already, its text changes.
pub(super) fn mount(target: &Path, over: &Path, resolvers: &Resolvers) -> io::Result<()> {
    let text = conf::in_place_of(&conf::read(target)?, resolvers);
    if is_ours(target, over)? {
        return rewrite(target, &text);
    }
    // A former one may be in use by mounts that somebody copied.
    let _ = fs::remove_file(over);
    let mut file = File::create_new(over)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(Permissions::from_mode(READABLE))?;
    Ok(mount_bind(over, target)?)
}

/// Returns true if the file `over` is the one in front at `target`.
fn is_ours(target: &Path, over: &Path) -> io::Result<bool> {
    let roots = mounts_at(target)?;
    Ok(roots.last().is_some_and(|root| is_root(root, over)))
}

/// The root is a path in its own file system, which may be mounted anywhere.
fn is_root(root: &str, file: &Path) -> bool {
    let root = root.strip_suffix("//deleted").unwrap_or(root);
    Path::new(root).file_name() == file.file_name()
}

/// Takes the file `over` away again.
pub(super) fn unmount_again(target: &Path, over: &Path) -> io::Result<()> {
    while is_ours(target, over)? {
        unmount(target, UnmountFlags::DETACH)?;
    }
    match fs::remove_file(over) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Writes a text for these servers into the file itself.
pub(super) fn write(target: &Path, resolvers: &Resolvers) -> io::Result<()> {
    let text = conf::in_place_of(&conf::read(target)?, resolvers);
    rewrite(target, &text)
}

/// Restores the text from before, unless somebody else has written the file since then.
pub(super) fn write_back(target: &Path) -> io::Result<()> {
    match conf::former_in(&conf::read(target)?) {
        Some(former) => rewrite(target, &former),
        None => Ok(()),
    }
}

/// Writes the file in place: whoever shares it sees the new text.
fn rewrite(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}
