//! The status of a daemon: its control socket gives it as JSON, and `lasthop status` reads it.

use edges::bearer::{BearerCounters, DatagramBearer};
use edges::clock;
use edges::tls::TlsCounters;
use edges::tun::{DeviceCounters, PacketDevice};
use hosts::Input;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use session::PublicKey;
use split::SplitStatus;
use units::{Bytes, Duration, Instant};

use super::EventLoop;
use crate::control::Query;
use crate::host::DrivenHost;
use crate::resolver::{Names, NamesStatus};

/// Status of a daemon with a host status of type `H`. A reader of another version ignores unknown fields; a missing
/// field is an error, unless the field is optional.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Status<H = hosts::Status> {
    /// Version of the daemon.
    pub version: String,
    /// Time since the start, in seconds.
    pub uptime_s: f64,
    /// Limit of the memory of the whole process.
    pub memory_most: Bytes,
    /// Share of the time in which the daemon had work, from 0 to 1, in the last five seconds or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
    /// Status of the host.
    pub host: H,
    /// Counters of the packet device.
    pub device: DeviceStatus,
    /// Counters of the bearer.
    pub bearer: BearerStatus,
    /// Split TCP connections, if splitting is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<SplitStatus>,
    /// Where programs ask for names; only at a mobile host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<NamesStatus>,
}

/// Summary of a daemon: the numbers that `lasthop status` and `lasthop top` show of each peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of the daemon.
    pub version: String,
    /// Time since the start, in seconds.
    pub uptime_s: f64,
    /// Summary of the host; `None` for one without peers.
    pub host: Option<hosts::Summary>,
    /// Where programs ask for names; only at a mobile host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<NamesStatus>,
}

/// Counters of a packet device, in packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceStatus {
    /// Counters of the device itself.
    #[serde(flatten)]
    pub counters: DeviceCounters,
    /// Packets for which the device had no room.
    pub without_room: u64,
    /// Packets that the device refused: it is down, or they are malformed.
    pub refused: u64,
}

/// Counters of a bearer, in datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BearerStatus {
    /// Counters of the bearer itself.
    #[serde(flatten)]
    pub counters: BearerCounters,
    /// Datagrams for which the socket had no room.
    pub without_room: u64,
    /// Connections of TLS, if there may be some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsCounters>,
}

impl<H: DrivenHost, D: PacketDevice, B: DatagramBearer> EventLoop<H, D, B> {
    /// Returns the reply to a client of the control socket, as JSON; `order` becomes what the host is to do, if the
    /// query orders that.
    pub(super) fn reply(&self, query: &Query, order: &mut Option<Input>) -> String {
        let now = clock::monotonic();
        let mut answer = |ordered: Result<Input, String>, done: Value| {
            let answer = ordered.map(|input| *order = Some(input));
            serde_json::to_string(&match answer {
                Ok(()) => done,
                Err(error) => json!({ "error": error }),
            })
        };
        // All consist of numbers and text, so their conversion to JSON cannot fail.
        match query {
            Query::Move { to } => {
                let ordered = self.gateway(to).map(Input::MoveTo);
                answer(ordered, json!({ "moving": true }))
            }
            Query::Compare => {
                let compares = self.host.compares_gateways().then_some(Input::Compare);
                let error = "this is no mobile host with several gateways, or it has `stay = true`";
                answer(compares.ok_or(error.into()), json!({ "comparing": true }))
            }
            Query::Announce { within, gateway } => {
                let ordered = self.announced(*within, gateway.as_deref());
                answer(ordered, json!({ "announced": true }))
            }
            Query::Drain { begins } => {
                let drains = self.host.is_drainable().then_some(Input::Drain(*begins));
                let error = "this host is no gateway of a site with several";
                answer(drains.ok_or(error.into()), json!({ "draining": begins }))
            }
            Query::Status { from } => serde_json::to_string(&self.status(now, *from)),
            Query::Summary { from } => serde_json::to_string(&Summary {
                version: env!("CARGO_PKG_VERSION").into(),
                uptime_s: self.uptime(now),
                host: self.host.summary(now, *from),
                names: self.names(),
            }),
        }
        .unwrap_or_default()
    }

    /// Returns what announces a hand-off to the host.
    fn announced(&self, within: Duration, gateway: Option<&str>) -> Result<Input, String> {
        if !self.host.is_mobile() {
            return Err("this is no mobile host".into());
        }
        let gateway = gateway.map(|name| self.gateway(name)).transpose()?;
        Ok(Input::HandoffAnnounced { within, gateway })
    }

    fn gateway(&self, name: &str) -> Result<PublicKey, String> {
        let known = self.host.gateway_named(name);
        known.ok_or_else(|| format!("this host knows no gateway '{name}'"))
    }

    fn names(&self) -> Option<NamesStatus> {
        self.work.names.as_ref().map(Names::status)
    }

    /// Returns the time since the start, in seconds.
    fn uptime(&self, now: Instant) -> f64 {
        now.since(self.started).as_millis() as f64 / 1e3
    }

    /// Returns the state of host, ports and loop, with a page of peers.
    fn status(&self, now: Instant, from: usize) -> Status<H::Status> {
        let counters = self.work.counters;
        Status {
            version: env!("CARGO_PKG_VERSION").into(),
            uptime_s: self.uptime(now),
            memory_most: self.memory_most(),
            busy: Some(self.load.share()),
            host: self.host.status(now, from),
            device: DeviceStatus {
                counters: self.ports.device.counters(),
                without_room: counters.packets_without_room,
                refused: counters.packets_refused,
            },
            bearer: BearerStatus {
                counters: self.ports.bearer.counters(),
                without_room: self.work.outbox.dropped(),
                tls: self.ports.bearer.tls_counters(),
            },
            split: self.host.split_status(),
            names: self.names(),
        }
    }
}
