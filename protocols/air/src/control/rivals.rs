//! A test that shows if the queue on the path is our own, and the window if it is not.
//!
//! A sender that keeps its own queue short loses nearly everything to one that fills the queue. So if the queue does
//! not reach its wanted length, it is tested: the bytes in flight are cut to what the hop holds without a queue. If the
//! queue goes away, it was ours. If it stays, another sender fills it, and until the next test the window is that of
//! one CUBIC flow. Copa's mode switch (Arun and Balakrishnan 2018) infers the same without the test, but jitter and
//! changing rates mislead it.

use units::{BitRate, Duration, Instant};

use super::cubic::Cubic;
use super::delays::Extreme;

/// Largest share of the queue that may remain after the test if the queue is ours.
const OURS: (i64, i64) = (3, 10);
/// Share of the empty hop's capacity that is used during a test.
const TEST_WINDOW: (u64, u64) = (17, 20);
/// The same share for a test that only keeps the smallest delay known.
const ROUTINE_WINDOW: (u64, u64) = (19, 20);
/// Least time for which a test watches.
const WATCH: Duration = Duration::from_millis(70);
/// The first time until another test; it doubles with each test of the same result.
const PAUSE: Duration = Duration::from_secs(1);
const DOUBLINGS_ALONE: u32 = 5;
const DOUBLINGS_COMPETING: u32 = 3;
/// Least time between two longer paths that are accepted without a test.
const ADOPTION: Duration = Duration::from_secs(10);
/// Share of the rate at detection above which others may have stopped.
const FREED: (u64, u64) = (4, 3);
/// Largest variation of a wait, beside a frame, that is attributed to the path and not to a queue.
const FLAT: Duration = Duration::from_millis(1);
/// A wait above this multiple of the wanted wait plus this many microseconds shows a standing queue.
const TOWERING: (i64, i64) = (2, 15_000);
/// Time for which a step of the wait counts as its explanation.
const LEAP: Duration = Duration::from_secs(1);
/// Least length of a step, in times of a frame.
const LEAP_FRAMES: u64 = 3;
/// Time, which also spans [`NEVER_EMPTY_ROUNDS`] round trips, without an empty queue after which the queue is tested.
const NEVER_EMPTY: Duration = Duration::from_secs(8);
const NEVER_EMPTY_ROUNDS: u64 = 20;
/// Duration of a watch of the wait: so many round trips, and at least this time.
const LOOK_ROUNDS: u64 = 5;
const LOOK_FRAMES: u64 = 12;
const LOOK_MIN: Duration = Duration::from_millis(100);

/// The present state of the hop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    /// Wait of the last arrival, and the wanted wait, in microseconds.
    pub(crate) wait: i64,
    pub(crate) wanted: i64,
    /// Wait below which the queue counts as empty.
    pub(crate) empty: i64,
    /// Round trip without the wait.
    pub(crate) unloaded: Duration,
    /// The rate, and true if it is far below the recent one.
    pub(crate) rate: BitRate,
    pub(crate) fell: bool,
    /// The window that gives the recent rate with the present wait.
    pub(crate) former: u64,
    /// Bytes sent up to the transmission that arrived, and bytes sent so far.
    pub(crate) sent: u64,
    pub(crate) newest: u64,
    /// Size of a frame in bytes, and its transmission time.
    pub(crate) frame: u64,
    pub(crate) frame_time: Duration,
}

impl View {
    /// Returns the CUBIC flow that has the recent rate with the present wait.
    fn former_flow(&self) -> Cubic {
        Cubic::new(self.former / self.frame.max(1))
    }
}

/// A test of whose queue it is.
#[derive(Debug)]
pub(crate) struct Test {
    before: i64,
    /// Window if the queue is not ours.
    window: Cubic,
    /// Bytes sent at the beginning: only later transmissions count.
    from: u64,
    ends: Option<Instant>,
    least: Option<i64>,
    /// True if it only keeps the smallest delay known.
    is_routine: bool,
}

/// A long step between two consecutive waits, in microseconds.
#[derive(Debug, Clone, Copy)]
struct DelayStep {
    at: Instant,
    from: i64,
    to: i64,
}

/// The presumed owner of the queue.
#[derive(Debug)]
pub(crate) enum Mode {
    /// Unknown, because the rate is not known yet.
    Starting,
    /// This sender.
    Alone,
    /// Unknown, and being tested.
    Testing(Test),
    /// Other senders.
    Competing(Cubic),
}

/// The consequence of a change of mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// No consequence.
    None,
    /// This much of the wait is not caused by a queue.
    Adopt(i64),
    /// All of the wait may be caused by a queue.
    Disown,
}

/// The detection of other senders in the queue.
#[derive(Debug)]
pub(crate) struct Rivals {
    pub(crate) mode: Mode,
    shallowest: Extreme,
    deepest: Extreme,
    /// The latest long step between two consecutive waits.
    leap: Option<DelayStep>,
    former: i64,
    watched_since: Option<Instant>,
    is_draining: bool,
    empty_at: Instant,
    adopted_at: Option<Instant>,
    tests: Tests,
}

/// Results of tests so far.
#[derive(Debug, Default)]
struct Tests {
    /// Earliest time of the next one.
    next: Instant,
    /// Time at which the last one ended, and the rate then.
    ended: Instant,
    rate: BitRate,
    /// Number of tests in a row that found the queue ours, and not ours.
    alone: u32,
    competing: u32,
}

impl Default for Rivals {
    fn default() -> Self {
        Self {
            mode: Mode::Starting,
            shallowest: Extreme::smallest(LOOK_MIN),
            deepest: Extreme::largest(LOOK_MIN),
            leap: None,
            former: 0,
            watched_since: None,
            is_draining: false,
            empty_at: Instant::ZERO,
            adopted_at: None,
            tests: Tests::default(),
        }
    }
}

impl Rivals {
    /// Returns the state on a hop whose rate is known, at first.
    pub(crate) fn alone() -> Self {
        Self {
            mode: Mode::Alone,
            ..Self::default()
        }
    }

    /// Records an arrival; `limited` is true if the sender used all of its window.
    pub(crate) fn note(&mut self, now: Instant, view: View, limited: bool) -> Verdict {
        let look = (view.unloaded * LOOK_ROUNDS)
            .max(LOOK_MIN)
            .max(view.frame_time * LOOK_FRAMES);
        let shallowest = self.watch(now, view.wait, look);
        let from = std::mem::replace(&mut self.former, view.wait);
        if view.wait - from > (view.frame_time * LEAP_FRAMES).as_micros() as i64 {
            let to = view.wait;
            self.leap = Some(DelayStep { at: now, from, to });
        }
        if view.wait < view.empty {
            self.empty_at = now;
        }
        let rested = now >= self.tests.next;
        match &mut self.mode {
            Mode::Starting => Verdict::None,
            Mode::Alone => {
                let Some(shallowest) = shallowest.filter(|_| limited) else {
                    return Verdict::None;
                };
                self.doubt(now, view, shallowest, rested)
            }
            Mode::Testing(test) => {
                if view.sent > test.from && !self.is_draining {
                    let pause = WATCH.max(view.unloaded / 2);
                    test.ends.get_or_insert(now + pause);
                    test.least = Some(test.least.map_or(view.wait, |least| least.min(view.wait)));
                }
                let drained = view.sent > test.from && view.wait < view.empty;
                if drained || test.ends.is_some_and(|ends| now >= ends) {
                    return self.judge(now, view);
                }
                Verdict::None
            }
            Mode::Competing(cubic) => {
                // More bytes get through if others have stopped.
                let freed = view.rate > self.tests.rate.scaled(FREED.0, FREED.1);
                let soon = freed && now >= self.tests.ended + PAUSE;
                if (rested || soon) && limited {
                    let window = cubic.clone();
                    return self.test(view, shallowest.unwrap_or(view.wait), window);
                }
                Verdict::None
            }
        }
    }

    /// Returns the smallest recent wait, once it was watched for long enough.
    fn watch(&mut self, now: Instant, wait: i64, look: Duration) -> Option<i64> {
        self.shallowest.set_window(look / 2);
        self.deepest.set_window(look / 2);
        self.deepest.note(now, wait);
        let since = *self.watched_since.get_or_insert(now);
        let shallowest = self.shallowest.note(now, wait);
        (now.since(since) > look).then_some(shallowest)
    }

    /// Records whether more bytes are in flight than the window permits, so that the present queue shows nothing yet.
    pub(crate) fn set_draining(&mut self, is_draining: bool) {
        self.is_draining = is_draining;
    }

    fn watch_anew(&mut self) {
        self.shallowest.clear();
        self.deepest.clear();
        self.watched_since = None;
    }

    /// Decides what to do about a queue that may not be ours.
    fn doubt(&mut self, now: Instant, view: View, shallowest: i64, rested: bool) -> Verdict {
        if self.is_draining {
            return Verdict::None;
        }
        let beyond = shallowest > view.wanted * 3 / 2 + 3_000;
        let lasting =
            now.since(self.empty_at) > NEVER_EMPTY.max(view.unloaded * NEVER_EMPTY_ROUNDS);
        let pressed = view.fell && shallowest > (view.wanted / 2).max(view.empty);
        let believable = self.adopted_at.is_none_or(|at| now.since(at) > ADOPTION);
        let spread = self.deepest.get().map_or(0, |deepest| deepest - shallowest);
        let flat = spread <= (FLAT + view.frame_time.scaled(5, 4)).as_micros() as i64;
        // A queue grows gradually with what arrives; a path becomes longer at once.
        let near = (FLAT + view.frame_time * 2).as_micros() as i64;
        let leapt = self.leap.is_some_and(|leap| {
            now.since(leap.at) < LEAP
                && (leap.to - shallowest).abs() < near
                && (leap.to - leap.from) * 4 > shallowest * 3
        });
        if rested && beyond && believable && flat && leapt && !view.fell {
            self.adopted_at = Some(now);
            self.watch_anew();
            return Verdict::Adopt(shallowest);
        }
        // A queue that stands so long costs little to test: the window is cut anyway. And we do not cause a wait that
        // stays constant while the window shrinks.
        let towers = shallowest > view.wanted * TOWERING.0 + TOWERING.1;
        let soon = (towers || (beyond && flat)) && now >= self.tests.ended + PAUSE;
        let doubtful = (rested || soon) && (beyond || pressed);
        if doubtful || lasting {
            let verdict = self.test(view, shallowest, view.former_flow());
            if let Mode::Testing(test) = &mut self.mode {
                test.is_routine = !doubtful;
            }
            return verdict;
        }
        Verdict::None
    }

    /// Begins a test.
    fn test(&mut self, view: View, before: i64, window: Cubic) -> Verdict {
        self.mode = Mode::Testing(Test {
            before,
            window,
            from: view.newest,
            ends: None,
            least: None,
            is_routine: false,
        });
        Verdict::Disown
    }

    /// Ends a test.
    fn judge(&mut self, now: Instant, view: View) -> Verdict {
        let Mode::Testing(test) = std::mem::replace(&mut self.mode, Mode::Alone) else {
            return Verdict::None;
        };
        let least = test.least.unwrap_or(view.wait);
        let (numerator, denominator) = OURS;
        let ours = least * denominator < test.before * numerator || least < view.empty + 1_000;
        self.watch_anew();
        self.tests.ended = now;
        self.tests.rate = view.rate;
        if !ours {
            self.tests.alone = 0;
            self.tests.next = now + PAUSE * (1 << self.tests.competing.min(DOUBLINGS_COMPETING));
            self.tests.competing += 1;
            // A wait that appeared during the test, by a rival or a longer path, is part of what the window makes room
            // for.
            let has_grown = least > test.before * 2 + FLAT.as_micros() as i64;
            self.mode = Mode::Competing(if has_grown {
                view.former_flow()
            } else {
                test.window
            });
            return Verdict::None;
        }
        let competed = std::mem::take(&mut self.tests.competing) > 0;
        self.tests.alone += 1;
        self.tests.next = now + PAUSE * (1 << self.tests.alone.min(DOUBLINGS_ALONE));
        self.empty_at = now;
        self.mode = Mode::Alone;
        if competed && least > view.empty {
            return Verdict::Adopt(least);
        }
        Verdict::None
    }
}

impl Test {
    /// Returns the window during this test, in bytes, if the hop holds `product` bytes without a queue: a frame less,
    /// because the last frame exceeds the window.
    pub(crate) fn window(&self, product: u64, frame: u64) -> u64 {
        let (numerator, denominator) = if self.is_routine {
            ROUTINE_WINDOW
        } else {
            TEST_WINDOW
        };
        (product * numerator / denominator).saturating_sub(frame)
    }
}

impl Rivals {
    /// Records that the test attributed `wait` to a queue that was not attributed to one before.
    pub(crate) fn disowned(&mut self, wait: i64) {
        if let Mode::Testing(test) = &mut self.mode {
            test.before += wait;
        }
    }
}
