//! What an endpoint has done.

/// What an [`Endpoint`](crate::Endpoint) has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// What it sent.
    pub sent: Sent,
    /// What it received.
    pub received: Received,
    /// How it recovered from losses.
    pub recovered: Recovered,
}

/// What went out. Bytes are those of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sent {
    /// Segments of any kind.
    pub segments: u64,
    /// Segments with data.
    pub data_segments: u64,
    /// Data, every transmission counted.
    pub bytes: u64,
    /// Segments with data that had been sent before, as a whole or in part.
    pub retransmitted_segments: u64,
    /// Data that had been sent before.
    pub retransmitted_bytes: u64,
    /// Acknowledgements without data.
    pub acknowledgments: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
}

/// What came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Received {
    /// Segments of this connection.
    pub segments: u64,
    /// Segments of others.
    pub foreign: u64,
    /// Segments whose numbers lie outside of what could be expected.
    pub unacceptable: u64,
    /// Segments with data that did not continue the stream but lay beyond a gap.
    pub out_of_order: u64,
    /// Segments with data all of which had arrived before.
    pub duplicates: u64,
    /// Data handed on in order, in bytes.
    pub bytes: u64,
    /// Duplicate acknowledgements.
    pub duplicate_acknowledgments: u64,
    /// Acknowledgements that told of losses on the air.
    pub marked_acknowledgments: u64,
}

/// How losses were seen and what was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovered {
    /// Retransmission timers that went off.
    pub timeouts: u64,
    /// Losses that acknowledgements showed, each the beginning of a recovery.
    pub fast_retransmissions: u64,
    /// Of those, the ones that left the congestion window as it was.
    pub without_reduction: u64,
    /// Acknowledgements that ended a part of a recovery only.
    pub partial_acknowledgments: u64,
}
