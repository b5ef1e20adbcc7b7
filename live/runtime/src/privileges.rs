//! Dropping of privileges that a daemon no longer needs once its devices are open.

use std::io;

use rustix::process::getpid;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};

/// Keeps `CAP_NET_ADMIN` and drops every other capability, also for programs that it starts.
///
/// `CAP_NET_ADMIN` has to stay: at the end the daemon removes its routes, rules and addresses, restores kernel
/// parameters of the network, and runs `nft`. A helper process could do all but the last, but would hold the same
/// capability for as long. Access to the user's files has the user's plain rights from here on. Call it while the
/// process has one thread.
pub fn keep_network_administration() -> io::Result<()> {
    // Programs run by uid 0 get the capabilities of the bounding set.
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if capability == CapabilitySet::NET_ADMIN {
            continue;
        }
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // INVAL: the kernel has no capability of that number. PERM: the set cannot be reduced, so this is not root;
            // then `no_new_privs` below keeps started programs from gaining any.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::PERM) => break,
            Err(error) => return Err(error.into()),
        }
    }
    set_no_new_privs(true)?;
    let held = capabilities(Some(getpid()))?;
    let kept = held.permitted & CapabilitySet::NET_ADMIN;
    set_capabilities(
        None,
        CapabilitySets {
            effective: kept,
            permitted: kept,
            // If a service manager gave it to us as an ambient capability, `nft` inherits it this way.
            inheritable: held.inheritable & CapabilitySet::NET_ADMIN,
        },
    )?;
    Ok(())
}
