//! The metrics of each peer.

use association::StreamStatus;
use hosts::{LimitedBy, PeerStatus, Registration};
use wire::address::HopAddress;

use super::Metric;

/// All metrics of a peer.
pub(super) fn metrics() -> impl Iterator<Item = &'static Metric<PeerStatus>> {
    [PRESENCE, TRAFFIC, LOSSES, DROPPED, PRESENT, TCP]
        .into_iter()
        .flatten()
}

/// Returns the word for a cause, as `lasthop status --json` has it.
pub(in crate::web) fn word(cause: LimitedBy) -> String {
    match serde_json::to_value(cause) {
        Ok(serde_json::Value::String(word)) => word,
        _ => unreachable!("a cause is written as one word"),
    }
}

fn streams(peer: &PeerStatus) -> Option<&StreamStatus> {
    peer.hop.streams.as_ref()
}

/// Presence and verdict.
const PRESENCE: &[Metric<PeerStatus>] = &[
    Metric {
        name: "lasthop_peer_connected",
        help: "1 if there are keys with the peer, otherwise 0",
        label: None,
        read: |peer, values| values.add(peer.keys_age.is_some()),
    },
    Metric {
        name: "lasthop_peer_verdict",
        help: "1 for the cause that limits the hop now, 0 for all others",
        label: Some("verdict"),
        read: |peer, values| {
            for cause in LimitedBy::ALL {
                values.add_for(word(cause), peer.limit.by == cause);
            }
        },
    },
    Metric {
        name: "lasthop_peer_by_tls",
        help: "1 if TLS carries the hop, as a network on the way lets no UDP through, otherwise 0",
        label: None,
        read: |peer, values| values.add(matches!(peer.endpoint, Some(HopAddress::Tls(_)))),
    },
    Metric {
        name: "lasthop_peer_keys_age_seconds",
        help: "Age of the keys; missing without keys",
        label: None,
        read: |peer, values| values.add_known(peer.keys_age),
    },
    Metric {
        name: "lasthop_peer_heard_age_seconds",
        help: "Time since the last datagram from the peer; missing if it is not registered",
        label: None,
        read: |peer, values| {
            if let Registration::Registered { heard, .. } = peer.registration {
                values.add(heard);
            }
        },
    },
    Metric {
        name: "lasthop_peer_unreachable_seconds",
        help: "Time for which no datagram has been able to leave this host for the peer",
        label: None,
        read: |peer, values| values.add(peer.unreachable_for.unwrap_or_default()),
    },
    Metric {
        name: "lasthop_peer_fading_seconds",
        help: "Time for which nothing has come through; 0 outside fades",
        label: None,
        read: |peer, values| values.add(peer.hop.fading_for),
    },
];

/// Traffic.
const TRAFFIC: &[Metric<PeerStatus>] = &[
    Metric {
        name: "lasthop_peer_sent_bytes_total",
        help: "Bytes of packets accepted for the peer; bulk is TCP and UDP that keeps its order, brief is all else",
        label: Some("kind"),
        read: |peer, values| {
            values.add_for("bulk", peer.hop.stats.sent.bytes_held);
            values.add_for("brief", peer.hop.stats.sent.bytes_brief);
        },
    },
    Metric {
        name: "lasthop_peer_delivered_bytes_total",
        help: "Bytes of content that reached the peer, each once",
        label: None,
        read: |peer, values| values.add(peer.hop.stats.sent.bytes_delivered),
    },
    Metric {
        name: "lasthop_peer_received_bytes_total",
        help: "Bytes of packets from the peer that were passed on",
        label: None,
        read: |peer, values| values.add(peer.hop.stats.received.bytes),
    },
    Metric {
        name: "lasthop_peer_received_packets_total",
        help: "Packets from the peer that were passed on",
        label: None,
        read: |peer, values| values.add(peer.hop.stats.received.packets),
    },
    Metric {
        name: "lasthop_peer_air_bytes_total",
        help: "Bytes of frames on the hop, with repairs and headers",
        label: Some("direction"),
        read: |peer, values| {
            values.add_for("sent", peer.hop.stats.sent.wire_bytes);
            values.add_for("received", peer.hop.stats.received.wire_bytes);
        },
    },
    Metric {
        name: "lasthop_peer_air_frames_total",
        help: "Frames on the hop",
        label: Some("direction"),
        read: |peer, values| {
            values.add_for("sent", peer.hop.stats.sent.frames);
            values.add_for("received", peer.hop.stats.received.frames);
        },
    },
];

/// Losses on the hop, and repairs.
const LOSSES: &[Metric<PeerStatus>] = &[
    Metric {
        name: "lasthop_peer_frames_lost_total",
        help: "Frames sent that did not arrive, by cause",
        label: Some("cause"),
        read: |peer, values| {
            values.add_for("fade", peer.hop.stats.sent.causes.fade);
            values.add_for("air", peer.hop.stats.sent.causes.air);
            values.add_for("congestion", peer.hop.stats.sent.causes.congestion);
            values.add_for("unknown", peer.hop.stats.sent.causes.unknown);
        },
    },
    Metric {
        name: "lasthop_peer_frames_missed_total",
        help: "Frames of the peer that did not arrive here",
        label: None,
        read: |peer, values| values.add(peer.hop.stats.received.frames_missed),
    },
    Metric {
        name: "lasthop_peer_frames_late_total",
        help: "Frames that arrived after later ones",
        label: Some("direction"),
        read: |peer, values| {
            values.add_for("sent", peer.hop.stats.sent.frames_late);
            values.add_for("received", peer.hop.stats.received.frames_late);
        },
    },
    Metric {
        name: "lasthop_peer_frames_marked_total",
        help: "Frames that arrived with a congestion mark (ECN)",
        label: Some("direction"),
        read: |peer, values| {
            values.add_for("sent", peer.hop.stats.ecn.frames_marked);
            values.add_for("received", peer.hop.stats.ecn.frames_came_marked);
        },
    },
    Metric {
        name: "lasthop_peer_repaired_bytes_total",
        help: "Bytes that were sent again",
        label: None,
        read: |peer, values| values.add(peer.hop.stats.sent.bytes_repeated),
    },
    Metric {
        name: "lasthop_peer_fades_total",
        help: "Fades: periods in which nothing came through",
        label: None,
        read: |peer, values| values.add(peer.hop.stats.sent.fades),
    },
    Metric {
        name: "lasthop_peer_faded_seconds_total",
        help: "Total length of the fades that have ended",
        label: None,
        read: |peer, values| values.add(peer.hop.stats.sent.faded),
    },
    Metric {
        name: "lasthop_peer_stalled_there_seconds_total",
        help: "Total time by which acknowledgements of the peer were late, as it had no processor",
        label: None,
        read: |peer, values| values.add(peer.hop.stats.sent.stalled_there),
    },
];

/// What was dropped or refused.
const DROPPED: &[Metric<PeerStatus>] = &[
    Metric {
        name: "lasthop_peer_packets_lost_total",
        help: "Packets for the peer that were given up after their last repair",
        label: None,
        read: |peer, values| values.add(peer.hop.stats.sent.packets_abandoned),
    },
    Metric {
        name: "lasthop_peer_packets_dropped_total",
        help: "Packets for the peer that were dropped here: a full queue of a flow, no memory",
        label: Some("cause"),
        read: |peer, values| {
            values.add_for("queue", peer.hop.stats.sent.packets_dropped);
            values.add_for("memory", peer.hop.stats.sent.packets_capped);
        },
    },
    Metric {
        name: "lasthop_peer_packets_refused_total",
        help: "Packets of the peer that were refused: a foreign source address, no IP, too many flows",
        label: Some("cause"),
        read: |peer, values| {
            values.add_for("address", peer.packets_refused);
            values.add_for("malformed", peer.hop.packets_malformed);
            values.add_for("flows", peer.hop.packets_of_refused_flows);
        },
    },
    Metric {
        name: "lasthop_peer_packets_not_repeated_total",
        help: "TCP packets that repeated data which this end still had to deliver, and did not cross again",
        label: None,
        read: |peer, values| values.add(peer.hop.stats.sent.packets_held_already),
    },
    Metric {
        name: "lasthop_peer_packets_in_common_total",
        help: "Packets that shared one flow, as there were too many new flows",
        label: None,
        read: |peer, values| values.add(peer.hop.stats.sent.packets_in_common),
    },
    Metric {
        name: "lasthop_peer_packets_marked_total",
        help: "Packets that this end marked in its own queue (ECN)",
        label: None,
        read: |peer, values| values.add(peer.hop.stats.ecn.packets_marked),
    },
    Metric {
        name: "lasthop_peer_turns_exhausted_total",
        help: "Times that packets of the peer waited, as too many came at a time",
        label: None,
        read: |peer, values| values.add(peer.hop.stats.received.turns_exhausted),
    },
    Metric {
        name: "lasthop_peer_chunks_refused_total",
        help: "Chunks of the peer beyond a limit, or of a stream that cannot be read",
        label: None,
        read: |peer, values| values.add(peer.hop.stats.received.chunks_refused),
    },
    Metric {
        name: "lasthop_peer_chunks_repeated_total",
        help: "Chunks of the peer that had been received before",
        label: None,
        read: |peer, values| values.add(peer.hop.stats.received.chunks_repeated),
    },
    Metric {
        name: "lasthop_peer_frames_malformed_total",
        help: "Frames of the peer that could not be read to their end",
        label: None,
        read: |peer, values| values.add(peer.hop.stats.received.frames_malformed),
    },
    Metric {
        name: "lasthop_peer_acks_refused_total",
        help: "Acknowledgements of the peer for frames that were never sent",
        label: None,
        read: |peer, values| values.add(peer.hop.stats.sent.acks_refused),
    },
];

/// The hop and its queues now.
const PRESENT: &[Metric<PeerStatus>] = &[
    Metric {
        name: "lasthop_peer_rate_bytes_per_second",
        help: "Rate of the hop to the peer, as measured or configured; missing before",
        label: None,
        read: |peer, values| {
            let rate = peer
                .hop
                .rate
                .map(|rate| rate.bits_per_second() as f64 / 8.0);
            values.add_known(rate);
        },
    },
    Metric {
        name: "lasthop_peer_round_trip_seconds",
        help: "Smoothed round-trip time of the hop",
        label: None,
        read: |peer, values| values.add_known(peer.hop.round_trip),
    },
    Metric {
        name: "lasthop_peer_round_trip_min_seconds",
        help: "Smallest recent round-trip time of the hop",
        label: None,
        read: |peer, values| values.add_known(peer.hop.round_trip_min),
    },
    Metric {
        name: "lasthop_peer_hop_queueing_seconds",
        help: "Time that frames wait on the hop",
        label: None,
        read: |peer, values| values.add_known(peer.hop.hop_queueing),
    },
    Metric {
        name: "lasthop_peer_queue_delay_seconds",
        help: "Time that a new packet of a bulk flow waits in this daemon",
        label: None,
        read: |peer, values| values.add_known(peer.hop.queue_delay),
    },
    Metric {
        name: "lasthop_peer_queued_bytes",
        help: "Bytes of packets that wait in this daemon",
        label: None,
        read: |peer, values| values.add(peer.hop.queued),
    },
    Metric {
        name: "lasthop_peer_held_bytes",
        help: "Bytes received that wait for missing data before them",
        label: None,
        read: |peer, values| values.add(peer.hop.held),
    },
    Metric {
        name: "lasthop_peer_flows",
        help: "Flows from this end",
        label: None,
        read: |peer, values| values.add(peer.hop.flows),
    },
    Metric {
        name: "lasthop_peer_path_mtu_bytes",
        help: "Longest packet that the path carries, once it is known",
        label: Some("direction"),
        read: |peer, values| {
            for (direction, length) in [
                ("sent", peer.hop.path_mtu_bytes),
                ("received", peer.hop.path_mtu_inwards_bytes),
            ] {
                if let Some(length) = length {
                    values.add_for(direction, length);
                }
            }
        },
    },
    Metric {
        name: "lasthop_peer_memory_bytes",
        help: "Memory held for the peer",
        label: None,
        read: |peer, values| values.add(peer.hop.memory),
    },
    Metric {
        name: "lasthop_peer_memory_limit_bytes",
        help: "Limit of the memory for the peer",
        label: None,
        read: |peer, values| values.add(peer.hop.memory_most),
    },
];

/// TCP, and a shared air.
const TCP: &[Metric<PeerStatus>] = &[
    Metric {
        name: "lasthop_peer_streams",
        help: "Connections that cross the hop by MTCP",
        label: None,
        read: |peer, values| values.add_known(streams(peer).map(|streams| streams.connections)),
    },
    Metric {
        name: "lasthop_peer_stream_sent_bytes_total",
        help: "Bytes of data sent by MTCP, repairs included",
        label: None,
        read: |peer, values| {
            values.add_known(streams(peer).map(|streams| streams.counters.traffic.sent.bytes));
        },
    },
    Metric {
        name: "lasthop_peer_stream_received_bytes_total",
        help: "Bytes of data received by MTCP, in order",
        label: None,
        read: |peer, values| {
            values.add_known(streams(peer).map(|streams| streams.counters.traffic.received.bytes));
        },
    },
    Metric {
        name: "lasthop_peer_stream_repaired_bytes_total",
        help: "Bytes of data that MTCP sent again",
        label: None,
        read: |peer, values| {
            values.add_known(
                streams(peer).map(|streams| streams.counters.traffic.sent.repaired_bytes),
            );
        },
    },
    Metric {
        name: "lasthop_peer_snoop_repairs_total",
        help: "TCP segments that snoop sent again at this end",
        label: None,
        read: |peer, values| {
            let tcp = &peer.hop.tcp;
            let agent = tcp.agent.as_ref().map(|agent| agent.repairs);
            values.add_known(agent.or_else(|| tcp.mobile.as_ref().map(|mobile| mobile.repairs)));
        },
    },
    Metric {
        name: "lasthop_peer_snoop_cached_bytes",
        help: "Bytes in the cache of snoop",
        label: None,
        read: |peer, values| values.add(peer.hop.tcp.cached),
    },
    Metric {
        name: "lasthop_peer_airtime_seconds_total",
        help: "Airtime used for the peer, if it shares the air with others",
        label: None,
        read: |peer, values| values.add_known(peer.air.map(|air| air.scheduling.airtime)),
    },
    Metric {
        name: "lasthop_peer_airtime_share_ratio",
        help: "Share of the recent airtime, from 0 to 1",
        label: None,
        read: |peer, values| values.add_known(peer.air.map(|air| air.airtime_share.as_f64())),
    },
    Metric {
        name: "lasthop_peer_air_turns_total",
        help: "Times that the peer was served on a shared air",
        label: None,
        read: |peer, values| values.add_known(peer.air.map(|air| air.scheduling.served)),
    },
    Metric {
        name: "lasthop_peer_air_wait_seconds",
        help: "Age of the oldest bytes that wait for the peer on a shared air",
        label: None,
        read: |peer, values| values.add_known(peer.air.map(|air| air.queue_delay)),
    },
];
