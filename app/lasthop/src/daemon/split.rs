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

use crate::failure::Failure;

/// The mark of packets that stay here, and the table that keeps them.
const MARK: u32 = 0x6c69;
const TABLE: u32 = 51_831;
/// The place of our rule: before those that lead packets out.
const PRIORITY: u32 = 30_000;

/// How TCP is split.
pub(super) struct Split {
    pub(super) options: Options,
    /// The congestion control across the hop; the system's if there is none.
    pub(super) congestion_control: Option<String>,
}

/// A listener that stands, before whoever is to answer it runs.
pub(super) struct Opened {
    options: Options,
    listener: TransparentListener,
}

impl Split {
    /// Opens the listener.
    pub(super) fn open(self) -> Result<Opened, Failure> {
        let name = self.congestion_control.as_deref();
        let listener =
            TransparentListener::open(name).map_err(|error| match (error.kind(), name) {
                (io::ErrorKind::NotFound, Some(name)) => Failure::setting(format!(
                    "this kernel has no congestion control '{name}'; \
                 /proc/sys/net/ipv4/tcp_available_congestion_control lists what it has"
                )),
                _ => Failure::setting(format!("cannot listen for TCP that is split: {error}")),
            })?;
        Ok(Opened {
            options: self.options,
            listener,
        })
    }
}

impl Opened {
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
            loosen_source_check(undo, link)?;
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

/// A request of a fixed host that is let in comes by the link to the mobiles, which is not the way back to it. The
/// kernel takes the stricter of "all" and the link's own value, where 2 counts as stricter than 1.
fn loosen_source_check(undo: &mut UndoLog, link: &str) -> Result<(), UndoError> {
    for name in ["all", link] {
        let name = format!("net/ipv4/conf/{name}/rp_filter");
        if edges::sysctl::read(&name)?.trim() == "1" {
            undo.set_sysctl(&name, "2")?;
        }
    }
    Ok(())
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
