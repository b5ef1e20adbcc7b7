//! Mounting, unmounting, and the list of mounts.

use std::ffi::{CString, OsString};
use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
};

/// File system subtype, which marks our file systems in the kernel's list of mounts.
pub const SUBTYPE: &str = "lasthop";
const DEVICE: &str = "/dev/fuse";
const HELPER: &str = "fusermount3";

/// Options of a mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountOptions {
    /// Name of the mounted source, for lists of mounts.
    pub source: String,
    /// True if users other than the mounting one may access it.
    pub allow_other: bool,
    /// True if the file system is read-only.
    pub read_only: bool,
}

/// Reason why mounting or unmounting failed.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The kernel has no FUSE.
    #[error(
        "there is no {DEVICE}; load it (`modprobe fuse`), or let this container have it (`--device {DEVICE}`)"
    )]
    NoDevice,
    /// This user may not open the device.
    #[error(
        "{DEVICE} is closed to this user; run as root, or let users open it (`chmod 666 {DEVICE}`)"
    )]
    DeviceClosed,
    /// Only root may mount, and the helper for other users is missing.
    #[error(
        "only root may do this by itself, and the helper of other users, `{HELPER}`, is missing; \
         run as root, or install it (Debian and others: the package fuse3)"
    )]
    NoHelper,
    /// The helper failed.
    #[error("`{HELPER}` refused{}", behind_colon(said))]
    HelperRefused {
        /// Error output of the helper.
        said: String,
    },
    /// A file or directory in it is in use.
    #[error(
        "{} is busy: something in it is open, or a shell stands there; `fuser -vm {0}` shows what", point.display()
    )]
    Busy {
        /// Mount point.
        point: PathBuf,
    },
    /// The system refused.
    #[error("{}: {error}", point.display())]
    System {
        /// Mount point.
        point: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
}

fn behind_colon(text: &str) -> String {
    match text.trim() {
        "" => String::new(),
        text => format!(": {text}"),
    }
}

/// Mounts a file system at `point`, and returns the descriptor for [`Device::start`](super::Device::start). Without
/// root's rights the helper `fusermount3` does it.
///
/// # Errors
/// [`MountError`] names the remedy.
pub fn mount(point: &Path, options: &MountOptions) -> Result<OwnedFd, MountError> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let device = match rustix::fs::open(DEVICE, flags, Mode::empty()) {
        Ok(device) => device,
        Err(Errno::NOENT | Errno::NODEV | Errno::NXIO) => return Err(MountError::NoDevice),
        Err(Errno::ACCESS | Errno::PERM) => return Err(MountError::DeviceClosed),
        Err(error) => return Err(system(Path::new(DEVICE), error)),
    };
    let mut text = format!(
        "fd={},rootmode=40000,user_id={},group_id={},default_permissions",
        device.as_raw_fd(),
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw(),
    );
    if options.allow_other {
        text.push_str(",allow_other");
    }
    let text = CString::new(text).expect("made of numbers and words");
    let mut flags = MountFlags::NOSUID | MountFlags::NODEV;
    if options.read_only {
        flags |= MountFlags::RDONLY;
    }
    let kind = format!("fuse.{SUBTYPE}");
    match rustix::mount::mount(&options.source, point, kind, flags, text.as_c_str()) {
        Ok(()) => Ok(device),
        Err(Errno::PERM) => {
            drop(device);
            mount_by_helper(point, options)
        }
        Err(error) => Err(system(point, error)),
    }
}

fn system(point: &Path, error: Errno) -> MountError {
    MountError::System {
        point: point.into(),
        error: error.into(),
    }
}

/// Mounts with the helper, which opens the device, mounts, and sends the descriptor over a socket, its standard input.
fn mount_by_helper(point: &Path, options: &MountOptions) -> Result<OwnedFd, MountError> {
    let (ours, theirs) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(|error| system(point, error))?;
    let source = options.source.replace('\\', "\\\\").replace(',', "\\,");
    let mut text = format!("default_permissions,nosuid,nodev,subtype={SUBTYPE},fsname={source}");
    for (wanted, word) in [
        (options.allow_other, ",allow_other"),
        (options.read_only, ",ro"),
    ] {
        if wanted {
            text.push_str(word);
        }
    }
    run_helper(
        Command::new(HELPER)
            .args(["-o", &text, "--"])
            .arg(point)
            .env("_FUSE_COMMFD", "0")
            .stdin(Stdio::from(theirs)),
    )?;
    receive_descriptor(&ours).map_err(|error| system(point, error))
}

fn run_helper(command: &mut Command) -> Result<(), MountError> {
    let outcome = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => MountError::NoHelper,
            _ => MountError::System {
                point: HELPER.into(),
                error,
            },
        })?;
    // The descriptor passed to the helper must be closed here, or the end of its socket would never be seen.
    command.stdin(Stdio::null());
    if outcome.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    Err(MountError::HelperRefused { said })
}

fn receive_descriptor(socket: &OwnedFd) -> Result<OwnedFd, Errno> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut pieces = [IoSliceMut::new(&mut byte)];
    rustix::net::recvmsg(socket, &mut pieces, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let descriptor = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    descriptor.ok_or(Errno::BADF)
}

/// Unmounts the file system at `point`. With `lazily`, it disappears at once, and ends when the last file in it is
/// closed.
///
/// # Errors
/// [`MountError::Busy`] if a file is in use, and not `lazily`.
pub fn unmount(point: &Path, lazily: bool) -> Result<(), MountError> {
    let mut flags = UnmountFlags::NOFOLLOW;
    if lazily {
        flags |= UnmountFlags::DETACH;
    }
    match rustix::mount::unmount(point, flags) {
        Ok(()) => Ok(()),
        Err(Errno::BUSY) => Err(MountError::Busy {
            point: point.into(),
        }),
        Err(Errno::PERM) => {
            let how = if lazily { "-uz" } else { "-u" };
            let mut command = Command::new(HELPER);
            run_helper(command.args([how, "--"]).arg(point)).map_err(|error| match error {
                MountError::HelperRefused { said } if said.contains("busy") => MountError::Busy {
                    point: point.into(),
                },
                error => error,
            })
        }
        Err(error) => Err(system(point, error)),
    }
}

/// A mounted file system of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mounted {
    /// Mount point.
    pub point: PathBuf,
    /// Its [`MountOptions::source`].
    pub source: String,
    /// Number of its device, unique on this host.
    pub device: u32,
}

/// Returns our mounted file systems, in the order of mounting: the last one at a point is the visible one.
///
/// # Errors
/// If the kernel's list cannot be read.
pub fn mounted() -> io::Result<Vec<Mounted>> {
    let list = std::fs::read("/proc/self/mountinfo")?;
    let lines = list.split(|&byte| byte == b'\n');
    Ok(lines.filter_map(Mounted::parse).collect())
}

impl Mounted {
    /// Parses a line of `/proc/self/mountinfo` (proc(5)); `None` if it is not one of our file systems.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
        // After a lone hyphen follow the type and the source.
        let hyphen = words.iter().position(|word| word == b"-")?;
        let kind = format!("fuse.{SUBTYPE}");
        if *words.get(hyphen + 1)? != kind.as_bytes() {
            return None;
        }
        let numbers = std::str::from_utf8(words.get(2)?).ok()?;
        let (major, minor) = numbers.split_once(':')?;
        let device = (major == "0").then(|| minor.parse().ok())??;
        let source = unescape(words.get(hyphen + 2)?);
        Some(Self {
            point: OsString::from_vec(unescape(words.get(4)?)).into(),
            source: String::from_utf8_lossy(&source).into_owned(),
            device,
        })
    }
}

/// Decodes bytes that are written as a backslash and three octal digits.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind.get(..3).filter(|_| first == b'\\');
        let octal = digits.and_then(|digits| {
            let text = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(text, 8).ok()
        });
        bytes.push(octal.unwrap_or(first));
        rest = if octal.is_some() {
            &behind[3..]
        } else {
            behind
        };
    }
    bytes
}

/// Aborts the file system at `point`: all current and later requests fail, and it disappears.
///
/// # Errors
/// Only root may do this. When the process that serves the file system ends, all of this happens too.
pub fn abort(point: &Path) -> Result<(), MountError> {
    let flags = UnmountFlags::NOFOLLOW | UnmountFlags::FORCE | UnmountFlags::DETACH;
    rustix::mount::unmount(point, flags).map_err(|error| system(point, error))
}
