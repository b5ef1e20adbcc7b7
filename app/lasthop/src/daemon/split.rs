//! What a daemon that splits TCP has beside the others.

use std::io;

use edges::diversion::Diversion;
use edges::netlink::{IpVersion, Route, RouteKind, Rule};
use edges::process::allow_open_files;
use edges::transparent::TransparentListener;
use edges::tun::PacketDevice;
use edges::undo::{UndoError, UndoLog};
use hosts::Scope;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use runtime::Part;
use runtime::split::{End, Mobile, Options, SplitDevice, Splitter, StreamPort};

use super::source_check::loosen_source_check;
use crate::config::split::Split;
use crate::failure::Failure;

/// The mark of packets that stay here, and the table that keeps them.
const MARK: u32 = 0x6c69;
const TABLE: u32 = 51_831;
/// The place of our rule: before those that lead packets out.
const PRIORITY: u32 = 30_000;

/// Open files of a connection, one for each side, and all others.
const FILES_EACH: u64 = 2;
const FILES_BESIDE: u64 = 256;

/// How a daemon is to split TCP.
pub(super) struct Plan {
    pub(super) place: Place,
    pub(super) mobiles: Vec<Mobile>,
    pub(super) settings: Split,
}

/// At which end of the hop.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// At the gateway.
    Gateway {
        /// Whether fixed hosts see the mobile's address.
        transparent: bool,
    },
    /// At the mobile host, if its gateway wants streams.
    Mobile,
}

/// A listener that stands, before whoever is to answer it runs.
pub(super) struct Opened {
    plan: Plan,
    listener: TransparentListener,
    diversion: Diversion,
}

/// What runs.
pub(super) struct Started {
    /// The device that takes part in it.
    pub(super) device: Box<dyn PacketDevice>,
    pub(super) part: Part,
    pub(super) streams: StreamPort,
}

impl Opened {
    /// Opens the listener.
    pub(super) fn new(plan: Plan) -> Result<Self, Failure> {
        let name = plan.settings.congestion_control.as_deref();
        let listener =
            TransparentListener::open(name).map_err(|error| match (error.kind(), name) {
                (io::ErrorKind::NotFound, Some(name)) => Failure::setting(format!(
                    "this kernel has no congestion control '{name}'; \
                     /proc/sys/net/ipv4/tcp_available_congestion_control lists what it has"
                )),
                _ => Failure::setting(format!("cannot listen for TCP that is split: {error}")),
            })?;
        let mobiles = || plan.mobiles.iter();
        let networks = |mobile: &Mobile| mobile.networks.clone();
        // Of hosts for whose connections it is chosen those that come as packets are let pass.
        let split = mobiles().filter(|mobile| mobile.scope == Scope::Every);
        let is_own = matches!(plan.place, Place::Mobile);
        let diversion = Diversion {
            instance: String::new(),
            inner_link: String::new(),
            from: split.flat_map(networks).collect(),
            to: mobiles().filter(|_| !is_own).flat_map(networks).collect(),
            port: listener.port(),
            mark: MARK,
            is_own,
        };
        Ok(Self {
            plan,
            listener,
            diversion,
        })
    }

    /// Leads the mobiles' connections to the listener; at the mobile host itself only when there are streams.
    pub(super) fn divert(
        &mut self,
        undo: &mut UndoLog,
        (name, link): (&str, &str),
    ) -> Result<(), UndoError> {
        let diversion = &mut self.diversion;
        diversion.instance = name.into();
        diversion.inner_link = link.into();
        let (has_ipv4, has_ipv6) = diversion.versions();
        if has_ipv4 {
            keep(undo, (IpVersion::V4, Ipv4Net::default().into()))?;
        }
        if has_ipv6 {
            keep(undo, (IpVersion::V6, Ipv6Net::default().into()))?;
        }
        match self.plan.place {
            Place::Gateway { transparent } => {
                if transparent && has_ipv4 {
                    // What a fixed host asks for, and is let in, comes by a link that is not the way back to it.
                    loosen_source_check(undo, ["all", link])?;
                }
                undo.install_diversion(diversion)
            }
            Place::Mobile => {
                if has_ipv4 {
                    // What this host asks for itself comes back by the device when it is let in.
                    undo.set_sysctl(&format!("net/ipv4/conf/{link}/accept_local"), "1")?;
                    loosen_source_check(undo, ["all", link])?;
                }
                undo.expect_diversion(diversion)
            }
        }
    }

    /// Starts to answer.
    pub(super) fn start(self, device: impl PacketDevice + 'static) -> Result<Started, Failure> {
        let settings = self.plan.settings;
        let options = Options {
            end: match self.plan.place {
                Place::Gateway { transparent } => End::Gateway { transparent },
                Place::Mobile => End::Mobile {
                    diversion: self.diversion,
                },
            },
            mobiles: self.plan.mobiles,
            congestion_control: settings.congestion_control,
            buffer: settings.buffer.0,
            connections: settings.connections.0,
            idle: settings.idle.0,
        };
        let memory = options.memory();
        let files = FILES_BESIDE + FILES_EACH * options.connections as u64;
        let allowed = allow_open_files(files).map_err(Failure::setting)?;
        if allowed < files {
            tracing::warn!(
                "{} connections need {files} open files, of which {allowed} are allowed: raise the limit (ulimit -n, \
                 LimitNOFILE), or lower `connections` of `[split]`",
                options.connections
            );
        }
        let splitter = Splitter::start(options, self.listener).map_err(Failure::setting)?;
        let (counted, streams) = (splitter.counters(), splitter.stream_port());
        let device = SplitDevice::new(device, splitter).map_err(Failure::setting)?;
        let part = Part {
            name: "split",
            memory,
            // Counters are numbers; nothing in them can refuse to become JSON.
            status: Box::new(move || serde_json::to_value(counted.now()).unwrap_or_default()),
        };
        Ok(Started {
            device: Box::new(device),
            part,
            streams,
        })
    }
}

/// Keeps what is marked here, whomever it is for.
fn keep(undo: &mut UndoLog, (version, everything): (IpVersion, IpNet)) -> Result<(), UndoError> {
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
