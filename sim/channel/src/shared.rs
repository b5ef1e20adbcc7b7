//! One medium shared by a gateway and many mobile hosts.

use std::collections::VecDeque;

use machine::{Machine, RandomStream};
use units::{Bytes, Duration, Instant};

use crate::airtime::Airtime;
use crate::config::Medium;
use crate::counters::{Amount, Counters};
use crate::errors::{ErrorModel, Timeline};
use crate::link::Link;
use crate::pacer::Pacer;
use crate::{Cause, Direction, PerDirection};

/// A packet for the channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input<T> {
    /// Direction of the packet.
    pub direction: Direction,
    /// Index of the mobile host that it goes to or comes from.
    pub mobile: usize,
    /// Size on the air: that of its Ethernet frame.
    pub size: Bytes,
    /// Content of the packet.
    pub payload: T,
}

/// Result of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output<T> {
    /// Direction of the packet.
    pub direction: Direction,
    /// Index of the mobile host that it goes to or comes from.
    pub mobile: usize,
    /// Content of the packet.
    pub payload: T,
    /// Reason why it does not arrive; `None` if it does.
    pub lost: Option<Cause>,
}

/// The channel between a gateway and its mobile hosts, which carries payloads of type `T`.
///
/// Like a [`Channel`](crate::Channel) it has rates, delays and bounded queues (drop tail), and works at its own virtual
/// time. All packets of the gateway wait in one queue, and those of each mobile host in a queue of its own. Senders
/// with packets take turns packet by packet: all of them if the medium of the link is half-duplex, otherwise the mobile
/// hosts only, since the gateway has a medium of its own.
///
/// Each mobile host has errors of its own, drawn from the seed and its index alone. A packet that is lost occupies the
/// medium too.
#[derive(Debug, Clone)]
pub struct SharedChannel<T> {
    link: Link,
    airs: Vec<Air>,
    /// Queue of the gateway, then that of each mobile host.
    queues: Vec<Queue<T>>,
    mobiles: Vec<Mobile>,
    flying: PerDirection<VecDeque<Packet<T>>>,
    /// Arrival time of the last packet on the air.
    last_arrival: PerDirection<Instant>,
    refused: VecDeque<Output<T>>,
    /// Number of the next packet, which orders packets that arrive at the same time.
    sequence: u64,
    now: Instant,
}

/// A medium, and the indices of the queues with packets for it, in the order of their turns.
#[derive(Debug, Clone)]
struct Air {
    pacer: Pacer,
    turns: VecDeque<usize>,
}

#[derive(Debug, Clone)]
struct Queue<T> {
    packets: VecDeque<Packet<T>>,
    waiting: Amount,
}

#[derive(Debug, Clone)]
struct Packet<T> {
    content: Input<T>,
    /// Time of its input while it waits, and of its arrival once it is on the air.
    at: Instant,
    sequence: u64,
    lost: bool,
}

/// State of one mobile host.
#[derive(Debug, Clone)]
struct Mobile {
    errors: PerDirection<ErrorModel>,
    /// Timelines as they are at time zero.
    timelines: PerDirection<Option<Timeline>>,
    counters: PerDirection<Counters>,
    airtime: PerDirection<Duration>,
}

impl Mobile {
    fn new(errors: &Link, seed: u64) -> Self {
        Self {
            errors: PerDirection::from_fn(|way| errors.errors(way).build(seed, way)),
            timelines: PerDirection::from_fn(|way| errors.timeline(way, seed)),
            counters: PerDirection::default(),
            airtime: PerDirection::default(),
        }
    }
}

impl<T> SharedChannel<T> {
    /// Returns the idle channel of `link` in the run with `seed`, with a mobile host for each of `errors`, whose error
    /// models it uses. All other properties are those of `link`, except those named by [`Link::not_for_many`], which it
    /// does not have.
    pub fn new(link: &Link, seed: u64, errors: &[&Link]) -> Self {
        let own = |way: Direction| Pacer::of(link, way, seed);
        let pacers = match link.medium() {
            Medium::Separate => Direction::BOTH.map(own).to_vec(),
            Medium::HalfDuplex => vec![Pacer::new(link.access())],
        };
        let air = |pacer| Air {
            pacer,
            turns: VecDeque::new(),
        };
        let mobile = |(number, errors): (usize, &&Link)| {
            let seed = RandomStream::named(seed, &format!("mobile/{number}")).next_u64();
            Mobile::new(errors, seed)
        };
        let queue = || Queue {
            packets: VecDeque::new(),
            waiting: Amount::default(),
        };
        Self {
            link: link.clone(),
            airs: pacers.into_iter().map(air).collect(),
            queues: (0..=errors.len()).map(|_| queue()).collect(),
            mobiles: errors.iter().enumerate().map(mobile).collect(),
            flying: PerDirection::default(),
            last_arrival: PerDirection::default(),
            refused: VecDeque::new(),
            sequence: 0,
            now: Instant::ZERO,
        }
    }

    /// Returns the number of mobile hosts.
    pub fn mobiles(&self) -> usize {
        self.mobiles.len()
    }

    /// Returns counters of the packets of `direction` to or from a mobile host. The queue peak is that of the whole
    /// queue in which its packets wait.
    ///
    /// # Panics
    /// If there is no such mobile host.
    pub fn counters(&self, direction: Direction, mobile: usize) -> &Counters {
        &self.mobiles[mobile].counters[direction]
    }

    /// Returns the time for which its packets of `direction` have occupied the medium, or will, lost or not.
    ///
    /// # Panics
    /// If there is no such mobile host.
    pub fn airtime(&self, direction: Direction, mobile: usize) -> Duration {
        self.mobiles[mobile].airtime[direction]
    }

    /// Returns the part of the time from `from` to `until` that the channel between a mobile host and the gateway was
    /// good; see [`Channel::good_time`](crate::Channel::good_time).
    ///
    /// # Panics
    /// If there is no such mobile host.
    pub fn good_time(&self, way: (Direction, usize), from: Instant, until: Instant) -> Duration {
        let (direction, mobile) = way;
        match &self.mobiles[mobile].timelines[direction] {
            Some(timeline) => timeline.clone().good_time(from, until),
            None => until.since(from),
        }
    }

    /// Returns the index of the queue that a packet waits in, and that of the medium that it waits for.
    fn place(&self, direction: Direction, mobile: usize) -> (usize, usize) {
        let queue = match direction {
            Direction::Down => 0,
            Direction::Up => 1 + mobile,
        };
        let air = usize::from(self.airs.len() > 1 && direction == Direction::Up);
        (queue, air)
    }

    /// Starts every transmission that is due.
    fn catch_up(&mut self, now: Instant) {
        self.now = now;
        for air in 0..self.airs.len() {
            while self.airs[air].pacer.free_at() <= now
                && let Some(queue) = self.airs[air].turns.pop_front()
            {
                self.transmit(air, queue);
            }
        }
    }

    fn transmit(&mut self, air: usize, number: usize) {
        let (air, queue) = (&mut self.airs[air], &mut self.queues[number]);
        let Some(mut packet) = queue.packets.pop_front() else {
            return;
        };
        if !queue.packets.is_empty() {
            air.turns.push_back(number);
        }
        let (direction, size) = (packet.content.direction, packet.content.size);
        queue.waiting.remove(size);
        let plan = self.link.plan(direction);
        let airtime = air.pacer.transmit(packet.at, size, plan);
        let arrival = airtime.finish + plan.at(airtime.finish).0.delay;
        let last = &mut self.last_arrival[direction];
        *last = arrival.max(*last);
        packet.lost =
            self.mobiles[packet.content.mobile].transmit(direction, airtime, (packet.at, size));
        packet.at = *last;
        self.flying[direction].push_back(packet);
    }

    /// Returns the direction whose packet arrives first, with its time.
    fn first_arrival(&self) -> Option<(Instant, Direction)> {
        let of = |direction: Direction| {
            let packet = self.flying[direction].front()?;
            Some((packet.at, packet.sequence, direction))
        };
        let first = Direction::BOTH.into_iter().filter_map(of).min();
        first.map(|(at, _, direction)| (at, direction))
    }

    fn arrive(&mut self, direction: Direction) -> Option<Output<T>> {
        let packet = self.flying[direction].pop_front()?;
        let counters = &mut self.mobiles[packet.content.mobile].counters[direction];
        counters.inside.remove(packet.content.size);
        let amount = if packet.lost {
            &mut counters.dropped_air
        } else {
            &mut counters.delivered
        };
        amount.add(packet.content.size);
        Some(packet.content.ended(packet.lost.then_some(Cause::Air)))
    }
}

impl Mobile {
    /// Accounts for the transmission of a packet of this size, which came at this time; returns true if it is lost.
    fn transmit(&mut self, way: Direction, airtime: Airtime, packet: (Instant, Bytes)) -> bool {
        let (came, size) = packet;
        let counters = &mut self.counters[way];
        counters.transmitted.add(size);
        counters.wait += airtime.start.since(came);
        self.airtime[way] += airtime.finish.since(airtime.start);
        self.errors[way].loses(airtime, size)
    }
}

impl<T> Input<T> {
    fn ended(self, lost: Option<Cause>) -> Output<T> {
        Output {
            direction: self.direction,
            mobile: self.mobile,
            payload: self.payload,
            lost,
        }
    }
}

impl<T> Machine for SharedChannel<T> {
    type Input = Input<T>;
    type Output = Output<T>;

    /// # Panics
    /// If there is no such mobile host.
    fn handle_input(&mut self, now: Instant, input: Input<T>) {
        self.catch_up(now);
        let (direction, mobile, size) = (input.direction, input.mobile, input.size);
        let (number, air) = self.place(direction, mobile);
        let queue = &mut self.queues[number];
        let counters = &mut self.mobiles[mobile].counters[direction];
        counters.offered.add(size);
        let step = self.link.plan(direction).at(now).0;
        if let Err(cause) = step.takes(queue.waiting, size) {
            counters.dropped(cause).add(size);
            self.refused.push_back(input.ended(Some(cause)));
            return;
        }
        counters.inside.add(size);
        queue.waiting.add(size);
        if queue.packets.is_empty() {
            self.airs[air].turns.push_back(number);
        }
        queue.packets.push_back(Packet {
            content: input,
            at: now,
            sequence: self.sequence,
            lost: false,
        });
        self.sequence += 1;
        self.catch_up(now);
        self.mobiles[mobile].counters[direction].note_queue(self.queues[number].waiting);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.catch_up(now);
    }

    fn poll_output(&mut self) -> Option<Output<T>> {
        let arrival = self.first_arrival().filter(|(at, _)| *at <= self.now);
        match arrival {
            Some((_, direction)) => self.arrive(direction),
            None => self.refused.pop_front(),
        }
    }

    /// Returns the next deadline. Waiting packets need none of their own: while others wait, a packet is on its way.
    fn poll_timeout(&self) -> Option<Instant> {
        self.first_arrival().map(|(at, _)| at)
    }
}
