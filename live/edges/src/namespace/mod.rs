//! Network namespaces (`network_namespaces(7)`): a network stack of one's own for a thread, a child
//! process, or a whole program.

mod user;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Arc;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::netlink::{Netlink, NetlinkError};

pub use user::{UserNamespaceError, enter_user_namespace};

/// Where `ip netns` keeps its names.
const NAMED: &str = "/run/netns";
/// The calling thread's own namespace; `/proc/self` would be the main thread's.
const OWN: &str = "/proc/thread-self/ns/net";

/// Why a network namespace could not be made, found or entered.
#[derive(Debug, Error)]
pub enum NamespaceError {
    /// The caller may not make namespaces.
    #[error(
        "cannot create a network namespace: this needs CAP_SYS_ADMIN; run as root, or enter a user \
        namespace first (`unshare -rn`)"
    )]
    CreationNotPermitted,
    /// The caller may not enter this one.
    #[error(
        "cannot enter the network namespace {0}: this needs CAP_SYS_ADMIN in the user namespace that owns it"
    )]
    EntryNotPermitted(String),
    /// No namespace has this name.
    #[error(
        "there is no network namespace named '{0}' in /run/netns; create it with `ip netns add {0}`"
    )]
    Unknown(String),
    /// The name could lead out of `/run/netns`.
    #[error("'{0}' cannot name a network namespace: 1 to 255 bytes without '/' are allowed")]
    InvalidName(String),
    /// The new namespace's loopback link could not be taken up.
    #[error(transparent)]
    Loopback(#[from] NetlinkError),
    /// Another failure.
    #[error("cannot {operation}: {source}")]
    Failed {
        /// What was tried.
        operation: String,
        /// The system's reason.
        source: io::Error,
    },
}

/// Which namespace it is, for comparison: unique among those that exist at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NamespaceId {
    /// The device of the kernel's namespace file system.
    pub device: u64,
    /// The namespace's number on it, as in `net:[4026531840]`.
    pub inode: u64,
}

/// A network namespace, kept alive by this handle. Clones are the same namespace.
#[derive(Debug, Clone)]
pub struct Namespace {
    handle: Arc<OwnedFd>,
    id: NamespaceId,
}

impl Namespace {
    /// Makes a namespace that holds a loopback link, which is up, and nothing else. It has no name
    /// and is gone with its last handle, thread, socket and process.
    pub fn create() -> Result<Self, NamespaceError> {
        in_fresh_thread(|| {
            // SAFETY: this changes the network namespace of the calling thread alone, not what it
            // shares with others (memory, descriptors, user), and the thread ends right after.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.map_err(|errno| match errno {
                rustix::io::Errno::PERM => NamespaceError::CreationNotPermitted,
                _ => failed("create a network namespace")(errno.into()),
            })?;
            Netlink::open()?.set_up("lo")?;
            Self::current()
        })?
    }

    /// The calling thread's namespace.
    pub fn current() -> Result<Self, NamespaceError> {
        let operation = "find this thread's network namespace (is /proc mounted?)";
        Self::from_file(File::open(OWN).map_err(failed(operation))?)
    }

    /// The namespace that `ip netns add NAME` made.
    pub fn open_named(name: &str) -> Result<Self, NamespaceError> {
        if name.is_empty()
            || name.len() > 255
            || matches!(name, "." | "..")
            || name.contains(['/', '\0'])
        {
            return Err(NamespaceError::InvalidName(name.into()));
        }
        let file = File::open(format!("{NAMED}/{name}")).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => NamespaceError::Unknown(name.into()),
            _ => failed(&format!("open the network namespace '{name}'"))(source),
        })?;
        Self::from_file(file)
    }

    fn from_file(file: File) -> Result<Self, NamespaceError> {
        let metadata = file
            .metadata()
            .map_err(failed("identify a network namespace"))?;
        let id = NamespaceId {
            device: metadata.dev(),
            inode: metadata.ino(),
        };
        Ok(Self {
            handle: Arc::new(file.into()),
            id,
        })
    }

    /// Which namespace this is.
    pub fn id(&self) -> NamespaceId {
        self.id
    }

    /// Whether the calling thread is in it.
    pub fn is_current(&self) -> Result<bool, NamespaceError> {
        Ok(Self::current()?.id == self.id)
    }

    /// Runs `closure` in a fresh thread inside the namespace and returns its value. Threads that it
    /// starts are in the namespace too, and sockets that it opens belong to it for good. A panic
    /// of the closure goes on in the caller.
    pub fn run<R: Send>(&self, closure: impl FnOnce() -> R + Send) -> Result<R, NamespaceError> {
        in_fresh_thread(|| {
            self.enter()?;
            Ok(closure())
        })?
    }

    /// Starts `command` inside the namespace.
    pub fn spawn(&self, mut command: Command) -> Result<Child, NamespaceError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let handle = Arc::clone(&self.handle);
        let enter = move || {
            Ok(move_into_link_name_space(
                handle.as_fd(),
                Some(LinkNameSpaceType::Network),
            )?)
        };
        // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
        unsafe { command.pre_exec(enter) };
        command
            .spawn()
            .map_err(failed(&format!("start '{program}' in a network namespace")))
    }

    fn enter(&self) -> Result<(), NamespaceError> {
        let kind = Some(LinkNameSpaceType::Network);
        move_into_link_name_space(self.handle.as_fd(), kind).map_err(|errno| match errno {
            rustix::io::Errno::PERM => {
                NamespaceError::EntryNotPermitted(format!("net:[{}]", self.id.inode))
            }
            _ => failed("enter a network namespace")(errno.into()),
        })
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// The thread that changes its namespace must not be one that anybody else uses.
fn in_fresh_thread<R: Send>(closure: impl FnOnce() -> R + Send) -> Result<R, NamespaceError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("namespace".into())
            .spawn_scoped(scope, closure)
            .map_err(failed("start a thread"))?;
        Ok(thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

fn failed(operation: &str) -> impl Fn(io::Error) -> NamespaceError {
    let operation = operation.to_owned();
    move |source| NamespaceError::Failed {
        operation: operation.clone(),
        source,
    }
}
