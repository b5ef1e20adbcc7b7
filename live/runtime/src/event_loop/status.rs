//! How the loop does, for `lasthop status`.

use edges::bearer::{BearerCounters, DatagramBearer};
use edges::clock;
use edges::tun::{DeviceCounters, PacketDevice};
use serde_json::{Value, json};

use super::{EventLoop, LoopCounters};
use crate::host::Driven;
use crate::outbox::Outbox;

impl<H: Driven, D: PacketDevice, B: DatagramBearer> EventLoop<H, D, B> {
    /// How host, ports and loop do.
    pub(super) fn status(&self) -> Value {
        let now = clock::monotonic();
        let mut status = json!({
            "memory_most": self.memory_most(),
            "version": env!("CARGO_PKG_VERSION"),
            "uptime_s": now.since(self.started).as_millis() as f64 / 1e3,
            "host": self.host.status(now),
            "device": device_status(self.ports.device.counters(), self.work.counters),
            "bearer": bearer_status(self.ports.bearer.counters(), &self.work.outbox),
        });
        if let Some(split) = self.host.split_status() {
            status["split"] = serde_json::to_value(split).unwrap_or_default();
        }
        status
    }
}

fn device_status(device: DeviceCounters, counters: LoopCounters) -> Value {
    json!({
        "received": device.received,
        "sent": device.sent,
        "malformed": device.malformed,
        "without_room": counters.packets_without_room,
        "refused": counters.packets_refused,
    })
}

fn bearer_status(bearer: BearerCounters, outbox: &Outbox) -> Value {
    json!({
        "received": bearer.received,
        "sent": bearer.sent,
        "too_large": bearer.too_large,
        "refused": bearer.refused,
        "receive_errors": bearer.receive_errors,
        "malformed": bearer.malformed,
        "without_room": outbox.dropped(),
        "send_calls": bearer.send_calls,
        "receive_calls": bearer.receive_calls,
    })
}
