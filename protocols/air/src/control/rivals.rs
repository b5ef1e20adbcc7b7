//! Whether the queue on the way is ours, and what to do where it is not.
//!
//! A sender that keeps its own queue short loses nearly everything to one that fills the queue. So when the queue does
//! not go where it should, it is tested: what is outstanding is cut to what the hop holds without a queue. If the
//! queue goes away, it was ours. If it stays, somebody else fills it, and until another test says otherwise the window
//! is that of one CUBIC flow. Copa's mode switch (Arun and Balakrishnan 2018) infers the same without the test, which
//! jitter and changing rates mislead.

use units::{BitRate, Duration, Instant};

use super::cubic::Cubic;
use super::delays::Extreme;

/// The queue is ours if the test leaves at most so much of it.
const OURS: (i64, i64) = (3, 10);
/// What remains below the capacity of the empty hop during a test.
const TEST_WINDOW: (u64, u64) = (17, 20);
/// The same of one that only keeps the smallest delay known.
const ROUTINE_WINDOW: (u64, u64) = (19, 20);
/// How long a test watches, at least.
const WATCH: Duration = Duration::from_millis(70);
/// The first time until another test; it doubles with each test of the same result.
const PAUSE: Duration = Duration::from_secs(1);
const DOUBLINGS_ALONE: u32 = 5;
const DOUBLINGS_COMPETING: u32 = 3;
/// A path that became longer is believed in without a test only once in so long.
const ADOPTION: Duration = Duration::from_secs(10);
/// Others may have stopped if the rate is so much higher than when they were found.
const FREED: (u64, u64) = (4, 3);
/// A wait that varies by no more than this and a frame is a path's, and no queue's.
const FLAT: Duration = Duration::from_millis(1);
/// A queue stands for long from so many times the wanted wait and so many microseconds on.
const TOWERING: (i64, i64) = (2, 15_000);
/// How long a step of the wait is believed to explain it.
const LEAP: Duration = Duration::from_secs(1);
/// A step is longer than so many frames take.
const LEAP_FRAMES: u64 = 3;
/// A queue that was never empty for so long, and for so many round trips, is tested.
const NEVER_EMPTY: Duration = Duration::from_secs(8);
const NEVER_EMPTY_ROUNDS: u64 = 20;
/// The window of late spans so many round trips, and at least this.
const LOOK_ROUNDS: u64 = 5;
const LOOK_FRAMES: u64 = 12;
const LOOK_MIN: Duration = Duration::from_millis(100);

/// What the hop looks like now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    /// The wait of the last arrival, and the wait that is aimed at, in microseconds.
    pub(crate) wait: i64,
    pub(crate) wanted: i64,
    /// A wait below this is none.
    pub(crate) empty: i64,
    /// The round trip without the wait.
    pub(crate) unloaded: Duration,
    /// The rate, and whether it is far below that of late.
    pub(crate) rate: BitRate,
    pub(crate) fell: bool,
    /// The window that gives the rate of late with the present wait.
    pub(crate) former: u64,
    /// Bytes sent with the transmission that arrived, and sent in all.
    pub(crate) sent: u64,
    pub(crate) newest: u64,
    /// The size of a frame, in bytes, and the time that it takes.
    pub(crate) frame: u64,
    pub(crate) frame_time: Duration,
}

impl View {
    /// Returns the CUBIC flow that has the rate of late with the present wait.
    fn former_flow(&self) -> Cubic {
        Cubic::new(self.former / self.frame.max(1))
    }
}

/// A test of whose the queue is.
#[derive(Debug)]
pub(crate) struct Test {
    before: i64,
    /// What bounds the window if the queue is not ours.
    window: Cubic,
    /// Only what left later tells.
    from: u64,
    ends: Option<Instant>,
    least: Option<i64>,
    /// It only keeps the smallest delay known.
    is_routine: bool,
}

/// A long step from one wait to the next, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Leap {
    at: Instant,
    from: i64,
    to: i64,
}

/// Whose the queue is taken to be.
#[derive(Debug)]
pub(crate) enum Mode {
    /// The rate is not known yet.
    Starting,
    /// Ours.
    Alone,
    /// That is being tested.
    Testing(Test),
    /// Others fill it.
    Competing(Cubic),
}

/// What a change of mode asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing.
    None,
    /// So much of the wait is no queue's.
    Adopt(i64),
    /// All of the wait may be a queue's.
    Disown,
}

/// The watch over the queue.
#[derive(Debug)]
pub(crate) struct Rivals {
    pub(crate) mode: Mode,
    shallowest: Extreme,
    deepest: Extreme,
    /// The latest long step from one wait to the next.
    leap: Option<Leap>,
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
    /// The next one begins no earlier.
    next: Instant,
    /// When the last one ended, and the rate then.
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
    /// Takes in an arrival; `limited` says whether the sender used all that it might.
    pub(crate) fn note(&mut self, now: Instant, view: View, limited: bool) -> Verdict {
        let look = (view.unloaded * LOOK_ROUNDS)
            .max(LOOK_MIN)
            .max(view.frame_time * LOOK_FRAMES);
        let shallowest = self.watch(now, view.wait, look);
        let from = std::mem::replace(&mut self.former, view.wait);
        if view.wait - from > (view.frame_time * LEAP_FRAMES).as_micros() as i64 {
            let to = view.wait;
            self.leap = Some(Leap { at: now, from, to });
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
                // More than before comes through where others have stopped.
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

    /// Returns the smallest wait of late, once that is long enough.
    fn watch(&mut self, now: Instant, wait: i64, look: Duration) -> Option<i64> {
        self.shallowest.set_window(look / 2);
        self.deepest.set_window(look / 2);
        self.deepest.note(now, wait);
        let since = *self.watched_since.get_or_insert(now);
        let shallowest = self.shallowest.note(now, wait);
        (now.since(since) > look).then_some(shallowest)
    }

    /// Whether more is outstanding than may be, so that the queue that there is says nothing yet.
    pub(crate) fn set_draining(&mut self, is_draining: bool) {
        self.is_draining = is_draining;
    }

    fn watch_anew(&mut self) {
        self.shallowest.clear();
        self.deepest.clear();
        self.watched_since = None;
    }

    /// The queue may not be ours.
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
        // A queue grows by what comes to it; a path becomes longer at once.
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
        // What stands so long is tested at little cost: the window is cut anyway. And a wait that stays as it is while
        // the window shrinks is not of our making.
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
            // A wait that has come during the test, by a rival or a longer path, is part of what it makes room for.
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
    /// Returns the window during this test, in bytes, where the hop holds so much without a queue: a frame less, as the
    /// last one that leaves exceeds it.
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
    /// The test disowned so much that was not taken for a queue's.
    pub(crate) fn disowned(&mut self, wait: i64) {
        if let Mode::Testing(test) = &mut self.mode {
            test.before += wait;
        }
    }
}
