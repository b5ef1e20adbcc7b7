//! The limit of bytes in flight, and the pace, on a hop of unknown rate.
//!
//! The bytes in flight are limited to the rate at which bytes arrive, times the sum of the round trip without queues
//! and the [wanted wait](wanted). This is a window, not only a pace, so that a hop that stops carrying is not flooded.
//! If the queue turns out to be [others'](rivals), the window is that of one of them:
//! `docs/decisions/0015-a-window.md`.

mod advance;
mod cubic;
mod delays;
mod deliveries;
mod rivals;
mod wanted;

use arq::Sample;
use delays::{Delays, Heard};
use deliveries::{Arrived, Deliveries};
use rivals::{Mode, Rivals};
use units::{BitRate, Bytes, Duration, Instant};
use wanted::WantedWait;

/// Rate before any measurement: ten full frames in about 12 ms.
const INITIAL: BitRate = BitRate::from_megabits(10);
/// Window before any measurement, in bytes: a few initial windows of TCP.
const INITIAL_WINDOW: u64 = 40 << 10;
/// Least rate that is considered plausible.
const LEAST: BitRate = BitRate::from_kilobits(4);
/// A full frame on the wire, in bytes: the initial estimate of the frame size.
const FRAME: u64 = 1_514;
/// Divisor of the moving average of frame sizes.
const FRAMES: u64 = 16;
/// Number of frames lost together above which the loss counts as a fade.
const FADE: u64 = 3;
/// Bytes that must arrive late before a delay is attributed to the hop, and not to a busy host.
const STRETCH: u64 = 4 * FRAME;
/// Noise of times by clocks and schedulers, in microseconds.
const BLUR: i64 = 500;
/// Number of frames that may always be in flight.
const FRAMES_LEAST: u64 = 2;
/// Round-trip time before any measurement (RFC 9002 §6.2.2 has 333 ms).
const ROUND_TRIP: Duration = Duration::from_millis(333);
/// Growth of a window in quarters, if the hop stays empty for 1, 2, 3, … rounds.
const GROWTH: [u64; 4] = [4, 5, 6, 8];
/// Number of round trips until a change of the window has its effect.
const SETTLING: u64 = 4;
/// Duration of a round beyond the round trip: half of the time over which the rate is measured.
const ROUND: Duration = Duration::from_millis(40);
/// Divisor of the moving average of rates.
const SMOOTHING: u64 = 8;

/// Estimates of a hop's rate and queue.
#[derive(Debug)]
pub(crate) struct Control {
    delays: Delays,
    deliveries: Deliveries,
    wanted: WantedWait,
    rivals: Rivals,
    counts: Counts,
    rate: Option<BitRate>,
    smoothed: BitRate,
    /// Limit of bytes in flight.
    window: u64,
    heard: Option<Heard>,
    heard_at: Instant,
    times: Times,
    /// Mean size of recent frames, in bytes.
    frame: u64,
}

/// Times that restrict changes of the window.
#[derive(Debug, Default)]
struct Times {
    /// Time at which the last large change of the window will have its effect.
    settled_at: Instant,
    /// Time before which the window is not lowered.
    held_until: Instant,
    /// Time before which an empty hop does not make the window grow: the window itself has emptied it.
    grows_from: Instant,
    /// Time since which the hop has been empty.
    empty_since: Option<Instant>,
    /// End of the reduction of the window because frames were marked.
    marked_until: Instant,
}

/// Totals of bytes.
#[derive(Debug, Default)]
struct Counts {
    /// Bytes sent.
    sent: u64,
    /// Bytes sent when the sender last ran out of data.
    idle: u64,
    /// Bytes lost.
    lost: u64,
    /// Bytes lost to a full queue.
    dropped: u64,
    /// Bytes sent when the last overflow was noticed.
    overflow: u64,
    /// Bytes sent up to the last transmission that arrived.
    arrived: u64,
    /// The waits of the last arrivals, in microseconds.
    waits: [i64; 3],
}

impl Default for Control {
    fn default() -> Self {
        Self {
            delays: Delays::default(),
            deliveries: Deliveries::default(),
            wanted: WantedWait::default(),
            rivals: Rivals::default(),
            counts: Counts::default(),
            rate: None,
            smoothed: INITIAL,
            window: INITIAL_WINDOW,
            heard: None,
            heard_at: Instant::ZERO,
            times: Times::default(),
            frame: FRAME,
        }
    }
}

impl Control {
    /// Returns the rate of the hop, smoothed.
    pub(crate) fn rate(&self) -> BitRate {
        self.smoothed
    }

    /// Returns the highest rate that the hop has had for some seconds.
    pub(crate) fn crest(&self) -> BitRate {
        self.deliveries
            .crest()
            .unwrap_or(INITIAL)
            .max(self.smoothed)
    }

    /// Returns true if a rate has been measured.
    pub(crate) fn has_measured(&self) -> bool {
        self.rate.is_some()
    }

    /// Returns true if the rate still doubles, because no frame has been seen to wait.
    pub(crate) fn is_starting(&self) -> bool {
        matches!(self.rivals.mode, Mode::Starting)
    }

    /// Returns true if others seem to fill the queue of the hop.
    pub(crate) fn is_competing(&self) -> bool {
        matches!(self.rivals.mode, Mode::Competing(_))
    }

    /// Returns the limit of bytes in flight.
    pub(crate) fn window(&self) -> u64 {
        let least = match self.rivals.mode {
            Mode::Testing(_) => 1,
            Mode::Starting | Mode::Alone | Mode::Competing(_) => FRAMES_LEAST,
        };
        self.window.max(least * self.frame)
    }

    /// Returns the mean size of recent frames, in bytes.
    pub(crate) fn frame(&self) -> u64 {
        self.frame
    }

    /// Returns the time that frames wait in the hop.
    pub(crate) fn queueing(&self) -> Duration {
        let wait = self.heard.map_or(0, |heard| heard.wait);
        Duration::from_micros(wait.max(0) as u64)
    }

    /// Returns the round trip with the present wait.
    pub(crate) fn round_trip(&self) -> Duration {
        self.unloaded() + self.queueing()
    }

    /// Returns the round-trip time of a frame sent behind `outstanding` bytes in flight. The last arrival may have
    /// waited for an outage; no frame waits longer than these bytes take.
    pub(crate) fn round_trip_behind(&self, outstanding: Bytes) -> Duration {
        self.unloaded() + self.queueing().min(self.rate().time_for(outstanding))
    }

    /// Returns the number of bytes allocated, without the size of the type.
    pub(crate) fn memory(&self) -> usize {
        self.deliveries.memory()
    }

    fn unloaded(&self) -> Duration {
        self.delays.unloaded().unwrap_or(ROUND_TRIP)
    }

    fn frame_time(&self) -> Duration {
        let rate = self.deliveries.peak().unwrap_or(INITIAL).max(LEAST);
        rate.time_for(Bytes::new(self.frame))
    }

    /// Returns the wait to aim at, in microseconds: the one that keeps the hop busy, plus the variation of its delays.
    fn wanted_wait(&self) -> i64 {
        self.wanted.get(self.frame_time()) + self.delays.jitter() * 3 / 2
    }

    /// Returns the rate at which frames leave while `outstanding` bytes are in flight: it spreads the rest of the
    /// window over a round trip.
    pub(crate) fn pace(&self, outstanding: u64) -> BitRate {
        // A start ends with a queue, so a host that is sometimes late does not stay at the rate that it could send.
        let least = if self.is_starting() { INITIAL } else { LEAST };
        let window = self.window();
        let wait = match self.rivals.mode {
            Mode::Starting | Mode::Alone | Mode::Testing(_) => {
                Duration::from_micros(self.wanted_wait() as u64)
            }
            Mode::Competing(_) => self.queueing(),
        };
        let base = BitRate::of(Bytes::new(window), self.unloaded() + wait).unwrap_or(INITIAL);
        let room = window.saturating_sub(outstanding);
        base.scaled(window + room, window).max(least)
    }

    /// Records that a frame of `bytes` is sent.
    pub(crate) fn sent(&mut self, bytes: Bytes) {
        self.counts.sent += bytes.get();
        self.frame = (self.frame * (FRAMES - 1) + bytes.get()).div_ceil(FRAMES);
    }

    /// Records that the sender has nothing more to send: arrivals of what it sent before give only a lower bound of the
    /// rate.
    pub(crate) fn idle(&mut self) {
        self.counts.idle = self.counts.sent;
    }

    /// Begins to measure another path. Its delay is unknown, and so is who fills its queue; the rate of the former one
    /// is the first guess.
    pub(crate) fn begin_path(&mut self) {
        self.delays = Delays::default();
        self.heard = None;
        self.deliveries.begin_path();
        self.wanted = WantedWait::default();
        self.rivals = if self.is_starting() {
            Rivals::default()
        } else {
            Rivals::alone()
        };
        self.times = Times::default();
    }

    /// Updates the estimates by an arrival, while `outstanding` bytes are in flight.
    pub(crate) fn learn(&mut self, now: Instant, sample: &Sample, outstanding: u64) {
        let before = self.heard;
        let heard = self.delays.note(now, sample);
        (self.heard, self.heard_at) = (Some(heard), now);
        self.counts.waits.rotate_left(1);
        self.counts.waits[2] = heard.wait;
        let lost = sample.lost_total.saturating_sub(self.counts.lost);
        self.counts.lost = sample.lost_total;
        let least = WantedWait::least(self.frame_time());
        let full = heard.wait > least * 2 && heard.wait * 4 > heard.deepest * 3;
        let limited = sample.sent_total > self.counts.idle;
        if (full && lost > 0) || sample.marked > 0 {
            let dropped = if full { lost } else { 0 };
            self.overflowed(sample, dropped);
        }
        if sample.marked > 0 {
            self.times.marked_until = now + self.round_trip();
        }
        let arrived = Arrived {
            at: heard.at,
            sent: sample.sent_total,
            lost: self.counts.lost,
            dropped: self.counts.dropped,
        };
        let frame_time = self.frame_time();
        let empty = heard.wait < WantedWait::none(frame_time);
        let span = before.map_or(0, |before| heard.at - before.at);
        // Bytes that arrived at the hop before the previous ones left it have kept it busy.
        let busy = heard.wait + BLUR >= span;
        let measured = self.deliveries.note(now, arrived, busy, frame_time);
        let enough = self.deliveries.bytes() >= STRETCH;
        let is_full = enough && measured.is_some_and(|(_, busy)| busy);
        if let Some((measured, busy)) = measured {
            let testing = matches!(self.rivals.mode, Mode::Testing(_));
            let exact = busy && (!testing || heard.wait > self.wanted_wait());
            self.take(now, measured.max(LEAST), exact, limited);
        }
        let bytes = sample.sent_total.saturating_sub(self.counts.arrived);
        self.note_emptiness(now, (empty, limited, lost), (span, bytes));
        let most = self.window() + FRAMES_LEAST * self.frame;
        self.rivals.set_draining(outstanding > most);
        self.consult(now, sample, limited);
        self.advance(
            now,
            sample,
            (lost > 0, sample.marked > 0),
            limited || is_full,
            outstanding,
        );
    }

    /// Handles a queue that was too long: `lost` bytes were lost at it, or some were marked.
    fn overflowed(&mut self, sample: &Sample, lost: u64) {
        self.counts.dropped += lost;
        if sample.sent_total >= self.counts.overflow {
            self.counts.overflow = self.counts.sent;
            let wait = self.heard.map_or(0, |heard| heard.wait);
            self.wanted.overflowed(wait);
        }
    }

    fn take(&mut self, now: Instant, measured: BitRate, exact: bool, limited: bool) {
        if self.rate.is_none() && !limited && !exact && measured < INITIAL {
            return;
        }
        let former = self.rate.unwrap_or(measured);
        let rate = if exact {
            measured
        } else {
            measured.max(former)
        };
        let (old, new) = (self.smoothed.bits_per_second(), rate.bits_per_second());
        let smoothed = if self.rate.is_none() || self.is_starting() {
            new
        } else {
            old - old / SMOOTHING + new / SMOOTHING
        };
        self.rate = Some(rate);
        if exact || limited || measured >= former {
            self.deliveries.believe(now, measured);
        }
        self.smoothed = BitRate::from_bits_per_second(smoothed).max(LEAST);
    }

    /// Records the time for which the hop was empty.
    fn note_emptiness(
        &mut self,
        now: Instant,
        (empty, limited, lost): (bool, bool, u64),
        (span, bytes): (i64, u64),
    ) {
        let empty = empty && lost == 0;
        // A hop that the window itself or a fade left empty has no burst.
        let faded = lost > FADE * self.frame;
        if faded || self.growth() > GROWTH[0] || !matches!(self.rivals.mode, Mode::Alone) {
            self.times.settled_at = now + self.unloaded() * SETTLING;
        }
        if limited && now >= self.times.settled_at {
            let wait = self.heard.map_or(0, |heard| heard.wait);
            // A frame that waited for less than the time since the previous ones were served met an empty hop, which
            // was empty for the difference.
            let peak = self.deliveries.peak().unwrap_or(self.smoothed);
            let before = Bytes::new(bytes.saturating_sub(self.frame));
            let busy = peak.time_for(before).as_micros() as i64;
            let idle = if lost == 0 {
                (span - busy - wait).max(0)
            } else {
                0
            };
            self.wanted.note(wait, span, idle, self.frame_time());
        }
        if matches!(self.rivals.mode, Mode::Testing(_)) {
            self.times.grows_from = now + self.unloaded() + self.frame_time() * FRAMES_LEAST;
        }
        let counts = empty && limited && now >= self.times.grows_from;
        self.times.empty_since = counts.then(|| self.times.empty_since.unwrap_or(now));
    }

    /// Returns the growth of the window while the hop stays empty, in quarters.
    fn growth(&self) -> u64 {
        let Some(since) = self.times.empty_since else {
            return GROWTH[0];
        };
        let round = self.unloaded() + ROUND;
        let rounds = self.heard_at.since(since).as_nanos() / round.as_nanos().max(1);
        GROWTH[usize::try_from(rounds)
            .unwrap_or(usize::MAX)
            .min(GROWTH.len() - 1)]
    }
}
