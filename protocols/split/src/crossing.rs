//! The ways by which connections of a mobile host cross the hop.

use std::net::IpAddr;

use ipnet::IpNet;

use association::Profile;
use redirector::Side;

use crate::{End, Mobile, Scope};

/// State of the ways to one mobile host.
#[derive(Debug)]
pub(crate) struct PeerPath {
    /// Inner addresses of the mobile host.
    pub(crate) networks: Vec<IpNet>,
    /// Profile of its streams, while there are any.
    pub(crate) profile: Option<Profile>,
    /// Connections that are split.
    pub(crate) scope: Scope,
}

impl PeerPath {
    /// Returns the state of a mobile host without streams.
    pub(crate) fn new(mobile: Mobile) -> Self {
        Self {
            networks: mobile.networks,
            profile: None,
            scope: mobile.scope,
        }
    }

    /// Returns true if streams carry connections between addresses of that kind: the paper's packets hold IPv4
    /// addresses only.
    pub(crate) fn carries(&self, address: IpAddr) -> bool {
        match self.profile {
            Some(Profile::Wide) => true,
            Some(Profile::Paper) => address.is_ipv4(),
            None => false,
        }
    }

    /// Returns true if a connection that `asker` requests may be split; `address` is the mobile host's.
    pub(crate) fn may_split(&self, end: End, asker: Side, address: IpAddr) -> bool {
        match (end, self.scope) {
            // A mobile host does not split connections if no streams can cross the hop.
            (End::Mobile, _) => self.carries(address),
            (End::Gateway { .. }, Scope::Every) => true,
            // A request that crosses the hop as a packet was left to packets on purpose, and a connection to a mobile
            // host needs streams.
            (End::Gateway { .. }, Scope::Chosen) => asker == Side::Fixed && self.carries(address),
        }
    }
}
