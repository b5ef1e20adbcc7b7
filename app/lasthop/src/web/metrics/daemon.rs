//! The metrics of the daemon as a whole.

use runtime::Status;
use session::DropCause;

use super::Metric;
use crate::web::poll::Answer;

/// Name of the metric whose labels describe the daemon.
pub(super) const INFO: &str = "lasthop_daemon_info";
/// Its meaning.
pub(super) const INFO_HELP: &str =
    "1; its labels are the version, the role (gateway or mobile) and the public key of the daemon";

/// All metrics of a status without those of its peers.
pub(super) fn metrics() -> impl Iterator<Item = &'static Metric<Status>> {
    [HOST, SPLIT].into_iter().flatten()
}

fn split(status: &Status) -> Option<&split::Counters> {
    status.split.as_ref().map(|split| &split.counters)
}

/// Returns the name of a cause as labels are written.
fn snake_case(name: &str) -> String {
    let mut label = String::new();
    for (place, letter) in name.chars().enumerate() {
        if letter.is_ascii_uppercase() && place > 0 {
            label.push('_');
        }
        label.push(letter.to_ascii_lowercase());
    }
    label
}

/// Metrics that are there also if the daemon does not answer.
pub(super) const ABOUT_THE_ANSWER: &[Metric<Answer>] = &[
    Metric {
        name: "lasthop_up",
        help: "1 if the daemon answered the last query for its status, otherwise 0; then there are no metrics of it",
        label: None,
        read: |answer, values| values.add(answer.status().is_some()),
    },
    Metric {
        name: "lasthop_status_age_seconds",
        help: "Time since the daemon last gave its status",
        label: None,
        read: |answer, values| values.add_known(answer.age().map(|age| age.as_secs_f64())),
    },
    Metric {
        name: "lasthop_status_duration_seconds",
        help: "Time that the last query for the status took",
        label: None,
        read: |answer, values| values.add(answer.took.as_secs_f64()),
    },
];

/// The host and its devices.
const HOST: &[Metric<Status>] = &[
    Metric {
        name: "lasthop_uptime_seconds",
        help: "Time since the start of the daemon",
        label: None,
        read: |status, values| values.add(status.uptime_s),
    },
    Metric {
        name: "lasthop_memory_bytes",
        help: "Memory that the daemon holds for its peers",
        label: None,
        read: |status, values| values.add(status.host.memory),
    },
    Metric {
        name: "lasthop_memory_limit_bytes",
        help: "Limit of the memory of the whole daemon",
        label: None,
        read: |status, values| values.add(status.memory_most),
    },
    Metric {
        name: "lasthop_busy_ratio",
        help: "Share of the time in which the daemon had work, in the last five seconds or more",
        label: None,
        read: |status, values| values.add_known(status.busy),
    },
    Metric {
        name: "lasthop_peers",
        help: "Peers that are configured or have joined",
        label: None,
        read: |status, values| values.add(status.host.peers.len()),
    },
    Metric {
        name: "lasthop_peers_connected",
        help: "Peers with keys",
        label: None,
        read: |status, values| {
            let peers = status.host.peers.iter();
            values.add(peers.filter(|peer| peer.keys_age.is_some()).count());
        },
    },
    Metric {
        name: "lasthop_datagrams_dropped_total",
        help: "Datagrams dropped on receiving, by cause; handshakes among them",
        label: Some("cause"),
        read: |status, values| {
            for cause in DropCause::ALL {
                let name = format!("{cause:?}");
                let dropped = status.host.datagrams_dropped.iter();
                let count = dropped
                    .filter(|(of, _)| *of == name)
                    .map(|(_, count)| count);
                values.add_for(snake_case(&name), count.sum::<u64>());
            }
        },
    },
    Metric {
        name: "lasthop_packets_unroutable_total",
        help: "Packets that belong to no peer",
        label: None,
        read: |status, values| values.add(status.host.packets_unroutable),
    },
    Metric {
        name: "lasthop_frames_unsent_total",
        help: "Frames that could not be sent for want of keys or of an address",
        label: None,
        read: |status, values| values.add(status.host.frames_unsent),
    },
    Metric {
        name: "lasthop_device_packets_total",
        help: "Packets of the TUN device: sent to the kernel, received from it",
        label: Some("direction"),
        read: |status, values| {
            values.add_for("sent", status.device.counters.sent);
            values.add_for("received", status.device.counters.received);
        },
    },
    Metric {
        name: "lasthop_device_packets_dropped_total",
        help: "Packets that the TUN device could not take, or that were malformed",
        label: Some("cause"),
        read: |status, values| {
            values.add_for("without_room", status.device.without_room);
            values.add_for("refused", status.device.refused);
            values.add_for("malformed", status.device.counters.malformed);
        },
    },
    Metric {
        name: "lasthop_bearer_datagrams_total",
        help: "Datagrams of the bearer",
        label: Some("direction"),
        read: |status, values| {
            values.add_for("sent", status.bearer.counters.sent);
            values.add_for("received", status.bearer.counters.received);
        },
    },
    Metric {
        name: "lasthop_bearer_datagrams_dropped_total",
        help: "Datagrams that the bearer could not send, or that were malformed",
        label: Some("cause"),
        read: |status, values| {
            values.add_for("without_room", status.bearer.without_room);
            values.add_for("too_large", status.bearer.counters.too_large);
            values.add_for("refused", status.bearer.counters.refused);
            values.add_for("malformed", status.bearer.counters.malformed);
        },
    },
    Metric {
        name: "lasthop_bearer_receive_errors_total",
        help: "Errors that the network reported, such as an unreachable port",
        label: None,
        read: |status, values| values.add(status.bearer.counters.receive_errors),
    },
    Metric {
        name: "lasthop_bearer_calls_total",
        help: "System calls of the bearer",
        label: Some("direction"),
        read: |status, values| {
            values.add_for("sent", status.bearer.counters.send_calls);
            values.add_for("received", status.bearer.counters.receive_calls);
        },
    },
];

/// Split TCP.
const SPLIT: &[Metric<Status>] = &[
    Metric {
        name: "lasthop_split_connections",
        help: "Split TCP connections that exist now; missing without split TCP",
        label: None,
        read: |status, values| values.add_known(split(status).map(|split| split.open)),
    },
    Metric {
        name: "lasthop_split_requests_total",
        help: "Requests for split TCP connections",
        label: None,
        read: |status, values| values.add_known(split(status).map(|split| split.asked)),
    },
    Metric {
        name: "lasthop_split_connections_joined_total",
        help: "Requests that led to a connection",
        label: None,
        read: |status, values| values.add_known(split(status).map(|split| split.joined)),
    },
    Metric {
        name: "lasthop_split_requests_refused_total",
        help: "Requests that led to none, by cause; challenged ones first had to prove their address",
        label: Some("cause"),
        read: |status, values| {
            if let Some(split) = split(status) {
                values.add_for("destination", split.refused);
                values.add_for("without_room", split.without_room);
                values.add_for("challenged", split.challenged);
                values.add_for("stranger", split.strangers);
            }
        },
    },
    Metric {
        name: "lasthop_split_connections_ended_total",
        help: "Split TCP connections that have ended, by outcome",
        label: Some("outcome"),
        read: |status, values| {
            if let Some(split) = split(status) {
                values.add_for("finished", split.finished);
                values.add_for("reset", split.reset);
                values.add_for("idle", split.idle);
            }
        },
    },
    Metric {
        name: "lasthop_split_bytes_total",
        help: "Bytes that split TCP connections carried",
        label: Some("direction"),
        read: |status, values| {
            if let Some(split) = split(status) {
                values.add_for("to_mobile", split.carried.bytes_to_mobiles);
                values.add_for("to_fixed", split.carried.bytes_to_fixed);
            }
        },
    },
];
