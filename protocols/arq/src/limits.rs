//! How much one end may keep, and how that is divided.

use units::{BitRate, Bytes, Duration};

use crate::controlled_delay::Standing;

/// What one end may keep, at least: less would not hold what a peer may have open (`docs/hop-frame.md`, "Limits").
pub const MEMORY_LEAST: Bytes = Bytes::mebi(16);
/// What a packet costs beside the storage of its buffer, in bytes: its place in queues that have grown to twice their
/// length, what is noted of it there and by who waits for it, and what an allocator adds.
pub(crate) const PACKET: usize = 320;
/// What a received part costs beside the storage of its buffer, in bytes.
pub(crate) const PART: usize = 112;
/// Place of an entry in a tree, in bytes, beside the entry.
pub(crate) const NODE: usize = 64;
/// Transmissions remembered, and what they carry, at most.
const TRANSMISSIONS_MAX: usize = 32_768;
/// Flows from one end, at most.
const FLOWS_MAX: usize = 8_192;
/// Brief packets on their way, at most.
const BRIEF_MAX: usize = 4_096;
/// A full frame has fewer contents.
const CONTENTS_OF_A_FRAME: usize = 512;

/// A wait that no round trip is too short for (RFC 8033 §4.1: the reference of 15 ms), and what a sender takes to
/// react at least (RFC 8289 §4.3).
const STANDING: Duration = Duration::from_millis(15);
const REACTION: Duration = Duration::from_millis(100);
const TWO_PACKETS: Bytes = Bytes::new(3_000);

/// How much a flow may queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueLimits {
    /// Bytes that wait in one flow before its sender is told.
    pub(crate) bytes: usize,
    /// How long the sender takes to react.
    pub(crate) interval: Duration,
    /// What is a queue that stands, for flows whose packets can be marked.
    pub(crate) standing: Standing,
}

impl QueueLimits {
    /// Before the rate of the hop is known.
    pub(crate) const UNKNOWN: Self = Self {
        bytes: 4 << 20,
        interval: Duration::from_millis(300),
        standing: Standing::NEVER,
    };

    /// A bulk flow may queue as much as its own round trip with one repair and a second one to
    /// spare, so that a sender that halves its window still keeps the hop busy.
    ///
    /// One whose packets can be marked is told of less, since a mark repeats nothing: of a wait of half the hop's
    /// round trip, which a sender that goes down to 0.7 of its window (RFC 9438 §4.6) needs to keep the hop busy,
    /// and of [`STANDING`] and two packets at least.
    pub(crate) fn new(rate: BitRate, round_trip: Duration) -> Self {
        let time = (round_trip * 3).max(Duration::from_millis(200));
        let bytes = rate.bytes_in(time).get().clamp(48 << 10, 12 << 20) as usize;
        Self {
            bytes,
            interval: time,
            standing: Standing {
                target: (round_trip / 2)
                    .max(STANDING)
                    .max(rate.time_for(TWO_PACKETS)),
                interval: (round_trip * 2).max(REACTION),
            },
        }
    }
}

/// The parts of what one end may keep: six sixteenths for packets from this end, one for what is noted of their ranges,
/// seven for what has come, and two for the other tables, which these numbers of entries keep to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares {
    /// Bytes of packets from this end that wait or are not confirmed, with all that is noted of them.
    pub(crate) outgoing: usize,
    /// With so many bytes of them, which ranges that are noted apart bring about, nothing new is sent.
    pub(crate) noted: usize,
    /// Bytes of what has come and cannot be released yet.
    pub(crate) incoming: usize,
    /// Flows from this end.
    pub(crate) flows: usize,
    /// Brief packets on their way; beyond it the flows that send them wait.
    pub(crate) brief: usize,
    /// Transmissions whose fate is not known.
    pub(crate) transmissions: usize,
    /// What they carry.
    pub(crate) contents: usize,
    /// Bytes of packets that wait for their first transmission.
    pub(crate) queue: usize,
}

impl Shares {
    /// The parts of `memory`, where so much may wait for its first transmission.
    pub(crate) fn new(memory: Bytes, queue: Bytes) -> Self {
        let most = usize::try_from(memory.max(MEMORY_LEAST).get()).unwrap_or(usize::MAX);
        let part = most / 16;
        let transmissions = (most / 2_048).min(TRANSMISSIONS_MAX);
        Self {
            outgoing: part * 6,
            noted: part * 7,
            incoming: part * 7,
            flows: (most / 8_192).min(FLOWS_MAX),
            brief: (most / 16_384).min(BRIEF_MAX),
            transmissions,
            contents: transmissions * 2 - CONTENTS_OF_A_FRAME,
            queue: usize::try_from(queue.get()).unwrap_or(usize::MAX),
        }
    }
}
