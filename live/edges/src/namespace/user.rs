//! A user namespace for those who are not root (`user_namespaces(7)`).

use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{getgid, getuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use thiserror::Error;

use crate::netlink::{Netlink, NetlinkError};

/// Settings by which systems forbid user namespaces, with the value that does.
const FORBIDDING: [(&str, &str); 3] = [
    ("kernel/unprivileged_userns_clone", "0"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1"),
    ("user/max_user_namespaces", "0"),
];

/// How often to look whether a thread has left the process, and how long to wait in between.
const LEAVING_MAX: u32 = 200;
const LEAVING: Duration = Duration::from_millis(1);

/// Why no user namespace could be entered.
#[derive(Debug, Error)]
pub enum UserNamespaceError {
    /// The process has more than one thread, and threads share their user.
    #[error("a user namespace must be entered before the process starts other threads")]
    Threads,
    /// The system forbids it to users who are not root.
    #[error("this system lets only root create namespaces{}; run as root{}", by_which(.0), remedy(.0))]
    Forbidden(Vec<(&'static str, &'static str)>),
    /// The user numbers could not be mapped.
    #[error("cannot write {path}: {source}")]
    Mapping {
        /// Which map.
        path: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// Another failure.
    #[error("cannot create a user namespace: {0}")]
    Failed(#[source] io::Error),
    /// The new namespace's loopback link could not be taken up.
    #[error(transparent)]
    Loopback(#[from] NetlinkError),
}

/// Makes the process root in a user namespace and a network namespace of its own, with nothing but
/// loopback in it. Files and everything else outside are still touched as the old user. To be
/// called at the very start of a program, before any thread.
pub fn enter_user_namespace() -> Result<(), UserNamespaceError> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    unshare_alone().map_err(|errno| match errno {
        Errno::INVAL => UserNamespaceError::Threads,
        Errno::PERM | Errno::ACCESS | Errno::NOSPC | Errno::USERS => {
            UserNamespaceError::Forbidden(forbidding_settings())
        }
        _ => UserNamespaceError::Failed(errno.into()),
    })?;
    // The kernel wants setgroups given up before an unprivileged user maps a group.
    write_map("/proc/self/setgroups", "deny")?;
    write_map("/proc/self/uid_map", &format!("0 {user} 1"))?;
    write_map("/proc/self/gid_map", &format!("0 {group} 1"))?;
    Ok(Netlink::open()?.set_up("lo")?)
}

/// A thread that was joined may take a moment more to leave the process: joining ends before that.
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

/// `AppArmor` lets the namespace be created but gives no power in it: then writing the maps fails.
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
