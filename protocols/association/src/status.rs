//! The status of an association for its operator.

use air::Air;
use arq::{Arq, Stats};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Instant};

use crate::streams::StreamStatus;
use crate::tcp::{TcpMethod, TcpStatus};

/// The state of the hop, as one end sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// The rate of the hop in the sending direction, once it is given or measured.
    pub rate: Option<BitRate>,
    /// Smoothed round-trip time of the hop, once one has been measured.
    pub round_trip: Option<Duration>,
    /// Smallest recent round-trip time.
    pub round_trip_min: Option<Duration>,
    /// Time that frames wait in the hop, once it has been measured.
    pub hop_queueing: Option<Duration>,
    /// Time that a new packet of a bulk flow waits in this daemon, at the rate of the hop, if that is known.
    pub queue_delay: Option<Duration>,
    /// Bytes of packets that wait in this daemon.
    pub queued: Bytes,
    /// Bytes received that wait for missing data before them.
    pub held: Bytes,
    /// Flows from this end.
    pub flows: usize,
    /// Time for which nothing has come through; zero while there is no fade.
    pub fading_for: Duration,
    /// Packets that were not IP.
    pub packets_malformed: u64,
    /// Packets of flows beyond the limit: those from the other end were dropped, those to there shared one flow.
    pub packets_of_refused_flows: u64,
    /// Bytes of memory that this end holds for the other.
    pub memory: Bytes,
    /// Limit on that memory.
    pub memory_most: Bytes,
    /// State of TCP.
    pub tcp: TcpStatus,
    /// State of the streams, if TCP is split and crosses as MTCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<StreamStatus>,
    /// Path MTU from here, once it has been found, in bytes: of IP, or of the payload of a link's frame.
    pub path_mtu_bytes: Option<usize>,
    /// Length of the longest packet from the other end, in bytes.
    pub path_mtu_inwards_bytes: Option<usize>,
    /// Counters since the start.
    pub stats: Stats,
}

impl Status {
    /// Returns the status of queues and air; the association adds the rest.
    pub(crate) fn of(now: Instant, arq: &Arq, air: &Air, rate: Option<BitRate>) -> Self {
        let round_trip_min = arq.measured_round_trip();
        Self {
            rate,
            round_trip: round_trip_min.map(|_| arq.round_trip().0),
            round_trip_min,
            hop_queueing: air.learned_at().map(|_| air.queueing()),
            queue_delay: rate.map(|rate| rate.time_for(arq.queued())),
            queued: arq.queued(),
            held: arq.held(),
            flows: arq.flows(),
            fading_for: arq
                .fade_since()
                .map_or(Duration::ZERO, |since| now.since(since)),
            packets_malformed: 0,
            packets_of_refused_flows: 0,
            memory: arq.memory(),
            memory_most: arq.memory(),
            tcp: TcpStatus::of(TcpMethod::Arq),
            streams: None,
            path_mtu_bytes: arq.path().found(),
            path_mtu_inwards_bytes: arq.path().received_most(),
            stats: arq.stats(),
        }
    }
}
