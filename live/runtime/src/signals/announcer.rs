//! Signals made from the events of a host.

use edges::clock;
use hosts::{Event, EventKind};
use signals::Condition;
use units::Instant;

use super::Publisher;
use super::site::SiteHop;

/// The condition of the hop to each peer, whose changes are published.
pub struct Announcer {
    conditions: Vec<Condition>,
    pub(crate) publisher: Publisher,
    /// Set on a mobile host, which has one hop, whichever gateway serves it.
    site: Option<SiteHop>,
}

impl Announcer {
    /// Returns an announcer for these peers, all of them disconnected.
    pub fn new(mut publisher: Publisher, peers: impl Iterator<Item = String>) -> Self {
        let now = clock::monotonic();
        let conditions: Vec<_> = peers.map(|peer| Condition::new(now, peer)).collect();
        for condition in &conditions {
            publisher.publish(condition.present());
        }
        Self {
            conditions,
            publisher,
            site: None,
        }
    }

    /// Returns an announcer for a mobile host. Its signals name its home, whichever gateway of the site serves it.
    pub fn of_mobile(publisher: Publisher, home: String) -> Self {
        Self {
            site: Some(SiteHop::new(home.clone())),
            ..Self::new(publisher, std::iter::once(home))
        }
    }

    /// Handles an event of the host.
    pub(crate) fn note(&mut self, now: Instant, event: &Event) {
        if let (Some(site), [hop, ..]) = (&mut self.site, &mut self.conditions[..]) {
            for change in site.changes(event) {
                if let Some(signal) = hop.note(now, change) {
                    self.publisher.publish(signal);
                }
            }
            return;
        }
        let is_new = |all: &[Condition]| all.iter().all(|one| one.peer() != event.peer);
        let may_be_new = matches!(event.kind, EventKind::Admitted | EventKind::Changed { .. });
        if may_be_new && is_new(&self.conditions) {
            let condition = Condition::new(now, event.peer.clone());
            self.publisher.publish(condition.present());
            self.conditions.push(condition);
        }
        let whose = |condition: &&mut Condition| condition.peer() == event.peer;
        let condition = self.conditions.iter_mut().find(whose);
        if let (Some(condition), Some(change)) = (condition, event.kind.change())
            && let Some(signal) = condition.note(now, change)
        {
            self.publisher.publish(signal);
        }
        if event.kind == EventKind::Revoked {
            self.conditions
                .retain(|condition| condition.peer() != event.peer);
            self.publisher.forget(&event.peer);
        }
    }
}
