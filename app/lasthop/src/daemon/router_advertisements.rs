//! Default routes that this host has from its routers, which the kernel drops when the host becomes a router itself.

use edges::sysctl::{self, SysctlError};
use edges::undo::{UndoError, UndoLog};

/// What a link does with router advertisements (`accept_ra` in the kernel's ip-sysctl): it heeds them unless the host
/// forwards, or even then.
const UNLESS_FORWARDING: &str = "1";
const ALWAYS: &str = "2";
const FORWARDING: &str = "net/ipv6/conf/all/forwarding";

/// Has the host forward IPv6, and go on heeding the routers that it heeds. Of a host that forwards already nothing is
/// changed: somebody has thought of it.
pub(super) fn forward_ipv6(undo: &mut UndoLog) -> Result<(), UndoError> {
    if sysctl::read(FORWARDING)? == "0" {
        for link in undo.netlink().links()? {
            let name = format!("net/ipv6/conf/{}/accept_ra", link.name);
            match sysctl::read(&name) {
                Ok(value) if value == UNLESS_FORWARDING => undo.set_sysctl(&name, ALWAYS)?,
                // A link without IPv6, or one that has just gone.
                Ok(_) | Err(SysctlError::Missing(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    undo.set_sysctl(FORWARDING, "1")
}
