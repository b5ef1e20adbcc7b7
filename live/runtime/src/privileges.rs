//! Privileges of a daemon, which it drops once its devices are open. A [helper](crate::helper) keeps those that are
//! needed at its end.

use std::io;
use std::path::Path;

use edges::sandbox::{Files, confine_calls, confine_files};
use edges::signals::protect_memory;
use rustix::io::Errno;
use rustix::process::{geteuid, getpid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, Gid, Uid, capabilities, remove_capability_from_bounding_set,
    set_capabilities, set_keep_capabilities, set_no_new_privs, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid,
};
use thiserror::Error;

/// A daemon's own user, if there is one, and the user and group "nobody" of Linux (`/proc/sys/kernel/overflowuid`).
const USUAL: &str = "lasthop";
const NOBODY: u32 = 65_534;
const USERS: &str = "/etc/passwd";

/// Reason why privileges could not be dropped.
#[derive(Debug, Error)]
pub enum PrivilegesError {
    /// There is no such user.
    #[error("there is no user '{0}'; create it (`useradd --system {0}`), or remove `user`")]
    UnknownUser(String),
    /// The user is root.
    #[error("the user '{0}' is root, who may do anything; set another `user`, or remove it")]
    Root(String),
    /// The caller may not become another user.
    #[error("cannot become the user '{0}'; start as root, or remove `user`")]
    NotPermitted(String),
    /// A system error.
    #[error("cannot drop privileges ({operation}): {source}")]
    Failed {
        /// The operation.
        operation: &'static str,
        /// Error of the system.
        source: io::Error,
    },
}

/// The user and group that a daemon runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    name: String,
    uid: u32,
    gid: u32,
    /// True if the configuration names it.
    is_chosen: bool,
}

impl User {
    /// Returns the user with this name or number, or the usual one: `lasthop` if there is such a user, else "nobody".
    ///
    /// # Errors
    /// [`PrivilegesError::UnknownUser`], and [`PrivilegesError::Root`].
    pub fn find(name: Option<&str>) -> Result<Self, PrivilegesError> {
        let users = std::fs::read_to_string(USERS).unwrap_or_default();
        let found = user_in(&users, name.unwrap_or(USUAL));
        let (uid, gid) = match (name, found) {
            (_, Some(found)) => found,
            (None, None) => (NOBODY, NOBODY),
            (Some(name), None) => return Err(PrivilegesError::UnknownUser(name.into())),
        };
        let user = Self {
            name: name.unwrap_or(USUAL).into(),
            uid,
            gid,
            is_chosen: name.is_some(),
        };
        if uid == 0 || gid == 0 {
            return Err(PrivilegesError::Root(user.name));
        }
        Ok(user)
    }
}

/// Returns the numbers of a user in a text of passwd(5). A number that the text does not have is its own group.
fn user_in(users: &str, name: &str) -> Option<(u32, u32)> {
    let user = |line: &str| {
        let fields: Vec<_> = line.split(':').collect();
        let numbers = (fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?);
        (fields[0] == name || fields[2] == name).then_some(numbers)
    };
    let number = || name.parse().ok().map(|number: u32| (number, number));
    users.lines().find_map(user).or_else(number)
}

/// What a daemon may still do.
#[derive(Debug, Clone, Copy)]
pub struct Remains<'a> {
    /// Capabilities.
    pub capabilities: CapabilitySet,
    /// Files to read, and folders with all that they contain.
    pub read: &'a [&'a Path],
}

/// Drops all privileges but `remains`, for ever: the process becomes `user`, without other groups, and confines itself
/// to the files and system calls that its loop needs. Its memory stays protected. Call it while the process has one
/// thread.
///
/// # Errors
/// [`PrivilegesError`]; the process should end then.
pub fn drop_all_but(user: &User, remains: &Remains<'_>) -> Result<(), PrivilegesError> {
    limit_to(remains.capabilities).map_err(failed("bounding set"))?;
    set_keep_capabilities(true).map_err(failed("capabilities"))?;
    become_user(user)?;
    set_no_new_privs(true).map_err(failed("no_new_privs"))?;
    hold(remains.capabilities, CapabilitySet::empty()).map_err(failed("capabilities"))?;
    confine(remains.read)
}

/// Drops all capabilities for ever, and confines the process as [`drop_all_but`] does, but it stays the user that it
/// is: for a process that only opens sockets of this user. Call it while the process has one thread.
///
/// # Errors
/// [`PrivilegesError`]; the process should end then.
pub fn keep_only_user() -> Result<(), PrivilegesError> {
    let nothing = CapabilitySet::empty();
    limit_to(nothing).map_err(failed("bounding set"))?;
    set_no_new_privs(true).map_err(failed("no_new_privs"))?;
    hold(nothing, nothing).map_err(failed("capabilities"))?;
    confine(&[])
}

/// Protects the memory of the process, and confines it to these files and to the system calls of a loop.
fn confine(read: &[&Path]) -> Result<(), PrivilegesError> {
    // A change of the user makes the memory readable again.
    protect_memory().map_err(failed("memory"))?;
    let files = Files {
        read,
        ..Files::default()
    };
    if !confine_files(&files).map_err(failed("Landlock"))? {
        tracing::info!(
            "this kernel has no Landlock, or not all of it, so files are protected by their permissions"
        );
    }
    if !confine_calls().map_err(failed("seccomp"))? {
        tracing::info!("there is no filter of system calls for this processor");
    }
    Ok(())
}

/// Keeps `CAP_NET_ADMIN` and drops every other capability, also for programs that it starts: for a process that runs
/// `nft` and restores kernel parameters. Call it while the process has one thread.
///
/// # Errors
/// System errors.
pub fn keep_network_administration() -> io::Result<()> {
    limit_to(CapabilitySet::NET_ADMIN)?;
    set_no_new_privs(true)?;
    // If a service manager gave it to us as an ambient capability, `nft` inherits it this way.
    hold(CapabilitySet::NET_ADMIN, CapabilitySet::NET_ADMIN)
}

/// Keeps the capabilities to mount and to write files, and drops every other one, also for programs that it starts: for
/// a process that sets the resolver of the system. Call it while the process has one thread.
///
/// # Errors
/// System errors.
pub fn keep_files_and_mounts() -> io::Result<()> {
    let kept = CapabilitySet::SYS_ADMIN
        | CapabilitySet::DAC_OVERRIDE
        | CapabilitySet::CHOWN
        | CapabilitySet::FOWNER;
    limit_to(kept)?;
    set_no_new_privs(true)?;
    hold(kept, kept)
}

/// Removes all other capabilities from the bounding set: programs run by uid 0 get those of that set.
fn limit_to(kept: CapabilitySet) -> io::Result<()> {
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if kept.contains(capability) {
            continue;
        }
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // INVAL: the kernel has no capability of that number. PERM: the set cannot be reduced, so this is not root;
            // then `no_new_privs` keeps started programs from gaining any.
            Err(Errno::INVAL | Errno::PERM) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Keeps those capabilities of `kept` that the process has, and lets programs inherit those of `inherited`.
fn hold(kept: CapabilitySet, inherited: CapabilitySet) -> io::Result<()> {
    let held = capabilities(Some(getpid()))?;
    let kept = held.permitted & kept;
    set_capabilities(
        None,
        CapabilitySets {
            effective: kept,
            permitted: kept,
            inheritable: held.inheritable & inherited,
        },
    )?;
    Ok(())
}

fn become_user(user: &User) -> Result<(), PrivilegesError> {
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    let change = || {
        set_thread_groups(&[])?;
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)
    };
    match change() {
        Ok(()) => Ok(()),
        Err(_) if geteuid() == uid => Ok(()),
        // Not root: the service manager has chosen the user. Or a user namespace in which there is no other one.
        Err(Errno::PERM | Errno::INVAL) if !user.is_chosen => {
            tracing::debug!("it stays user {}", geteuid().as_raw());
            Ok(())
        }
        Err(Errno::PERM | Errno::INVAL) => Err(PrivilegesError::NotPermitted(user.name.clone())),
        Err(error) => Err(failed("user")(error)),
    }
}

fn failed<E: Into<io::Error>>(operation: &'static str) -> impl Fn(E) -> PrivilegesError {
    move |error| PrivilegesError::Failed {
        operation,
        source: error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_name_and_by_number() {
        let users = "root:x:0:0:root:/root:/bin/sh\nlasthop:x:997:996::/:/sbin/nologin\nbroken\n";
        assert_eq!(user_in(users, "lasthop"), Some((997, 996)));
        assert_eq!(user_in(users, "997"), Some((997, 996)));
        assert_eq!(user_in(users, "1234"), Some((1_234, 1_234)));
        assert_eq!(user_in(users, "nobody_there"), None);
        assert!(matches!(
            User::find(Some("0")),
            Err(PrivilegesError::Root(_))
        ));
    }
}
