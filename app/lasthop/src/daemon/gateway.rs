//! `lasthop gateway`: the wired end of the hop.

use std::path::PathBuf;

use ::split::{End, Mobile};
use clap::Args;
use edges::nat::Masquerade;
use edges::netlink::Route;
use edges::undo::{UndoError, UndoLog};
use hosts::{Role, TcpTerms};
use ipnet::{IpNet, Ipv6Net};
use runtime::signals::Audience;

use super::peer::{peer, prefixes};
use super::router_advertisements::forward_ipv6;
use super::{Daemon, bearer, prepare, split};
use crate::config::Source;
use crate::config::caps::Caps;
use crate::config::gateway::GatewayConfig;
use crate::config::shared::Network;
use crate::failure::Failure;
use crate::key_file;

const EXAMPLES: &str = "\
Examples:
  lasthop gateway --config gateway.toml
  LASTHOP_LOG=debug lasthop gateway --config gateway.toml

app/lasthop/examples/gateway.toml shows every setting. It needs root or CAP_NET_ADMIN (and
CAP_NET_RAW to open an Ethernet bearer), and `nft` unless `nat = false`. SIGTERM
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
    let wiring = Wiring::new(&config, networks);
    let name = config.name.0;
    let streams = config.split.streams();
    let split = (!split.is_empty()).then_some(split::Plan {
        end: End::Gateway {
            transparent: !config.nat,
        },
        mobiles: split,
        settings: config.split,
    });
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
}

impl Wiring {
    fn new(config: &GatewayConfig, networks: Vec<IpNet>) -> Self {
        let own = config.tun.addresses.get_ref().iter();
        Self {
            instance: config.nat.then(|| config.name.0.clone()),
            own: own.map(|Network(own)| *own).collect(),
            networks,
        }
    }

    fn set_up(&self, undo: &mut UndoLog, link: &str) -> Result<(), UndoError> {
        let beyond = |network: &&IpNet| !self.own.iter().any(|own| own.contains(*network));
        for network in self.networks.iter().filter(beyond) {
            undo.add_route(&Route::to(*network).through(link))?;
        }
        let all = || self.own.iter().chain(&self.networks);
        if all().any(|network| network.addr().is_ipv4()) {
            undo.set_sysctl("net/ipv4/ip_forward", "1")?;
        }
        if all().any(|network| network.addr().is_ipv6()) {
            forward_ipv6(undo)?;
        }
        match &self.instance {
            Some(instance) => undo.install_nat(&self.masquerade(instance, link)),
            None => Ok(()),
        }
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
