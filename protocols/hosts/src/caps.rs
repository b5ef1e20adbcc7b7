//! The limits on one peer's use of a host.

use association::FlowLimits;
use units::Bytes;

/// Upper bound on the bytes of a peer's memory for a known flow.
const FLOW: u64 = 8 << 10;
/// Most flows known at a time, those of either side together, however much memory there is.
const FLOWS_MAX: u64 = 8_192;
/// Most bytes of memory for a peer beside its association: keys, windows, a handshake, its turns on an air.
pub(crate) const BESIDE: Bytes = Bytes::kibi(48);

/// Limits on one peer's use of a host, so that it leaves enough to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Most bytes of memory for it, except for snoop's cache and streams: packets that wait for it or are not
    /// confirmed, parts of its packets, and tables. At least [`Caps::MEMORY_LEAST`].
    pub memory: Bytes,
    /// Most bytes of packets that wait for their first transmission to it; further packets are dropped.
    pub queue: Bytes,
    /// New flows per second in the long run, and twice as many at once; `None` if they are not limited. It limits
    /// those that the peer begins, whose packets beyond it are dropped, and just so those that hosts beyond this one
    /// begin, whose packets beyond it share one flow.
    pub new_flows: Option<u32>,
    /// Packets of usual length from it per second in the long run; longer ones count more. Further ones wait, within
    /// [`Caps::memory`]. `None` if only what is done at a time is limited.
    pub packets: Option<u32>,
}

impl Caps {
    /// Least memory: less could not hold the state that a peer may open.
    pub const MEMORY_LEAST: Bytes = arq::MEMORY_LEAST;

    pub(crate) fn flow_limits(&self) -> Option<FlowLimits> {
        let known = (self.memory.max(Self::MEMORY_LEAST).get() / FLOW).min(FLOWS_MAX);
        self.new_flows.map(|per_second| FlowLimits {
            per_second,
            burst: per_second.saturating_mul(2),
            known: known as usize / 2,
        })
    }
}

/// The default: room for all data that may be in flight at a time, in each direction (16 MiB, `docs/hop-frame.md`),
/// and no limit on new flows or packets.
impl Default for Caps {
    fn default() -> Self {
        Self {
            memory: Bytes::mebi(96),
            queue: Bytes::mebi(16),
            new_flows: None,
            packets: None,
        }
    }
}

/// Returns the bytes of memory held for a peer, and their limit, from those of its association.
pub(crate) fn of_peer(held: Bytes, most: Bytes) -> (Bytes, Bytes) {
    (held + BESIDE, most + BESIDE)
}
