//! Changes of a mobile host to the routes of its system.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use ::split::{End, Mobile};
use edges::detour::Detour;
use edges::netlink::{IpVersion, MAIN_TABLE, Route, RouteKind, Rule};
use edges::undo::standing::{self, Change};
use edges::undo::{UndoError, UndoLog};
use hosts::Scope;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use wire::address::HopAddress;

use super::mobile::MARK;
use super::source_check::loosen_source_check;
use super::split;
use crate::config::mobile::Fallback;
use crate::config::shared::Routes;
use crate::config::split::Split;

/// Table of the routes across the hop.
const TABLE: u32 = 51_830;
/// Priorities of our rules: before that of the main table (32,766), after those of administrators. The detour has two.
const BESIDE_THE_HOP: u32 = 32_698;
const CLOSER_ROUTES: u32 = 32_700;
const ACROSS_THE_HOP: u32 = 32_701;
/// Metric after that of every other route.
const LAST: u32 = u32::MAX;

/// Changes of a mobile host to the system: a table of routes across the hop, and rules that send everything there
/// except the datagrams of the bearer, which they recognise by their mark.
///
/// A route to the gateway beside two half-defaults in the main table would do the same, but it would be wrong as soon
/// as the host changes its network. With a mark the bearer follows whatever default route the host has, and no other
/// route changes.
pub(super) struct Wiring {
    /// Name of the instance, and its folder of records.
    pub(super) name: String,
    pub(super) state_dir: PathBuf,
    pub(super) fallback: Fallback,
    pub(super) routes: Routes,
    /// Inner addresses of the mobile host.
    pub(super) own: Vec<IpNet>,
    pub(super) endpoint: HopAddress,
    /// True if the gateway may have an address of the other version of IP later.
    pub(super) may_change_kind: bool,
}

impl Wiring {
    /// Returns the settings of split connections of this host, for a gateway that uses streams.
    pub(super) fn split(&self, settings: Split) -> split::Plan {
        let own = self.own.iter().map(|own| IpNet::from(own.addr()));
        split::Plan {
            networks: own.clone().map(|own| (own, Scope::Every)).collect(),
            end: End::Mobile,
            left: Vec::new(),
            mobiles: vec![Mobile {
                peer: 0,
                networks: own.collect(),
                scope: Scope::Every,
            }],
            settings,
            destinations: None,
        }
    }

    pub(super) fn set_up(&self, undo: &mut UndoLog, link: &str) -> Result<(), UndoError> {
        // A block stands until the next start: without a change, nothing leaves in between.
        let (lasting, own) = match self.fallback {
            Fallback::Block => (self.changes(), Vec::new()),
            Fallback::Direct => (Vec::new(), self.changes()),
        };
        standing::stand(&self.state_dir, &self.name, &lasting)?;
        for change in own {
            match change {
                Change::Route(route) => undo.add_route(&route)?,
                Change::Rule(rule) => undo.add_rule(&rule)?,
            }
        }
        for destination in self.across() {
            undo.add_route(&Route::to(destination).through(link).in_table(TABLE))?;
        }
        match self.endpoint {
            HopAddress::Udp(SocketAddr::V4(endpoint))
            | HopAddress::Tls(SocketAddr::V4(endpoint)) => {
                loosen_on_the_way_to(undo, (*endpoint.ip()).into())
            }
            _ if self.may_change_kind => loosen_source_check(undo, ["all", "default"]),
            HopAddress::Udp(SocketAddr::V6(_))
            | HopAddress::Tls(SocketAddr::V6(_))
            | HopAddress::Ethernet(_)
            | HopAddress::Relay(_) => Ok(()),
        }
    }

    /// Returns the way around the hop, if flows may take it.
    pub(super) fn detour(&self) -> Option<Detour> {
        (self.fallback == Fallback::Direct).then(|| Detour {
            inner_link: String::new(),
            own: self.own.iter().map(IpNet::addr).collect(),
            table: TABLE,
            priority: BESIDE_THE_HOP,
        })
    }

    /// Returns the changes that need no link: barriers, and the rules that lead to the table.
    fn changes(&self) -> Vec<Change> {
        let (across, blocked) = (self.across(), self.blocked());
        let all = across.iter().chain(&blocked);
        let versions: BTreeSet<_> = all.map(IpVersion::of).collect();
        let barriers = match self.fallback {
            Fallback::Direct => blocked,
            Fallback::Block => [blocked, across].concat(),
        };
        let barriers = barriers.into_iter().map(|to| Change::Route(barrier(to)));
        let rules = versions.into_iter().flat_map(|version| self.rules(version));
        barriers.chain(rules.map(Change::Rule)).collect()
    }

    fn has(&self, version: IpVersion) -> bool {
        self.own.iter().any(|own| IpVersion::of(own) == version)
    }

    /// Returns the destinations that are reached across the hop.
    fn across(&self) -> Vec<IpNet> {
        match &self.routes {
            Routes::To(networks) => networks.clone(),
            Routes::Default => everything()
                .filter(|all| self.has(IpVersion::of(all)))
                .collect(),
        }
    }

    /// Returns the destinations that are not reached at all: if everything crosses the hop, an IP version without inner
    /// addresses may not leave beside it.
    fn blocked(&self) -> Vec<IpNet> {
        match &self.routes {
            Routes::To(_) => Vec::new(),
            Routes::Default => everything()
                .filter(|all| {
                    let version = IpVersion::of(all);
                    version.is_available() && !self.has(version)
                })
                .collect(),
        }
    }

    /// Returns the rules of one IP version.
    fn rules(&self, version: IpVersion) -> Vec<Rule> {
        // The main table first, but without its default route: the local network stays reachable directly.
        let closer = Rule {
            priority: Some(CLOSER_ROUTES),
            suppressed_prefix_length: Some(0),
            ..Rule::to_table(version, MAIN_TABLE)
        };
        let across = Rule {
            priority: Some(ACROSS_THE_HOP),
            mark: Some(MARK),
            inverted: true,
            ..Rule::to_table(version, TABLE)
        };
        match &self.routes {
            Routes::Default => vec![closer, across],
            Routes::To(_) => vec![across],
        }
    }
}

/// Loosens the source check, because replies on the hop arrive on another link than the routes to their source name.
fn loosen_on_the_way_to(undo: &mut UndoLog, gateway: IpAddr) -> Result<(), UndoError> {
    // Without a route to the gateway yet, "all" and "default" still determine the setting of a link.
    let route = undo.netlink().route_to(gateway);
    let link = route.ok().and_then(|route| route.link);
    loosen_source_check(undo, ["all", "default"].into_iter().chain(link.as_deref()))
}

/// Returns all destinations of each IP version.
fn everything() -> impl Iterator<Item = IpNet> {
    [Ipv4Net::default().into(), Ipv6Net::default().into()].into_iter()
}

/// Returns the route on which packets to these destinations end if no better one exists. Their senders get an error at
/// once, so that they go on with another address.
fn barrier(destination: IpNet) -> Route {
    Route {
        kind: RouteKind::Unreachable,
        ..Route::to(destination).in_table(TABLE).with_metric(LAST)
    }
}
