//! Changes of a gateway to its system.

use ::split::{End, Mobile};
use edges::diversion::{Destinations, Networks};
use edges::forwarding::Forwarding;
use edges::nameserver::NameServer;
use edges::nat::Masquerade;
use edges::netlink::{ConnectionTracking, MAIN_TABLE, Route};
use edges::sysctl;
use edges::undo::{UndoError, UndoLog, UndoStep};
use hosts::Scope;
use ipnet::{IpNet, Ipv6Net};
use session::PublicKey;

use super::dns::Offer;
use super::follow::Proxies;
use super::gateway::with_keys;
use super::router_advertisements::{FORWARDING as FORWARDING_IPV6, forward_ipv6};
use super::split;
use crate::config::follow::Follow;
use crate::config::gateway::{self as config, GatewayConfig};

const FORWARDING_IPV4: &str = "net/ipv4/ip_forward";

/// Changes of a gateway to the system.
#[derive(Clone)]
pub(super) struct Wiring {
    /// Name of the instance, if it translates addresses.
    instance: Option<String>,
    /// Inner addresses of the gateway.
    own: Vec<IpNet>,
    /// Inner addresses of the mobile hosts.
    networks: Vec<IpNet>,
    /// Those of other gateways' mobile hosts, whose packets leave here.
    guests: Vec<IpNet>,
    /// Which of all these may follow a mobile host.
    follow: Option<Follow>,
    forwarding: Forwarding,
    pub(super) offer: Offer,
}

impl Wiring {
    pub(super) fn new(config: &GatewayConfig) -> Self {
        let networks = config.residents().flat_map(config::Mobile::networks);
        let networks = networks.collect();
        let offer = Offer::of(config);
        let resolvers = offer.places.iter().map(|(_, to)| *to).collect();
        Self {
            instance: config.nat.then(|| config.name.0.clone()),
            own: config.tun.own().collect(),
            networks,
            guests: Vec::new(),
            follow: config.follow.clone(),
            forwarding: Forwarding {
                instance: config.name.0.clone(),
                inner_link: String::new(),
                networks: config.networks().collect(),
                resolvers,
                isolates: config.isolate,
                admits_requests: !config.nat,
                closes: (false, false),
            },
            offer,
        }
    }

    /// Adds inner addresses of other gateways' mobile hosts, whose packets leave here.
    pub(super) fn lead_out(&mut self, networks: &[IpNet]) {
        self.networks.extend(networks);
        self.guests = networks.into();
    }

    pub(super) fn set_up(&mut self, undo: &mut UndoLog, link: &str) -> Result<(), UndoError> {
        for route in self.routes(link) {
            undo.add_route(&route)?;
        }
        self.forward(undo, link)?;
        if let Some(proxies) = self.proxies() {
            proxies.set_up(undo, &self.forwarding.instance, link)?;
        }
        if !self.offer.places.is_empty() {
            undo.install_name_server(&self.name_server(link))?;
        }
        if let Some(instance) = &self.instance {
            undo.install_nat(&self.masquerade(instance, link))?;
        }
        self.keep_connections();
        Ok(())
    }

    /// Lets connections of mobile hosts go on that an earlier run forwarded.
    fn keep_connections(&self) {
        let table = ConnectionTracking::open();
        match table.and_then(|mut table| table.accept_any_sequence(&self.networks)) {
            Ok(0) => {}
            Ok(count) => tracing::info!("{count} TCP connections of mobile hosts go on"),
            Err(error) => {
                tracing::warn!(
                    "connections of mobile hosts from an earlier run may stand: {error}"
                );
            }
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
        if !self.offer.places.is_empty() {
            self.name_server(link).install()?;
        }
        if let Some(proxies) = self.proxies() {
            proxies.adapt(undo, &self.forwarding.instance, link)?;
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

    /// Returns the way of mobile hosts' questions to the resolver.
    fn name_server(&self, link: &str) -> NameServer {
        NameServer {
            instance: self.forwarding.instance.clone(),
            inner_link: link.into(),
            places: self.offer.places.clone(),
            guests: self.guests.clone(),
        }
    }

    /// Returns the routes to mobile hosts outside of the gateway's own inner networks.
    fn routes(&self, link: &str) -> impl Iterator<Item = Route> {
        let beyond = |network: &&IpNet| !self.own.iter().any(|own| own.contains(*network));
        let beyond = self.networks.iter().filter(beyond);
        beyond.map(move |network| Route::to(*network).through(link))
    }

    /// Returns the addresses for which this gateway answers its neighbours on a LAN, if it does.
    pub(super) fn proxies(&self) -> Option<Proxies<'_>> {
        let follow = self.follow.as_ref()?;
        Proxies::of(follow, &self.networks)
    }

    /// Returns which addresses may follow a mobile host, if any may.
    pub(super) fn follow(&self) -> Option<&Follow> {
        self.follow.as_ref()
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
        let split = |(peer, (mobile, _)): (usize, (&config::Mobile, PublicKey))| {
            let (scope, networks) = (mobile.tcp.scope()?, mobile.networks().collect());
            Some(Mobile {
                peer,
                networks,
                scope,
            })
        };
        let mobiles: Vec<_> = with_keys(config).enumerate().filter_map(split).collect();
        let left = with_keys(config).filter(|(mobile, _)| mobile.tcp.scope() != Some(Scope::Every));
        let networks = config.residents().filter_map(|mobile| {
            let scope = mobile.tcp.scope()?;
            Some(mobile.networks().map(move |network| (network, scope)))
        });
        let networks: Vec<_> = networks.flatten().collect();
        (!networks.is_empty()).then(|| split::Plan {
            networks,
            left: left.flat_map(|(mobile, _)| mobile.networks()).collect(),
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
