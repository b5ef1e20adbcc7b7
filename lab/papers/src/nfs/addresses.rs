//! The addresses of the hosts.

use std::net::Ipv4Addr;

/// Address of the server.
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// Address of the base station.
pub(super) const STATION: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 254);
/// First three bytes of the addresses of mobile hosts, and of hosts on the wire; the number of the host follows.
pub(super) const MOBILES: [u8; 3] = [10, 0, 1];
pub(super) const WIRED: [u8; 3] = [10, 0, 0];

/// Returns the number of the mobile host with this address.
pub(crate) fn mobile(address: Ipv4Addr) -> Option<u16> {
    let [net @ .., host] = address.octets();
    let number = host.checked_sub(1).filter(|_| net == MOBILES);
    number.map(u16::from)
}
