//! Where the gateway is, and what reaches whom.

use wire::address::HopAddress;

use super::{GATEWAY, Pair};

/// Where the gateway is, if it has moved.
#[derive(Debug, Default)]
pub(crate) struct Place {
    pub(crate) gateway: Option<HopAddress>,
    /// True if the mobile host has sent to it there. A firewall admits only replies.
    is_asked: bool,
}

impl Place {
    pub(crate) fn moved_to(gateway: HopAddress) -> Self {
        Self {
            gateway: Some(gateway),
            is_asked: false,
        }
    }
}

impl Pair {
    /// Returns true if a datagram of a host reaches the other.
    pub(crate) fn passes(&mut self, host: usize, to: HopAddress) -> bool {
        let place = &self.place;
        let is_let_in = host != GATEWAY || place.gateway.is_none() || place.is_asked;
        let passes =
            is_let_in && to == self.address(1 - host) && !self.blackout.contains(&self.now);
        self.place.is_asked |= passes && host != GATEWAY;
        passes
    }
}
