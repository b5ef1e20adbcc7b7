//! The lines of the log about fades: for each peer one a minute, however many fades there are.

use std::collections::BTreeMap;

use units::{Duration, Instant};

/// Time between two lines about one peer.
const INTERVAL: Duration = Duration::from_secs(60);

/// Fades of each peer since its last line. It has as many entries as there are peers with recent fades.
#[derive(Debug, Default)]
pub(super) struct FadeLog {
    peers: BTreeMap<String, Untold>,
}

/// Fades of one peer that no line has told yet.
#[derive(Debug, Default)]
struct Untold {
    /// Time from which there may be the next line.
    next_line: Instant,
    ended: u64,
    total: Duration,
    longest: Duration,
}

/// A line of the log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FadeLine {
    pub(super) peer: String,
    /// Number of fades that ended since the last line.
    pub(super) fades: u64,
    pub(super) text: String,
}

impl Untold {
    /// Describes the fades since the last line; empty if there were none.
    fn words(&mut self) -> (u64, String) {
        let Self {
            ended,
            total,
            longest,
            ..
        } = *self;
        (self.ended, self.total, self.longest) = (0, Duration::ZERO, Duration::ZERO);
        let words = match ended {
            0 => String::new(),
            1 => format!("a fade of {longest} ended"),
            _ => format!("{ended} fades ended, {total} in all, the longest {longest}"),
        };
        (ended, words)
    }
}

impl FadeLine {
    /// Writes it.
    pub(super) fn log(&self) {
        let Self { peer, fades, text } = self;
        tracing::info!(peer, event = "fade", fades, "{text}");
    }
}

impl FadeLog {
    /// Notes that a fade began; returns the line, if there may be one.
    pub(super) fn began(&mut self, now: Instant, peer: &str) -> Option<FadeLine> {
        let untold = self.peers.entry(peer.into()).or_default();
        if now < untold.next_line {
            return None;
        }
        untold.next_line = now + INTERVAL;
        let (fades, before) = untold.words();
        let before = match fades {
            0 => String::new(),
            _ => format!("; before it, {before}"),
        };
        let text = format!("{peer}: a fade began{before}");
        Some(FadeLine {
            peer: peer.into(),
            fades,
            text,
        })
    }

    /// Notes that a fade of this length ended; returns the line, if there may be one.
    pub(super) fn ended(&mut self, now: Instant, peer: &str, lasted: Duration) -> Option<FadeLine> {
        let untold = self.peers.entry(peer.into()).or_default();
        untold.ended += 1;
        untold.total += lasted;
        untold.longest = untold.longest.max(lasted);
        (now >= untold.next_line).then(|| untold.line(now, peer))
    }

    /// Returns the lines that had to wait and are due.
    pub(super) fn due(&mut self, now: Instant) -> Vec<FadeLine> {
        let mut lines = Vec::new();
        self.peers.retain(|peer, untold| {
            if now < untold.next_line {
                return true;
            }
            if untold.ended > 0 {
                lines.push(untold.line(now, peer));
            }
            // Whatever comes next may be told at once, with or without this entry.
            now < untold.next_line
        });
        lines
    }
}

impl Untold {
    /// Returns a line about all fades since the last one.
    fn line(&mut self, now: Instant, peer: &str) -> FadeLine {
        self.next_line = now + INTERVAL;
        let (fades, words) = self.words();
        FadeLine {
            peer: peer.into(),
            fades,
            text: format!("{peer}: {words}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_millis(seconds * 1_000)
    }

    fn text(line: Option<FadeLine>) -> Option<String> {
        line.map(|line| line.text)
    }

    #[test]
    fn each_peer_has_one_line_a_minute_and_no_fade_is_left_out() {
        let mut log = FadeLog::default();
        let began = |peer: &str| Some(format!("{peer}: a fade began"));
        assert_eq!(text(log.began(at(100), "m1")), began("m1"));
        assert_eq!(text(log.began(at(101), "m2")), began("m2"), "another peer");
        for second in 102..130 {
            let lasted = Duration::from_millis(second);
            assert_eq!(log.ended(at(second), "m1", lasted), None);
            assert_eq!(log.began(at(second), "m1"), None);
        }
        assert_eq!(log.due(at(159)), []);
        let line = log.due(at(160)).swap_remove(0);
        assert_eq!((line.peer.as_str(), line.fades), ("m1", 28));
        let told = "m1: 28 fades ended, 3.234 s in all, the longest 129 ms";
        assert_eq!(line.text, told);
        // The long fade that began at 129 s ends.
        assert_eq!(log.ended(at(170), "m1", Duration::from_secs(41)), None);
        let told = "m1: a fade began; before it, a fade of 41 s ended";
        assert_eq!(text(log.began(at(220), "m1")).as_deref(), Some(told));
    }

    #[test]
    fn a_single_fade_that_is_told_late_is_whole() {
        let mut log = FadeLog::default();
        assert!(log.began(at(10), "m1").is_some());
        let told = "m1: a fade of 1.167 min ended";
        let line = log.ended(at(80), "m1", Duration::from_secs(70));
        assert_eq!(text(line).as_deref(), Some(told));
    }

    #[test]
    fn peers_without_fades_are_forgotten() {
        let mut log = FadeLog::default();
        for number in 0..1_000 {
            assert!(log.began(at(1), &format!("m{number}")).is_some());
        }
        assert_eq!(log.due(at(61)), []);
        assert!(log.peers.is_empty());
    }
}
