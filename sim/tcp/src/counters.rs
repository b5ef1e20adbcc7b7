//! Counters of an endpoint.

/// Counters of an [`Endpoint`](crate::Endpoint).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Counters of sent segments.
    pub sent: Sent,
    /// Counters of received segments.
    pub received: Received,
    /// Counters of loss recovery.
    pub recovered: Recovered,
}

/// Counters of sent segments. Bytes are those of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sent {
    /// Segments of any kind.
    pub segments: u64,
    /// Segments with data.
    pub data_segments: u64,
    /// Bytes of data, counted at every transmission.
    pub bytes: u64,
    /// Segments with data that had been sent before, completely or in part.
    pub retransmitted_segments: u64,
    /// Bytes of data that had been sent before.
    pub retransmitted_bytes: u64,
    /// Acknowledgements without data.
    pub acknowledgments: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
}

/// Counters of received segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Received {
    /// Segments of this connection.
    pub segments: u64,
    /// Segments of other connections.
    pub foreign: u64,
    /// Segments whose numbers lie outside the acceptable range.
    pub unacceptable: u64,
    /// Segments with data beyond a gap.
    pub out_of_order: u64,
    /// Segments whose data had all arrived before.
    pub duplicates: u64,
    /// Bytes of data delivered in order.
    pub bytes: u64,
    /// Duplicate acknowledgements.
    pub duplicate_acknowledgments: u64,
    /// Acknowledgements that reported losses on the air.
    pub marked_acknowledgments: u64,
}

/// Counters of loss detection and recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovered {
    /// Retransmission timers that fired.
    pub timeouts: u64,
    /// Recoveries that began with a loss shown by acknowledgements.
    pub fast_retransmissions: u64,
    /// Those of them that did not reduce the congestion window.
    pub without_reduction: u64,
    /// Partial acknowledgements: those that did not end a recovery.
    pub partial_acknowledgments: u64,
}
