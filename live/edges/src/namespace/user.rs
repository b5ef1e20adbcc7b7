//! A user namespace for users without root's rights (`user_namespaces(7)`).

use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{getgid, getuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use thiserror::Error;

use crate::netlink::{Netlink, NetlinkError};

/// Settings by which systems forbid user namespaces, with the forbidding value.
const FORBIDDING: [(&str, &str); 3] = [
    ("kernel/unprivileged_userns_clone", "0"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1"),
    ("user/max_user_namespaces", "0"),
];

/// Number of checks whether a thread has left the process, and time between them.
const LEAVING_MAX: u32 = 200;
const LEAVING: Duration = Duration::from_millis(1);

/// Reason why no user namespace could be entered.
#[derive(Debug, Error)]
pub enum UserNamespaceError {
    /// The process has more than one thread; threads share their user namespace.
    #[error("a user namespace must be entered before the process starts other threads")]
    Threads,
    /// The system forbids it for users other than root.
    #[error("this system lets only root create namespaces{}; run as root{}", by_which(.0), remedy(.0))]
    Forbidden(Vec<(&'static str, &'static str)>),
    /// The user numbers could not be mapped.
    #[error("cannot write {path}: {source}")]
    Mapping {
        /// Path of the map.
        path: &'static str,
        /// Error of the system.
        source: io::Error,
    },
    /// Any other failure.
    #[error("cannot create a user namespace: {0}")]
    Failed(#[source] io::Error),
    /// The loopback link of the new namespace could not be set up.
    #[error(transparent)]
    Loopback(#[from] NetlinkError),
}

/// Makes the process root in a user namespace and a network namespace of its own, which has only a loopback link.
/// Access to files and everything else outside is still that of the old user. Call it at the very start of a program,
/// before any thread.
pub fn enter_user_namespace() -> Result<(), UserNamespaceError> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    unshare_alone().map_err(|errno| match errno {
        Errno::INVAL => UserNamespaceError::Threads,
        Errno::PERM | Errno::ACCESS | Errno::NOSPC | Errno::USERS => {
            UserNamespaceError::Forbidden(forbidding_settings())
        }
        _ => UserNamespaceError::Failed(errno.into()),
    })?;
    // The kernel requires setgroups to be denied before an unprivileged user maps a group.
    write_map("/proc/self/setgroups", "deny")?;
    write_map("/proc/self/uid_map", &format!("0 {user} 1"))?;
    write_map("/proc/self/gid_map", &format!("0 {group} 1"))?;
    Ok(Netlink::open()?.set_up("lo")?)
}

/// Enters new namespaces. A joined thread may take a moment more to leave the process, as joining ends before that.
fn unshare_alone() -> Result<(), Errno> {
    for _ in 0..LEAVING_MAX {
        // SAFETY: the kernel refuses this (EINVAL) when there is a second thread that it could surprise.
        let entered = unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNET) };
        if entered != Err(Errno::INVAL) {
            return entered;
        }
        thread::sleep(LEAVING);
    }
    Err(Errno::INVAL)
}

/// Writes a user or group map. With `AppArmor` a namespace may be created but without rights in it: then this fails.
fn write_map(path: &'static str, text: &str) -> Result<(), UserNamespaceError> {
    fs::write(path, text).map_err(|source| {
        let settings = forbidding_settings();
        if source.kind() == io::ErrorKind::PermissionDenied && !settings.is_empty() {
            return UserNamespaceError::Forbidden(settings);
        }
        UserNamespaceError::Mapping { path, source }
    })
}

fn forbidding_settings() -> Vec<(&'static str, &'static str)> {
    let forbids =
        |(name, value): &(&str, &str)| crate::sysctl::read(name).is_ok_and(|found| found == *value);
    FORBIDDING.into_iter().filter(forbids).collect()
}

fn by_which(settings: &[(&str, &str)]) -> String {
    let list: Vec<_> = settings
        .iter()
        .map(|(name, value)| format!("{} = {value}", dotted(name)))
        .collect();
    if list.is_empty() {
        String::new()
    } else {
        format!(" ({})", list.join(", "))
    }
}

fn remedy(settings: &[(&str, &str)]) -> String {
    let change = |(name, _): &(&str, &str)| {
        let allowing = match *name {
            "kernel/unprivileged_userns_clone" => "1",
            "kernel/apparmor_restrict_unprivileged_userns" => "0",
            _ => "10000",
        };
        format!("`sysctl -w {}={allowing}`", dotted(name))
    };
    let list: Vec<_> = settings.iter().map(change).collect();
    if list.is_empty() {
        String::new()
    } else {
        format!(", or let root allow it: {}", list.join(" and "))
    }
}

fn dotted(name: &str) -> String {
    name.replace('/', ".")
}
