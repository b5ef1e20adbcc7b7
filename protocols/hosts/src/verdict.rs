//! The verdict on the limit of a hop now: a table over the measurements of the last seconds. Decision 16
//! (`docs/decisions/0016-what-limits-a-hop.md`) explains the order of its rows.

use std::fmt;

use association::RecentCounters;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use crate::trouble::Clues;

/// Cause that limits the traffic across a hop, from one end to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitedBy {
    /// Nothing on the hop: applications send no more.
    Application,
    /// Losses on the air, and fades.
    Air,
    /// A queue on the way: of others, or longer than this end wants it.
    QueueOnTheWay,
    /// The rate of the hop: packets wait here, as they do on a full hop.
    OwnQueue,
    /// This process is not given the processor.
    ProcessorHere,
    /// The process of the other end is not given the processor.
    ProcessorThere,
    /// The path carries shorter packets than this end must send.
    PathMtu,
    /// Two hosts use one key and take the hop from each other.
    KeyShared,
    /// The peer is not present.
    PeerGone,
    /// No process listens at the peer's port.
    PortRefused,
    /// The peer answers, and its answers cannot be opened: the keys of both do not match.
    NotAuthorised,
}

/// Reachability of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reach {
    /// True if there are keys.
    pub is_linked: bool,
    /// True if its port refused a datagram since the last one from it.
    pub is_refused: bool,
    /// True if since then a datagram came from its address that could not be opened.
    pub is_unopened: bool,
    /// True if the path carries no packets that are long enough.
    pub is_cut: bool,
    /// True if a handshake has shown lately that two hosts use one key.
    pub is_shared: bool,
}

/// Facts on which a verdict rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VerdictInputs {
    /// Reachability of the peer.
    pub reach: Reach,
    /// Measurements of the last seconds.
    pub seconds: RecentCounters,
}

/// Least shares of the time, in hundredths, from which spans count as limits.
const SILENT: u64 = 10;
const STALLED: u64 = 20;
const HALF: u64 = 50;
/// Least shares of frames lost, in hundredths: on the air, and at a queue.
const LOST_ON_AIR: u64 = 10;
const LOST_AT_QUEUE: u64 = 1;
/// Least number of lost frames that counts.
const LOST_LEAST: u64 = 4;

/// A limit, and a function that returns true if it applies.
type Row = (LimitedBy, fn(&VerdictInputs) -> bool);

/// The rows in the order of their test: a cause that makes the later ones meaningless comes first.
const ROWS: &[Row] = &[
    (LimitedBy::KeyShared, |facts| facts.reach.is_shared),
    (LimitedBy::PortRefused, |facts| facts.reach.is_refused),
    (LimitedBy::NotAuthorised, |facts| {
        !facts.reach.is_linked && facts.reach.is_unopened
    }),
    (LimitedBy::PeerGone, |facts| !facts.reach.is_linked),
    (LimitedBy::PathMtu, |facts| facts.reach.is_cut),
    (LimitedBy::ProcessorHere, |facts| {
        is_share(facts.seconds.stalled_here, &facts.seconds, STALLED)
    }),
    (LimitedBy::ProcessorThere, |facts| {
        is_share(facts.seconds.stalled_there, &facts.seconds, STALLED)
    }),
    (LimitedBy::Air, |facts| {
        let seconds = &facts.seconds;
        // Losses in a fade are known when it has ended, so they show nothing about the present. A queue that others
        // keep full drops all of a small window at times.
        let lost = &seconds.lost;
        let is_silent = is_share(seconds.silent, seconds, SILENT);
        (is_silent && lost.congestion <= lost.air + lost.fade)
            || is_part(lost.air, seconds.frames, LOST_ON_AIR)
    }),
    (LimitedBy::QueueOnTheWay, |facts| {
        let seconds = &facts.seconds;
        is_part(seconds.lost.congestion, seconds.frames, LOST_AT_QUEUE)
            || is_share(seconds.waited, seconds, HALF)
    }),
    (LimitedBy::OwnQueue, |facts| {
        is_share(facts.seconds.backlogged, &facts.seconds, HALF)
    }),
];

fn is_share(part: Duration, seconds: &RecentCounters, hundredths: u64) -> bool {
    !part.is_zero() && part * 100 >= seconds.span * hundredths
}

fn is_part(part: u64, whole: u64, hundredths: u64) -> bool {
    part >= LOST_LEAST && part * 100 >= whole * hundredths
}

impl LimitedBy {
    /// All causes.
    pub const ALL: [Self; 11] = [
        Self::Application,
        Self::Air,
        Self::QueueOnTheWay,
        Self::OwnQueue,
        Self::ProcessorHere,
        Self::ProcessorThere,
        Self::PathMtu,
        Self::KeyShared,
        Self::PeerGone,
        Self::PortRefused,
        Self::NotAuthorised,
    ];

    /// Returns the limit of the first row that applies.
    pub fn judge(facts: &VerdictInputs) -> Self {
        let row = ROWS.iter().find(|(_, holds)| holds(facts));
        row.map_or(Self::Application, |(limit, _)| *limit)
    }
}

impl fmt::Display for LimitedBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Application => "nothing: applications send no more",
            Self::Air => "the air",
            Self::QueueOnTheWay => "a queue on the way",
            Self::OwnQueue => "the hop's rate: packets wait here, and nothing else holds them",
            Self::ProcessorHere => "the processor of this host",
            Self::ProcessorThere => "the processor of the other host",
            Self::PathMtu => "the path, which carries no packets that are long enough",
            Self::KeyShared => {
                "another host, which uses the key of this host or of the peer and takes the hop from it"
            }
            Self::PeerGone => "the peer, which is not heard",
            Self::PortRefused => "the peer's port, where no process listens",
            Self::NotAuthorised => "keys that do not belong together",
        })
    }
}

/// A verdict, and its numbers, for a status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// Cause that limits the hop.
    pub by: LimitedBy,
    /// The verdict in words.
    pub words: String,
    /// Time that the measurements cover, in milliseconds.
    pub span_ms: u64,
    /// Share of that time in which packets waited here, in percent.
    pub backlogged_percent: u64,
    /// Share of that time in which nothing came through, in percent.
    pub silent_percent: u64,
    /// Share of that time in which frames waited on the way longer than usual, in percent.
    pub waiting_percent: u64,
    /// Share of that time in which this process did not run, in percent.
    pub stalled_here_percent: u64,
    /// Share of that time by which acknowledgements of the other end were late, in percent.
    pub stalled_there_percent: u64,
    /// Frames sent.
    pub sent_frames: u64,
    /// Frames lost, by cause.
    pub lost_frames: arq::LossCounts,
}

impl Limit {
    /// Returns the verdict on these facts.
    pub fn of(facts: &VerdictInputs) -> Self {
        let (by, seconds) = (LimitedBy::judge(facts), &facts.seconds);
        let percent = |span: Duration| {
            let whole = seconds.span.as_millis().max(1);
            (span.as_millis() * 100 / whole).min(100)
        };
        Self {
            by,
            words: words(by, seconds, percent),
            span_ms: seconds.span.as_millis(),
            backlogged_percent: percent(seconds.backlogged),
            silent_percent: percent(seconds.silent),
            waiting_percent: percent(seconds.waited),
            stalled_here_percent: percent(seconds.stalled_here),
            stalled_there_percent: percent(seconds.stalled_there),
            sent_frames: seconds.frames,
            lost_frames: seconds.lost,
        }
    }
}

/// Returns the verdict in words, with its numbers if it has any.
fn words(by: LimitedBy, seconds: &RecentCounters, percent: impl Fn(Duration) -> u64) -> String {
    let frames = seconds.frames;
    match by {
        LimitedBy::Air => {
            let (lost, silent) = (
                seconds.lost.air + seconds.lost.fade,
                percent(seconds.silent),
            );
            format!(
                "{by}: {lost} frames found lost, {frames} sent, silent for {silent} % of the time"
            )
        }
        LimitedBy::QueueOnTheWay => {
            let (lost, waited) = (seconds.lost.congestion, percent(seconds.waited));
            format!(
                "{by}, of others or deeper than wanted: {lost} frames found lost there, {frames} sent, long for \
                 {waited} % of the time"
            )
        }
        LimitedBy::ProcessorHere => {
            format!(
                "{by}: it did not run for {} % of the time",
                percent(seconds.stalled_here)
            )
        }
        LimitedBy::ProcessorThere => {
            format!(
                "{by}: late for {} % of the time",
                percent(seconds.stalled_there)
            )
        }
        LimitedBy::Application
        | LimitedBy::OwnQueue
        | LimitedBy::PathMtu
        | LimitedBy::KeyShared
        | LimitedBy::PeerGone
        | LimitedBy::PortRefused
        | LimitedBy::NotAuthorised => by.to_string(),
    }
}

/// Times of signs of a peer, for its status. The first two may be forged.
#[derive(Debug, Clone, Default)]
pub(crate) struct Signs {
    pub(crate) refused: Option<Instant>,
    pub(crate) unopened: Option<Instant>,
    key_shared: Option<Instant>,
    /// What may keep this host from it.
    pub(crate) clues: Clues,
}

/// Time for which a sign counts.
const SIGN: Duration = Duration::from_secs(30);
/// Time for which a shared key counts: two idle hosts take the hop from each other when they renew keys.
const SHARED: Duration = Duration::from_secs(180);

/// State of the hop to a peer, as its parts report it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HopState {
    /// True if there are keys, and datagrams can leave for it.
    pub(crate) is_linked: bool,
    /// True if its path carries less than any path should.
    pub(crate) is_cut: bool,
}

impl Signs {
    /// Returns the reachability of a peer from which the last datagram came at `heard`.
    pub(crate) fn reach(&self, now: Instant, hop: HopState, heard: Option<Instant>) -> Reach {
        let counts = |sign: Option<Instant>| {
            sign.is_some_and(|at| now.since(at) <= SIGN && heard.is_none_or(|heard| heard < at))
        };
        Reach {
            is_linked: hop.is_linked,
            is_refused: counts(self.refused),
            is_unopened: counts(self.unopened),
            is_cut: hop.is_cut,
            is_shared: self.key_is_shared(now),
        }
    }

    /// Records that a key is shared; returns true if that was known.
    pub(crate) fn key_is_shared_from(&mut self, now: Instant) -> bool {
        let was_known = self.key_is_shared(now);
        self.key_shared = Some(now);
        was_known
    }

    fn key_is_shared(&self, now: Instant) -> bool {
        self.key_shared.is_some_and(|at| now.since(at) <= SHARED)
    }
}

#[cfg(test)]
mod tests {
    use arq::LossCounts;

    use super::*;

    fn linked(change: impl FnOnce(&mut RecentCounters)) -> LimitedBy {
        let mut seconds = RecentCounters {
            span: Duration::from_millis(1_500),
            frames: 1_000,
            ..RecentCounters::default()
        };
        change(&mut seconds);
        let is_linked = true;
        let reach = Reach {
            is_linked,
            ..Reach::default()
        };
        LimitedBy::judge(&VerdictInputs { reach, seconds })
    }

    fn reached(change: impl FnOnce(&mut Reach)) -> LimitedBy {
        let mut reach = Reach::default();
        change(&mut reach);
        let seconds = RecentCounters::default();
        LimitedBy::judge(&VerdictInputs { reach, seconds })
    }

    #[test]
    fn the_list_of_causes_is_complete() {
        for (cause, _) in ROWS {
            assert!(LimitedBy::ALL.contains(cause), "{cause:?}");
        }
        assert_eq!(LimitedBy::ALL.len(), ROWS.len() + 1);
    }

    #[test]
    fn each_limit_is_told_by_its_facts() {
        let (most, tenth) = (Duration::from_millis(1_400), Duration::from_millis(160));
        let lost = |congestion, air| LossCounts {
            congestion,
            air,
            ..LossCounts::default()
        };
        assert_eq!(linked(|_| {}), LimitedBy::Application);
        assert_eq!(
            linked(|seconds| seconds.backlogged = most),
            LimitedBy::OwnQueue
        );
        assert_eq!(
            linked(|seconds| seconds.backlogged = tenth),
            LimitedBy::Application
        );
        assert_eq!(linked(|seconds| seconds.silent = tenth), LimitedBy::Air);
        assert_eq!(
            linked(|seconds| seconds.lost = lost(0, 120)),
            LimitedBy::Air
        );
        assert_eq!(
            linked(|seconds| seconds.lost = lost(0, 50)),
            LimitedBy::Application
        );
        assert_eq!(
            linked(|seconds| seconds.lost = lost(20, 0)),
            LimitedBy::QueueOnTheWay
        );
        assert_eq!(
            linked(|seconds| seconds.waited = most),
            LimitedBy::QueueOnTheWay
        );
        assert_eq!(
            linked(|seconds| seconds.stalled_here = most),
            LimitedBy::ProcessorHere
        );
        assert_eq!(
            linked(|seconds| seconds.stalled_there = most),
            LimitedBy::ProcessorThere
        );
    }

    #[test]
    fn who_cannot_be_reached_is_told_first() {
        assert_eq!(reached(|_| {}), LimitedBy::PeerGone);
        assert_eq!(
            reached(|reach| reach.is_unopened = true),
            LimitedBy::NotAuthorised
        );
        for is_linked in [true, false] {
            let refused =
                |reach: &mut Reach| (reach.is_refused, reach.is_linked) = (true, is_linked);
            assert_eq!(reached(refused), LimitedBy::PortRefused);
        }
        let cut = |reach: &mut Reach| (reach.is_cut, reach.is_linked) = (true, true);
        assert_eq!(reached(cut), LimitedBy::PathMtu);
        let shared = |reach: &mut Reach| (reach.is_shared, reach.is_refused) = (true, true);
        assert_eq!(reached(shared), LimitedBy::KeyShared);
    }

    #[test]
    fn a_sign_counts_until_the_peer_is_heard() {
        let at = Instant::from_millis;
        let signs = Signs {
            refused: Some(at(5_000)),
            ..Signs::default()
        };
        let hop = HopState {
            is_linked: true,
            is_cut: false,
        };
        assert!(signs.reach(at(6_000), hop, Some(at(4_000))).is_refused);
        assert!(!signs.reach(at(6_000), hop, Some(at(5_500))).is_refused);
        assert!(!signs.reach(at(36_000), hop, Some(at(4_000))).is_refused);
    }

    #[test]
    fn a_verdict_says_how_much() {
        let seconds = RecentCounters {
            span: Duration::from_secs(1),
            silent: Duration::from_millis(250),
            frames: 400,
            lost: LossCounts {
                fade: 90,
                ..LossCounts::default()
            },
            ..RecentCounters::default()
        };
        let reach = Reach {
            is_linked: true,
            ..Reach::default()
        };
        let limit = Limit::of(&VerdictInputs { reach, seconds });
        let words = "the air: 90 frames found lost, 400 sent, silent for 25 % of the time";
        assert_eq!(limit.words, words);
    }
}
