//! What may leave while nothing is acknowledged.
//!
//! In an outage frames wait in the hop, and whatever is added only makes them wait longer; in a fade they are gone, and
//! the next ones probe its end. Which of the two a silence is shows only behind it, so the last one decides.

use units::{BitRate, Bytes, Duration, Instant};

/// A silence lasts for one and a half round trips and this.
const DELAYED: Duration = Duration::from_millis(25);
/// A fade may last for so many times as long as those before.
const BEYOND: u64 = 4;
/// Acknowledgements of a busy hop are not further apart.
const GRACE: Duration = Duration::from_millis(7);
/// How often a frame may leave in an outage, at least.
const PROBES: Duration = Duration::from_millis(5);
/// While an outage grows by a factor of e, one part in so many may leave of what the hop carries in its round trip and
/// this time.
const PROBED: u64 = 2;
const FILL: Duration = Duration::from_millis(200);
/// The first silence may be a fade of so long.
const SWALLOWED: Duration = Duration::from_millis(50);
/// The patience before anything was heard.
const UNKNOWN: Duration = Duration::from_millis(500);

/// What is known of silences.
#[derive(Debug)]
pub(crate) struct Silence {
    /// Since when nothing new was heard.
    since: Option<Instant>,
    next_probe: Instant,
    /// How far acknowledgements lie apart at most.
    grace: Duration,
    /// How long the last silence was in which frames were lost and none waited: so long they may go on to leave, since
    /// more of them would have done no harm. Unknown before the first silence.
    swallowed: Option<Duration>,
    /// Bytes that were lost before.
    lost: u64,
}

impl Default for Silence {
    fn default() -> Self {
        Self {
            since: None,
            next_probe: Instant::ZERO,
            grace: GRACE,
            swallowed: None,
            lost: 0,
        }
    }
}

fn patience(round_trip: Option<Duration>) -> Duration {
    round_trip.map_or(UNKNOWN, |round_trip| round_trip.scaled(3, 2) + DELAYED)
}

/// A frame that was sent, and the hop at that time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) bytes: Bytes,
    /// Time that a full frame takes.
    pub(crate) frame: Duration,
    /// Number of bytes in flight, and of those that may be.
    pub(crate) outstanding: u64,
    pub(crate) window: u64,
    pub(crate) rate: BitRate,
    pub(crate) round_trip: Duration,
}

impl Silence {
    /// Something was heard that had waited for so long in the hop, where a round trip takes so long and so many bytes
    /// may be outstanding; so many were lost in all.
    pub(crate) fn heard(
        &mut self,
        now: Instant,
        wait: Duration,
        round_trip: Duration,
        lost: u64,
        window: u64,
    ) {
        let silent = self.since.map_or(Duration::ZERO, |since| now.since(since));
        let lost = lost - std::mem::replace(&mut self.lost, lost).min(lost);
        if silent > patience(Some(round_trip.saturating_sub(wait))) {
            if wait * 2 > silent {
                self.swallowed = Some(Duration::ZERO);
            } else if lost * 4 > window {
                let former = self.swallowed.unwrap_or_default();
                self.swallowed = Some(silent.max(former.scaled(3, 4)));
            }
        }
        self.since = Some(now);
    }

    /// Notes that something was sent.
    pub(crate) fn sent(&mut self, now: Instant, sent: &Sent) {
        let Sent {
            bytes,
            frame,
            outstanding,
            window,
            rate,
            round_trip,
        } = *sent;
        self.since.get_or_insert(now);
        self.grace = GRACE.max(frame * 2);
        if outstanding == 0 {
            self.since = Some(now);
        }
        // Acknowledgements that leave meanwhile put no probe off.
        if outstanding >= window && now >= self.next_probe {
            let lasted = self.since.map_or(Duration::ZERO, |since| now.since(since));
            let fill = rate.bytes_in(round_trip + FILL);
            let spacing = lasted.scaled(bytes.get() * PROBED, fill.get().max(1));
            self.next_probe = now + PROBES.max(spacing);
        }
    }

    /// Returns when something may leave although so many bytes are outstanding, more than may be, on a hop whose rate
    /// is known or `starts` to be.
    pub(crate) fn opens_at(
        &self,
        outstanding: u64,
        window: u64,
        round_trip: Option<Duration>,
        starts: bool,
    ) -> Instant {
        let since = self.since.unwrap_or(Instant::ZERO);
        if let Some(round_trip) = round_trip {
            // What left more than a round trip ago is gone, and the hop takes as much again.
            let beyond = outstanding.saturating_sub(window);
            let gone = round_trip.scaled(beyond, window.max(1));
            let unknown = if starts { Duration::ZERO } else { SWALLOWED };
            if gone < self.swallowed.unwrap_or(unknown) * BEYOND {
                return since + self.grace + gone;
            }
        }
        (since + patience(round_trip)).max(self.next_probe)
    }
}
