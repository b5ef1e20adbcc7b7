//! The counters of one end of the hop.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant, Probability};

use crate::cause::LossCounts;
use crate::loss_share::LossShare;
use crate::sent_marks::EcnAbility;

/// Classes of burst lengths: 1, 2 to 3, 4 to 7, … transmissions.
pub const BURST_CLASSES: usize = 12;

/// Counters since the start, and the state of the hop, as one end sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    /// Counters of the sending direction.
    pub sent: SentStats,
    /// Counters of the receiving direction.
    pub received: ReceivedStats,
    /// Counters of congestion marks.
    pub ecn: EcnStats,
}

/// Counters of congestion marks in both directions (RFC 3168).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EcnStats {
    /// Ability of queues on the way to mark frames from this end.
    pub outwards: EcnAbility,
    /// Number of them that were marked, as the other end reports.
    pub frames_marked: u64,
    /// Frames that arrived marked at this end.
    pub frames_came_marked: u64,
    /// Packets that this end marked in its own queues, in place of dropping them or before it had to.
    pub packets_marked: u64,
}

/// Counters of the sending direction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentStats {
    /// Transmissions.
    pub frames: u64,
    /// Bytes on the wire of these frames.
    pub wire_bytes: u64,
    /// Transmissions that did not arrive.
    pub frames_lost: u64,
    /// Their causes, as far as delays show them.
    pub causes: LossCounts,
    /// Transmissions that were declared lost and arrived after all: the hop reorders. They do not count as lost.
    pub frames_late: u64,
    /// Runs of lost transmissions, by length: 1, 2 to 3, 4 to 7, ….
    pub bursts: [u64; BURST_CLASSES],
    /// Transmissions presumed lost because no acknowledgement came in time.
    pub frames_presumed_lost: u64,
    /// Bytes of content sent again.
    pub bytes_repeated: u64,
    /// Packets given up after their last try: losses that repair left over.
    pub packets_abandoned: u64,
    /// Packets dropped because a flow's queue was full.
    pub packets_dropped: u64,
    /// Packets dropped at the limit on memory ([`Config::memory`](crate::Config::memory)) or on all queues
    /// ([`Config::queue`](crate::Config::queue)).
    pub packets_capped: u64,
    /// TCP packets that repeated data which this end still had to deliver, and did not cross again.
    pub packets_held_already: u64,
    /// Packets that shared one flow because there were too many new flows.
    pub packets_in_common: u64,
    /// Fades: periods in which nothing came through.
    pub fades: u64,
    /// Their total length.
    pub faded: Duration,
    /// Total time by which acknowledgements of the other end were late: it had no processor.
    pub stalled_there: Duration,
    /// Bytes of packets accepted, of held flows.
    pub bytes_held: u64,
    /// Bytes of packets accepted, of all other flows.
    pub bytes_brief: u64,
    /// Bytes of content that the other end has acknowledged, each once: records of packets, whose headers are
    /// shortened, and packets of the split transport.
    pub bytes_delivered: u64,
    /// Invalid acknowledgements: they cover numbers that were never sent.
    pub acks_refused: u64,
}

/// Counters of the receiving direction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceivedStats {
    /// Frames received.
    pub frames: u64,
    /// Bytes on the wire of these frames.
    pub wire_bytes: u64,
    /// Transmissions that never arrived, by the gaps in their numbers.
    pub frames_missed: u64,
    /// Transmissions that arrived after later ones.
    pub frames_late: u64,
    /// Packets released.
    pub packets: u64,
    /// Bytes of the packets released.
    pub bytes: u64,
    /// Number of times that packets waited, since too many came at a time ([`Config::packets`](crate::Config)).
    pub turns_exhausted: u64,
    /// Chunks received before.
    pub chunks_repeated: u64,
    /// Chunks beyond a limit, or of a stream that cannot be read.
    pub chunks_refused: u64,
    /// Frames that could not be read to their end.
    pub frames_malformed: u64,
}

/// Monitor of losses: their share in both directions, and for the sending direction their bursts and the share of
/// isolated losses.
#[derive(Debug)]
pub(crate) struct LossMonitor {
    run: u64,
    /// Share of transmissions that are isolated losses, in 2⁻³², smoothed over about 500.
    lonely: u64,
    outwards: LossShare,
    inwards: LossShare,
}

/// Longest burst of losses that counts as isolated, and not as a fade.
const LONELY_MAX: u64 = 2;
const SMOOTHING: u64 = 512;
/// Share of isolated losses, 0.1 %, above which urgent packets are sent twice.
const NOISY: u64 = (1 << 32) / 1000;

impl Default for LossMonitor {
    /// Returns the monitor of a noisy hop, until some hundred transmissions have shown that it is not.
    fn default() -> Self {
        Self {
            run: 0,
            lonely: 2 * NOISY,
            outwards: LossShare::default(),
            inwards: LossShare::default(),
        }
    }
}

impl LossMonitor {
    /// Records the outcome of the next transmission; returns true at the end of a burst longer than [`LONELY_MAX`].
    pub(crate) fn note(&mut self, lost: bool, stats: &mut SentStats) -> bool {
        self.lonely -= self.lonely / SMOOTHING;
        self.outwards.note(lost);
        if lost {
            self.run += 1;
            stats.frames_lost += 1;
            return false;
        }
        let run = std::mem::take(&mut self.run);
        if run > 0 {
            let class = run.ilog2() as usize;
            stats.bursts[class.min(BURST_CLASSES - 1)] += 1;
            if run <= LONELY_MAX {
                self.lonely += run * ((1 << 32) / SMOOTHING);
            }
        }
        run > LONELY_MAX
    }

    /// Records a frame from the other end, and the number of lost frames before it.
    pub(crate) fn missed(&mut self, count: u64) {
        self.inwards.note_lost(count);
        self.inwards.note(false);
    }

    /// Corrects `count` losses that were only late, in the sending direction.
    pub(crate) fn forgive(&mut self, count: u64, stats: &mut SentStats) {
        (0..count).for_each(|_| self.outwards.forgive());
        stats.frames_lost = stats.frames_lost.saturating_sub(count);
        stats.frames_late += count;
    }

    /// Corrects one loss that was only late, in the receiving direction.
    pub(crate) fn forgive_missed(&mut self, stats: &mut ReceivedStats) {
        self.inwards.forgive();
        stats.frames_missed = stats.frames_missed.saturating_sub(1);
        stats.frames_late += 1;
    }

    /// Returns the share of losses in the direction that loses more, as far as it is known.
    pub(crate) fn share(&self) -> Option<Probability> {
        self.outwards.known().max(self.inwards.known())
    }

    /// Returns true if isolated losses are so many that urgent packets are sent twice.
    pub(crate) fn is_noisy(&self) -> bool {
        self.lonely > NOISY
    }
}

/// A period in which nothing comes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fade {
    pub(crate) since: Instant,
    /// Time until which fades were expected when this one began.
    pub(crate) expected_before: Option<Instant>,
}
