//! The additional parts of a daemon that splits TCP.

use std::io;

use edges::connections::ConnectionTables;
use edges::diversion::{Destinations, Diversion};
use edges::netlink::{IpVersion, Route, RouteKind, Rule};
use edges::parcel::Space;
use edges::process::allow_open_files;
use edges::transparent::TransparentListener;
use edges::undo::{UndoError, UndoLog};
use hosts::Scope;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use runtime::sockets::{Divert, Former, Options, Sockets};
use split::{Config, End, Mobile};

use super::source_check::loosen_source_check;
use crate::config::split::Split;
use crate::entropy;
use crate::failure::Failure;

/// Mark of packets for this host, and the routing table that delivers them here.
const MARK: u32 = 0x6c69;
const TABLE: u32 = 51_831;
/// Priority of our rule: before those that send packets out.
const PRIORITY: u32 = 30_000;

/// Open files of a connection, one for each side, and of everything else.
const FILES_EACH: u64 = 2;
const FILES_BESIDE: u64 = 256;

/// Settings of split TCP in a daemon.
pub(super) struct Plan {
    pub(super) end: End,
    pub(super) mobiles: Vec<Mobile>,
    /// Networks whose connections are split, with those of mobile hosts that are only invited: once one joins, nothing
    /// has to be opened.
    pub(super) networks: Vec<(IpNet, Scope)>,
    /// At the gateway: networks of mobile hosts whose requests, where they come as packets, stay packets.
    pub(super) left: Vec<IpNet>,
    pub(super) settings: Split,
    /// At the gateway: destinations that mobile hosts may reach.
    pub(super) destinations: Option<Destinations>,
}

impl Plan {
    /// Returns the configuration of the splitter.
    pub(super) fn config(&self) -> Config {
        let mut secret = [0; 8];
        entropy::fill(&mut secret);
        Config {
            end: self.end,
            mobiles: self.mobiles.clone(),
            buffer: self.settings.buffer.0,
            connections: self.settings.connections.0,
            idle: self.settings.idle.0,
            accepts_at_once: false,
            secret: u64::from_le_bytes(secret),
        }
    }
}

impl Plan {
    /// Returns the diversion to a listener on a link, which have no names yet.
    pub(super) fn diversion(&self) -> Diversion {
        let networks = || self.networks.iter();
        // Connections of hosts with a choice per connection are not diverted if they cross as packets.
        let split = networks().filter(|(_, scope)| *scope == Scope::Every);
        let is_own = self.end == End::Mobile;
        Diversion {
            instance: String::new(),
            inner_link: String::new(),
            from: split.map(|(network, _)| *network).collect(),
            to: networks()
                .filter(|_| !is_own)
                .map(|(network, _)| *network)
                .collect(),
            except: self.left.iter().copied().collect(),
            destinations: self.destinations.clone(),
            port: 0,
            mark: MARK,
            is_own,
        }
    }
}

/// Returns the connections of these addresses that are open on this host now, and at each call those that still are.
fn former_connections(networks: &[IpNet]) -> io::Result<Former> {
    let mut tables = ConnectionTables::open()?;
    let mut former = tables.open_connections()?;
    former.retain(|ends| {
        let own = ends.destination.ip();
        networks.iter().any(|network| network.contains(&own))
    });
    Ok(Box::new(move || {
        if !former.is_empty() {
            // Without the table, they are taken to be still open.
            let open = tables.open_connections();
            former.retain(|ends| open.as_ref().map_or(true, |open| open.contains(ends)));
        }
        former.clone()
    }))
}

/// An open listener, before the sockets that answer on it run.
pub(super) struct Opened {
    plan: Plan,
    listener: TransparentListener,
    diversion: Diversion,
    /// At the mobile host: its open connections across the hop from before this process.
    former: Option<Former>,
    /// At the gateway: space for what the next process gets. Without privileges none can be made.
    space: Option<Space>,
}

impl Opened {
    /// Opens the listener.
    pub(super) fn new(plan: Plan) -> Result<Self, Failure> {
        allow_connections(plan.settings.connections.0)?;
        let name = plan.settings.congestion_control.as_deref();
        let listener =
            TransparentListener::open(name).map_err(|error| match (error.kind(), name) {
                (io::ErrorKind::NotFound, Some(name)) => Failure::setting(format!(
                    "this kernel has no congestion control '{name}'; \
                     /proc/sys/net/ipv4/tcp_available_congestion_control lists those that it has"
                )),
                _ => Failure::setting(format!("cannot listen for split TCP connections: {error}")),
            })?;
        let diversion = Diversion {
            port: listener.port(),
            ..plan.diversion()
        };
        let networks = plan
            .mobiles
            .iter()
            .flat_map(|mobile| mobile.networks.clone());
        let networks = diversion.is_own.then(|| networks.collect::<Vec<_>>());
        let former = networks
            .map(|networks| former_connections(&networks))
            .transpose();
        let former = former.unwrap_or_else(|error| {
            tracing::warn!("cannot read this host's TCP connections; those of a former run may wait for ever: {error}");
            None
        });
        let space = (!diversion.is_own).then(Space::new).transpose();
        Ok(Self {
            plan,
            listener,
            diversion,
            former,
            space: space.map_err(Failure::setting)?,
        })
    }

    /// Diverts the mobile hosts' connections to the listener; at the mobile host itself only while there are streams.
    pub(super) fn divert(
        &mut self,
        undo: &mut UndoLog,
        name: &str,
        link: &str,
    ) -> Result<(), UndoError> {
        let diversion = &mut self.diversion;
        diversion.instance = name.into();
        diversion.inner_link = link.into();
        let (has_ipv4, has_ipv6) = diversion.versions();
        if has_ipv4 {
            keep(undo, IpVersion::V4, Ipv4Net::default().into())?;
        }
        if has_ipv6 {
            keep(undo, IpVersion::V6, Ipv6Net::default().into())?;
        }
        match self.plan.end {
            End::Gateway { transparent } => {
                if transparent && has_ipv4 {
                    // Accepted connections of a fixed host arrive on a link that is not the route back to it.
                    loosen_source_check(undo, ["all", link])?;
                }
                undo.install_diversion(diversion)
            }
            End::Mobile => {
                if has_ipv4 {
                    // Accepted connections of this host itself come back through the device.
                    undo.set_sysctl(&format!("net/ipv4/conf/{link}/accept_local"), "1")?;
                    loosen_source_check(undo, ["all", link])?;
                }
                undo.expect_diversion(diversion)
            }
        }
    }

    /// Returns true at a gateway whose connections with fixed hosts have the mobile hosts' addresses.
    pub(super) fn is_transparent(&self) -> bool {
        matches!(self.plan.end, End::Gateway { transparent: true })
    }

    /// Returns the diversion that is installed, if it is not installed later.
    pub(super) fn installed(&self) -> Option<Diversion> {
        (self.plan.end != End::Mobile).then(|| self.diversion.clone())
    }

    /// Returns the diversion that is installed later, if there is one.
    pub(super) fn later(&self) -> Option<Diversion> {
        (self.plan.end == End::Mobile).then(|| self.diversion.clone())
    }

    /// Starts the sockets that answer; `divert` installs the diversion [`later`](Self::later).
    pub(super) fn start(self, divert: Divert) -> Result<Sockets, Failure> {
        let memory = self.plan.config().memory();
        let options = Options {
            congestion_control: self.plan.settings.congestion_control,
            divert: (self.plan.end == End::Mobile).then_some(divert),
            former: self.former,
            destinations: self.plan.destinations,
            memory,
            space: self.space,
        };
        Sockets::new(options, self.listener).map_err(Failure::setting)
    }
}

/// Lets this process open the files of so many connections.
fn allow_connections(connections: usize) -> Result<(), Failure> {
    let files = FILES_BESIDE + FILES_EACH * connections as u64;
    let allowed = allow_open_files(files).map_err(Failure::setting)?;
    if allowed < files {
        tracing::warn!(
            "{connections} connections need {files} open files, but only {allowed} are allowed: raise the limit \
             (ulimit -n, LimitNOFILE), or lower `connections` of `[split]`",
        );
    }
    Ok(())
}

/// Delivers marked packets to this host, whatever their destination.
fn keep(undo: &mut UndoLog, version: IpVersion, everything: IpNet) -> Result<(), UndoError> {
    undo.add_route(&Route {
        kind: RouteKind::Local,
        ..Route::to(everything).through("lo").in_table(TABLE)
    })?;
    undo.add_rule(&Rule {
        priority: Some(PRIORITY),
        mark: Some(MARK),
        ..Rule::to_table(version, TABLE)
    })
}
