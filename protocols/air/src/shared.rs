//! One air that several destinations share.

use std::collections::{BTreeMap, VecDeque};

use machine::Machine;
use scheduler::{Cause, Config, Destination, Input, Outcome, Output, Scheduler, Waiting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Instant, Probability};

use crate::consensus::{Consensus, Measured};
use crate::{Air, Pacer};

/// Time within which arrivals count as simultaneous.
const GRAIN: Duration = Duration::from_millis(1);
/// Time after which airtime counts half in a share.
const HALVED: Duration = Duration::from_secs(5);

/// The pacer and the scheduler of an air, which decide who may send next, and how much.
#[derive(Debug)]
pub struct SharedAir {
    pacer: Pacer,
    scheduler: Scheduler,
    consensus: Consensus,
    /// Time at which airtime was last halved.
    halved: Instant,
    /// True if the scheduler was notified that the air is free, and has not used it.
    offered: bool,
    /// Number of bytes sent so far, and when the air was last idle.
    used: u64,
    idle_at: u64,
    /// Places of the destinations in `lines`, which are their numbers in the scheduler.
    places: BTreeMap<usize, usize>,
    lines: Vec<DestinationState>,
    /// Places of destinations that have left.
    free: Vec<usize>,
}

/// State of one destination.
#[derive(Debug, Default)]
struct DestinationState {
    /// Number of the destination.
    number: usize,
    /// Waiting bytes with the time at which they came, oldest first.
    came: VecDeque<(Instant, u64)>,
    bytes: u64,
    /// Number of bytes sent on the air when this destination last got a turn.
    seen: u64,
    /// Recent airtime of the destination.
    airtime: Duration,
}

/// Status of one destination on a shared air.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AirStatus {
    /// Status of its scheduling and channel.
    #[serde(flatten)]
    pub scheduling: scheduler::Status,
    /// Its share of the recent airtime; zero if the air was not used.
    pub airtime_share: Probability,
    /// Age of the oldest bytes that wait for it.
    pub queue_delay: Duration,
}

/// A turn to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Number of the destination.
    pub destination: usize,
    /// Number of bytes that may be sent to it.
    pub bytes: Bytes,
    /// Number of bytes sent to others since its last turn.
    pub elsewhere: Bytes,
    /// True if the air was idle at some time since its last turn.
    pub was_idle: bool,
}

impl DestinationState {
    /// Sets the number of waiting bytes; returns the time at which the oldest came.
    fn waits(&mut self, now: Instant, bytes: u64) -> Instant {
        if bytes > self.bytes {
            let more = bytes - self.bytes;
            match self
                .came
                .back_mut()
                .filter(|(at, _)| now.since(*at) < GRAIN)
            {
                Some((_, came)) => *came += more,
                None => self.came.push_back((now, more)),
            }
        }
        let mut gone = self.bytes.saturating_sub(bytes);
        while let Some((_, came)) = self.came.front_mut().filter(|_| gone > 0) {
            let part = gone.min(*came);
            *came -= part;
            gone -= part;
            if *came == 0 {
                self.came.pop_front();
            }
        }
        self.bytes = bytes;
        self.came.front().map_or(now, |(at, _)| *at)
    }
}

impl SharedAir {
    /// Creates an air without destinations.
    pub fn new(config: &Config) -> Self {
        Self {
            pacer: Pacer::default(),
            scheduler: Scheduler::new(config),
            consensus: Consensus::new(),
            halved: Instant::ZERO,
            offered: false,
            used: 0,
            idle_at: 0,
            places: BTreeMap::new(),
            lines: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Adds a destination, or changes its weight; returns false if there are 65,536 already.
    pub fn join(&mut self, now: Instant, destination: usize, weight: u16) -> bool {
        let Some(place) = self.place(destination).or_else(|| self.occupy(destination)) else {
            return false;
        };
        let destination = Destination(place as u16);
        let join = Input::Join {
            destination,
            weight,
        };
        self.scheduler.handle_input(now, join);
        true
    }

    /// Returns the place of a new destination, if there is one.
    fn occupy(&mut self, destination: usize) -> Option<usize> {
        let place = self.free.pop().unwrap_or(self.lines.len());
        u16::try_from(place).ok()?;
        let line = DestinationState {
            number: destination,
            // It has used nothing of what was sent before it joined.
            seen: self.used,
            ..DestinationState::default()
        };
        match self.lines.get_mut(place) {
            Some(free) => *free = line,
            None => self.lines.push(line),
        }
        self.places.insert(destination, place);
        self.consensus.renew(place);
        Some(place)
    }

    /// Removes a destination.
    pub fn leave(&mut self, now: Instant, destination: usize) {
        let Some(place) = self.places.remove(&destination) else {
            return;
        };
        self.consensus.renew(place);
        self.lines[place] = DestinationState::default();
        self.free.push(place);
        let left = Input::Leave(Destination(place as u16));
        self.scheduler.handle_input(now, left);
    }

    /// Returns the place of a destination.
    fn place(&self, destination: usize) -> Option<usize> {
        self.places.get(&destination).copied()
    }

    /// Returns the status of a destination.
    pub fn status(&self, now: Instant, destination: usize) -> Option<AirStatus> {
        let place = self.place(destination)?;
        let line = self.lines.get(place)?;
        let all: u64 = self.lines.iter().map(|line| line.airtime.as_nanos()).sum();
        let oldest = line.came.front();
        Some(AirStatus {
            scheduling: self.scheduler.status(Destination(place as u16))?,
            airtime_share: Probability::ratio(line.airtime.as_nanos(), all.max(1)),
            queue_delay: oldest.map_or(Duration::ZERO, |(came, _)| now.since(*came)),
        })
    }

    /// Returns the rate of the air on which its destinations agree; `None` if none has measured any.
    pub fn measured(&self) -> Option<Measured> {
        self.consensus.agreed()
    }

    /// Records what a destination has measured on the air.
    pub fn learned(&mut self, now: Instant, destination: usize, air: &Air) {
        if let (Some(place), Some(measured)) = (self.place(destination), air.measured()) {
            self.consensus.told(now, place, measured);
        }
    }

    /// Sets the number of bytes that wait for a destination. It may want a turn without any, for repairs, or want none
    /// with some, while its channel is only probed.
    pub fn waits(&mut self, now: Instant, destination: usize, queued: Bytes, wanted: bool) {
        let Some(place) = self.place(destination) else {
            return;
        };
        let oldest = self.lines[place].waits(now, queued.get());
        let bytes = queued;
        let waiting = wanted.then_some(Waiting { bytes, oldest });
        let destination = Destination(place as u16);
        let queue = Input::Queue {
            destination,
            waiting,
        };
        self.scheduler.handle_input(now, queue);
    }

    /// Records that a destination has not acknowledged anything of late.
    pub fn is_silent(&mut self, now: Instant, destination: usize) {
        let (cause, given_up) = (Cause::Fade, false);
        self.ended(now, destination, Outcome::Missing { cause, given_up });
    }

    /// Records that a destination acknowledges again after a silence.
    pub fn is_heard(&mut self, now: Instant, destination: usize) {
        self.ended(now, destination, Outcome::Delivered);
    }

    fn ended(&mut self, now: Instant, destination: usize, outcome: Outcome) {
        let Some(place) = self.place(destination) else {
            return;
        };
        let ended = Input::Outcome {
            destination: Destination(place as u16),
            outcome,
        };
        self.scheduler.handle_input(now, ended);
    }

    /// Returns the next turn, if there is one, on an air of this rate. Report all that is sent then by
    /// [`spent`](Self::spent).
    pub fn turn(&mut self, now: Instant, rate: BitRate) -> Option<Turn> {
        let grant = self.pacer.grant(now, rate)?;
        if !self.offered {
            self.offered = true;
            self.scheduler.handle_input(now, Input::AirFree);
        }
        let (destination, bytes) = loop {
            match self.scheduler.poll_output()? {
                Output::Serve(destination) => break (destination, grant),
                Output::Probe(destination) => break (destination, Bytes::new(1)),
                Output::Marked(_) | Output::Unmarked(_) => {}
            }
        };
        self.offered = false;
        self.note_idleness(now);
        let line = self.lines.get_mut(usize::from(destination.0))?;
        let seen = std::mem::replace(&mut line.seen, self.used);
        Some(Turn {
            destination: line.number,
            bytes,
            elsewhere: Bytes::new(self.used - seen),
            was_idle: self.idle_at >= seen,
        })
    }

    /// Notes if the air was free and nobody used it, before something is sent now.
    fn note_idleness(&mut self, now: Instant) {
        if self.pacer.is_idle(now) {
            self.idle_at = self.used;
        }
    }

    /// Records that `bytes` were sent to a destination, on an air of this rate.
    pub fn spent(&mut self, now: Instant, destination: usize, bytes: Bytes, rate: BitRate) {
        self.note_idleness(now);
        self.pacer.spent(now, bytes, rate);
        self.used += bytes.get();
        let Some(place) = self.place(destination) else {
            return;
        };
        self.consensus.sent(place, bytes);
        let airtime = rate.time_for(bytes);
        if now.since(self.halved) > HALVED {
            self.halved = now;
            self.lines
                .iter_mut()
                .for_each(|line| line.airtime = line.airtime / 2);
        }
        let line = &mut self.lines[place];
        line.seen += bytes.get();
        line.airtime += airtime;
        let sent = Input::Sent {
            destination: Destination(place as u16),
            airtime,
        };
        self.scheduler.handle_input(now, sent);
    }

    /// Returns the time of the next turn for the destinations that wait for one; `None` if there is none until
    /// something changes.
    pub fn turn_at(&self) -> Option<Instant> {
        (!self.offered).then(|| self.pacer.free_at())
    }

    /// Returns the time at which the air is free. Frames that only acknowledge wait for no turn.
    pub fn free_at(&self) -> Instant {
        self.pacer.free_at()
    }

    /// Handles what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.scheduler.handle_timeout(now);
    }

    /// Returns the time at which something is due besides turns.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.scheduler.poll_timeout()
    }
}
