//! Transmissions that are permitted while no acknowledgement arrives.
//!
//! In an outage frames wait in the hop, and every further one only makes them wait longer. In a fade they are lost, and
//! the next ones probe for its end. Only its end shows which of the two a silence was, so the last one decides.

use units::{BitRate, Bytes, Duration, Instant};

/// Time beyond one and a half round trips after which a silence begins.
const DELAYED: Duration = Duration::from_millis(25);
/// Factor by which a fade may last longer than earlier ones.
const BEYOND: u64 = 4;
/// Longest time between acknowledgements on a busy hop.
const GRACE: Duration = Duration::from_millis(7);
/// Least time between frames in an outage.
const PROBES: Duration = Duration::from_millis(5);
/// Most time between them: as between initiations of a handshake, or so many times that of a full frame. However long
/// the outage, its end is noticed soon, and what has waited then takes a small part of the time for which it lasted.
const PROBES_MOST: Duration = Duration::from_secs(5);
const FRAMES_MOST: u64 = 16;
/// Divisor of the bytes that may leave while an outage grows by a factor of e, out of those that the hop carries in its
/// round trip and this time.
const PROBED: u64 = 2;
const FILL: Duration = Duration::from_millis(200);
/// Assumed duration of a fade at the first silence.
const SWALLOWED: Duration = Duration::from_millis(50);
/// Timeout before anything was received.
const UNKNOWN: Duration = Duration::from_millis(500);

/// State of the detection of silences.
#[derive(Debug)]
pub(crate) struct Silence {
    /// Time since which nothing new was received, or that of the first frame in flight; `None` if none is.
    since: Option<Instant>,
    next_probe: Instant,
    /// Largest recent time between acknowledgements.
    grace: Duration,
    /// Duration of the last silence in which frames were lost and none waited: frames may continue to leave for this
    /// long, since more of them would have done no harm. `None` before the first silence.
    swallowed: Option<Duration>,
    /// Number of bytes lost before.
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

/// A frame to send, and the state of the hop at that time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) bytes: Bytes,
    /// Time that a full frame takes.
    pub(crate) frame: Duration,
    /// Number of bytes in flight, and their limit.
    pub(crate) outstanding: u64,
    pub(crate) window: u64,
    pub(crate) rate: BitRate,
    pub(crate) round_trip: Duration,
}

impl Silence {
    /// Records that an acknowledgement arrived for a frame that waited in the hop, with the round-trip time, the window
    /// in bytes, and the total of lost bytes.
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

    /// Records that nothing is in flight.
    pub(crate) fn rests(&mut self) {
        self.since = None;
    }

    /// Records that a frame was sent.
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
        // Frames that only acknowledge do not delay a probe.
        if outstanding >= window && now >= self.next_probe {
            let lasted = self.since.map_or(Duration::ZERO, |since| now.since(since));
            let fill = rate.bytes_in(round_trip + FILL);
            let spacing = lasted.scaled(bytes.get() * PROBED, fill.get().max(1));
            let most = PROBES_MOST.max(frame * FRAMES_MOST);
            self.next_probe = now + spacing.clamp(PROBES, most);
        }
    }

    /// Returns the time at which a frame may leave although more than the window is in flight, on a hop whose rate is
    /// known, or which `starts`.
    pub(crate) fn opens_at(
        &self,
        outstanding: u64,
        window: u64,
        round_trip: Option<Duration>,
        starts: bool,
    ) -> Instant {
        let since = self.since.unwrap_or(Instant::ZERO);
        if let Some(round_trip) = round_trip {
            // Frames that left more than a round trip ago are lost, and the hop takes as many again.
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
