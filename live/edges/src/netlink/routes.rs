//! Routes.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol,
    RouteScope, RouteType,
};
use serde::{Deserialize, Serialize};

use super::addresses::family_of;
use super::{IpVersion, Netlink, NetlinkError};

/// The main routing table, which is used without any rule of ours.
pub const MAIN_TABLE: u32 = RouteHeader::RT_TABLE_MAIN as u32;

/// Treatment of packets that a route takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteKind {
    /// They are forwarded.
    #[default]
    Unicast,
    /// They are delivered locally, whatever their destination; transparent proxies need this.
    Local,
    /// They are dropped, and an error is sent to the sender.
    Unreachable,
    /// They are dropped silently.
    Blackhole,
}

/// One route. Built by [`Route::to`] and the methods that follow it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Destinations of the route.
    pub destination: IpNet,
    /// The next router; `None` if the destination is on the link itself.
    pub gateway: Option<IpAddr>,
    /// Name of the link by which packets leave.
    pub link: Option<String>,
    /// Source address of packets that have none yet.
    pub source: Option<IpAddr>,
    /// The table that holds it; [`MAIN_TABLE`] by default.
    pub table: u32,
    /// Metric; for equal destinations the smallest wins, and `None` leaves the choice to the kernel.
    pub metric: Option<u32>,
    /// Treatment of the packets.
    pub kind: RouteKind,
    /// Size of the largest packet on this route in bytes, if less than the link's.
    pub mtu: Option<u32>,
    /// Segment size that TCP advertises on this route, in bytes.
    pub advertised_segment_size: Option<u32>,
    /// Congestion control of TCP connections on this route, e.g. `reno`.
    pub congestion_control: Option<String>,
}

impl Route {
    /// Returns a route to `destination` (bits beyond its prefix are cleared) in the main table.
    pub fn to(destination: IpNet) -> Self {
        Self {
            destination: destination.trunc(),
            gateway: None,
            link: None,
            source: None,
            table: MAIN_TABLE,
            metric: None,
            kind: RouteKind::Unicast,
            mtu: None,
            advertised_segment_size: None,
            congestion_control: None,
        }
    }

    /// Returns the route through the router `gateway`.
    pub fn via(self, gateway: IpAddr) -> Self {
        Self {
            gateway: Some(gateway),
            ..self
        }
    }

    /// Returns the route by the link called `link`.
    pub fn through(self, link: &str) -> Self {
        Self {
            link: Some(link.into()),
            ..self
        }
    }

    /// Returns the route in table `table`.
    pub fn in_table(self, table: u32) -> Self {
        Self { table, ..self }
    }

    /// Returns the route with this metric.
    pub fn with_metric(self, metric: u32) -> Self {
        Self {
            metric: Some(metric),
            ..self
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.destination)?;
        if let Some(gateway) = self.gateway {
            write!(formatter, " via {gateway}")?;
        }
        if let Some(link) = &self.link {
            write!(formatter, " by link '{link}'")?;
        }
        if self.table != MAIN_TABLE {
            write!(formatter, " in table {}", self.table)?;
        }
        Ok(())
    }
}

impl Netlink {
    /// Adds a route; a route with the same destination, table and metric must not exist.
    pub fn add_route(&mut self, route: &Route) -> Result<(), NetlinkError> {
        let message = self.route_message(route)?;
        let flags = NLM_F_CREATE | NLM_F_EXCL;
        self.change(
            RouteNetlinkMessage::NewRoute(message),
            flags,
            &format!("add the route {route}"),
        )
    }

    /// Adds a route, and replaces one with the same destination, table and metric. The old one is lost: a daemon that
    /// must leave no trace adds a route with a better metric instead.
    pub fn replace_route(&mut self, route: &Route) -> Result<(), NetlinkError> {
        let message = self.route_message(route)?;
        let flags = NLM_F_CREATE | NLM_F_REPLACE;
        self.change(
            RouteNetlinkMessage::NewRoute(message),
            flags,
            &format!("replace the route {route}"),
        )
    }

    /// Removes a route.
    pub fn remove_route(&mut self, route: &Route) -> Result<(), NetlinkError> {
        let message = self.route_message(route)?;
        let operation = format!("remove the route {route}");
        self.change(RouteNetlinkMessage::DelRoute(message), 0, &operation)
    }

    /// Returns the routes of one table, for both IP versions.
    pub fn routes(&mut self, table: u32) -> Result<Vec<Route>, NetlinkError> {
        let names: Vec<_> = self
            .links()?
            .into_iter()
            .map(|link| (link.index, link.name))
            .collect();
        let request = RouteNetlinkMessage::GetRoute(RouteMessage::default());
        let answers = self.list(&request, "list the routes")?;
        Ok(answers
            .into_iter()
            .filter_map(|answer| match answer {
                RouteNetlinkMessage::NewRoute(message) => read_route(&message, &names),
                _ => None,
            })
            .filter(|route| route.table == table)
            .collect())
    }

    /// Returns the route that a packet to `address` would take now, as a route for that address alone in the main
    /// table: if added, it keeps this path despite later default routes.
    pub fn route_to(&mut self, address: IpAddr) -> Result<Route, NetlinkError> {
        let mut request = RouteMessage::default();
        request.header.address_family = family_of(address);
        request.header.destination_prefix_length = IpNet::from(address).prefix_len();
        request
            .attributes
            .push(RouteAttribute::Destination(address.into()));
        let operation = format!("find the route to {address}");
        let answer = self.query(RouteNetlinkMessage::GetRoute(request), &operation)?;
        let names: Vec<_> = self
            .links()?
            .into_iter()
            .map(|link| (link.index, link.name))
            .collect();
        let found = match &answer {
            RouteNetlinkMessage::NewRoute(message) => read_route(message, &names),
            _ => None,
        };
        let found = found.ok_or(NetlinkError::Malformed {
            operation,
            detail: "it describes no route".into(),
        })?;
        Ok(Route {
            gateway: found.gateway,
            link: found.link,
            source: found.source,
            kind: found.kind,
            ..Route::to(address.into())
        })
    }

    fn route_message(&mut self, route: &Route) -> Result<RouteMessage, NetlinkError> {
        let mut message = RouteMessage::default();
        message.header = header_of(route);
        let attributes = &mut message.attributes;
        let destination = route.destination.network();
        if route.destination.prefix_len() > 0 {
            attributes.push(RouteAttribute::Destination(destination.into()));
        }
        attributes.push(RouteAttribute::Table(route.table));
        attributes.extend(
            route
                .gateway
                .map(|address| RouteAttribute::Gateway(address.into())),
        );
        attributes.extend(
            route
                .source
                .map(|address| RouteAttribute::PrefSource(address.into())),
        );
        attributes.extend(route.metric.map(RouteAttribute::Priority));
        if let Some(link) = &route.link {
            attributes.push(RouteAttribute::Oif(self.link_index(link)?));
        }
        let mut metrics = Vec::new();
        metrics.extend(route.mtu.map(RouteMetric::Mtu));
        metrics.extend(route.advertised_segment_size.map(RouteMetric::Advmss));
        metrics.extend(route.congestion_control.clone().map(RouteMetric::CcAlgo));
        if !metrics.is_empty() {
            attributes.push(RouteAttribute::Metrics(metrics));
        }
        Ok(message)
    }
}

fn header_of(route: &Route) -> RouteHeader {
    RouteHeader {
        address_family: family_of(route.destination.addr()),
        destination_prefix_length: route.destination.prefix_len(),
        // A table number above 255 is only in its attribute.
        table: u8::try_from(route.table).unwrap_or(RouteHeader::RT_TABLE_UNSPEC),
        protocol: RouteProtocol::Static,
        scope: match (route.kind, route.gateway) {
            (RouteKind::Local, _) => RouteScope::Host,
            (RouteKind::Unicast, None) => RouteScope::Link,
            _ => RouteScope::Universe,
        },
        kind: match route.kind {
            RouteKind::Unicast => RouteType::Unicast,
            RouteKind::Local => RouteType::Local,
            RouteKind::Unreachable => RouteType::Unreachable,
            RouteKind::Blackhole => RouteType::BlackHole,
        },
        ..RouteHeader::default()
    }
}

/// Reads a route of a known kind; returns `None` for others, such as multicast.
fn read_route(message: &RouteMessage, names: &[(u32, String)]) -> Option<Route> {
    let unspecified = match IpVersion::of_family(message.header.address_family)? {
        IpVersion::V4 => IpAddr::from([0u8; 4]),
        IpVersion::V6 => IpAddr::from([0u8; 16]),
    };
    let length = message.header.destination_prefix_length;
    let mut route = Route::to(IpNet::new(unspecified, length).ok()?);
    route.table = u32::from(message.header.table);
    route.kind = match message.header.kind {
        RouteType::Unicast => RouteKind::Unicast,
        RouteType::Local => RouteKind::Local,
        RouteType::Unreachable => RouteKind::Unreachable,
        RouteType::BlackHole => RouteKind::Blackhole,
        _ => return None,
    };
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(address) => {
                route.destination = IpNet::new(plain(address)?, length).ok()?;
            }
            RouteAttribute::Gateway(address) => route.gateway = plain(address),
            RouteAttribute::PrefSource(address) => route.source = plain(address),
            RouteAttribute::Priority(metric) => route.metric = Some(*metric),
            RouteAttribute::Table(table) => route.table = *table,
            RouteAttribute::Oif(index) => {
                route.link = names
                    .iter()
                    .find(|(known, _)| known == index)
                    .map(|(_, name)| name.clone());
            }
            RouteAttribute::Metrics(metrics) => read_metrics(&mut route, metrics),
            _ => {}
        }
    }
    Some(route)
}

fn read_metrics(route: &mut Route, metrics: &[RouteMetric]) {
    for metric in metrics {
        match metric {
            RouteMetric::Mtu(bytes) => route.mtu = Some(*bytes),
            RouteMetric::Advmss(bytes) => route.advertised_segment_size = Some(*bytes),
            RouteMetric::CcAlgo(name) => route.congestion_control = Some(name.clone()),
            _ => {}
        }
    }
}

fn plain(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(address) => Some(IpAddr::V4(*address)),
        RouteAddress::Inet6(address) => Some(IpAddr::V6(*address)),
        _ => None,
    }
}
