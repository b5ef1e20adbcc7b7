//! One air that several destinations share.

use std::collections::VecDeque;

use machine::Machine;
use scheduler::{Cause, Config, Destination, Input, Outcome, Output, Scheduler, Waiting};
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Duration, Instant, Probability};

use crate::consensus::{Consensus, Measured};
use crate::{Air, Pacer};

/// What comes within so long is taken to have come together.
const GRAIN: Duration = Duration::from_millis(1);
/// Airtime counts half as much in a share after so long.
const HALVED: Duration = Duration::from_secs(5);

/// The pacer and the scheduler of an air: it says who may send next, and how much.
#[derive(Debug)]
pub struct SharedAir {
    pacer: Pacer,
    scheduler: Scheduler,
    consensus: Consensus,
    /// When airtime was halved last.
    halved: Instant,
    /// The scheduler knows that the air is free, and has not used it.
    offered: bool,
    /// Bytes sent in all.
    used: u64,
    lines: Vec<Line>,
}

/// What is known of one destination.
#[derive(Debug, Default)]
struct Line {
    /// When how much came that still waits, oldest first.
    came: VecDeque<(Instant, u64)>,
    bytes: u64,
    /// What was sent in all when this destination was last told of it.
    seen: u64,
    /// For how long the air was used for it of late.
    airtime: Duration,
}

/// How one destination fares on an air that it shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AirStatus {
    /// What was done for it, and what is known of its channel.
    #[serde(flatten)]
    pub scheduling: scheduler::Status,
    /// Its part of the time for which the air was used of late; nothing if it was not used.
    pub airtime_share: Probability,
    /// How long the oldest of what waits for it has waited.
    pub queue_delay: Duration,
}

/// Who may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The destination's number.
    pub destination: usize,
    /// How much may be sent to it.
    pub bytes: Bytes,
    /// How much was sent to others since its last turn.
    pub elsewhere: Bytes,
}

impl Line {
    /// So much waits now; returns since when the oldest of it does.
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
    /// An air of so many destinations as there are weights.
    pub fn new(config: &Config, weights: &[u16]) -> Self {
        let mut scheduler = Scheduler::new(config);
        for (destination, weight) in (0..=u16::MAX).map(Destination).zip(weights.iter().copied()) {
            let join = Input::Join {
                destination,
                weight,
            };
            scheduler.handle_input(Instant::ZERO, join);
        }
        Self {
            pacer: Pacer::default(),
            scheduler,
            consensus: Consensus::new(weights.len()),
            halved: Instant::ZERO,
            offered: false,
            used: 0,
            lines: weights.iter().map(|_| Line::default()).collect(),
        }
    }

    /// How a destination fares.
    pub fn status(&self, now: Instant, destination: usize) -> Option<AirStatus> {
        let line = self.lines.get(destination)?;
        let all: u64 = self.lines.iter().map(|line| line.airtime.as_nanos()).sum();
        let oldest = line.came.front();
        Some(AirStatus {
            scheduling: self.scheduler.status(Destination(destination as u16))?,
            airtime_share: Probability::ratio(line.airtime.as_nanos(), all.max(1)),
            queue_delay: oldest.map_or(Duration::ZERO, |(came, _)| now.since(*came)),
        })
    }

    /// The rate of the air, as its destinations agree on it; nothing if nobody has measured any.
    pub fn measured(&self) -> Option<Measured> {
        self.consensus.agreed()
    }

    /// A destination has learned of the air.
    pub fn learned(&mut self, now: Instant, destination: usize, air: &Air) {
        if let Some(measured) = air.measured() {
            self.consensus.told(now, destination, measured);
        }
    }

    /// So many bytes wait for a destination; a turn may be of use to it without any, for repairs, or of none with some,
    /// while its channel is only probed.
    pub fn waits(&mut self, now: Instant, destination: usize, (queued, wanted): (Bytes, bool)) {
        let Some(line) = self.lines.get_mut(destination) else {
            return;
        };
        let oldest = line.waits(now, queued.get());
        let bytes = queued;
        let waiting = wanted.then_some(Waiting { bytes, oldest });
        let destination = Destination(destination as u16);
        let queue = Input::Queue {
            destination,
            waiting,
        };
        self.scheduler.handle_input(now, queue);
    }

    /// Nothing that was sent to a destination of late is acknowledged.
    pub fn is_silent(&mut self, now: Instant, destination: usize) {
        let (cause, given_up) = (Cause::Fade, false);
        self.ended(now, destination, Outcome::Missing { cause, given_up });
    }

    /// After a silence something is acknowledged again.
    pub fn is_heard(&mut self, now: Instant, destination: usize) {
        self.ended(now, destination, Outcome::Delivered);
    }

    fn ended(&mut self, now: Instant, destination: usize, outcome: Outcome) {
        let destination = Destination(destination as u16);
        let ended = Input::Outcome {
            destination,
            outcome,
        };
        self.scheduler.handle_input(now, ended);
    }

    /// Who may send now, on an air of that rate. Whatever is sent then must be told by [`spent`](Self::spent).
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
        let destination = usize::from(destination.0);
        let line = self.lines.get_mut(destination)?;
        let elsewhere = Bytes::new(self.used - std::mem::replace(&mut line.seen, self.used));
        Some(Turn {
            destination,
            bytes,
            elsewhere,
        })
    }

    /// So many bytes were sent to a destination, on an air of that rate.
    pub fn spent(&mut self, now: Instant, (destination, bytes): (usize, Bytes), rate: BitRate) {
        self.pacer.spent(now, bytes, rate);
        self.used += bytes.get();
        self.consensus.sent(destination, bytes);
        let airtime = rate.time_for(bytes);
        if now.since(self.halved) > HALVED {
            self.halved = now;
            self.lines
                .iter_mut()
                .for_each(|line| line.airtime = line.airtime / 2);
        }
        if let Some(line) = self.lines.get_mut(destination) {
            line.seen += bytes.get();
            line.airtime += airtime;
        }
        let sent = Input::Sent {
            destination: Destination(destination as u16),
            airtime,
        };
        self.scheduler.handle_input(now, sent);
    }

    /// When there can be a turn for those who wait for one; `None` if they get none until something changes.
    pub fn turn_at(&self) -> Option<Instant> {
        (!self.offered).then(|| self.pacer.free_at())
    }

    /// When the air is free. Those who only acknowledge wait for no turn.
    pub fn free_at(&self) -> Instant {
        self.pacer.free_at()
    }

    /// Acts on what has come due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.scheduler.handle_timeout(now);
    }

    /// When something is due besides turns.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.scheduler.poll_timeout()
    }
}
