//! Network namespaces (`network_namespaces(7)`): a separate network stack for a thread, a child process, or a whole
//! program.

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

/// Folder in which `ip netns` keeps its names.
const NAMED: &str = "/run/netns";
/// Namespace of the calling thread; `/proc/self` would be that of the main thread.
const OWN: &str = "/proc/thread-self/ns/net";

/// Reason why a network namespace could not be created, found or entered.
#[derive(Debug, Error)]
pub enum NamespaceError {
    /// The caller may not create namespaces.
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
    /// The name could refer outside of `/run/netns`.
    #[error("'{0}' cannot name a network namespace: 1 to 255 bytes without '/' are allowed")]
    InvalidName(String),
    /// The loopback link of the new namespace could not be set up.
    #[error(transparent)]
    Loopback(#[from] NetlinkError),
    /// Any other failure.
    #[error("cannot {operation}: {source}")]
    Failed {
        /// The operation that failed.
        operation: String,
        /// Error of the system.
        source: io::Error,
    },
}

/// Identity of a namespace, for comparison: unique among those that exist at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NamespaceId {
    /// Device of the kernel's namespace file system.
    pub device: u64,
    /// Number of the namespace on it, as in `net:[4026531840]`.
    pub inode: u64,
}

/// A network namespace, kept alive by this handle. Clones are the same namespace.
#[derive(Debug, Clone)]
pub struct Namespace {
    handle: Arc<OwnedFd>,
    id: NamespaceId,
}

impl Namespace {
    /// Creates a namespace with only a loopback link, which is up. It has no name and ends with its last handle,
    /// thread, socket and process.
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

    /// Returns the namespace of the calling thread.
    pub fn current() -> Result<Self, NamespaceError> {
        let operation = "find this thread's network namespace (is /proc mounted?)";
        Self::from_file(File::open(OWN).map_err(failed(operation))?)
    }

    /// Opens the namespace that `ip netns add NAME` created.
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

    /// Returns the identity of this namespace.
    pub fn id(&self) -> NamespaceId {
        self.id
    }

    /// Returns true if the calling thread is in it.
    pub fn is_current(&self) -> Result<bool, NamespaceError> {
        Ok(Self::current()?.id == self.id)
    }

    /// Runs `closure` in a new thread inside the namespace and returns its result. Threads that it starts are in the
    /// namespace too, and sockets that it opens belong to it for ever. A panic of the closure continues in the caller.
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

/// Runs `closure` in a new thread: the thread that changes its namespace must not be used for anything else.
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
