//! Meters of the traffic of the last seconds, for the operator.

use arq::Stats;
use machine::RecentTotal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use crate::Association;

/// Time that rates cover.
const RATE_SPAN: Duration = Duration::from_secs(3);
/// Time that shares of lost frames cover.
const LOSS_SPAN: Duration = Duration::from_secs(60);

/// Traffic of the last three seconds, and losses of the last minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecentTraffic {
    /// Rate of content that the other end has received and acknowledged, in bits per second, without repetitions.
    pub to_peer_bits_per_s: u64,
    /// Rate of packets that have come from the other end, in bits per second, without repetitions.
    pub from_peer_bits_per_s: u64,
    /// Time that both rates cover, in milliseconds.
    pub span_ms: u64,
    /// Frames sent to the other end in the last minute.
    pub frames_sent: u64,
    /// Frames to the other end that were found lost on the air in that time, also in fades.
    pub frames_lost_on_air: u64,
}

impl Association {
    /// Returns the traffic of the last seconds.
    pub fn traffic(&self, now: Instant) -> RecentTraffic {
        self.recent.meters.traffic(now)
    }
}

/// Meters of one association.
#[derive(Debug)]
pub(crate) struct Meters {
    to_peer: RecentTotal,
    from_peer: RecentTotal,
    frames_sent: RecentTotal,
    frames_lost: RecentTotal,
    /// The counters that are in the meters.
    noted: Noted,
}

/// Counters since the start.
#[derive(Debug, Clone, Copy, Default)]
struct Noted {
    bytes_to_peer: u64,
    bytes_from_peer: u64,
    frames_sent: u64,
    frames_lost: u64,
}

impl Noted {
    fn of(stats: &Stats) -> Self {
        let causes = &stats.sent.causes;
        Self {
            bytes_to_peer: stats.sent.bytes_delivered,
            bytes_from_peer: stats.received.bytes,
            frames_sent: stats.sent.frames,
            frames_lost: causes.air + causes.fade,
        }
    }
}

impl Default for Meters {
    fn default() -> Self {
        Self {
            to_peer: RecentTotal::over(RATE_SPAN),
            from_peer: RecentTotal::over(RATE_SPAN),
            frames_sent: RecentTotal::over(LOSS_SPAN),
            frames_lost: RecentTotal::over(LOSS_SPAN),
            noted: Noted::default(),
        }
    }
}

impl Meters {
    /// Records the present counters.
    pub(crate) fn note(&mut self, now: Instant, stats: &Stats) {
        let (next, last) = (Noted::of(stats), self.noted);
        let meters = [
            (&mut self.to_peer, next.bytes_to_peer, last.bytes_to_peer),
            (
                &mut self.from_peer,
                next.bytes_from_peer,
                last.bytes_from_peer,
            ),
            (&mut self.frames_sent, next.frames_sent, last.frames_sent),
            (&mut self.frames_lost, next.frames_lost, last.frames_lost),
        ];
        for (meter, next, last) in meters {
            if next > last {
                meter.add(now, next - last);
            }
        }
        self.noted = next;
    }

    /// Returns the recent traffic.
    pub(crate) fn traffic(&self, now: Instant) -> RecentTraffic {
        let frames_sent = self.frames_sent.total(now);
        RecentTraffic {
            to_peer_bits_per_s: self.to_peer.rate(now).bits_per_second(),
            from_peer_bits_per_s: self.from_peer.rate(now).bits_per_second(),
            span_ms: self.to_peer.span(now).as_millis(),
            frames_sent,
            // A loss is found some time after the frame was sent.
            frames_lost_on_air: self.frames_lost.total(now).min(frames_sent),
        }
    }
}
