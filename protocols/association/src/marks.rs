//! The flows that answer held ones.
//!
//! A mobile host marks its calls; the server that replies does not. Both ends remember the marked flows, and hold the
//! flows in the other direction: whole datagrams by their ports, fragments by their hosts.

use std::collections::BTreeMap;

use units::{Bytes, Duration, Instant};
use wire::flow::FlowKey;

/// Time after the last marked packet when a flow is forgotten.
const REMEMBERED: Duration = Duration::from_secs(120);
/// Most flows remembered.
const FLOWS_MAX: usize = 256;
/// Approximate bytes of an entry, its place in a tree included.
const ENTRY: usize = size_of::<(FlowKey, Instant)>() + 64;

/// Flows that answer marked ones, and the times of the last marked packets.
#[derive(Debug, Default)]
pub(crate) struct HeldReplies(BTreeMap<FlowKey, Instant>);

impl HeldReplies {
    /// Records a marked packet of this flow.
    pub(crate) fn saw(&mut self, now: Instant, key: FlowKey) {
        let answers = key.reversed();
        if self.0.len() + 2 > FLOWS_MAX {
            self.0.retain(|_, seen| now.since(*seen) < REMEMBERED);
        }
        if self.0.len() + 2 <= FLOWS_MAX || self.0.contains_key(&answers) {
            self.0.insert(answers, now);
            self.0.insert(answers.of_fragments(), now);
        }
    }

    /// Returns the bytes of memory of the table.
    pub(crate) fn memory(&self) -> Bytes {
        Bytes::from(self.0.len() * ENTRY)
    }

    /// Returns true if this flow answers one that was seen marked.
    pub(crate) fn answers(&self, now: Instant, key: &FlowKey) -> bool {
        let seen = self.0.get(key);
        seen.is_some_and(|seen| now.since(*seen) < REMEMBERED)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use wire::ip::Protocol;

    use super::*;

    fn call(port: u16) -> FlowKey {
        FlowKey {
            protocol: Protocol::UDP,
            source: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
            destination: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
            source_port: port,
            destination_port: 2_049,
        }
    }

    #[test]
    fn what_answers_a_marked_flow_is_held_for_a_while() {
        let mut marks = HeldReplies::default();
        let now = Instant::from_millis(1);
        marks.saw(now, call(700));
        let answers = call(700).reversed();
        assert!(marks.answers(now, &answers));
        assert!(marks.answers(now, &answers.of_fragments()));
        assert!(!marks.answers(now, &call(701).reversed()));
        assert!(!marks.answers(now + REMEMBERED, &answers));
    }

    #[test]
    fn no_more_is_remembered_than_has_room() {
        let mut marks = HeldReplies::default();
        let now = Instant::from_millis(1);
        for port in 0..2_000 {
            marks.saw(now, call(port));
        }
        assert!(marks.0.len() <= FLOWS_MAX);
        let later = now + REMEMBERED;
        marks.saw(later, call(9_999));
        assert!(marks.answers(later, &call(9_999).reversed()));
    }
}
