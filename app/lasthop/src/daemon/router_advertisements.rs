//! Default routes from router advertisements, which the kernel drops when the host becomes a router itself.

use edges::sysctl::{self, SysctlError};
use edges::undo::{UndoError, UndoLog};

/// Values of `accept_ra` (kernel, ip-sysctl): a link accepts router advertisements unless the host forwards, or always.
const UNLESS_FORWARDING: &str = "1";
const ALWAYS: &str = "2";
pub(super) const FORWARDING: &str = "net/ipv6/conf/all/forwarding";

/// Enables forwarding of IPv6, and keeps router advertisements accepted where they are now. If the host forwards
/// already nothing changes: its administrator has decided.
pub(super) fn forward_ipv6(undo: &mut UndoLog) -> Result<(), UndoError> {
    if sysctl::read(FORWARDING)? == "0" {
        for link in undo.netlink().links()? {
            let name = format!("net/ipv6/conf/{}/accept_ra", link.name);
            match sysctl::read(&name) {
                Ok(value) if value == UNLESS_FORWARDING => undo.set_sysctl(&name, ALWAYS)?,
                // A link without IPv6, or one that was just removed.
                Ok(_) | Err(SysctlError::Missing(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    undo.set_sysctl(FORWARDING, "1")
}
