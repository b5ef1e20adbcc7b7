//! A small air for tests: a driver with a window of one frame, over channels whose states are given.

use std::collections::{BTreeMap, VecDeque};

use machine::Machine;
use scheduler::config::{Discipline, Monitor};
use scheduler::{Cause, Config, Destination, Input, Outcome, Output, Scheduler, Waiting};
use units::{Bytes, Duration, Instant};

/// Airtime of a data frame.
pub(crate) const FRAME: Duration = Duration::from_millis(10);
/// Airtime of a probe.
pub(crate) const PROBE: Duration = Duration::from_millis(1);
/// Length of a frame, in bytes.
const LENGTH: u64 = 1_000;

/// One mobile host: its frames, and the times at which its channel is bad.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mobile {
    pub(crate) waiting: VecDeque<Instant>,
    pub(crate) fades: Vec<(Instant, Instant)>,
    pub(crate) delivered: Vec<Instant>,
    pub(crate) given_up: u32,
    pub(crate) attempts: u32,
    tries: u32,
}

impl Mobile {
    /// Returns a host with `frames` frames from the start.
    pub(crate) fn with(frames: usize) -> Self {
        Self {
            waiting: std::iter::repeat_n(Instant::ZERO, frames).collect(),
            ..Self::default()
        }
    }

    /// Makes its channel bad from millisecond `from` to millisecond `to`.
    pub(crate) fn fading(mut self, from: u64, to: u64) -> Self {
        self.fades
            .push((Instant::from_millis(from), Instant::from_millis(to)));
        self
    }

    pub(crate) fn is_good(&self, at: Instant) -> bool {
        !self.fades.iter().any(|(from, to)| *from <= at && at < *to)
    }
}

/// The base station, its air and its mobile hosts.
pub(crate) struct Air {
    pub(crate) scheduler: Scheduler,
    pub(crate) mobiles: BTreeMap<Destination, Mobile>,
    pub(crate) now: Instant,
    /// Outputs of the scheduler, in order.
    pub(crate) log: Vec<(Instant, Output)>,
    /// Largest number of tries of a frame.
    pub(crate) tries_max: u32,
}

impl Air {
    pub(crate) fn new(discipline: Discipline, monitor: Monitor, mobiles: Vec<Mobile>) -> Self {
        let mobiles = (0..)
            .map(Destination)
            .zip(mobiles)
            .collect::<BTreeMap<_, _>>();
        let mut air = Self {
            scheduler: Scheduler::new(&Config {
                discipline,
                monitor,
            }),
            mobiles,
            now: Instant::ZERO,
            log: Vec::new(),
            tries_max: 8,
        };
        for destination in air.destinations() {
            let weight = 1;
            air.tell(Input::Join {
                destination,
                weight,
            });
            air.tell_queue(destination);
        }
        air
    }

    fn destinations(&self) -> Vec<Destination> {
        self.mobiles.keys().copied().collect()
    }

    pub(crate) fn tell(&mut self, input: Input) {
        self.scheduler.handle_input(self.now, input);
    }

    fn tell_queue(&mut self, destination: Destination) {
        let queue = &self.mobiles[&destination].waiting;
        let waiting = queue.front().map(|oldest| Waiting {
            bytes: Bytes::new(queue.len() as u64 * LENGTH),
            oldest: *oldest,
        });
        self.tell(Input::Queue {
            destination,
            waiting,
        });
    }

    /// Reports the states of all channels, as a simulated channel does.
    fn tell_channels(&mut self) {
        for destination in self.destinations() {
            let is_good = self.mobiles[&destination].is_good(self.now);
            let is_marked = self
                .scheduler
                .status(destination)
                .is_some_and(|known| known.is_marked);
            if is_good == is_marked {
                self.tell(Input::Channel {
                    destination,
                    is_good,
                });
            }
        }
    }

    /// Runs the air until `end`, or until no frames wait.
    pub(crate) fn run(&mut self, end: Instant, perfect: bool) {
        let tick = Duration::from_millis(1);
        while self.now < end
            && self
                .mobiles
                .values()
                .any(|mobile| !mobile.waiting.is_empty())
        {
            if perfect {
                self.tell_channels();
            }
            self.scheduler.handle_timeout(self.now);
            let before = self.now;
            self.drain();
            if self.now == before {
                self.tell(Input::AirFree);
                self.drain();
            }
            if self.now == before {
                self.now += tick;
            }
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.scheduler.poll_output() {
            self.log.push((self.now, output));
            match output {
                Output::Serve(destination) => self.serve(destination),
                Output::Probe(destination) => self.probe(destination),
                Output::Marked(_) | Output::Unmarked(_) => {}
            }
        }
    }

    fn passes(&mut self, destination: Destination, airtime: Duration) -> bool {
        let mobile = &self.mobiles[&destination];
        let good = mobile.is_good(self.now) && mobile.is_good(self.now + airtime);
        self.tell(Input::Sent {
            destination,
            airtime,
        });
        self.now += airtime;
        good
    }

    fn serve(&mut self, destination: Destination) {
        let passes = self.passes(destination, FRAME);
        let (now, tries_max) = (self.now, self.tries_max);
        let Some(mobile) = self.mobiles.get_mut(&destination) else {
            return;
        };
        mobile.attempts += 1;
        mobile.tries += 1;
        let given_up = !passes && mobile.tries == tries_max;
        if passes || given_up {
            mobile.waiting.pop_front();
            mobile.tries = 0;
        }
        if passes {
            mobile.delivered.push(now);
        }
        mobile.given_up += u32::from(given_up);
        let cause = Cause::Unknown;
        let missing = Outcome::Missing { cause, given_up };
        let outcome = if passes { Outcome::Delivered } else { missing };
        self.tell_queue(destination);
        self.tell(Input::Outcome {
            destination,
            outcome,
        });
    }

    fn probe(&mut self, destination: Destination) {
        let passes = self.passes(destination, PROBE);
        let missing = Outcome::Missing {
            cause: Cause::Unknown,
            given_up: false,
        };
        let outcome = if passes { Outcome::Delivered } else { missing };
        self.tell(Input::Outcome {
            destination,
            outcome,
        });
    }

    /// Returns the destinations that the scheduler served, in order.
    pub(crate) fn served(&self) -> Vec<u16> {
        let served = |(_, output): &(Instant, Output)| match output {
            Output::Serve(destination) => Some(destination.0),
            _ => None,
        };
        self.log.iter().filter_map(served).collect()
    }

    pub(crate) fn mobile(&self, number: u16) -> &Mobile {
        &self.mobiles[&Destination(number)]
    }
}
