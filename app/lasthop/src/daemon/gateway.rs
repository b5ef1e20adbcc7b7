//! `lasthop gateway`: the wired end of the hop.

use std::path::PathBuf;

use ::split::{End, Mobile};
use clap::Args;
use edges::diversion::{Destinations, Networks};
use edges::forwarding::Forwarding;
use edges::nat::Masquerade;
use edges::netlink::Route;
use edges::sysctl;
use edges::undo::{UndoError, UndoLog};
use hosts::{Role, TcpTerms};
use ipnet::{IpNet, Ipv6Net};
use runtime::signals::Audience;

use super::peer::{peer, prefixes};
use super::router_advertisements::{FORWARDING as FORWARDING_IPV6, forward_ipv6};
use super::{Daemon, bearer, prepare, split};
use crate::config::Source;
use crate::config::caps::Caps;
use crate::config::gateway::GatewayConfig;
use crate::config::split::Split;
use crate::failure::Failure;
use crate::key_file;

const FORWARDING_IPV4: &str = "net/ipv4/ip_forward";

const EXAMPLES: &str = "\
Examples:
  lasthop gateway --config gateway.toml
  LASTHOP_LOG=debug lasthop gateway --config gateway.toml

app/lasthop/examples/gateway.toml shows every setting. It needs root or CAP_NET_ADMIN (and
CAP_NET_RAW to open an Ethernet bearer), and `nft`. SIGTERM
or Ctrl-C ends it; it then removes what it added to the system.";

/// Run the wired end of the hop: take in the traffic of mobile hosts and send it on.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The configuration
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

/// Runs a gateway until a signal ends it.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    prepare()?;
    let source = Source::read(&arguments.config)?;
    let config = GatewayConfig::load(&source)?;
    let mut peers = Vec::new();
    let mut networks = Vec::new();
    let mut split = Vec::new();
    let caps = config.caps.or(Caps::usual());
    for (index, mobile) in config.peers.iter().enumerate() {
        let name = &mobile.name.get_ref().0;
        let secret = mobile.preshared_key_file.as_deref();
        let peer = peer(name, mobile.public_key.get_ref().0, secret, &source)?;
        peers.push(hosts::Peer {
            prefixes: prefixes(mobile.networks()),
            tcp: TcpTerms::Choose(mobile.tcp.on_the_hop()),
            split: mobile.streams(),
            caps: mobile.caps.or(caps),
            weight: mobile.weight(),
            ..peer
        });
        networks.extend(mobile.networks());
        if let Some(scope) = mobile.tcp.scope() {
            split.push(Mobile {
                peer: index,
                networks: mobile.networks().collect(),
                scope,
            });
        }
    }
    if peers.is_empty() {
        tracing::warn!("no peers are configured, so no mobile host can connect");
    }
    let plan = bearer::Plan {
        carrier: config.hop.carrier(&source)?,
        hop: &config.hop,
        bind: config.listen(),
        mark: None,
    };
    let (bearer, bearer_mtu) = plan.open()?;
    let mut wiring = Wiring::new(&config, networks);
    let name = config.name.0;
    let streams = config.split.streams();
    let split = (!split.is_empty()).then(|| wiring.split(split, config.split));
    let mut daemon = Daemon {
        name,
        host: hosts::Config {
            role: Role::Gateway,
            key: key_file::read(&source.file(&config.private_key_file))?,
            peers,
            bearer_mtu,
            shared_air: config.air.sharing(),
            rate: config.hop.rate.0,
            snoop_cache: config.snoop.cache.0,
            memory: None,
            streams: Some(streams),
            split: None,
        },
        bearer,
        tun: config.tun,
        state_dir: source.file(&config.state_dir),
        split,
        // The signals show when a mobile host is reachable, and so perhaps where its owner is.
        audience: Audience::Owner,
        name_of_peer: None,
        user: config.user,
    };
    daemon.host.memory = Some(daemon.memory_of_peers(config.caps.total())?);
    daemon.run(|undo, link| wiring.set_up(undo, link))
}

/// Changes of a gateway to the system.
struct Wiring {
    /// Name of the instance, if it translates addresses.
    instance: Option<String>,
    /// Inner addresses of the gateway.
    own: Vec<IpNet>,
    /// Inner addresses of the mobile hosts.
    networks: Vec<IpNet>,
    forwarding: Forwarding,
}

impl Wiring {
    fn new(config: &GatewayConfig, networks: Vec<IpNet>) -> Self {
        Self {
            instance: config.nat.then(|| config.name.0.clone()),
            own: config.tun.own().collect(),
            networks,
            forwarding: Forwarding {
                instance: config.name.0.clone(),
                inner_link: String::new(),
                networks: config.networks().collect(),
                isolates: config.isolate,
                admits_requests: !config.nat,
                closes: (false, false),
            },
        }
    }

    fn set_up(&mut self, undo: &mut UndoLog, link: &str) -> Result<(), UndoError> {
        let beyond = |network: &&IpNet| !self.own.iter().any(|own| own.contains(*network));
        for network in self.networks.iter().filter(beyond) {
            undo.add_route(&Route::to(*network).through(link))?;
        }
        self.forward(undo, link)?;
        match &self.instance {
            Some(instance) => undo.install_nat(&self.masquerade(instance, link)),
            None => Ok(()),
        }
    }

    /// Returns the settings of split connections of these mobile hosts.
    fn split(&self, mobiles: Vec<Mobile>, settings: Split) -> split::Plan {
        split::Plan {
            end: End::Gateway {
                transparent: self.instance.is_none(),
            },
            mobiles,
            settings,
            destinations: Some(self.destinations()),
        }
    }

    /// Returns the destinations of mobile hosts, for connections that are split and so not forwarded.
    fn destinations(&self) -> Destinations {
        let closed = self.networks.iter().filter(|_| self.forwarding.isolates);
        Destinations {
            open: self.forwarding.networks.clone(),
            closed: closed.copied().collect(),
        }
    }

    /// Turns forwarding on, by rule. If this host has not forwarded before, it does not begin to do so between its
    /// other networks either.
    fn forward(&mut self, undo: &mut UndoLog, link: &str) -> Result<(), UndoError> {
        let all = || self.own.iter().chain(&self.networks);
        let forwarding = &mut self.forwarding;
        let is_wanted = forwarding.networks != Networks::default() || !forwarding.isolates;
        let has_ipv4 = is_wanted && all().any(|network| network.addr().is_ipv4());
        let has_ipv6 = is_wanted && all().any(|network| network.addr().is_ipv6());
        let is_off = |name| sysctl::read(name).is_ok_and(|value| value == "0");
        forwarding.inner_link = link.into();
        forwarding.closes = (
            has_ipv4 && is_off(FORWARDING_IPV4),
            has_ipv6 && is_off(FORWARDING_IPV6),
        );
        // The rules come first.
        if forwarding.forbids() {
            undo.install_forwarding(forwarding)?;
        }
        if has_ipv4 {
            undo.set_sysctl(FORWARDING_IPV4, "1")?;
        }
        if has_ipv6 {
            forward_ipv6(undo)?;
        }
        Ok(())
    }

    /// Returns the rules by which packets of mobile hosts leave with this host's address, unless theirs is globally
    /// routable.
    fn masquerade(&self, instance: &str, link: &str) -> Masquerade {
        let all: Vec<_> = self
            .own
            .iter()
            .chain(&self.networks)
            .map(IpNet::trunc)
            .collect();
        let mut masquerade = Masquerade {
            instance: instance.into(),
            inner_link: link.into(),
            ipv4: Vec::new(),
            ipv6: Vec::new(),
        };
        // Aggregated, because a set of nftables refuses overlapping prefixes.
        for network in IpNet::aggregate(&all) {
            match network {
                IpNet::V4(network) => masquerade.ipv4.push(network),
                IpNet::V6(network) if is_unique_local(&network) => masquerade.ipv6.push(network),
                IpNet::V6(_) => {}
            }
        }
        masquerade
    }
}

/// Returns true if the network is in the range of RFC 4193.
fn is_unique_local(network: &Ipv6Net) -> bool {
    network.addr().is_unique_local()
}
