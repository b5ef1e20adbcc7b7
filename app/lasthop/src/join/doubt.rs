//! Checks of a join line against this host.

use edges::netlink::{MAIN_TABLE, Netlink};
use session::Invitation;

use crate::daemon::unix_seconds;
use crate::failure::Failure;
use crate::lifetime;

/// Refuses a line that has expired by this host's clock, and names a clock that cannot be right.
pub(crate) fn check_clock(invitation: &Invitation) -> Result<(), Failure> {
    let now = unix_seconds();
    if !hosts::CLOCKS.contains(&now.into()) {
        eprintln!(
            "The clock of this host is off by years; set it, as other programs need it (this one does not)."
        );
        return Ok(());
    }
    if invitation.expires > now {
        return Ok(());
    }
    let ago = lifetime::in_words(now - invitation.expires);
    Err(Failure::setting(format!(
        "the line has expired {ago} ago by this host's clock; ask for another one (`lasthop invite` on the \
         gateway), or set the clock"
    )))
}

/// Refuses inner addresses that clash with a network of this host: one of the two could not be reached.
pub(super) fn check_addresses(invitation: &Invitation) -> Result<(), Failure> {
    let mut netlink = Netlink::open().map_err(Failure::broken)?;
    let routes = netlink.routes(MAIN_TABLE).map_err(Failure::broken)?;
    let is_inner = |network: &ipnet::IpNet| {
        let mut addresses = invitation.addresses.iter();
        network.prefix_len() > 0 && addresses.any(|(address, _)| network.contains(address))
    };
    let Some(clash) = routes.iter().find(|route| is_inner(&route.destination)) else {
        return Ok(());
    };
    let network = clash.destination;
    let link = clash.link.as_deref().unwrap_or("?");
    Err(Failure::setting(format!(
        "the address that the gateway has for this host lies in {network}, which this host reaches by {link}; join \
         from another network, or have the gateway use other inner addresses (`addresses` of `[tun]`)"
    )))
}
