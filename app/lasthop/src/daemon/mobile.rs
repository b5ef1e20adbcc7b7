//! `lasthop mobile`: the mobile host.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU16;
use std::path::PathBuf;

use clap::Args;
use edges::names::Name;
use edges::netlink::IpVersion;
use hosts::{Input, Role, SitePart, SplitTerms};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use runtime::privileges::User;
use runtime::signals::Audience;
use session::{PresharedKey, PrivateKey};
use wire::address::HopAddress;
use wire::dns::AddressKind;

use super::lookout::{Lookout, Place};
use super::names;
use super::peer::{peer, prefixes, site_gateway};
use super::reload::{self, Present};
use super::wiring::Wiring;
use super::{Daemon, MobilePlan, bearer, prepare};
use crate::config::Source;
use crate::config::carrier::Endpoint;
use crate::config::mobile::{Fallback, MobileConfig};
use crate::config::shared::Routes;
use crate::config::site::SiteGateway;
use crate::failure::Failure;
use crate::key_file;

/// Mark of the bearer's datagrams ("lh").
pub(crate) const MARK: u32 = 0x6c68;

/// Both kinds of addresses, in the order in which they are asked for.
const BOTH: [AddressKind; 2] = [AddressKind::V4, AddressKind::V6];

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
    let (key, next_key) = keys(&config, &source)?;
    let (carrier, endpoints) = config.place(&source)?;
    let inside: Vec<_> = config.tun.own().collect();
    let (endpoint, kinds) = reach(&endpoints, &inside)?;
    // Without nftables, TCP crosses as packets, and the gateway is notified of that.
    let splits = edges::nft::is_installed() && config.gateways.is_empty();
    let (fallback, mobile) = (config.fallback(), terms(&config));
    let state_dir = source.file(&config.state_dir);
    let names = names_plan(&config, state_dir.clone());
    let gateway = hosts::Peer {
        endpoint: Some(endpoint),
        resolver: names.terms(),
        ..gateway(&config, &source, splits)?
    };
    let peers = with_site(gateway, &config, &source)?;
    log_fallback(fallback, config.fallback.is_some());
    let wiring = Wiring {
        name: config.name.0.clone(),
        state_dir: state_dir.clone(),
        fallback,
        routes: config.routes,
        own: inside.clone(),
        endpoint,
        may_change_kind: kinds.len() > 1,
    };
    let (bearer, bearer_mtu) = bearer::Plan {
        carrier,
        hop: &config.hop,
        role: Role::Mobile,
        bind: any_port(kinds),
        mark: Some(MARK),
    }
    .open()?;
    let daemon = Daemon {
        name: config.name.0,
        host: hosts::Config {
            role: Role::Mobile,
            key,
            peers,
            bearer_mtu,
            mobile,
            exits: hosts::GuestExits::None,
            shared_air: None,
            rate: config.hop.rate.0,
            snoop_cache: config.snoop.cache.0,
            memory: None,
            streams: splits.then(|| config.split.streams()),
            split: None,
        },
        bearer,
        tun: config.tun,
        state_dir,
        mobile: MobilePlan {
            detour: wiring.detour(),
            names: Some(names),
            lookout: Some(Lookout::new(places(&endpoints, kinds, &inside), inside)),
        },
        reload: Present::mobile(source),
        split: splits.then(|| wiring.split(config.split)),
        // The signals contain only what any user can observe by sending packets.
        audience: Audience::Everyone,
        first: next_key,
        user: config.user,
    };
    daemon.run(None, |undo, link| wiring.set_up(undo, link))
}

/// Returns what the mobile host does by itself.
fn terms(config: &MobileConfig) -> hosts::MobileTerms {
    hosts::MobileTerms {
        detours: config.fallback() == Fallback::Direct,
        keepalive: true,
        compares_gateways: !config.gateway.get_ref().stay,
        gathers_copies: true,
    }
}

/// Returns what the mobile host does with the resolver of its system.
fn names_plan(config: &MobileConfig, state_dir: PathBuf) -> names::Plan {
    names::Plan {
        dns: config.dns.clone(),
        takes_all: config.routes == Routes::Default,
        keeps: config.fallback() == Fallback::Block,
        state_dir,
    }
}

/// Returns the gateway as a peer, whose address is not known; `splits` is true if TCP may be split.
fn gateway(config: &MobileConfig, source: &Source, splits: bool) -> Result<hosts::Peer, Failure> {
    let public = config.gateway_key(source)?;
    let secret = config.gateway.get_ref().preshared_key_file.as_deref();
    let everything = [Ipv4Net::default().into(), Ipv6Net::default().into()].into_iter();
    Ok(hosts::Peer {
        prefixes: prefixes(everything),
        tls_port: config.hop.tls_port().map(NonZeroU16::get),
        split: if splits {
            SplitTerms::Follow
        } else {
            SplitTerms::Never
        },
        ..peer(config.gateway_name(), public, secret, source)?
    })
}

/// Returns the gateway, and those that may serve this host in its place.
fn with_site(
    gateway: hosts::Peer,
    config: &MobileConfig,
    source: &Source,
) -> Result<Vec<hosts::Peer>, Failure> {
    let prefixes = gateway.prefixes.clone();
    let place = |of: &SiteGateway| {
        let peer = site_gateway(of, source)?;
        Ok(hosts::Peer {
            prefixes: prefixes.clone(),
            ..peer
        })
    };
    let others: Result<Vec<_>, Failure> = config.gateways.iter().map(place).collect();
    let others = others?;
    let mut peers = vec![gateway];
    peers.extend(others);
    if peers.len() > 1 {
        peers[0].membership.site = SitePart::Home;
    }
    Ok(peers)
}

/// Names what happens to traffic while the hop is down: who has chosen nothing shall know.
fn log_fallback(fallback: Fallback, is_chosen: bool) {
    let name = fallback.name();
    let choice = if is_chosen { "" } else { ", the default" };
    let what = match fallback {
        Fallback::Direct => "new flows go around the hop, and the local network can read them",
        Fallback::Block => {
            "nothing leaves this host except to its local network, also after the end of this daemon, until \
             `lasthop leave` or `lasthop clean`"
        }
    };
    tracing::info!("while the hop is down, {what} (fallback = \"{name}\"{choice})");
}

/// Returns the address of the gateway to begin with, and the kinds of addresses that it may have later.
fn reach(
    endpoints: &[Endpoint],
    inside: &[IpNet],
) -> Result<(HopAddress, &'static [AddressKind]), Failure> {
    let address = first_address(endpoints, inside)?;
    Ok((address, kinds(endpoints, address)))
}

/// Returns the address of the first of the gateway's endpoints that has one.
fn first_address(endpoints: &[Endpoint], inside: &[IpNet]) -> Result<HopAddress, Failure> {
    let mut failure = None;
    for endpoint in endpoints {
        match endpoint.resolve() {
            Ok(address) if endpoints.len() > 1 && !is_available(kind_of(address)) => {
                let what = format!("this host has no IPv6, so {address} is not in reach");
                failure = failure.or(Some(Failure::setting(what)));
            }
            Ok(address) => return Ok(address),
            Err(error) => {
                // A block that stands since the last run does not let the system's resolver out.
                if let Some(address) = resolve_beside(endpoint, inside) {
                    return Ok(address);
                }
                if endpoints.len() > 1 {
                    tracing::warn!("{error}; the next `endpoint` is tried");
                }
                failure = failure.or(Some(error));
            }
        }
    }
    Err(failure.unwrap_or_else(|| Failure::setting("the gateway has no address")))
}

/// Resolves the name of a gateway beside the hop.
fn resolve_beside(endpoint: &Endpoint, inside: &[IpNet]) -> Option<HopAddress> {
    let (host, port) = endpoint.name()?;
    let find = |kind| {
        let mark = Some(MARK);
        let host = host.clone();
        let name = Name {
            host,
            port,
            kind,
            mark,
            inside: inside.to_vec(),
        };
        name.addresses().ok()?.into_iter().next()
    };
    let found = BOTH.into_iter().find_map(find);
    found.map(HopAddress::Udp)
}

/// Returns the kinds of addresses that the gateway may have: both if there are several endpoints, else that of its
/// address.
fn kinds(endpoints: &[Endpoint], address: HopAddress) -> &'static [AddressKind] {
    let of_address: &'static [AddressKind] = match kind_of(address) {
        AddressKind::V4 => &[AddressKind::V4],
        AddressKind::V6 => &[AddressKind::V6],
    };
    let is_both = endpoints.len() > 1 && is_available(AddressKind::V6);
    if is_both { &BOTH } else { of_address }
}

/// Returns true if this host's kernel has this version of IP.
fn is_available(kind: AddressKind) -> bool {
    kind == AddressKind::V4 || IpVersion::V6.is_available()
}

/// Returns the addresses and names where a silent gateway may be, unless there is one address alone.
fn places(endpoints: &[Endpoint], kinds: &[AddressKind], inside: &[IpNet]) -> Vec<Place> {
    let name = |host: &str, port, kind| Name {
        host: host.to_owned(),
        port,
        kind,
        mark: Some(MARK),
        inside: inside.to_vec(),
    };
    let place = |endpoint: &Endpoint| match endpoint.name() {
        Some((host, port)) => {
            let names = kinds.iter().map(|kind| name(&host, port, *kind));
            Some(Place::Name(names.collect()))
        }
        None => endpoint.resolve().ok().map(Place::Address),
    };
    let mut places: Vec<_> = endpoints.iter().filter_map(place).collect();
    places.retain(|place| !matches!(place, Place::Address(at) if !kinds.contains(&kind_of(*at))));
    if let [Place::Address(_)] = places[..] {
        places.clear();
    }
    places
}

/// Returns the addresses to which the socket for datagrams to `endpoint` can send.
fn kind_of(endpoint: HopAddress) -> AddressKind {
    match endpoint {
        HopAddress::Udp(SocketAddr::V6(_)) | HopAddress::Tls(SocketAddr::V6(_)) => AddressKind::V6,
        HopAddress::Udp(SocketAddr::V4(_))
        | HopAddress::Tls(SocketAddr::V4(_))
        | HopAddress::Ethernet(_)
        | HopAddress::Relay(_) => AddressKind::V4,
    }
}

/// Returns the local address for datagrams to addresses of these kinds: any port.
fn any_port(kinds: &[AddressKind]) -> SocketAddr {
    if kinds.contains(&AddressKind::V6) {
        (Ipv6Addr::UNSPECIFIED, 0).into()
    } else {
        (Ipv4Addr::UNSPECIFIED, 0).into()
    }
}

fn private_key(config: &MobileConfig, source: &Source) -> Result<PrivateKey, Failure> {
    key_file::read(&source.secret_file(&config.private_key_file)?)
}

/// Returns the private key, and the input with the next one, if there is one.
fn keys(config: &MobileConfig, source: &Source) -> Result<(PrivateKey, Vec<Input>), Failure> {
    let next = reload::next_key(config, source)?;
    Ok((private_key(config, source)?, next))
}

/// Checks all that can be checked of a configuration without a change to the system.
pub(crate) fn check(source: &Source) -> Result<(), Failure> {
    let config = MobileConfig::load(source)?;
    User::find(config.user.as_deref()).map_err(Failure::setting)?;
    private_key(&config, source)?;
    config.gateway_key(source)?;
    let secret = config.gateway.get_ref().preshared_key_file.as_deref();
    secret.map_or(Ok(()), |path| source.secret::<PresharedKey>(path).map(drop))
}
