//! The machine.

use std::collections::VecDeque;

use machine::{Deadlines, Machine};
use units::{Duration, Instant};

use crate::discipline::{self, Discipline, Marks};
use crate::lines::{Line, Lines, Probe, ServiceClass};
use crate::monitor::{self, Look, Monitor};
use crate::{Config, Destination, Input, Outcome, Output, Status, Waiting};

/// Selects the next destination. A selection takes time logarithmic in the number of destinations; memory grows with
/// their highest number.
#[derive(Debug)]
pub struct Scheduler {
    discipline: Box<dyn Discipline>,
    monitor: Box<dyn Monitor>,
    lines: Lines,
    /// Times at which the monitor checks each channel.
    dues: Deadlines<Destination>,
    air_is_free: bool,
    outputs: VecDeque<Output>,
}

impl Scheduler {
    /// Returns a scheduler without destinations, with the air busy.
    pub fn new(config: &Config) -> Self {
        Self {
            discipline: discipline::of(config.discipline),
            monitor: monitor::of(config.monitor),
            lines: Lines::default(),
            dues: Deadlines::default(),
            air_is_free: false,
            outputs: VecDeque::new(),
        }
    }

    /// Returns the counters and the channel state of a destination, if it has joined.
    pub fn status(&self, destination: Destination) -> Option<Status> {
        let line = self.lines.get(destination)?;
        let known = line.channel.bursts.mean_and_deviation();
        Some(Status {
            is_marked: line.channel.is_marked,
            bursts: line.channel.bursts.count(),
            burst_length: known.map(|(mean, _)| mean),
            burst_deviation: known.map(|(_, deviation)| deviation),
            ..line.tally
        })
    }

    /// Removes a destination. The air is free again if it was that destination's turn and nobody has taken the output.
    fn leave(&mut self, destination: Destination) {
        self.lines.leave(destination);
        self.dues.clear(destination);
        self.outputs.retain(|output| {
            let (of, is_turn) = match output {
                Output::Serve(of) | Output::Probe(of) => (of, true),
                Output::Marked(of) | Output::Unmarked(of) => (of, false),
            };
            let stays = *of != destination;
            self.air_is_free |= is_turn && !stays;
            stays
        });
    }

    fn queue(&mut self, destination: Destination, waiting: Option<Waiting>) {
        if let Some(line) = self.lines.get_mut(destination) {
            // A probe for an empty queue is still wanted, as its result will not be reported.
            if waiting.is_none() && std::mem::take(&mut line.probe) != Probe::None {
                line.wants_probe = true;
            }
            let before = std::mem::replace(&mut line.waiting, waiting);
            if before.is_none() && waiting.is_some() {
                self.discipline.filled(line);
            }
        }
    }

    fn sent(&mut self, destination: Destination, airtime: Duration) {
        if let Some(line) = self.lines.get_mut(destination) {
            line.tally.airtime += airtime;
            self.discipline.sent(line, airtime);
            if line.probe == Probe::Chosen {
                line.probe = Probe::Sent;
            }
        }
    }

    fn outcome(&mut self, now: Instant, destination: Destination, outcome: Outcome) {
        let Some(line) = self.lines.get_mut(destination) else {
            return;
        };
        let (left, count) = match outcome {
            Outcome::Delivered => (true, &mut line.tally.delivered),
            Outcome::Missing { given_up, .. } => (given_up, &mut line.tally.missing),
        };
        *count += 1;
        if std::mem::take(&mut line.probe) != Probe::None && outcome != Outcome::Delivered {
            self.discipline.passed(line);
        }
        if left {
            self.discipline.left(line);
        }
        self.watch(destination, |monitor, line| {
            monitor.outcome(now, &mut line.channel, outcome);
        });
    }

    /// Lets the monitor check a channel, and applies the result.
    fn watch<T>(
        &mut self,
        destination: Destination,
        look: impl FnOnce(&dyn Monitor, &mut Line) -> T,
    ) -> Option<T> {
        let line = self.lines.get_mut(destination)?;
        let was_marked = line.channel.is_marked;
        let seen = look(&*self.monitor, line);
        let (is_marked, due) = (line.channel.is_marked, line.channel.due);
        self.dues.set(destination, due);
        if is_marked != was_marked {
            let told = if is_marked {
                Output::Marked
            } else {
                Output::Unmarked
            };
            self.outputs.push_back(told(destination));
        }
        Some(seen)
    }

    /// Moves a destination to its place in the order of service.
    fn place(&mut self, destination: Destination) {
        let Some(line) = self.lines.get_mut(destination) else {
            return;
        };
        // If marks are ignored, a probe would only waste airtime.
        let counts = self.discipline.marks() != Marks::Ignored;
        line.wants_probe &= counts && line.channel.is_marked;
        let standing = match line.channel.is_marked && counts {
            false => ServiceClass::Open,
            true if line.wants_probe => ServiceClass::Due,
            true => ServiceClass::Marked,
        };
        let place = line.waiting.map(|_| (standing, self.discipline.rank(line)));
        self.lines.place(destination, place);
    }

    /// Uses the air, if it is free and there is something to send.
    fn dispatch(&mut self) {
        if !self.air_is_free {
            return;
        }
        let Some(output) = self.pick() else {
            return;
        };
        self.air_is_free = false;
        self.outputs.push_back(output);
    }

    /// Selects the next destination, if any. A channel is probed only at its turn: before that its host would not be
    /// served anyway.
    fn pick(&mut self) -> Option<Output> {
        loop {
            let marked = || {
                let serves = self.discipline.marks() == Marks::Last;
                serves.then(|| self.lines.first_marked()).flatten()
            };
            let destination = self.lines.first().or_else(marked)?;
            let line = self.lines.get_mut(destination)?;
            if !self.discipline.admits(line) {
                self.place(destination);
            } else if !line.wants_probe {
                line.tally.served += 1;
                return Some(Output::Serve(destination));
            } else {
                (line.wants_probe, line.probe) = (false, Probe::Chosen);
                line.tally.probed += 1;
                self.place(destination);
                return Some(Output::Probe(destination));
            }
        }
    }
}

impl Machine for Scheduler {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Instant, input: Input) {
        let changed = match input {
            Input::AirFree => {
                self.air_is_free = true;
                None
            }
            Input::Join {
                destination,
                weight,
            } => {
                self.lines.join(destination, weight);
                None
            }
            Input::Leave(destination) => {
                self.leave(destination);
                None
            }
            Input::Queue {
                destination,
                waiting,
            } => {
                self.queue(destination, waiting);
                Some(destination)
            }
            Input::Sent {
                destination,
                airtime,
            } => {
                self.sent(destination, airtime);
                Some(destination)
            }
            Input::Outcome {
                destination,
                outcome,
            } => {
                self.outcome(now, destination, outcome);
                Some(destination)
            }
            Input::Hint { destination, hint } => {
                self.watch(destination, |monitor, line| {
                    monitor.hint(now, &mut line.channel, hint);
                });
                Some(destination)
            }
            Input::Channel {
                destination,
                is_good,
            } => {
                self.watch(destination, |monitor, line| {
                    monitor.told(now, &mut line.channel, is_good);
                });
                Some(destination)
            }
        };
        if let Some(destination) = changed {
            self.place(destination);
        }
        self.dispatch();
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(destination) = self.dues.pop_due(now) {
            let look = self.watch(destination, |monitor, line| {
                line.channel.due = None;
                monitor.due(now, &mut line.channel)
            });
            if let Some(line) = self.lines.get_mut(destination) {
                line.wants_probe |= look == Some(Look::Probe);
            }
            self.place(destination);
        }
        self.dispatch();
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.dues.first()
    }
}
