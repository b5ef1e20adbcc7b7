//! What one end of the hop has counted.

use serde::{Deserialize, Serialize};
use units::{Duration, Instant, Probability};

use crate::cause::LossCounts;
use crate::loss_share::LossShare;
use crate::sent_marks::EcnAbility;

/// Classes of burst lengths: 1, 2 to 3, 4 to 7, … transmissions.
pub const BURST_CLASSES: usize = 12;

/// Counts since the start, and the state of the hop, as one end sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// What this end sent.
    pub sent: SentStats,
    /// What this end received.
    pub received: ReceivedStats,
    /// Congestion marks.
    pub ecn: EcnStats,
}

/// Congestion marks in both directions (RFC 3168).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EcnStats {
    /// Whether frames from this end are able to be marked by queues on the way.
    pub outwards: EcnAbility,
    /// Those of them that were, as the other end tells.
    pub frames_marked: u64,
    /// Frames that came marked to this end.
    pub frames_came_marked: u64,
    /// Packets that this end marked in its own queues, in place of dropping them or before it had to.
    pub packets_marked: u64,
}

/// The sending direction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentStats {
    /// Transmissions.
    pub frames: u64,
    /// Their bytes on the wire.
    pub wire_bytes: u64,
    /// Transmissions that did not arrive.
    pub frames_lost: u64,
    /// Why, as far as delays tell.
    pub causes: LossCounts,
    /// Transmissions taken for lost that arrived after all, too late: the hop reorders. They do not count as lost.
    pub frames_late: u64,
    /// Runs of lost transmissions, by length: 1, 2 to 3, 4 to 7, ….
    pub bursts: [u64; BURST_CLASSES],
    /// Transmissions presumed lost because no acknowledgement came in time.
    pub frames_presumed_lost: u64,
    /// Bytes of content sent again.
    pub bytes_repeated: u64,
    /// Packets given up after their last try: what repair left over.
    pub packets_abandoned: u64,
    /// Packets dropped because a flow's queue was full.
    pub packets_dropped: u64,
    /// Packets dropped because this end may keep no more for the other, or let no more wait.
    pub packets_capped: u64,
    /// Packets of TCP that repeated what this end still had to deliver, and did not cross again.
    pub packets_held_already: u64,
    /// Packets that had no flow of their own, since there were too many new ones: they shared one.
    pub packets_in_common: u64,
    /// Fades: times in which nothing came through.
    pub fades: u64,
    /// Their total length.
    pub faded: Duration,
    /// How late the other end acknowledged what had reached it, in all: it had no processor.
    pub stalled_there: Duration,
    /// Bytes of packets taken in, of flows that are held and of brief ones.
    pub bytes_held: u64,
    /// See above.
    pub bytes_brief: u64,
    /// Acknowledgements that make no sense: they name what was never sent.
    pub acks_refused: u64,
}

/// The receiving direction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceivedStats {
    /// Frames.
    pub frames: u64,
    /// Their bytes on the wire.
    pub wire_bytes: u64,
    /// Transmissions that never arrived, judged by the gaps in their numbers.
    pub frames_missed: u64,
    /// Transmissions that arrived after later ones.
    pub frames_late: u64,
    /// Packets released, and their bytes.
    pub packets: u64,
    /// See above.
    pub bytes: u64,
    /// Chunks that had been received before.
    pub chunks_repeated: u64,
    /// Chunks beyond a limit, or of a stream that cannot be read.
    pub chunks_refused: u64,
    /// Frames that could not be read to their end.
    pub frames_malformed: u64,
}

/// Watches losses: how many there are, and of the sending direction their bursts and how often they stand alone.
#[derive(Debug)]
pub(crate) struct LossMonitor {
    run: u64,
    /// Share of transmissions lost on their own, in 2⁻³², smoothed over about 500.
    lonely: u64,
    outwards: LossShare,
    inwards: LossShare,
}

/// A burst up to this length is no fade.
const LONELY_MAX: u64 = 2;
const SMOOTHING: u64 = 512;
/// Above this share of lonely losses, 0.1 %, what must not wait is better sent twice.
const NOISY: u64 = (1 << 32) / 1000;

impl Default for LossMonitor {
    /// A hop counts as noisy until some hundred transmissions have shown that it is not.
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
    /// Notes the fate of the next transmission; true at the end of losses that do not stand alone.
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

    /// Notes that a frame came from the other end, and how many before it did not.
    pub(crate) fn missed(&mut self, count: u64) {
        self.inwards.note_lost(count);
        self.inwards.note(false);
    }

    /// So many of those noted as lost were only late, in the sending direction.
    pub(crate) fn forgive(&mut self, count: u64, stats: &mut SentStats) {
        (0..count).for_each(|_| self.outwards.forgive());
        stats.frames_lost = stats.frames_lost.saturating_sub(count);
        stats.frames_late += count;
    }

    /// The same of one, in the receiving direction.
    pub(crate) fn forgive_missed(&mut self, stats: &mut ReceivedStats) {
        self.inwards.forgive();
        stats.frames_missed = stats.frames_missed.saturating_sub(1);
        stats.frames_late += 1;
    }

    /// The share that is lost in the direction that loses more, as far as that is known.
    pub(crate) fn share(&self) -> Option<Probability> {
        self.outwards.known().max(self.inwards.known())
    }

    /// Whether lonely losses are so many that what must not wait is better sent twice.
    pub(crate) fn is_noisy(&self) -> bool {
        self.lonely > NOISY
    }
}

/// A time in which nothing comes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fade {
    pub(crate) since: Instant,
    /// Until when others were expected already.
    pub(crate) expected_before: Option<Instant>,
}
