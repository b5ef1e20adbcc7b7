//! How much may be outstanding on a hop that nobody has told anything of, and how fast it leaves.
//!
//! What is outstanding is bounded by the rate at which bytes arrive, times the round trip without queues and the
//! [wanted wait](wanted): a window, not a pace, so that a hop that stops carrying is not flooded. Where the queue turns
//! out to be [others'](rivals), the window is that of one of them: `docs/decisions/0015-a-window.md`.

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

/// The rate before anything is known: ten full frames in about 12 ms.
const INITIAL: BitRate = BitRate::from_megabits(10);
/// What may be outstanding before anything is known: a few initial windows of TCP.
const INITIAL_WINDOW: u64 = 40 << 10;
/// Slower than this is not believed.
const LEAST: BitRate = BitRate::from_kilobits(4);
/// A full frame on the wire, in bytes: what frames are taken for at first.
const FRAME: u64 = 1_514;
/// The mean size of frames forgets one part in so many with each.
const FRAMES: u64 = 16;
/// More frames than this that are lost together are lost in a fade.
const FADE: u64 = 3;
/// Bytes that tell whether it is the hop that delays them, and not a host that is busy.
const STRETCH: u64 = 4 * FRAME;
/// Clocks and schedulers blur a time by so many microseconds.
const BLUR: i64 = 500;
/// Frames that may always be outstanding.
const FRAMES_LEAST: u64 = 2;
/// The round trip before it is known (RFC 9002 §6.2.2 has 333 ms).
const ROUND_TRIP: Duration = Duration::from_millis(333);
/// A window's growth where the hop stays empty for 1, 2, 3, … rounds, in quarters.
const GROWTH: [u64; 4] = [4, 5, 6, 8];
/// A change of the window has had its effect after so many round trips.
const SETTLING: u64 = 4;
/// How long a round takes beyond the round trip: half of the time over which the rate is measured.
const ROUND: Duration = Duration::from_millis(40);
/// The smoothed rate moves one part in so many with each arrival.
const SMOOTHING: u64 = 8;

/// What is known of a hop's rate and queue.
#[derive(Debug)]
pub(crate) struct Control {
    delays: Delays,
    deliveries: Deliveries,
    wanted: WantedWait,
    rivals: Rivals,
    counts: Counts,
    rate: Option<BitRate>,
    smoothed: BitRate,
    /// Bytes that may be outstanding.
    window: u64,
    heard: Option<Heard>,
    heard_at: Instant,
    times: Times,
    /// A frame as they are of late, in bytes.
    frame: u64,
}

/// What the past decides of the window.
#[derive(Debug, Default)]
struct Times {
    /// When the last great change of the window will have had its effect.
    settled_at: Instant,
    /// The window is not lowered before.
    held_until: Instant,
    /// An empty hop is no cause to grow before: the window itself has emptied it.
    grows_from: Instant,
    /// Since when the hop has been empty.
    empty_since: Option<Instant>,
    /// The window is smaller until then, as frames were marked.
    marked_until: Instant,
}

/// Totals of bytes.
#[derive(Debug, Default)]
struct Counts {
    /// Sent.
    sent: u64,
    /// Sent when the sender had nothing more to send.
    idle: u64,
    /// Lost.
    lost: u64,
    /// Lost to a full queue.
    dropped: u64,
    /// Sent when the last overflow was noticed.
    overflow: u64,
    /// Sent with the last transmission that arrived.
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

    /// Returns whether a rate has been measured yet.
    pub(crate) fn has_measured(&self) -> bool {
        self.rate.is_some()
    }

    /// Returns whether the rate still doubles, since nothing has been seen to wait.
    pub(crate) fn is_starting(&self) -> bool {
        matches!(self.rivals.mode, Mode::Starting)
    }

    /// Returns whether others fill the queue of the hop, as far as is known.
    pub(crate) fn is_competing(&self) -> bool {
        matches!(self.rivals.mode, Mode::Competing(_))
    }

    /// Returns how many bytes may be outstanding.
    pub(crate) fn window(&self) -> u64 {
        let least = match self.rivals.mode {
            Mode::Testing(_) => 1,
            Mode::Starting | Mode::Alone | Mode::Competing(_) => FRAMES_LEAST,
        };
        self.window.max(least * self.frame)
    }

    /// Returns the size of a frame of late, in bytes.
    pub(crate) fn frame(&self) -> u64 {
        self.frame
    }

    /// Returns how long frames wait in the hop.
    pub(crate) fn queueing(&self) -> Duration {
        let wait = self.heard.map_or(0, |heard| heard.wait);
        Duration::from_micros(wait.max(0) as u64)
    }

    /// Returns the round trip with the present wait.
    pub(crate) fn round_trip(&self) -> Duration {
        self.unloaded() + self.queueing()
    }

    /// Returns the round trip of what leaves behind so many outstanding bytes. What the last arrival waited for may
    /// have been an outage, and nothing waits for longer than they take.
    pub(crate) fn round_trip_behind(&self, outstanding: Bytes) -> Duration {
        self.unloaded() + self.queueing().min(self.rate().time_for(outstanding))
    }

    /// Returns the bytes that it holds beside its own.
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

    /// Returns the wait that is aimed at, in microseconds: what keeps the hop busy, and what its delays differ by.
    fn wanted_wait(&self) -> i64 {
        self.wanted.get(self.frame_time()) + self.delays.jitter() * 3 / 2
    }

    /// Returns the rate at which frames leave while so many bytes are outstanding: it spreads what the window leaves
    /// over a round trip.
    pub(crate) fn pace(&self, outstanding: u64) -> BitRate {
        // A start ends by a queue, so that a host that is late at times does not remain at what it could send.
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

    /// A frame of so many bytes is sent.
    pub(crate) fn sent(&mut self, bytes: Bytes) {
        self.counts.sent += bytes.get();
        self.frame = (self.frame * (FRAMES - 1) + bytes.get()).div_ceil(FRAMES);
    }

    /// The sender has nothing more to send: what arrives of what has left says only what the hop carries at least.
    pub(crate) fn idle(&mut self) {
        self.counts.idle = self.counts.sent;
    }

    /// Another path is used from now on, whose delay is not known.
    pub(crate) fn path_changed(&mut self) {
        self.delays = Delays::default();
        self.heard = None;
    }

    /// Learns from an arrival, while so many bytes are outstanding.
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
        // What had come to the hop before the one ahead of it left has kept it busy.
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

    /// The queue was too long: so many bytes were lost at it, or some were marked.
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

    /// Notes for how long the hop was empty.
    fn note_emptiness(
        &mut self,
        now: Instant,
        (empty, limited, lost): (bool, bool, u64),
        (span, bytes): (i64, u64),
    ) {
        let empty = empty && lost == 0;
        // What the window itself or a fade leaves empty is no burst of the hop.
        let faded = lost > FADE * self.frame;
        if faded || self.growth() > GROWTH[0] || !matches!(self.rivals.mode, Mode::Alone) {
            self.times.settled_at = now + self.unloaded() * SETTLING;
        }
        if limited && now >= self.times.settled_at {
            let wait = self.heard.map_or(0, |heard| heard.wait);
            // What waited for less than the time since those before it were served has come to an empty hop, so much
            // later.
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

    /// Returns by how much the window grows because the hop stays empty, in quarters.
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
