//! `lasthop mobile`: the mobile host.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use ::split::{End, Mobile};
use clap::Args;
use edges::names::Name;
use edges::netlink::{IpVersion, MAIN_TABLE, Route, Rule};
use edges::undo::{UndoError, UndoLog};
use hosts::{Role, Scope, SplitTerms};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use runtime::privileges::User;
use runtime::signals::Audience;
use session::PrivateKey;
use wire::address::HopAddress;
use wire::dns::AddressKind;

use super::peer::{peer, prefixes};
use super::reload::Present;
use super::source_check::loosen_source_check;
use super::split;
use super::{Daemon, Place, bearer, prepare};
use crate::config::Source;
use crate::config::carrier::Endpoint;
use crate::config::mobile::MobileConfig;
use crate::config::shared::Routes;
use crate::config::split::Split;
use crate::failure::Failure;
use crate::key_file;

/// Mark of the bearer's datagrams ("lh").
const MARK: u32 = 0x6c68;
/// Table of the routes across the hop.
const TABLE: u32 = 51_830;
/// Priorities of our rules: before that of the main table (32,766), after those of administrators.
const CLOSER_ROUTES: u32 = 32_700;
const ACROSS_THE_HOP: u32 = 32_701;

const EXAMPLES: &str = "\
Examples:
  lasthop mobile --config mobile.toml
  LASTHOP_LOG=debug lasthop mobile --config mobile.toml

app/lasthop/examples/mobile.toml shows every setting. It needs root or CAP_NET_ADMIN (and
CAP_NET_RAW to open an Ethernet bearer). SIGTERM or Ctrl-C ends it; it then removes what it added to the system.";

/// Run the mobile host: send all IP traffic across the hop to the gateway.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The configuration
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Leave the terminal
    #[arg(long, hide = true)]
    detached: bool,
}

/// Runs a mobile host until a signal ends it.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    prepare(arguments.detached)?;
    let source = Source::read(&arguments.config)?;
    let config = MobileConfig::load(&source)?;
    let key = private_key(&config, &source)?;
    let (carrier, endpoints) = config.place(&source)?;
    let gateway = config.gateway.get_ref();
    let (public, secret) = (gateway.public_key.0, gateway.preshared_key_file.as_deref());
    let gateway = peer("gateway", public, secret, &source)?;
    let endpoint = first_address(&endpoints)?;
    // Without nftables, TCP crosses as packets, and the gateway is notified of that.
    let splits = edges::nft::is_installed();
    let everything = [Ipv4Net::default().into(), Ipv6Net::default().into()].into_iter();
    let gateway = hosts::Peer {
        endpoint: Some(endpoint),
        prefixes: prefixes(everything),
        split: if splits {
            SplitTerms::Follow
        } else {
            SplitTerms::Never
        },
        ..gateway
    };
    let wiring = Wiring {
        routes: config.routes,
        own: config.tun.own().collect(),
        endpoint,
    };
    let plan = bearer::Plan {
        carrier,
        hop: &config.hop,
        bind: any_port(endpoint),
        mark: Some(MARK),
    };
    let (bearer, bearer_mtu) = plan.open()?;
    let daemon = Daemon {
        name: config.name.0,
        host: hosts::Config {
            role: Role::Mobile,
            key,
            peers: vec![gateway],
            bearer_mtu,
            shared_air: None,
            rate: config.hop.rate.0,
            snoop_cache: config.snoop.cache.0,
            memory: None,
            streams: splits.then(|| config.split.streams()),
            split: None,
        },
        bearer,
        tun: config.tun,
        state_dir: source.file(&config.state_dir),
        reload: Present::mobile(source),
        split: splits.then(|| wiring.split(config.split)),
        // The signals contain only what any user can observe by sending packets.
        audience: Audience::Everyone,
        elsewhere: places(&endpoints, kind_of(endpoint)),
        user: config.user,
    };
    daemon.run(|undo, link| wiring.set_up(undo, link))
}

/// Returns the first address of a gateway whose name can be resolved.
fn first_address(endpoints: &[Endpoint]) -> Result<HopAddress, Failure> {
    let mut failure = None;
    for endpoint in endpoints {
        match endpoint.resolve() {
            Ok(address) => return Ok(address),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    Err(failure.unwrap_or_else(|| Failure::setting("the gateway has no address")))
}

/// Returns the addresses and names where a silent gateway may be, unless there is one address alone.
fn places(endpoints: &[Endpoint], kind: AddressKind) -> Vec<Place> {
    let place = |endpoint: &Endpoint| match endpoint.name() {
        Some((host, port)) => Some(Place::Name(Name {
            host,
            port,
            kind,
            mark: Some(MARK),
        })),
        None => endpoint.resolve().ok().map(Place::Address),
    };
    let mut places: Vec<_> = endpoints.iter().filter_map(place).collect();
    places.retain(|place| !matches!(place, Place::Address(at) if kind_of(*at) != kind));
    if let [Place::Address(_)] = places[..] {
        places.clear();
    }
    places
}

/// Returns the addresses to which the socket for datagrams to `endpoint` can send.
fn kind_of(endpoint: HopAddress) -> AddressKind {
    match endpoint {
        HopAddress::Udp(SocketAddr::V6(_)) => AddressKind::V6,
        HopAddress::Udp(SocketAddr::V4(_)) | HopAddress::Ethernet(_) => AddressKind::V4,
    }
}

/// Returns the local address for datagrams to `endpoint`: any port.
fn any_port(endpoint: HopAddress) -> SocketAddr {
    match endpoint {
        HopAddress::Udp(SocketAddr::V6(_)) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        HopAddress::Udp(SocketAddr::V4(_)) | HopAddress::Ethernet(_) => {
            (Ipv4Addr::UNSPECIFIED, 0).into()
        }
    }
}

fn private_key(config: &MobileConfig, source: &Source) -> Result<PrivateKey, Failure> {
    key_file::read(&source.file(&config.private_key_file))
}

/// Checks all that can be checked of a configuration without a change to the system.
pub(crate) fn check(source: &Source) -> Result<(), Failure> {
    let config = MobileConfig::load(source)?;
    User::find(config.user.as_deref()).map_err(Failure::setting)?;
    private_key(&config, source)?;
    let secret = config.gateway.get_ref().preshared_key_file.as_deref();
    secret.map_or(Ok(()), |path| source.secret(path).map(drop))
}

/// Changes of a mobile host to the system: a table of routes across the hop, and rules that send everything there
/// except the datagrams of the bearer, which they recognise by their mark.
///
/// A route to the gateway beside two half-defaults in the main table would do the same, but it would be wrong as soon
/// as the host changes its network. With a mark the bearer follows whatever default route the host has, and no other
/// route changes.
struct Wiring {
    routes: Routes,
    /// Inner addresses of the mobile host.
    own: Vec<IpNet>,
    endpoint: HopAddress,
}

impl Wiring {
    /// Returns the settings of split connections of this host, for a gateway that uses streams.
    fn split(&self, settings: Split) -> split::Plan {
        let own = self.own.iter().map(|own| IpNet::from(own.addr()));
        split::Plan {
            end: End::Mobile,
            mobiles: vec![Mobile {
                peer: 0,
                networks: own.collect(),
                scope: Scope::Every,
            }],
            settings,
            destinations: None,
        }
    }

    fn set_up(&self, undo: &mut UndoLog, link: &str) -> Result<(), UndoError> {
        let destinations = self.destinations();
        for destination in &destinations {
            undo.add_route(&Route::to(*destination).through(link).in_table(TABLE))?;
        }
        for version in [IpVersion::V4, IpVersion::V6] {
            if destinations
                .iter()
                .any(|network| version_of(network) == version)
            {
                self.lead(undo, version)?;
            }
        }
        match self.endpoint {
            HopAddress::Udp(SocketAddr::V4(endpoint)) => {
                loosen_on_the_way_to(undo, (*endpoint.ip()).into())
            }
            HopAddress::Udp(SocketAddr::V6(_)) | HopAddress::Ethernet(_) => Ok(()),
        }
    }

    fn destinations(&self) -> Vec<IpNet> {
        let has = |version| self.own.iter().any(|own| version_of(own) == version);
        match &self.routes {
            Routes::To(networks) => networks.clone(),
            Routes::Default => {
                let four = has(IpVersion::V4).then(|| Ipv4Net::default().into());
                let six = has(IpVersion::V6).then(|| Ipv6Net::default().into());
                four.into_iter().chain(six).collect()
            }
        }
    }

    /// Adds the rules of one IP version.
    fn lead(&self, undo: &mut UndoLog, version: IpVersion) -> Result<(), UndoError> {
        if self.routes == Routes::Default {
            // The main table first, but without its default route: the local network stays reachable directly.
            undo.add_rule(&Rule {
                priority: Some(CLOSER_ROUTES),
                suppressed_prefix_length: Some(0),
                ..Rule::to_table(version, MAIN_TABLE)
            })?;
        }
        undo.add_rule(&Rule {
            priority: Some(ACROSS_THE_HOP),
            mark: Some(MARK),
            inverted: true,
            ..Rule::to_table(version, TABLE)
        })
    }
}

/// Loosens the source check, because replies on the hop arrive on another link than the routes to their source name.
fn loosen_on_the_way_to(undo: &mut UndoLog, gateway: IpAddr) -> Result<(), UndoError> {
    // Without a route to the gateway yet, "all" and "default" still determine the setting of a link.
    let route = undo.netlink().route_to(gateway);
    let link = route.ok().and_then(|route| route.link);
    loosen_source_check(undo, ["all", "default"].into_iter().chain(link.as_deref()))
}

fn version_of(network: &IpNet) -> IpVersion {
    match network {
        IpNet::V4(_) => IpVersion::V4,
        IpNet::V6(_) => IpVersion::V6,
    }
}
