//! One medium that a base station and its mobile hosts share by carrier sense with collision avoidance.
//!
//! A station that wants to send senses the medium. When the medium has been idle for the sense interval, the station
//! begins at once, or, if it found the medium busy, after a random back-off, which pauses while others send. The
//! receiver acknowledges a frame after a gap shorter than the sense interval, so that no other station comes between
//! (the "priority ack" of Bhagwat et al. 1996). Stations that begin in the same slot collide, and all of their frames
//! are lost. A card that receives no acknowledgement tries again, after a back-off from a window twice as large, up to
//! its retry limit; then it reports the failure to the driver.
//!
//! Every mobile host has a channel of its own, for both directions. All stations receive each other: there are no
//! hidden stations. With a reservation ([`CsmaConfig::reserve_from`]) collisions and fades cost a short frame instead
//! of a long one.

mod config;
mod exchange;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use machine::{Machine, RandomStream, earlier};
use units::{Bytes, Duration, Instant};

pub use self::config::CsmaConfig;
use crate::Direction;
use crate::errors::{ErrorConfig, ErrorModel, Timeline};

/// A station on the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Station {
    /// The base station.
    Base,
    /// The mobile host with this number, counted from 0.
    Mobile(u16),
}

/// A frame that a station wants to send: a mobile host to the base station, the base station to a mobile host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame<T> {
    /// Station that sends it.
    pub from: Station,
    /// The mobile host that sends or receives it, whose channel applies to it.
    pub mobile: u16,
    /// Size of the payload, in bytes, without the MAC header.
    pub size: Bytes,
    /// Content of the frame.
    pub payload: T,
}

impl<T> Frame<T> {
    /// Returns the station that receives it.
    fn to(&self) -> Station {
        match self.from {
            Station::Base => Station::Mobile(self.mobile),
            Station::Mobile(_) => Station::Base,
        }
    }
}

/// An output of a [`CsmaAir`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard<T> {
    /// A frame arrives. It may have arrived before, if its acknowledgement was lost.
    Delivered(Frame<T>),
    /// A station's card has finished a frame, and is free for the next one.
    Ended {
        /// The frame.
        frame: Frame<T>,
        /// Result of the frame.
        fate: TransmitResult,
        /// Time for which the card used the medium for it, including acknowledgements and failed attempts.
        airtime: Duration,
    },
    /// A frame's checksum fails at its receiver; a receiver that sends itself notices nothing.
    Damaged {
        /// Receiver of the frame.
        at: Station,
        /// True if frames of other stations collided with it, so that the signal is stronger than that of one station.
        joined: bool,
    },
}

/// Result of a frame as its sender's card knows it; only the receiver could know the reason of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransmitResult {
    /// It was acknowledged.
    Acknowledged,
    /// Its last attempt collided with another station's frame.
    Collided,
    /// Its last attempt, or the acknowledgement, was lost on the air.
    Lost,
}

/// Counters of a medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CsmaCounters {
    /// Transmissions of one station alone.
    pub turns: u64,
    /// Transmissions that several stations began in the same slot.
    pub collisions: u64,
    /// Frames that were acknowledged.
    pub acknowledged: u64,
    /// Frames that cards gave up.
    pub failed: u64,
    /// Frames that were refused: their station was busy with another one, or does not exist.
    pub refused: u64,
    /// Time for which frames occupied the medium.
    pub busy: Duration,
    /// Part of it for which frames that were acknowledged did.
    pub useful: Duration,
}

/// A card with a frame.
#[derive(Debug, Clone)]
struct Card<T> {
    frame: Frame<T>,
    /// State of its contention; `None` while its frame is on the air or it waits for an acknowledgement.
    contends: Option<Contention>,
    window: u32,
    tries: u32,
    airtime: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Contention {
    since: Instant,
    /// Back-off slots left.
    slots: u64,
}

impl Contention {
    /// Returns the time at which the station begins, if no other begins before and the medium has been idle for the
    /// sense interval at `idle`. Starts lie on the slots that follow `idle`.
    fn start(self, idle: Instant, slot: Duration) -> Instant {
        let late = self.since.max(idle).since(idle).as_nanos();
        idle + slot * (late.div_ceil(slot.as_nanos()) + self.slots)
    }
}

/// Consequence of a turn.
#[derive(Debug, Clone)]
enum Event<T> {
    Arrives(Frame<T>),
    /// A card knows the result of its attempt.
    Over(Station, TransmitResult),
    /// A checksum fails at a station; true if other frames collided with that frame.
    Damaged(Station, bool),
}

/// The medium, the cards of its stations and their channels.
#[derive(Debug, Clone)]
pub struct CsmaAir<T> {
    config: CsmaConfig,
    channels: Vec<ErrorModel>,
    chance: RandomStream,
    cards: BTreeMap<Station, Card<T>>,
    /// Time at which each station's card finished its last frame; a back-off follows each frame, even a lost one.
    done: BTreeMap<Station, Instant>,
    /// Time until which frames and their acknowledgements occupy the medium.
    busy_until: Instant,
    /// Time at which the next station begins.
    next_start: Option<Instant>,
    events: BTreeMap<(Instant, u64), Event<T>>,
    next_event: u64,
    outputs: VecDeque<Heard<T>>,
    counters: CsmaCounters,
}

/// Returns the seed of a mobile host's channel in a run with `seed`. It depends only on the number of the mobile host,
/// not on how many there are.
fn channel_seed(seed: u64, mobile: u16) -> u64 {
    RandomStream::named(seed, &format!("csma/{mobile}")).next_u64()
}

impl<T: Clone> CsmaAir<T> {
    /// Returns an idle medium, with a mobile host for each of the error models.
    pub fn new(config: CsmaConfig, errors: &[ErrorConfig], seed: u64) -> Self {
        let channel = |(mobile, errors): (u16, &ErrorConfig)| {
            errors.build(channel_seed(seed, mobile), Direction::Down)
        };
        Self {
            config,
            channels: (0..).zip(errors).map(channel).collect(),
            chance: RandomStream::named(seed, "csma/back-off"),
            cards: BTreeMap::new(),
            done: BTreeMap::new(),
            busy_until: Instant::ZERO,
            next_start: None,
            events: BTreeMap::new(),
            next_event: 0,
            outputs: VecDeque::new(),
            counters: CsmaCounters::default(),
        }
    }

    /// Returns the good and bad periods of a mobile host's channel in a run with `seed`; `None` if its error model has
    /// none.
    pub fn timeline(errors: &ErrorConfig, seed: u64, mobile: u16) -> Option<Timeline> {
        errors.timeline(channel_seed(seed, mobile), Direction::Down)
    }

    /// Returns the counters of the medium.
    pub fn counters(&self) -> &CsmaCounters {
        &self.counters
    }

    /// Returns true if a station's card can take a frame.
    pub fn is_free(&self, station: Station) -> bool {
        !self.cards.contains_key(&station)
    }

    fn offer(&mut self, now: Instant, frame: Frame<T>) {
        let exists = usize::from(frame.mobile) < self.channels.len();
        let own = frame.from == Station::Base || frame.from == Station::Mobile(frame.mobile);
        if !exists || !own || !self.is_free(frame.from) {
            self.counters.refused += 1;
            return;
        }
        let window = self.config.window_min;
        // A medium that was idle for less than the sense interval counts as busy.
        let is_idle = now >= self.idle();
        let back_off = self.config.sense + self.config.slot * u64::from(window);
        let done = self.done.get(&frame.from);
        let is_rested = done.is_none_or(|done| now >= *done + back_off);
        let slots = if is_idle && is_rested {
            0
        } else {
            self.draw(window)
        };
        let card = Card {
            frame,
            contends: Some(Contention { since: now, slots }),
            window,
            tries: 0,
            airtime: Duration::ZERO,
        };
        self.cards.insert(card.frame.from, card);
        self.find_next_start();
    }

    fn draw(&mut self, window: u32) -> u64 {
        self.chance.below(u64::from(window) + 1)
    }

    /// Returns the earliest time at which contenders may begin again.
    fn idle(&self) -> Instant {
        self.busy_until + self.config.sense
    }

    /// Finds the time at which the next station begins, after a card or the medium has changed.
    fn find_next_start(&mut self) {
        let (idle, slot) = (self.idle(), self.config.slot);
        let contentions = self.cards.values().filter_map(|card| card.contends);
        let starts = contentions.map(|contention| contention.start(idle, slot));
        self.next_start = starts.min();
    }

    /// Starts the transmissions of all stations whose back-off ends at `start`; that of the others pauses.
    fn begin(&mut self, start: Instant) {
        let (idle, slot) = (self.idle(), self.config.slot);
        let mut beginning = Vec::new();
        for (station, card) in &mut self.cards {
            if let Some(mut contention) = card.contends.take() {
                let own = contention.start(idle, slot);
                if own == start {
                    beginning.push(*station);
                } else {
                    contention.slots = own.since(start).as_nanos() / slot.as_nanos();
                    card.contends = Some(contention);
                }
            }
        }
        let alone = beginning.len() == 1;
        if alone {
            self.counters.turns += 1;
        } else {
            self.counters.collisions += 1;
        }
        for station in &beginning {
            let ends = self.take_turn(start, *station, alone);
            self.busy_until = self.busy_until.max(ends);
        }
        if !alone {
            self.join(&beginning);
        }
        self.counters.busy += self.busy_until.since(start);
        self.find_next_start();
    }

    /// Reports a collision: each receiver of these stations' frames receives one damaged frame.
    fn join(&mut self, senders: &[Station]) {
        let frames = senders.iter().filter_map(|sender| self.cards.get(sender));
        let receivers: BTreeSet<_> = frames
            .map(|card| card.frame.to())
            .filter(|receiver| !senders.contains(receiver))
            .collect();
        for receiver in receivers {
            self.later(self.busy_until, Event::Damaged(receiver, true));
        }
    }

    /// Lets one station send; returns the time at which the medium is idle again.
    fn take_turn(&mut self, start: Instant, station: Station, alone: bool) -> Instant {
        let Some(card) = self.cards.get_mut(&station) else {
            return start;
        };
        let size = card.frame.size;
        let turn = match self.channels.get_mut(usize::from(card.frame.mobile)) {
            Some(channel) if alone => exchange::alone(&self.config, start, size, channel),
            _ => exchange::together(&self.config, start, size),
        };
        let lasted = turn.ends.since(start);
        card.tries += 1;
        card.airtime += lasted;
        let (receiver, arrives) = (card.frame.to(), turn.delivered);
        if let Some((at, frame)) = arrives.map(|at| (at, card.frame.clone())) {
            self.later(at, Event::Arrives(frame));
        }
        if turn.damaged {
            self.later(turn.ends, Event::Damaged(receiver, false));
        }
        if turn.acknowledged {
            self.counters.useful += lasted;
            self.later(
                turn.ends,
                Event::Over(station, TransmitResult::Acknowledged),
            );
        } else {
            let fate = if alone {
                TransmitResult::Lost
            } else {
                TransmitResult::Collided
            };
            let patience = self.config.gap + self.config.answer() + self.config.slot;
            self.later(turn.ends + patience, Event::Over(station, fate));
        }
        turn.ends
    }

    fn later(&mut self, at: Instant, event: Event<T>) {
        self.events.insert((at, self.next_event), event);
        self.next_event += 1;
    }

    /// Handles the result of an attempt, which the card now knows.
    fn over(&mut self, now: Instant, station: Station, fate: TransmitResult) {
        let Some(mut card) = self.cards.remove(&station) else {
            return;
        };
        if fate != TransmitResult::Acknowledged && card.tries <= self.config.retries {
            card.window = (card.window * 2 + 1).min(self.config.window_max);
            let slots = self.draw(card.window);
            card.contends = Some(Contention { since: now, slots });
            self.cards.insert(station, card);
            self.find_next_start();
            return;
        }
        if fate == TransmitResult::Acknowledged {
            self.counters.acknowledged += 1;
        } else {
            self.counters.failed += 1;
        }
        self.done.insert(station, now);
        let (frame, airtime) = (card.frame, card.airtime);
        self.outputs.push_back(Heard::Ended {
            frame,
            fate,
            airtime,
        });
    }
}

impl<T: Clone> Machine for CsmaAir<T> {
    type Input = Frame<T>;
    type Output = Heard<T>;

    fn handle_input(&mut self, now: Instant, frame: Frame<T>) {
        self.handle_timeout(now);
        self.offer(now, frame);
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(due) = self.poll_timeout().filter(|due| *due <= now) {
            let first = self.events.first_entry();
            if let Some(entry) = first.filter(|entry| entry.key().0 <= due) {
                match entry.remove() {
                    Event::Arrives(frame) => self.outputs.push_back(Heard::Delivered(frame)),
                    Event::Over(station, fate) => self.over(due, station, fate),
                    Event::Damaged(at, joined) => {
                        self.outputs.push_back(Heard::Damaged { at, joined });
                    }
                }
            } else {
                self.begin(due);
            }
        }
    }

    fn poll_output(&mut self) -> Option<Heard<T>> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let event = self.events.first_key_value().map(|((at, _), _)| *at);
        earlier(event, self.next_start)
    }
}
