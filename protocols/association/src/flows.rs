//! The limits on flows that a peer may begin.

use std::collections::BTreeMap;

use units::{Bytes, Duration, Instant};
use wire::flow::FlowKey;

/// Time without packets after which a flow is forgotten if there is no room for a new one.
const QUIET: Duration = Duration::from_secs(5);
/// Least time between two searches for quiet flows.
const TIDY: Duration = Duration::from_secs(1);
/// Approximate bytes of an entry, its place in a tree included.
const ENTRY: usize = size_of::<(FlowKey, Instant)>() + 64;

/// Limits on the flows that a peer may begin, by packets of either direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowLimits {
    /// New flows per second, in the long run.
    pub per_second: u32,
    /// New flows at once.
    pub burst: u32,
    /// Most flows known at a time.
    pub known: usize,
}

/// The known flows of a peer, and the limit on new ones.
#[derive(Debug)]
pub(crate) struct KnownFlows {
    /// The limits; `None` if all flows may begin.
    limits: Option<FlowLimits>,
    seen: BTreeMap<FlowKey, Instant>,
    /// Time at which the token bucket was last empty, at the rate in the long run.
    begun: Instant,
    tidied: Instant,
    refused: u64,
}

impl KnownFlows {
    pub(crate) fn new(limits: Option<FlowLimits>) -> Self {
        Self {
            limits,
            seen: BTreeMap::new(),
            begun: Instant::ZERO,
            tidied: Instant::ZERO,
            refused: 0,
        }
    }

    /// Returns true if flows may be refused.
    pub(crate) fn are_limited(&self) -> bool {
        self.limits.is_some()
    }

    /// Returns the number of packets whose flow was refused.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    /// Returns the bytes of memory of the table.
    pub(crate) fn memory(&self) -> Bytes {
        Bytes::from(self.seen.len() * ENTRY)
    }

    /// Returns true if a flow is known, or flows are not limited.
    pub(crate) fn knows(&self, key: &FlowKey) -> bool {
        !self.are_limited() || self.seen.contains_key(&both_ways(*key))
    }

    /// Returns true if a packet of this flow may pass: the flow is known, or it may begin.
    pub(crate) fn admits(&mut self, now: Instant, key: FlowKey) -> bool {
        let Some(limits) = self.limits else {
            return true;
        };
        let key = both_ways(key);
        if let Some(seen) = self.seen.get_mut(&key) {
            *seen = now;
            return true;
        }
        if self.seen.len() >= limits.known && now.since(self.tidied) >= TIDY {
            self.tidied = now;
            self.seen.retain(|_, seen| now.since(*seen) < QUIET);
        }
        let admitted = self.seen.len() < limits.known && self.begins(now, limits);
        if admitted {
            self.seen.insert(key, now);
        } else {
            self.refused += 1;
        }
        admitted
    }

    /// Takes a token for a new flow; returns false if there is none. The token bucket is kept as the time at which it
    /// was empty.
    fn begins(&mut self, now: Instant, limits: FlowLimits) -> bool {
        let each = Duration::from_secs(1) / u64::from(limits.per_second.max(1));
        let next = self.begun.max(now - each * u64::from(limits.burst)) + each;
        let begins = next <= now;
        if begins {
            self.begun = next;
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
        ports.filter(|port| flows.admits(now, key(*port))).count()
    }

    #[test]
    fn flows_begin_at_their_rate_and_are_known_from_then_on() {
        let mut flows = KnownFlows::new(Some(LIMITS));
        let now = Instant::from_millis(60_000);
        assert_eq!(begin(&mut flows, now, 0..100), 20);
        assert_eq!(flows.refused(), 80);
        assert!(flows.admits(now, key(3)) && flows.admits(now, key(3).reversed()));
        assert!(flows.knows(&key(3).reversed()) && !flows.knows(&key(30)));
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
        assert_eq!(flows.seen.len(), LIMITS.known);
        now += QUIET - Duration::from_secs(3);
        assert!(flows.admits(now, key(999)));
        assert!(flows.seen.len() < LIMITS.known);
        assert!(flows.memory() > Bytes::ZERO);
    }

    #[test]
    fn without_limits_all_begin() {
        let mut flows = KnownFlows::new(None);
        assert_eq!(begin(&mut flows, Instant::ZERO, 0..9_999), 9_999);
        assert!(flows.knows(&key(1)) && flows.memory() == Bytes::ZERO);
    }
}
