//! What a diagnosis rests on: plain values, collected before.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;

use edges::netlink::Route;
use hosts::{Role, Trouble};
use ipnet::IpNet;
use runtime::resolver::NamesStatus;

use super::chains::Chain;

/// All facts about a host.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    pub(crate) end: End,
    pub(crate) system: System,
    pub(crate) network: Network,
    /// Chains of the firewall.
    pub(crate) chains: Vec<Chain>,
    /// Addresses of the gateway, on a mobile host that is not connected.
    pub(crate) places: Vec<Place>,
}

/// End of the hop, as far as this host is set up for one.
#[derive(Debug, Clone, Default)]
pub(crate) struct End {
    pub(crate) role: Option<Role>,
    /// Its configuration.
    pub(crate) config: Option<PathBuf>,
    /// Name of the device with the inner addresses, and these.
    pub(crate) link: String,
    pub(crate) own: Vec<IpNet>,
    /// UDP port of a gateway.
    pub(crate) port: Option<u16>,
    /// False if packets of mobile hosts keep their inner addresses.
    pub(crate) translates: bool,
    /// True if a gateway should offer a resolver, and has none to offer.
    pub(crate) lacks_resolver: bool,
    pub(crate) daemon: Daemon,
}

/// State of the daemon.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Daemon {
    pub(crate) runs: bool,
    /// True if a mobile host has keys.
    pub(crate) is_connected: bool,
    pub(crate) trouble: Option<Trouble>,
    /// Least path MTU to a peer, in bytes.
    pub(crate) path_mtu: Option<usize>,
    /// Where programs of a mobile host ask for names.
    pub(crate) names: Option<NamesStatus>,
}

/// The machine and its kernel.
#[derive(Debug, Clone, Default)]
pub(crate) struct System {
    /// Unix time in seconds.
    pub(crate) clock: u64,
    pub(crate) cores: usize,
    /// Bits per second that one core seals, if it was measured.
    pub(crate) seal_rate: Option<u64>,
    pub(crate) has_nft: bool,
    /// Error at opening the TUN driver.
    pub(crate) tun_error: Option<String>,
    /// False if the kernel has no Landlock, or no seccomp.
    pub(crate) has_landlock: bool,
    pub(crate) has_seccomp: bool,
    /// False if the kernel cannot send several datagrams at once.
    pub(crate) has_segmentation: bool,
    /// Most open files that a process may have.
    pub(crate) open_files: Option<u64>,
    /// Files and folders with secrets that others may open, with their modes.
    pub(crate) open_secrets: Vec<(PathBuf, u32)>,
}

/// The network of this host.
#[derive(Debug, Clone, Default)]
pub(crate) struct Network {
    /// Kernel parameters by their names with slashes.
    pub(crate) parameters: BTreeMap<String, String>,
    /// Links that are up, without loopback and the device of the hop.
    pub(crate) links: Vec<String>,
    /// Routes of the main table.
    pub(crate) routes: Vec<Route>,
    /// Links with an IPv6 default route; true if a router advertisement has made it.
    pub(crate) ipv6_defaults: Vec<(String, bool)>,
    /// UDP ports at which somebody listens.
    pub(crate) ports: BTreeSet<u16>,
}

impl Network {
    /// Returns the value of a kernel parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// Returns the link of the IPv4 default route, else of the IPv6 one.
    pub(crate) fn outer_link(&self) -> Option<&str> {
        let mut defaults = self
            .routes
            .iter()
            .filter(|route| route.destination.prefix_len() == 0);
        defaults.find_map(|route| route.link.as_deref())
    }
}

/// An address of the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// As the configuration has it.
    pub(crate) text: String,
    pub(crate) state: Reached,
}

/// What was found at an address of the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reached {
    /// Its name has no address: the error.
    Unresolved(String),
    /// Its host answers by TCP, if only with a refusal.
    Answers,
    /// It does not; its address.
    Silent(IpAddr),
    /// There is no route: the error.
    NoRoute(String),
}
