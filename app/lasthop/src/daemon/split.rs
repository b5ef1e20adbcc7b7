//! What a gateway that splits TCP has beside the others.

use std::io;

use edges::diversion::Diversion;
use edges::netlink::{IpVersion, Route, RouteKind, Rule};
use edges::transparent::TransparentListener;
use edges::tun::PacketDevice;
use edges::undo::{UndoError, UndoLog};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use runtime::Part;
use runtime::split::{Options, SplitDevice, Splitter};

use super::source_check::loosen_source_check;
use crate::failure::Failure;

/// The mark of packets that stay here, and the table that keeps them.
const MARK: u32 = 0x6c69;
const TABLE: u32 = 51_831;
/// The place of our rule: before those that lead packets out.
const PRIORITY: u32 = 30_000;

/// A listener that stands, before whoever is to answer it runs.
pub(super) struct Opened {
    options: Options,
    listener: TransparentListener,
}

impl Opened {
    /// Opens the listener.
    pub(super) fn new(options: Options) -> Result<Self, Failure> {
        let name = options.congestion_control.as_deref();
        let listener =
            TransparentListener::open(name).map_err(|error| match (error.kind(), name) {
                (io::ErrorKind::NotFound, Some(name)) => Failure::setting(format!(
                    "this kernel has no congestion control '{name}'; \
                     /proc/sys/net/ipv4/tcp_available_congestion_control lists what it has"
                )),
                _ => Failure::setting(format!("cannot listen for TCP that is split: {error}")),
            })?;
        Ok(Self { options, listener })
    }

    /// Leads the mobiles' connections to the listener.
    pub(super) fn divert(
        &self,
        undo: &mut UndoLog,
        (name, link): (&str, &str),
    ) -> Result<(), UndoError> {
        let mut diversion = Diversion {
            instance: name.into(),
            inner_link: link.into(),
            ipv4: Vec::new(),
            ipv6: Vec::new(),
            port: self.listener.port(),
            mark: MARK,
        };
        for network in IpNet::aggregate(&self.options.mobiles.concat()) {
            match network {
                IpNet::V4(network) => diversion.ipv4.push(network),
                IpNet::V6(network) => diversion.ipv6.push(network),
            }
        }
        if !diversion.ipv4.is_empty() {
            keep(undo, (IpVersion::V4, Ipv4Net::default().into()))?;
        }
        if !diversion.ipv6.is_empty() {
            keep(undo, (IpVersion::V6, Ipv6Net::default().into()))?;
        }
        if self.options.transparent && !diversion.ipv4.is_empty() {
            // What a fixed host asks for, and is let in, comes by a link that is not the way back to it.
            loosen_source_check(undo, ["all", link])?;
        }
        undo.install_diversion(&diversion)
    }

    /// Starts to answer; the device is the one that takes part in it.
    pub(super) fn start(
        self,
        device: impl PacketDevice + 'static,
    ) -> Result<(Box<dyn PacketDevice>, Part), Failure> {
        let memory = self.options.memory();
        let splitter = Splitter::start(self.options, self.listener).map_err(Failure::setting)?;
        let counted = splitter.counters();
        let device = SplitDevice::new(device, splitter).map_err(Failure::setting)?;
        let part = Part {
            name: "split",
            memory,
            // Counters are numbers; nothing in them can refuse to become JSON.
            status: Box::new(move || serde_json::to_value(counted.now()).unwrap_or_default()),
        };
        Ok((Box::new(device), part))
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
