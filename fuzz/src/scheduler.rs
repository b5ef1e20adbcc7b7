//! The scheduler of a shared air, with a driver that keeps its contract and a tape that does anything else.

use std::collections::BTreeMap;

use machine::Machine;
use scheduler::config::{Bursts, Discipline, Monitor, Probing};
use scheduler::{Cause, Config, Destination, Hint, Input, Outcome, Output, Scheduler, Waiting};
use units::{Bytes, Duration, Instant};

use crate::outcome::note;

/// Number of destinations.
const DESTINATIONS: u16 = 6;
/// Largest weight.
const WEIGHT_MAX: u16 = 4;
/// Longest use of the air; the shortest is a tenth of it.
const AIRTIME_MAX: Duration = Duration::from_millis(2);
/// Least airtime of a line of weight 1 in a round by airtime; the largest is the longest use of the air.
const ROUND_MIN: Duration = Duration::from_millis(1);

/// The expected state of a destination.
#[derive(Debug, Default)]
struct Line {
    waits: bool,
    is_marked: bool,
    /// Airtime that was used for it outside its turns since its last turn.
    owed: Duration,
    /// Number of turns of others while it waited unmarked, and the airtime of these turns.
    passed_over: u64,
    passed_time: Duration,
}

impl Line {
    fn forget_others(&mut self) {
        self.passed_over = 0;
        self.passed_time = Duration::ZERO;
    }
}

/// The scheduler, with the checks on it.
struct Air {
    scheduler: Scheduler,
    discipline: Discipline,
    lines: BTreeMap<Destination, Line>,
    now: Instant,
    is_free: bool,
    /// Byte of the tape that determines the next use of the air.
    value: u8,
}

/// Runs joins and leaves, queues, results, waits and a free air, in any order. The first byte chooses the discipline
/// and the monitor. Only a present destination with packets is served, only a marked one is probed, the air is used
/// once each time that it is free and never idle while a destination may be served, and with turns every destination is
/// served in bounded time.
pub fn scheduler_tape(bytes: &[u8]) {
    let Some((setting, tape)) = bytes.split_first() else {
        return;
    };
    let discipline = Discipline::ALL[usize::from(*setting) % Discipline::ALL.len()];
    let monitor = match setting / 8 % 3 {
        0 => Monitor::Probing(Probing::default()),
        1 => Monitor::Acknowledgements(Bursts::default()),
        _ => Monitor::Perfect,
    };
    let mut air = Air {
        scheduler: Scheduler::new(&Config {
            discipline,
            monitor,
        }),
        discipline,
        lines: BTreeMap::new(),
        now: Instant::from_millis(1),
        is_free: false,
        value: 0,
    };
    for step in tape.chunks_exact(3) {
        air.step(
            step[0],
            Destination(u16::from(step[1]) % DESTINATIONS),
            step[2],
        );
    }
}

impl Air {
    fn step(&mut self, kind: u8, destination: Destination, value: u8) {
        match kind % 16 {
            0 => self.pass(Duration::from_millis(u64::from(value))),
            1 => self.join(destination, u16::from(value) % WEIGHT_MAX + 1),
            2 => {
                self.lines.remove(&destination);
                self.tell(Input::Leave(destination));
            }
            3..=6 => self.queue(destination, value),
            7 => {
                let airtime = airtime(value);
                // With turns, a transmission outside a turn counts as one.
                if let Some(line) = self.lines.get_mut(&destination) {
                    line.owed += airtime;
                    line.forget_others();
                }
                self.tell(Input::Sent {
                    destination,
                    airtime,
                });
            }
            8 | 9 => self.outcome(destination, value),
            10 => {
                let is_good = value.is_multiple_of(2);
                self.tell(Input::Channel {
                    destination,
                    is_good,
                });
            }
            11 => {
                let hint = hint(value);
                self.tell(Input::Hint { destination, hint });
            }
            _ => self.free(value),
        }
    }

    fn join(&mut self, destination: Destination, weight: u16) {
        self.lines.entry(destination).or_default();
        self.tell(Input::Join {
            destination,
            weight,
        });
    }

    fn queue(&mut self, destination: Destination, value: u8) {
        let waiting = (!value.is_multiple_of(4)).then(|| Waiting {
            bytes: Bytes::new(u64::from(value) * 100),
            oldest: self.now - Duration::from_millis(u64::from(value)),
        });
        if let Some(line) = self.lines.get_mut(&destination) {
            line.waits = waiting.is_some();
            if !line.waits {
                line.forget_others();
            }
        }
        self.tell(Input::Queue {
            destination,
            waiting,
        });
    }

    fn outcome(&mut self, destination: Destination, value: u8) {
        let cause = [Cause::Unknown, Cause::Collision, Cause::Fade][usize::from(value) % 3];
        let outcome = match value / 4 % 3 {
            0 => Outcome::Delivered,
            more => Outcome::Missing {
                cause,
                given_up: more == 1,
            },
        };
        self.tell(Input::Outcome {
            destination,
            outcome,
        });
    }

    /// Reports that the air is free; the chosen destination uses it.
    fn free(&mut self, value: u8) {
        (self.is_free, self.value) = (true, value);
        self.tell(Input::AirFree);
    }

    fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some(due) = self.scheduler.poll_timeout().filter(|due| *due <= end) {
            self.now = due.max(self.now);
            self.scheduler.handle_timeout(self.now);
            self.react();
        }
        self.now = end;
    }

    fn tell(&mut self, input: Input) {
        self.scheduler.handle_input(self.now, input);
        self.react();
        let ignores = matches!(
            self.discipline,
            Discipline::Fifo | Discipline::RoundRobin | Discipline::RoundRobinDeferring
        );
        let serves_marked = ignores || self.discipline != Discipline::LongestConnectedQueue;
        let may_be_served = |line: &Line| line.waits && (serves_marked || !line.is_marked);
        let wanted = self.lines.values().any(may_be_served);
        assert!(!(self.is_free && wanted), "the air rests");
    }

    /// Lets the chosen destination use the air, and reports that use and its result.
    fn react(&mut self) {
        let Some((destination, is_turn)) = self.drain() else {
            return;
        };
        let airtime = airtime(self.value);
        if is_turn {
            self.count(destination, airtime);
        }
        self.scheduler.handle_input(
            self.now,
            Input::Sent {
                destination,
                airtime,
            },
        );
        self.outcome(destination, self.value);
    }

    /// Checks the scheduler's output; returns the destination that may use the air, and true for a turn, false for a
    /// probe.
    fn drain(&mut self) -> Option<(Destination, bool)> {
        let mut chosen = None;
        while let Some(output) = self.scheduler.poll_output() {
            let (Output::Serve(destination)
            | Output::Probe(destination)
            | Output::Marked(destination)
            | Output::Unmarked(destination)) = output;
            let line = self.lines.get_mut(&destination);
            let line = line.expect("a destination that is there");
            note(&output);
            match output {
                Output::Marked(_) => {
                    line.is_marked = true;
                    line.forget_others();
                }
                Output::Unmarked(_) => line.is_marked = false,
                Output::Probe(_) => assert!(line.is_marked, "a probe for who is heard"),
                Output::Serve(_) => assert!(line.waits, "nothing waits there"),
            }
            if matches!(output, Output::Serve(_) | Output::Probe(_)) {
                assert!(std::mem::take(&mut self.is_free), "the air is busy");
                chosen = Some((destination, matches!(output, Output::Serve(_))));
            }
        }
        chosen
    }

    /// Counts a turn, also for each destination that waited during it.
    fn count(&mut self, destination: Destination, airtime: Duration) {
        for (other, line) in &mut self.lines {
            if *other == destination || !line.waits || line.is_marked {
                line.forget_others();
            } else {
                line.passed_over += 1;
                line.passed_time += airtime;
            }
        }
        let lines = self.lines.len() as u64;
        // A line may finish the rest of a turn, and have another turn before that of another line.
        let turns = 2 * lines * u64::from(WEIGHT_MAX);
        let round = AIRTIME_MAX * lines * u64::from(WEIGHT_MAX + 1);
        for line in self.lines.values() {
            let owed = (line.owed + AIRTIME_MAX).as_nanos();
            let rounds = owed / ROUND_MIN.as_nanos() + 2;
            let is_fair = match self.discipline {
                Discipline::RoundRobinDeferring | Discipline::CsdpRoundRobin => {
                    line.passed_over <= turns
                }
                Discipline::Airtime => line.passed_time <= round * rounds,
                _ => true,
            };
            assert!(is_fair, "it starves: {line:?}");
        }
        if let Some(line) = self.lines.get_mut(&destination) {
            line.owed = Duration::ZERO;
        }
    }
}

/// Returns a receiver's hint from a byte; the receiver is a peer, and may send anything.
fn hint(value: u8) -> Hint {
    let faded = Duration::from_nanos(u64::MAX >> (value / 4));
    match value % 4 {
        0 => Hint::Damaged(u32::from(value)),
        1 => Hint::Fallen,
        2 => Hint::Risen { faded: None },
        _ => Hint::Risen { faded: Some(faded) },
    }
}

/// Returns an airtime from a byte.
fn airtime(value: u8) -> Duration {
    AIRTIME_MAX / 10 * (u64::from(value) % 10 + 1)
}
