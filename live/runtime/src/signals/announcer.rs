//! What a host tells its log, as signals.

use edges::clock;
use hosts::Event;
use signals::Condition;
use units::Instant;

use super::Publisher;

/// Knows how the hop to each peer does, and publishes what changes.
pub struct Announcer {
    conditions: Vec<Condition>,
    pub(crate) publisher: Publisher,
}

impl Announcer {
    /// For these peers, none of which is connected.
    pub fn new(mut publisher: Publisher, peers: impl Iterator<Item = String>) -> Self {
        let now = clock::monotonic();
        let conditions: Vec<_> = peers.map(|peer| Condition::new(now, peer)).collect();
        for condition in &conditions {
            publisher.publish(condition.present());
        }
        Self {
            conditions,
            publisher,
        }
    }

    /// Something has happened.
    pub(crate) fn note(&mut self, now: Instant, event: &Event) {
        let whose = |condition: &&mut Condition| condition.peer() == event.peer;
        let condition = self.conditions.iter_mut().find(whose);
        if let (Some(condition), Some(change)) = (condition, event.kind.change())
            && let Some(signal) = condition.note(now, change)
        {
            self.publisher.publish(signal);
        }
    }
}
