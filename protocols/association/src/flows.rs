//! The limits on flows that a peer, or others on its account, may begin.

use std::collections::BTreeMap;

use machine::TokenBucket;
use planted::Bug;
use units::{Bytes, Duration, Instant};
use wire::flow::FlowKey;

/// Time without packets after which a flow is forgotten if there is no room for a new one.
const QUIET: Duration = Duration::from_secs(5);
/// Least time between two searches for quiet flows.
const TIDY: Duration = Duration::from_secs(1);
/// Approximate bytes of an entry, its place in a tree included.
const ENTRY: usize = size_of::<(FlowKey, Instant)>() + 64;

/// Bytes of an association's memory for each flow that a side begins.
const EACH: usize = 4_096;

/// Limits on the flows that each side of the hop may begin: the peer, and the hosts that send to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowLimits {
    /// New flows per second, in the long run.
    pub per_second: u32,
    /// New flows at once.
    pub burst: u32,
    /// Most flows known at a time.
    pub known: usize,
}

/// Side of the hop whose packet began a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Peer,
    Here,
}

/// The known flows of a peer, and the limit on new ones. Each side has a limit of its own, so that neither takes the
/// room of the other.
#[derive(Debug)]
pub(crate) struct KnownFlows {
    /// Flows by the side that began them; `None` if all flows may begin.
    begun: Option<[BegunFlows; 2]>,
    refused: u64,
}

impl KnownFlows {
    pub(crate) fn new(limits: Option<FlowLimits>) -> Self {
        Self {
            begun: limits.map(|limits| [BegunFlows::new(limits), BegunFlows::new(limits)]),
            refused: 0,
        }
    }

    /// Sets the part of the memory that may be used: it bounds the flows known at a time.
    pub(crate) fn set_memory(&mut self, memory: Bytes) {
        let room = usize::try_from(memory.get()).unwrap_or(usize::MAX) / EACH;
        for side in self.begun.iter_mut().flatten() {
            side.room = room;
        }
    }

    /// Returns the memory that suffices for one more flow of either side.
    pub(crate) fn memory_wanted(&self) -> Bytes {
        let sides = self.begun.iter().flatten();
        let most = sides.map(|side| side.seen.len() + 1).max();
        Bytes::from(most.unwrap_or(0) * EACH)
    }

    /// Returns true if flows may be refused.
    pub(crate) fn are_limited(&self) -> bool {
        self.begun.is_some()
    }

    /// Returns the number of packets whose flow was refused.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    /// Returns the bytes of memory of the tables.
    pub(crate) fn memory(&self) -> Bytes {
        let flows = self.begun.iter().flatten().map(|begun| begun.seen.len());
        Bytes::from(flows.sum::<usize>() * ENTRY)
    }

    /// Returns the side that began a flow, if it is known; without limits all flows count as the peer's.
    pub(crate) fn side_of(&self, key: &FlowKey) -> Option<Side> {
        let Some(begun) = &self.begun else {
            return Some(Side::Peer);
        };
        let key = both_ways(*key);
        let knows = |side: &Side| begun[*side as usize].seen.contains_key(&key);
        [Side::Peer, Side::Here].into_iter().find(knows)
    }

    /// Returns the side that began the flow of a packet `from` this side, if it may pass: the flow is known, or it may
    /// begin.
    pub(crate) fn admits(&mut self, now: Instant, from: Side, key: FlowKey) -> Option<Side> {
        let known = self.side_of(&key);
        let Some(begun) = &mut self.begun else {
            return known;
        };
        let key = both_ways(key);
        if let Some(side) = known {
            begun[side as usize].seen.insert(key, now);
            return known;
        }
        let account = if planted::is(Bug::SidesShareFlows) {
            Side::Peer
        } else {
            from
        };
        let admitted = begun[account as usize].begin(now, key);
        self.refused += u64::from(!admitted);
        admitted.then_some(from)
    }
}

/// The known flows that one side began.
#[derive(Debug)]
struct BegunFlows {
    /// Most of them, and most for which there is memory.
    known: usize,
    room: usize,
    tokens: TokenBucket,
    seen: BTreeMap<FlowKey, Instant>,
    tidied: Instant,
}

impl BegunFlows {
    fn new(limits: FlowLimits) -> Self {
        Self {
            known: limits.known,
            room: limits.known,
            tokens: TokenBucket::new(limits.per_second, limits.burst),
            seen: BTreeMap::new(),
            tidied: Instant::ZERO,
        }
    }

    /// Begins a flow, if there are room and a token for it; returns true if it did.
    fn begin(&mut self, now: Instant, key: FlowKey) -> bool {
        let most = self.known.min(self.room);
        if self.seen.len() >= most && now.since(self.tidied) >= TIDY {
            self.tidied = now;
            self.seen.retain(|_, seen| now.since(*seen) < QUIET);
        }
        let begins = self.seen.len() < most && self.tokens.take(now);
        if begins {
            self.seen.insert(key, now);
        }
        begins
    }
}

/// Returns the same key for both directions of a flow.
fn both_ways(key: FlowKey) -> FlowKey {
    key.min(key.reversed())
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use wire::ip::Protocol;

    use super::*;

    const LIMITS: FlowLimits = FlowLimits {
        per_second: 10,
        burst: 20,
        known: 50,
    };

    fn key(port: u16) -> FlowKey {
        FlowKey {
            protocol: Protocol::UDP,
            source: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
            destination: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
            source_port: port,
            destination_port: 53,
        }
    }

    /// Returns the number of the new flows at `ports` that begin.
    fn begin(flows: &mut KnownFlows, now: Instant, ports: std::ops::Range<u16>) -> usize {
        ports
            .filter(|port| flows.admits(now, Side::Peer, key(*port)).is_some())
            .count()
    }

    fn known(flows: &KnownFlows) -> usize {
        let begun = flows.begun.as_ref().expect("limits");
        begun[Side::Peer as usize].seen.len()
    }

    #[test]
    fn neither_side_takes_the_flows_of_the_other() {
        let mut flows = KnownFlows::new(Some(LIMITS));
        let now = Instant::from_millis(60_000);
        assert_eq!(begin(&mut flows, now, 0..100), 20);
        assert_eq!(flows.admits(now, Side::Peer, key(200)), None);
        assert_eq!(flows.admits(now, Side::Here, key(200)), Some(Side::Here));
        assert_eq!(flows.side_of(&key(200).reversed()), Some(Side::Here));
        assert_eq!(flows.admits(now, Side::Peer, key(200)), Some(Side::Here));
    }

    #[test]
    fn flows_begin_at_their_rate_and_are_known_from_then_on() {
        let mut flows = KnownFlows::new(Some(LIMITS));
        let now = Instant::from_millis(60_000);
        assert_eq!(begin(&mut flows, now, 0..100), 20);
        assert_eq!(flows.refused(), 80);
        assert!(
            flows.admits(now, Side::Here, key(3)).is_some()
                && flows.admits(now, Side::Peer, key(3).reversed()).is_some()
        );
        assert!(flows.side_of(&key(3).reversed()).is_some() && flows.side_of(&key(30)).is_none());
        let later = now + Duration::from_secs(1);
        assert_eq!(begin(&mut flows, later, 100..200), 10);
    }

    #[test]
    fn quiet_flows_make_room_for_new_ones() {
        let mut flows = KnownFlows::new(Some(LIMITS));
        let mut now = Instant::from_millis(60_000);
        for second in 0..4 {
            begin(&mut flows, now, second * 100..second * 100 + 100);
            now += Duration::from_secs(1);
        }
        assert_eq!(known(&flows), LIMITS.known);
        now += QUIET - Duration::from_secs(3);
        assert!(flows.admits(now, Side::Peer, key(999)).is_some());
        assert!(known(&flows) < LIMITS.known);
        assert!(flows.memory() > Bytes::ZERO);
    }

    #[test]
    fn without_limits_all_begin() {
        let mut flows = KnownFlows::new(None);
        assert_eq!(begin(&mut flows, Instant::ZERO, 0..9_999), 9_999);
        assert!(flows.side_of(&key(1)).is_some() && flows.memory() == Bytes::ZERO);
    }
}
