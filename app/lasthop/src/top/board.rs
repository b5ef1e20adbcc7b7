//! What `lasthop top` shows: the last answer of the daemon, the last minute of each peer, the order and the choice.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Instant;

use hosts::PeerSummary;
use runtime::Summary;

use super::history::History;

/// A key of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// Choose a peer so many lines further up.
    Up(usize),
    /// Choose a peer so many lines further down.
    Down(usize),
    /// Sort by the next order.
    Sort,
    /// Explain the columns, or no longer.
    Help,
    /// Leave the explanation.
    Back,
}

/// Order of the peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Order {
    #[default]
    Name,
    Traffic,
    Loss,
    Fades,
    QueueDelay,
}

impl Order {
    fn next(self) -> Self {
        match self {
            Self::Name => Self::Traffic,
            Self::Traffic => Self::Loss,
            Self::Loss => Self::Fades,
            Self::Fades => Self::QueueDelay,
            Self::QueueDelay => Self::Name,
        }
    }

    /// Returns its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Traffic => "traffic",
            Self::Loss => "loss",
            Self::Fades => "fades",
            Self::QueueDelay => "queue",
        }
    }
}

/// The state of the screen.
#[derive(Debug, Default)]
pub(super) struct Board {
    /// The last answer, and when it came.
    pub(super) answer: Option<(Instant, Summary)>,
    /// The reason why the daemon does not answer, and since when.
    pub(super) trouble: Option<(Instant, String)>,
    pub(super) order: Order,
    pub(super) helps: bool,
    /// Number of the chosen peer.
    chosen: Option<usize>,
    histories: BTreeMap<usize, History>,
    started: Option<Instant>,
}

impl Board {
    /// Records an answer of the daemon, or the reason why there is none.
    pub(super) fn note(&mut self, now: Instant, answer: Result<Summary, String>) {
        let summary = match answer {
            Ok(summary) => summary,
            Err(trouble) => {
                let since = self.trouble.take().map_or(now, |(since, _)| since);
                self.trouble = Some((since, trouble));
                return;
            }
        };
        let second = now
            .duration_since(*self.started.get_or_insert(now))
            .as_secs();
        let restarted = |(_, last): &(Instant, Summary)| summary.uptime_s < last.uptime_s;
        if self.answer.as_ref().is_some_and(restarted) {
            // Its numbers belong to other peers.
            self.histories.clear();
        }
        let peers = summary.host.iter().flat_map(|host| &host.peers);
        let mut former = std::mem::take(&mut self.histories);
        for peer in peers {
            let mut history = former.remove(&peer.number).unwrap_or_default();
            history.note(second, peer);
            self.histories.insert(peer.number, history);
        }
        self.trouble = None;
        self.answer = Some((now, summary));
    }

    /// Carries out what a key means.
    pub(super) fn press(&mut self, key: Key) {
        match key {
            Key::Sort => self.order = self.order.next(),
            Key::Help => self.helps = !self.helps,
            Key::Back => self.helps = false,
            Key::Up(lines) => {
                self.choose(|row| row.map_or(0, |row| row.saturating_sub(lines)));
            }
            Key::Down(lines) => {
                self.choose(|row| row.map_or(lines - 1, |row| row.saturating_add(lines)));
            }
        }
    }

    fn choose(&mut self, next: impl FnOnce(Option<usize>) -> usize) {
        let rows = self.rows();
        let index = next(self.chosen_row(&rows));
        let chosen = rows.get(index.min(rows.len().saturating_sub(1)));
        self.chosen = chosen.map(|peer| peer.number);
    }

    /// Returns the index of the chosen peer.
    pub(super) fn chosen_row(&self, rows: &[&PeerSummary]) -> Option<usize> {
        let chosen = self.chosen?;
        rows.iter().position(|peer| peer.number == chosen)
    }

    /// Returns the peers in order.
    pub(super) fn rows(&self) -> Vec<&PeerSummary> {
        let host = self
            .answer
            .as_ref()
            .and_then(|(_, summary)| summary.host.as_ref());
        let mut rows: Vec<_> = host.iter().flat_map(|host| &host.peers).collect();
        rows.sort_by(|one, other| one.name.cmp(&other.name));
        match self.order {
            Order::Name => {}
            Order::Traffic => rows.sort_by_key(|peer| {
                Reverse(peer.recent.to_peer_bits_per_s + peer.recent.from_peer_bits_per_s)
            }),
            Order::Loss => rows.sort_by_key(|peer| {
                let lost = peer.recent.frames_lost_on_air * 1_000_000;
                Reverse(lost / peer.recent.frames_sent.max(1))
            }),
            Order::Fades => rows.sort_by_key(|peer| Reverse(self.faded_percent(peer))),
            Order::QueueDelay => rows.sort_by_key(|peer| Reverse(peer.queue_delay_us)),
        }
        rows
    }

    /// Returns the fades of a peer in the last minute as `width` symbols.
    pub(super) fn strip(&self, peer: &PeerSummary, width: usize) -> String {
        let history = self.histories.get(&peer.number);
        history.map_or_else(String::new, |history| history.strip(width))
    }

    /// Returns the share of the last minute in which nothing came through, in percent.
    pub(super) fn faded_percent(&self, peer: &PeerSummary) -> u64 {
        self.histories.get(&peer.number).map_or(0, History::percent)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use association::RecentTraffic;
    use hosts::{LimitedBy, Registration, Role};

    use super::*;

    /// A connected peer with this number.
    pub(crate) fn peer(number: usize) -> PeerSummary {
        PeerSummary {
            number,
            name: format!("tablet{number}"),
            is_connected: true,
            registration: Registration::Registered {
                lasted: units::Duration::from_secs(90),
                heard: units::Duration::ZERO,
                expires_in: units::Duration::from_secs(100),
            },
            limited_by: LimitedBy::Application,
            recent: RecentTraffic::default(),
            rate_bits_per_s: None,
            round_trip_us: None,
            queue_delay_us: None,
            fading_ms: 0,
            fades: 0,
            faded_ms: 0,
            airtime_percent: None,
            trouble: None,
            site: None,
        }
    }

    pub(crate) fn summary(peers: Vec<PeerSummary>) -> Summary {
        Summary {
            names: None,
            version: "0.1.0".into(),
            uptime_s: 3_600.0,
            host: Some(hosts::Summary {
                role: Role::Gateway,
                peers,
                more_from: None,
            }),
        }
    }

    fn names(board: &Board) -> Vec<&str> {
        board.rows().iter().map(|peer| peer.name.as_str()).collect()
    }

    #[test]
    fn peers_are_sorted_by_what_the_user_chooses() {
        let mut peers = [1, 2, 3].map(peer);
        peers[1].recent.from_peer_bits_per_s = 5;
        peers[2].recent.frames_lost_on_air = 1;
        peers[2].recent.frames_sent = 2;
        peers[0].queue_delay_us = Some(0);
        let (mut board, now) = (Board::default(), Instant::now());
        let [one, two, three] = &mut peers;
        std::mem::swap(one, three);
        two.faded_ms = 0;
        board.note(now, Ok(summary(peers.to_vec())));
        peers[1].faded_ms = 900;
        board.note(now + Duration::from_secs(1), Ok(summary(peers.to_vec())));
        let expected = [
            (Order::Name, ["tablet1", "tablet2", "tablet3"]),
            (Order::Traffic, ["tablet2", "tablet1", "tablet3"]),
            (Order::Loss, ["tablet3", "tablet1", "tablet2"]),
            (Order::Fades, ["tablet2", "tablet1", "tablet3"]),
            (Order::QueueDelay, ["tablet1", "tablet2", "tablet3"]),
            (Order::Name, ["tablet1", "tablet2", "tablet3"]),
        ];
        for (order, order_of_names) in expected {
            assert_eq!(
                (board.order, names(&board)),
                (order, order_of_names.to_vec())
            );
            board.press(Key::Sort);
        }
    }

    #[test]
    fn the_choice_stays_with_its_peer() {
        let (mut board, now) = (Board::default(), Instant::now());
        board.press(Key::Down(1));
        assert_eq!(board.chosen_row(&board.rows()), None);
        board.note(now, Ok(summary([1, 2, 3].map(peer).to_vec())));
        let mut row_after = |key| {
            board.press(key);
            board.chosen_row(&board.rows())
        };
        assert_eq!(row_after(Key::Down(1)), Some(0));
        assert_eq!(row_after(Key::Down(1)), Some(1));
        assert_eq!(row_after(Key::Down(usize::MAX)), Some(2));
        assert_eq!(row_after(Key::Up(10)), Some(0));
        assert_eq!(row_after(Key::Down(2)), Some(2));
        board.note(now, Ok(summary([3, 4].map(peer).to_vec())));
        assert_eq!(board.chosen_row(&board.rows()), Some(0), "it is tablet3");
        board.note(now, Ok(summary(vec![peer(4)])));
        assert_eq!(board.chosen_row(&board.rows()), None);
    }

    #[test]
    fn a_daemon_that_ends_is_shown_until_it_is_back() {
        let (mut board, now) = (Board::default(), Instant::now());
        board.note(now, Ok(summary(vec![peer(1)])));
        board.note(now, Err("it is gone".into()));
        assert!(board.trouble.is_some());
        assert_eq!(board.rows().len(), 1, "what was known is still shown");
        let mut back = summary(vec![peer(1)]);
        back.uptime_s = 1.0;
        board.note(now + Duration::from_secs(5), Ok(back));
        assert!(board.trouble.is_none());
    }
}
