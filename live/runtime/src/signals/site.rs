//! The one hop of a mobile host, which may be in a site with several gateways.

use hosts::{Event, EventKind};
use signals::Change;
use units::Duration;

/// State of the hop, from the events of all gateways. Those of gateways in reserve mean nothing for applications.
#[derive(Debug)]
pub(super) struct SiteHop {
    /// Name of the gateway that serves this host.
    serving: String,
}

impl SiteHop {
    /// Returns the hop to the home, which serves this host first.
    pub(super) fn new(home: String) -> Self {
        Self { serving: home }
    }

    /// Returns the changes that an event means for the hop, in their order.
    pub(super) fn changes(&mut self, event: &Event) -> Vec<Change> {
        match event.kind {
            EventKind::MoveBegan => {
                let within = Duration::ZERO;
                vec![Change::HandoffBegan { within }]
            }
            EventKind::NotAttached | EventKind::Relays { .. } => vec![Change::HandoffEnded],
            EventKind::Attached { kept, .. } => {
                self.serving.clone_from(&event.peer);
                attached(kept)
            }
            _ if self.serving == event.peer => event.kind.change().into_iter().collect(),
            _ => Vec::new(),
        }
    }
}

/// Returns the changes of a hop that a gateway has taken over. A fade of the former one is over.
fn attached(kept: bool) -> Vec<Change> {
    if !kept {
        return vec![Change::Connected { fresh: true }];
    }
    let lasted = Duration::ZERO;
    vec![Change::FadeEnded { lasted, kept }, Change::HandoffEnded]
}

#[cfg(test)]
mod tests {
    use signals::{Condition, Event as Told};
    use units::Instant;

    use super::*;

    /// Returns the signals of these events, one each 10 ms.
    fn told(events: &[(&str, EventKind)]) -> Vec<Told> {
        let mut site = SiteHop::new("home".into());
        let mut hop = Condition::new(Instant::ZERO, "home".into());
        let mut told = Vec::new();
        for (step, (peer, kind)) in (1..).zip(events) {
            let now = Instant::from_millis(step * 10);
            let peer = (*peer).to_owned();
            let kind = kind.clone();
            let changes = site.changes(&Event { peer, kind });
            let signals = changes
                .into_iter()
                .filter_map(|change| hop.note(now, change));
            told.extend(signals.map(|signal| signal.event));
        }
        told
    }

    fn established() -> EventKind {
        EventKind::Established { fresh: true }
    }

    fn attached(kept: bool) -> EventKind {
        let lasted = Duration::from_millis(20);
        EventKind::Attached { lasted, kept }
    }

    fn restored(held: bool, millis: u64) -> Told {
        Told::Restored {
            kept: held,
            held,
            lasted: Duration::from_millis(millis),
        }
    }

    #[test]
    fn a_move_is_a_hand_off_and_reserve_gateways_are_silent() {
        let events = [
            ("home", established()),
            ("home", attached(true)),
            ("west", established()),
            ("west", EventKind::FadeBegan),
            ("west", EventKind::MoveBegan),
            ("west", attached(true)),
            ("home", EventKind::Left),
            ("home", EventKind::FadeBegan),
        ];
        let within = Duration::ZERO;
        let told = told(&events);
        let expected = [
            restored(false, 10),
            Told::HandoffImpending { within },
            restored(true, 10),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_a_silent_gateway_held_is_told_as_lost() {
        let events = [
            ("west", attached(false)),
            ("west", EventKind::FadeBegan),
            ("home", EventKind::MoveBegan),
            ("home", attached(false)),
            ("home", EventKind::Expired),
        ];
        let expected = [
            restored(false, 10),
            Told::Fade,
            restored(false, 20),
            Told::Disconnected,
        ];
        assert_eq!(told(&events), expected);
    }

    #[test]
    fn a_move_that_fails_ends_too() {
        let events = [
            ("west", attached(false)),
            ("home", EventKind::MoveBegan),
            ("home", EventKind::NotAttached),
        ];
        let within = Duration::ZERO;
        let told = told(&events);
        let expected = [
            restored(false, 10),
            Told::HandoffImpending { within },
            restored(true, 10),
        ];
        assert_eq!(told, expected);
    }
}
