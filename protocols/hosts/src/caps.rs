//! What one peer may take of a host.

use association::FlowLimits;
use units::Bytes;

/// A flow that is known takes less, in bytes of a peer's memory.
const FLOW: u64 = 8 << 10;
/// So many flows may be known at a time, however much memory there is.
const FLOWS_MAX: u64 = 8_192;
/// What a host holds for a peer beside its association, at most: keys, windows, a handshake, its turns on an air.
const BESIDE: Bytes = Bytes::kibi(64);

/// What one peer may take of a host, so that it leaves enough to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// What is held for it in all, but for snoop's cache and streams: packets that wait for it or are not confirmed,
    /// parts of what it sends, and tables. At least [`Caps::MEMORY_LEAST`].
    pub memory: Bytes,
    /// Packets that wait for their first transmission to it; one more is dropped.
    pub queue: Bytes,
    /// New flows in a second, in the long run, and twice as many at once; nothing if they are not limited. Packets that
    /// it sends beyond are dropped; those to it share one flow.
    pub new_flows: Option<u32>,
}

impl Caps {
    /// Less memory would not hold what a peer may have open.
    pub const MEMORY_LEAST: Bytes = arq::MEMORY_LEAST;

    pub(crate) fn flow_limits(&self) -> Option<FlowLimits> {
        let known = (self.memory.max(Self::MEMORY_LEAST).get() / FLOW).min(FLOWS_MAX);
        self.new_flows.map(|per_second| FlowLimits {
            per_second,
            burst: per_second.saturating_mul(2),
            known: known as usize,
        })
    }
}

/// Room for all that may be on its way at a time, in each direction (16 MiB, `docs/hop-frame.md`); no limit to new
/// flows.
impl Default for Caps {
    fn default() -> Self {
        Self {
            memory: Bytes::mebi(96),
            queue: Bytes::mebi(16),
            new_flows: None,
        }
    }
}

/// What is held for a peer, and may be, where its association holds and may hold so much.
pub(crate) fn of_peer(held: Bytes, most: Bytes) -> (Bytes, Bytes) {
    (held + BESIDE, most + BESIDE)
}
