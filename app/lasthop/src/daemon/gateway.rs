//! `lasthop gateway`: the wired end of the hop.

use std::path::PathBuf;

use ::split::{End, Mobile};
use clap::Args;
use edges::diversion::{Destinations, Networks};
use edges::forwarding::Forwarding;
use edges::nat::Masquerade;
use edges::netlink::{MAIN_TABLE, Route};
use edges::sysctl;
use edges::undo::{UndoError, UndoLog, UndoStep};
use hosts::{Role, Scope, TcpTerms};
use ipnet::{IpNet, Ipv6Net};
use runtime::MEMORY_BESIDE;
use runtime::privileges::User;
use runtime::signals::Audience;
use session::PrivateKey;
use units::Bytes;

use super::peer::{peer, prefixes};
use super::reload::Present;
use super::router_advertisements::{FORWARDING as FORWARDING_IPV6, forward_ipv6};
use super::{Daemon, bearer, prepare, split};
use crate::config::Source;
use crate::config::caps::Caps;
use crate::config::gateway::{self as config, GatewayConfig};
use crate::failure::Failure;
use crate::key_file;

const FORWARDING_IPV4: &str = "net/ipv4/ip_forward";

const EXAMPLES: &str = "\
Examples:
  lasthop gateway --config gateway.toml
  LASTHOP_LOG=debug lasthop gateway --config gateway.toml

SIGHUP, or `lasthop reload`, makes it read FILE again: mobile hosts are added, changed and revoked without a packet
lost for the others. app/lasthop/examples/gateway.toml shows every setting. It needs root or CAP_NET_ADMIN (and
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
    let key = private_key(&config, &source)?;
    let state_dir = source.file(&config.state_dir);
    if config.peers.is_empty() {
        tracing::warn!("no peers are configured, so no mobile host can connect");
    }
    let plan = bearer::Plan {
        carrier: config.hop.carrier(&source)?,
        hop: &config.hop,
        bind: config.listen(),
        mark: None,
    };
    let (bearer, bearer_mtu) = plan.open()?;
    let mut wiring = Wiring::new(&config);
    let split = wiring.split(&config);
    let reload = Present::gateway(source, key.public_key())?;
    let (memory, peers) = reload.of_gateway().unzip();
    let daemon = Daemon {
        name: config.name.0,
        host: hosts::Config {
            role: Role::Gateway,
            key,
            peers: peers.unwrap_or_default(),
            bearer_mtu,
            shared_air: config.air.sharing(),
            rate: config.hop.rate.0,
            snoop_cache: config.snoop.cache.0,
            memory,
            streams: Some(config.split.streams()),
            split: None,
        },
        bearer,
        tun: config.tun,
        state_dir,
        split,
        // The signals show when a mobile host is reachable, and so perhaps where its owner is.
        audience: Audience::Owner,
        name_of_peer: None,
        user: config.user,
        reload,
    };
    daemon.run(|undo, link| wiring.set_up(undo, link))
}

fn private_key(config: &GatewayConfig, source: &Source) -> Result<PrivateKey, Failure> {
    key_file::read(&source.file(&config.private_key_file))
}

/// Checks all that can be checked of a configuration without a change to the system; returns the number of mobile
/// hosts.
pub(crate) fn check(source: Source) -> Result<usize, Failure> {
    let config = GatewayConfig::load(&source)?;
    User::find(config.user.as_deref()).map_err(Failure::setting)?;
    let key = private_key(&config, &source)?;
    Present::gateway(source, key.public_key())?;
    Ok(config.peers.len())
}

/// A mobile host with its settings in the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) peer: hosts::Peer,
    /// Connections of it that are split, if any are.
    pub(super) scope: Option<Scope>,
}

/// Returns the mobile hosts of a configuration.
pub(super) fn members(config: &GatewayConfig, source: &Source) -> Result<Vec<Member>, Failure> {
    let caps = config.caps.or(Caps::usual());
    let member = |mobile: &config::Mobile| {
        let name = &mobile.name.get_ref().0;
        let secret = mobile.preshared_key_file.as_deref();
        let peer = peer(name, mobile.public_key.get_ref().0, secret, source)?;
        let peer = hosts::Peer {
            prefixes: prefixes(mobile.networks()),
            tcp: TcpTerms::Choose(mobile.tcp.on_the_hop()),
            split: mobile.streams(),
            caps: mobile.caps.or(caps),
            weight: mobile.weight(),
            ..peer
        };
        let scope = mobile.tcp.scope();
        Ok(Member { peer, scope })
    };
    config.peers.iter().map(member).collect()
}

/// Returns the memory that is left for the peers of `[caps] total`, or of the usual amount.
pub(super) fn memory_of_peers(
    members: &[Member],
    config: &GatewayConfig,
    splits: Option<&split::Plan>,
) -> Result<Bytes, Failure> {
    let splits = splits.map(|plan| plan.config().memory());
    let beside = MEMORY_BESIDE + splits.unwrap_or_default();
    let peers: Vec<_> = members.iter().map(|member| member.peer.clone()).collect();
    let streams = Some(config.split.streams());
    let least = beside + hosts::memory_least(&peers, streams, config.snoop.cache.0);
    // In the message it is a value that can be set.
    let mebibytes = least.get().div_ceil(1 << 20);
    match config
        .caps
        .total()
        .unwrap_or_else(|| Caps::usual_total(least))
    {
        total if total >= least => Ok(total - beside),
        total => Err(Failure::setting(format!(
            "`total` of [caps] is {total}, but {} mobile hosts need {mebibytes} MiB at least, with the buffers of \
             split and snoop if they are used; raise it, or lower those",
            members.len()
        ))),
    }
}

/// Changes of a gateway to the system.
pub(super) struct Wiring {
    /// Name of the instance, if it translates addresses.
    instance: Option<String>,
    /// Inner addresses of the gateway.
    own: Vec<IpNet>,
    /// Inner addresses of the mobile hosts.
    networks: Vec<IpNet>,
    forwarding: Forwarding,
}

impl Wiring {
    pub(super) fn new(config: &GatewayConfig) -> Self {
        let networks = config.peers.iter().flat_map(config::Mobile::networks);
        let networks = networks.collect();
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
        for route in self.routes(link) {
            undo.add_route(&route)?;
        }
        self.forward(undo, link)?;
        match &self.instance {
            Some(instance) => undo.install_nat(&self.masquerade(instance, link)),
            None => Ok(()),
        }
    }

    /// Adapts the system to other mobile hosts, which have inner addresses of the same versions.
    pub(super) fn adapt(&self, undo: &mut UndoLog, link: &str) -> Result<(), UndoError> {
        let wanted: Vec<_> = self.routes(link).collect();
        let is_present = |undo: &UndoLog, route: &Route| {
            let step = UndoStep::RemoveRoute {
                route: route.clone(),
            };
            undo.steps().any(|known| *known == step)
        };
        for route in &wanted {
            if !is_present(undo, route) {
                undo.add_route(route)?;
            }
        }
        if let Some(instance) = &self.instance {
            self.masquerade(instance, link).install()?;
        }
        let is_left = |step: &UndoStep| match step {
            UndoStep::RemoveRoute { route } => {
                route.link.as_deref() == Some(link)
                    && route.table == MAIN_TABLE
                    && !wanted.contains(route)
            }
            _ => false,
        };
        let left: Vec<_> = undo.steps().filter(|step| is_left(step)).cloned().collect();
        left.iter().try_for_each(|step| undo.take_step(step))
    }

    /// Returns the routes to mobile hosts outside of the gateway's own inner networks.
    fn routes(&self, link: &str) -> impl Iterator<Item = Route> {
        let beyond = |network: &&IpNet| !self.own.iter().any(|own| own.contains(*network));
        let beyond = self.networks.iter().filter(beyond);
        beyond.map(move |network| Route::to(*network).through(link))
    }

    /// Returns true for IPv4, and for IPv6, if there are inner addresses of that version.
    pub(super) fn versions(&self) -> (bool, bool) {
        let all = || self.own.iter().chain(&self.networks);
        (
            all().any(|network| network.addr().is_ipv4()),
            all().any(|network| network.addr().is_ipv6()),
        )
    }

    /// Returns the settings of split connections, if any are split.
    pub(super) fn split(&self, config: &GatewayConfig) -> Option<split::Plan> {
        let split = |(peer, mobile): (usize, &config::Mobile)| {
            let (scope, networks) = (mobile.tcp.scope()?, mobile.networks().collect());
            Some(Mobile {
                peer,
                networks,
                scope,
            })
        };
        let mobiles: Vec<_> = config.peers.iter().enumerate().filter_map(split).collect();
        (!mobiles.is_empty()).then(|| split::Plan {
            end: End::Gateway {
                transparent: self.instance.is_none(),
            },
            mobiles,
            settings: config.split.clone(),
            destinations: Some(self.destinations()),
        })
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
        let (has_ipv4, has_ipv6) = self.versions();
        let forwarding = &mut self.forwarding;
        let is_wanted = forwarding.networks != Networks::default() || !forwarding.isolates;
        let (has_ipv4, has_ipv6) = (is_wanted && has_ipv4, is_wanted && has_ipv6);
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
