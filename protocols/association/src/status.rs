//! What an association tells its operator.

use air::Air;
use arq::{Arq, Stats};
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Instant};

use crate::streams::StreamStatus;
use crate::tcp::TcpMethod;

/// The state of the hop, as one end sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The rate of the hop in the sending direction, once it is given or measured.
    pub rate: Option<BitRate>,
    /// The hop's round trip, smoothed, once one has been measured.
    pub round_trip: Option<Duration>,
    /// The smallest round trip of late.
    pub round_trip_min: Option<Duration>,
    /// How long frames wait in the hop, once that has been measured.
    pub hop_queueing: Option<Duration>,
    /// How long a new packet of a bulk flow waits in this daemon, at the rate of the hop, where that is known.
    pub queue_delay: Option<Duration>,
    /// Bytes of packets that wait in this daemon.
    pub queued: Bytes,
    /// Bytes received that wait for something missing before them.
    pub held: Bytes,
    /// Flows from this end.
    pub flows: usize,
    /// For how long nothing has come through; zero while all is well.
    pub fading_for: Duration,
    /// Packets that were not IP.
    pub packets_malformed: u64,
    /// Packets of flows that were too many: from the other end they were dropped, to there they shared one flow.
    pub packets_of_refused_flows: u64,
    /// Bytes that this end holds for the other.
    pub memory: Bytes,
    /// How many it may hold.
    pub memory_most: Bytes,
    /// How TCP fares.
    pub tcp: TcpStatus,
    /// How streams fare, where TCP is split and they cross as MTCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<StreamStatus>,
    /// The longest packet that the path from here carries, once it has been found: of IP, or the payload of a link's
    /// frame.
    pub path_mtu_bytes: Option<usize>,
    /// The longest that has come from the other end.
    pub path_mtu_inwards_bytes: Option<usize>,
    /// Counts since the start.
    pub stats: Stats,
}

/// How TCP crosses, and what snoop has done for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpStatus {
    /// Who repairs it.
    pub method: TcpMethod,
    /// What snoop keeps at this end.
    pub cached: Bytes,
    /// What the agent has done, at the gateway.
    pub agent: Option<snoop::Counters>,
    /// What its counterpart has done, at the mobile host.
    pub mobile: Option<snoop::MobileCounters>,
}

impl TcpStatus {
    pub(crate) fn of(method: TcpMethod) -> Self {
        Self {
            method,
            cached: Bytes::ZERO,
            agent: None,
            mobile: None,
        }
    }
}

impl Status {
    /// What queues and air tell; the rest is for the association to add.
    pub(crate) fn of(now: Instant, arq: &Arq, (air, rate): (&Air, Option<BitRate>)) -> Self {
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
