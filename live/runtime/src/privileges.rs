//! Giving up what a daemon no longer needs once its devices are open.

use std::io;

use rustix::process::getpid;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};

/// Keeps `CAP_NET_ADMIN` and gives up every other capability, also for programs that it starts.
///
/// `CAP_NET_ADMIN` has to stay: at the end the daemon removes its routes, rules and addresses, sets
/// kernel parameters of the network back, and runs `nft`. All but the last it could leave to a helper
/// process, but that would hold the same capability for as long. Files of the user are touched with
/// the user's plain rights from here on. To be called while the process has one thread.
pub fn keep_network_administration() -> io::Result<()> {
    // Programs run by uid 0 get what the bounding set allows.
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if capability == CapabilitySet::NET_ADMIN {
            continue;
        }
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // INVAL: the kernel knows none of that number. PERM: we may not shrink the set, and so
            // are not root; then `no_new_privs` below keeps what we start from gaining any.
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
            // Where a service manager gave it to us as an ambient capability, `nft` inherits it so.
            inheritable: held.inheritable & CapabilitySet::NET_ADMIN,
        },
    )?;
    Ok(())
}
