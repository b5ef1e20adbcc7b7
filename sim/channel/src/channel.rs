//! The channel between two hosts as a machine.

use std::collections::VecDeque;

use machine::{Machine, earlier};
use units::{Duration, Instant};

use crate::config::Medium;
use crate::counters::{Amount, Cause, Counters};
use crate::errors::{ErrorModel, StateChange, Timeline};
use crate::lane::{Flight, Lane, Packet};
use crate::link::Link;
use crate::pacer::Pacer;
use crate::traffic::{Input, Output};
use crate::{Direction, PerDirection};

/// The channel between two hosts, which carries payloads of type `T`.
///
/// Packets of one direction wait in a bounded queue (drop tail), are transmitted one after the other, are lost or not,
/// and arrive a delay after the end of their transmission, in order. Everything happens at its own virtual time: a
/// driver that wakes up late sees packets late, but neither the rate nor the losses change.
///
/// ```
/// use channel::{Channel, Direction, Input, Link, Output};
/// use machine::Machine;
/// use units::{Bytes, Instant};
///
/// let link = Link::named("l1-clean")?; // 2 Mbit/s, 5 ms
/// let mut channel = Channel::new(&link, 7);
/// let (direction, size) = (Direction::Down, Bytes::new(1500));
/// channel.handle_input(Instant::ZERO, Input::Send { direction, size, payload: "hello" });
/// assert_eq!(channel.poll_output(), None);
/// let arrival = Instant::from_millis(6 + 5);
/// assert_eq!(channel.poll_timeout(), Some(arrival));
/// channel.handle_timeout(arrival);
/// assert_eq!(channel.poll_output(), Some(Output::Deliver { direction, payload: "hello" }));
/// # Ok::<(), channel::LinkError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Channel<T> {
    lanes: PerDirection<Lane<T>>,
    /// One medium, or one for each direction.
    airs: Vec<Air>,
    refused: VecDeque<(Direction, Cause, T)>,
    notes: PerDirection<Option<Timeline>>,
    /// Timelines as they are at time zero.
    timelines: PerDirection<Option<Timeline>>,
    /// Number of the next packet, which orders packets that arrive at the same time.
    sequence: u64,
    now: Instant,
}

/// A medium and the directions that use it.
#[derive(Debug, Clone)]
struct Air {
    pacer: Pacer,
    /// Direction that sends next when both have packets to send.
    turn: Direction,
    shared: bool,
    errors: Errors,
}

/// The error models that packets meet.
#[derive(Debug, Clone)]
struct Errors {
    models: PerDirection<ErrorModel>,
    /// True if both directions use the error model of one.
    common: bool,
}

impl Errors {
    fn new(link: &Link, seed: u64) -> Self {
        let model = |direction| link.errors(direction).build(seed, direction);
        Self {
            models: PerDirection::from_fn(model),
            common: link.errors(Direction::Down).is_common(),
        }
    }

    fn of(&mut self, direction: Direction) -> &mut ErrorModel {
        if self.common {
            &mut self.models.down
        } else {
            &mut self.models[direction]
        }
    }
}

impl Air {
    fn own(link: &Link, direction: Direction, seed: u64) -> Self {
        Self {
            pacer: Pacer::of(link, direction, seed),
            turn: direction,
            shared: false,
            errors: Errors::new(link, seed),
        }
    }

    /// Returns the direction that sends next.
    fn choose<T>(&self, lanes: &PerDirection<Lane<T>>) -> Option<Direction> {
        let other = self.turn.reverse();
        if lanes[self.turn].waits() {
            Some(self.turn)
        } else if self.shared && lanes[other].waits() {
            Some(other)
        } else {
            None
        }
    }

    /// Starts every transmission that is due.
    fn catch_up<T>(&mut self, now: Instant, lanes: &mut PerDirection<Lane<T>>) {
        while self.pacer.free_at() <= now
            && let Some(direction) = self.choose(lanes)
        {
            let errors = self.errors.of(direction);
            lanes[direction].transmit(&mut self.pacer, errors);
            if self.shared {
                self.turn = direction.reverse();
            }
        }
    }
}

impl<T> Channel<T> {
    /// Returns the idle channel of `link` in the run with `seed`.
    pub fn new(link: &Link, seed: u64) -> Self {
        let airs = match link.medium() {
            Medium::Separate => {
                let own = |direction| Air::own(link, direction, seed);
                Direction::BOTH.map(own).to_vec()
            }
            Medium::HalfDuplex => vec![Air {
                pacer: Pacer::new(link.access()),
                turn: Direction::Down,
                shared: true,
                errors: Errors::new(link, seed),
            }],
        };
        Self {
            lanes: PerDirection::from_fn(|direction| Lane::new(link, direction, seed)),
            airs,
            refused: VecDeque::new(),
            notes: PerDirection::default(),
            timelines: PerDirection::from_fn(|direction| link.timeline(direction, seed)),
            sequence: 0,
            now: Instant::ZERO,
        }
    }

    /// Returns a channel that also gives [`Output::State`] at each change of state, with or without traffic.
    pub fn with_state_notes(mut self) -> Self {
        self.notes = self.timelines.clone();
        self
    }

    /// Returns counters of the packets of `direction`.
    pub fn counters(&self, direction: Direction) -> &Counters {
        self.lanes[direction].counters()
    }

    /// Returns the packets that wait for the air in `direction` at this moment.
    pub fn waiting(&self, direction: Direction) -> Amount {
        self.lanes[direction].waiting()
    }

    /// Returns the part of the time from `from` to `until` that the air of `direction` was, or will be, in its good
    /// state: all of it if the error model has no states in time. Exact; costs a random draw for each change of state
    /// since time zero.
    pub fn good_time(&self, direction: Direction, from: Instant, until: Instant) -> Duration {
        match &self.timelines[direction] {
            Some(timeline) => timeline.clone().good_time(from, until),
            None => until.since(from),
        }
    }

    /// Returns the changes of state of `direction` up to `until`, past or future.
    pub fn state_changes(
        &self,
        direction: Direction,
        until: Instant,
    ) -> impl Iterator<Item = StateChange> + use<T> {
        let timeline = self.timelines[direction].clone();
        timeline
            .into_iter()
            .flat_map(move |timeline| timeline.changes(until))
    }

    fn catch_up(&mut self, now: Instant) {
        self.now = now;
        for air in &mut self.airs {
            air.catch_up(now, &mut self.lanes);
        }
    }

    /// Returns the direction whose packet arrives first, with its time.
    fn first_arrival(&self) -> Option<(Instant, Direction)> {
        let of = |direction: Direction| {
            let (arrives, sequence) = self.lanes[direction].next_arrival()?;
            Some((arrives, sequence, direction))
        };
        let first = match (of(Direction::Down), of(Direction::Up)) {
            (Some(down), Some(up)) => Some(down.min(up)),
            (only, None) | (None, only) => only,
        };
        first.map(|(arrives, _, direction)| (arrives, direction))
    }

    /// Returns the next change of state to report.
    fn first_note(&self) -> Option<(Instant, Direction)> {
        let of = |direction: Direction| {
            let timeline = self.notes[direction].as_ref()?;
            Some((timeline.current().until?, direction))
        };
        match (of(Direction::Down), of(Direction::Up)) {
            (Some(down), Some(up)) => Some(down.min(up)),
            (only, None) | (None, only) => only,
        }
    }

    fn take_note(&mut self, limit: Instant) -> Option<Output<T>> {
        let (at, direction) = self.first_note().filter(|(at, _)| *at <= limit)?;
        let timeline = self.notes[direction].as_mut()?;
        timeline.advance_to(at);
        let change = StateChange {
            at,
            good: timeline.current().good,
        };
        Some(Output::State { direction, change })
    }
}

impl<T: Clone> Machine for Channel<T> {
    type Input = Input<T>;
    type Output = Output<T>;

    fn handle_input(&mut self, now: Instant, input: Input<T>) {
        let (direction, size, payload, ahead) = match input {
            Input::Send {
                direction,
                size,
                payload,
            } => (direction, size, payload, false),
            Input::SendAhead {
                direction,
                size,
                payload,
            } => (direction, size, payload, true),
        };
        self.catch_up(now);
        let packet = Packet {
            arrived: now,
            sequence: self.sequence,
            size,
            payload,
            flight: Flight::default(),
        };
        self.sequence += 1;
        match self.lanes[direction].offer(packet, ahead) {
            Ok(()) => {
                self.catch_up(now);
                self.lanes[direction].note_queue();
            }
            Err((cause, payload)) => self.refused.push_back((direction, cause, payload)),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.catch_up(now);
    }

    fn poll_output(&mut self) -> Option<Output<T>> {
        let arrival = self.first_arrival().filter(|(at, _)| *at <= self.now);
        let limit = arrival.map_or(self.now, |(at, _)| at);
        if let Some(note) = self.take_note(limit) {
            return Some(note);
        }
        if let Some((_, direction)) = arrival {
            return self.lanes[direction].arrive();
        }
        let (direction, cause, payload) = self.refused.pop_front()?;
        Some(Output::Drop {
            direction,
            payload,
            cause,
        })
    }

    /// Returns the next deadline. Waiting packets need none of their own: while others wait, a packet is on its way.
    fn poll_timeout(&self) -> Option<Instant> {
        let arrival = self.first_arrival().map(|(at, _)| at);
        earlier(arrival, self.first_note().map(|(at, _)| at))
    }
}
