//! The limits on the memory of one end, and its division.

use units::{BitRate, Bytes, Duration};

use crate::controlled_delay::CodelParameters;

/// Least memory of one end: less could not hold the state that a peer may open (`docs/hop-frame.md`, "Limits").
pub const MEMORY_LEAST: Bytes = Bytes::mebi(16);
/// Bytes that a packet costs beside its buffer: its place in queues that have grown to twice their length, the
/// records about it there and in the lists of waiting flows, and the allocator's overhead.
pub(crate) const PACKET: usize = 320;
/// Bytes that a received part costs beside its buffer.
pub(crate) const PART: usize = 112;
/// Bytes that an entry in a tree costs beside the entry.
pub(crate) const NODE: usize = 64;
/// Bytes of memory for each transmission remembered, for each flow, and for each brief packet in flight.
const TRANSMISSION: usize = 2_048;
const FLOW: usize = 8_192;
const BRIEF: usize = 16_384;
/// Most transmissions remembered.
const TRANSMISSIONS_MAX: usize = 32_768;
/// Most flows from one end.
const FLOWS_MAX: usize = 8_192;
/// Most brief packets in flight.
const BRIEF_MAX: usize = 4_096;
/// Upper bound on the contents of a full frame.
const CONTENTS_OF_A_FRAME: usize = 512;

/// Queueing delay that is acceptable at any round-trip time (RFC 8033 §4.1: the reference of 15 ms), and the least
/// time that a sender takes to react (RFC 8289 §4.3).
const STANDING: Duration = Duration::from_millis(15);
const REACTION: Duration = Duration::from_millis(100);
const TWO_PACKETS: Bytes = Bytes::new(3_000);

/// Limits on the queue of a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueLimits {
    /// Bytes that may wait in one flow before its sender gets a congestion signal.
    pub(crate) bytes: usize,
    /// Time that the sender takes to react.
    pub(crate) interval: Duration,
    /// Parameters of a standing queue, for flows whose packets can be marked.
    pub(crate) standing: CodelParameters,
}

impl QueueLimits {
    /// Limits while the rate of the hop is not known.
    pub(crate) const UNKNOWN: Self = Self {
        bytes: 4 << 20,
        interval: Duration::from_millis(300),
        standing: CodelParameters::NEVER,
    };

    /// Returns the limits for a bulk flow: its own round trip with one repair and a second one to spare, so that a
    /// sender that halves its window still keeps the hop busy.
    ///
    /// A flow whose packets can be marked gets a signal earlier, since a mark repeats nothing: at a wait of half the
    /// hop's round trip, which a sender that goes down to 0.7 of its window (RFC 9438 §4.6) needs to keep the hop
    /// busy, but not below [`STANDING`] and two packets.
    pub(crate) fn new(rate: BitRate, round_trip: Duration) -> Self {
        let time = (round_trip * 3).max(Duration::from_millis(200));
        let bytes = rate.bytes_in(time).get().clamp(48 << 10, 12 << 20) as usize;
        Self {
            bytes,
            interval: time,
            standing: CodelParameters {
                target: (round_trip / 2)
                    .max(STANDING)
                    .max(rate.time_for(TWO_PACKETS)),
                interval: (round_trip * 2).max(REACTION),
            },
        }
    }
}

/// Use of the resources that a [`Shares`] bounds, in bytes and in entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Use {
    pub(crate) outgoing: usize,
    pub(crate) incoming: usize,
    pub(crate) flows: usize,
    pub(crate) brief: usize,
    pub(crate) transmissions: usize,
    pub(crate) contents: usize,
}

impl Use {
    /// Returns the least memory whose shares hold this.
    pub(crate) fn memory(&self) -> usize {
        let bytes = (self.outgoing / 6).max(self.incoming / 7) * 16;
        let entries = (self.flows * FLOW).max(self.brief * BRIEF);
        let transmissions = self.transmissions.max(self.contents / 2) * TRANSMISSION;
        bytes.max(entries).max(transmissions)
    }
}

/// Division of the memory of one end: six sixteenths for packets from this end, one for the records about their
/// ranges, seven for received data, and two for the other tables, which the limits on entries below bound.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares {
    /// Bytes of packets from this end that wait or are not confirmed, with all records about them.
    pub(crate) outgoing: usize,
    /// Bytes of them at which nothing new is sent, since the records of separate ranges cost memory too.
    pub(crate) noted: usize,
    /// Bytes of received data that cannot be released yet.
    pub(crate) incoming: usize,
    /// Most flows from this end.
    pub(crate) flows: usize,
    /// Most brief packets in flight; beyond it the flows that send them wait.
    pub(crate) brief: usize,
    /// Most transmissions that are neither acknowledged nor lost.
    pub(crate) transmissions: usize,
    /// Most contents that they carry.
    pub(crate) contents: usize,
    /// Most bytes of packets that wait for their first transmission.
    pub(crate) queue: usize,
}

impl Shares {
    /// Divides `memory`; at most `queue` bytes wait for their first transmission.
    pub(crate) fn new(memory: Bytes, queue: Bytes) -> Self {
        let most = usize::try_from(memory.get()).unwrap_or(usize::MAX);
        let part = most / 16;
        let transmissions = (most / TRANSMISSION).clamp(1, TRANSMISSIONS_MAX);
        Self {
            outgoing: part * 6,
            noted: part * 7,
            incoming: part * 7,
            flows: (most / FLOW).min(FLOWS_MAX),
            brief: (most / BRIEF).clamp(1, BRIEF_MAX),
            transmissions,
            contents: (transmissions * 2)
                .saturating_sub(CONTENTS_OF_A_FRAME)
                .max(1),
            queue: usize::try_from(queue.get()).unwrap_or(usize::MAX),
        }
    }
}
