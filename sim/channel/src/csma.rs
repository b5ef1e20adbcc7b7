//! One air that a base station and its mobile hosts share by carrier sense with collision avoidance.
//!
//! A station that wants to send senses the air. When it has been idle for the sense interval the station begins at
//! once, or, if it found the air busy, after a random back-off, which stands still while others send. The receiver
//! answers a frame at once, after a gap shorter than the sense interval, so that nobody comes between (the "priority
//! ack" of Bhagwat et al. 1996). Stations that begin in the same slot collide, and all of their frames are lost. A card
//! that hears no answer tries again, after a back-off from twice the window, as often as it may; then the driver is
//! told.
//!
//! Every mobile host has a channel of its own, for both directions. All stations hear each other: there are no hidden
//! ones. A reservation ([`CsmaConfig::reserve_from`]) makes collisions and fades cost a short frame in place of a long
//! one.

mod config;
mod exchange;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use machine::{Machine, RandomStream, earlier};
use units::{Bytes, Duration, Instant};

pub use self::config::CsmaConfig;
use crate::Direction;
use crate::errors::{ErrorConfig, ErrorModel, Timeline};

/// A station on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Station {
    /// The base station.
    Base,
    /// The mobile host of that number, from 0 on.
    Mobile(u16),
}

/// A frame that a station wants to send: a mobile host to the base station, the base station to a mobile host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame<T> {
    /// Who sends it.
    pub from: Station,
    /// The mobile host that sends or receives it, whose channel it meets.
    pub mobile: u16,
    /// What it carries, in bytes; the MAC's header comes on top.
    pub size: Bytes,
    /// What it is.
    pub payload: T,
}

impl<T> Frame<T> {
    /// Who it is for.
    fn to(&self) -> Station {
        match self.from {
            Station::Base => Station::Mobile(self.mobile),
            Station::Mobile(_) => Station::Base,
        }
    }
}

/// What a [`CsmaAir`] tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard<T> {
    /// A frame arrives. It can be one that arrived before, if its acknowledgement was lost.
    Delivered(Frame<T>),
    /// A station's card is done with a frame, and free for the next one.
    Ended {
        /// The frame.
        frame: Frame<T>,
        /// What became of it.
        fate: Fate,
        /// For how long the card used the air for it, answers and failed tries included.
        airtime: Duration,
    },
    /// A frame's checksum fails at the station that it was for, unless that sends itself, when it hears nothing.
    Damaged {
        /// Who hears it.
        at: Station,
        /// Whether others' frames have joined it, so that the signal is stronger than one station's.
        joined: bool,
    },
}

/// What became of a frame, as its sender's card knows it; why it failed only the receiver could tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It was acknowledged.
    Acknowledged,
    /// Its last try met another station's.
    Collided,
    /// Its last try, or the answer to it, was lost on the air.
    Lost,
}

/// What happened on an air.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CsmaCounters {
    /// Turns of one station alone.
    pub turns: u64,
    /// Turns in which several began.
    pub collisions: u64,
    /// Frames that were acknowledged.
    pub acknowledged: u64,
    /// Frames that cards gave back.
    pub failed: u64,
    /// Frames that nobody could send: their station was busy with another one, or does not exist.
    pub refused: u64,
    /// For how long there were frames on the air.
    pub busy: Duration,
    /// For how long of it, those that were acknowledged.
    pub useful: Duration,
}

/// A card with a frame.
#[derive(Debug, Clone)]
struct Card<T> {
    frame: Frame<T>,
    /// It contends from here on; nothing while its frame is on the air or it waits for an answer.
    contends: Option<Contention>,
    window: u32,
    tries: u32,
    airtime: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Contention {
    since: Instant,
    /// Slots of back-off that are left.
    slots: u64,
}

impl Contention {
    /// When the station begins if nobody does before and the air is idle, for the sense interval, at `idle`. Beginnings
    /// lie on the slots that follow it.
    fn start(self, idle: Instant, slot: Duration) -> Instant {
        let late = self.since.max(idle).since(idle).as_nanos();
        idle + slot * (late.div_ceil(slot.as_nanos()) + self.slots)
    }
}

/// What a turn leads to.
#[derive(Debug, Clone)]
enum Event<T> {
    Arrives(Frame<T>),
    /// A card knows what became of its try.
    Over(Station, Fate),
    /// A checksum fails at a station, and whether others' frames have joined that frame.
    Damaged(Station, bool),
}

/// The air, its stations' cards and their channels.
#[derive(Debug, Clone)]
pub struct CsmaAir<T> {
    config: CsmaConfig,
    channels: Vec<ErrorModel>,
    chance: RandomStream,
    cards: BTreeMap<Station, Card<T>>,
    /// When each station's card was done with its last frame: a back-off follows each, also one that was lost.
    done: BTreeMap<Station, Instant>,
    /// Until when frames and their answers are on the air.
    busy_until: Instant,
    /// When the next station begins.
    next_start: Option<Instant>,
    events: BTreeMap<(Instant, u64), Event<T>>,
    next_event: u64,
    outputs: VecDeque<Heard<T>>,
    counters: CsmaCounters,
}

/// The seed of a mobile host's channel in a run with `seed`: equal ones for equal numbers, however many there are.
fn channel_seed(seed: u64, mobile: u16) -> u64 {
    RandomStream::named(seed, &format!("csma/{mobile}")).next_u64()
}

impl<T: Clone> CsmaAir<T> {
    /// An air that is idle, with a mobile host for each of the error models.
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

    /// The good and bad periods of a mobile host's channel in a run with `seed`; nothing if its error model has none.
    pub fn timeline(errors: &ErrorConfig, seed: u64, mobile: u16) -> Option<Timeline> {
        errors.timeline(channel_seed(seed, mobile), Direction::Down)
    }

    /// What happened so far.
    pub fn counters(&self) -> &CsmaCounters {
        &self.counters
    }

    /// Whether a station's card can take a frame.
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
        // Idle for less than the sense interval is as good as busy.
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

    /// When contenders may begin again.
    fn idle(&self) -> Instant {
        self.busy_until + self.config.sense
    }

    /// Finds when the next station begins, since a card or the air has changed.
    fn find_next_start(&mut self) {
        let (idle, slot) = (self.idle(), self.config.slot);
        let contentions = self.cards.values().filter_map(|card| card.contends);
        let starts = contentions.map(|contention| contention.start(idle, slot));
        self.next_start = starts.min();
    }

    /// All whose back-off ends at `start` begin; that of the others stands still.
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

    /// What these stations send together is heard as one by those that it was for.
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

    /// One station sends; returns when the air is silent again.
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
            self.later(turn.ends, Event::Over(station, Fate::Acknowledged));
        } else {
            let fate = if alone { Fate::Lost } else { Fate::Collided };
            let patience = self.config.gap + self.config.answer() + self.config.slot;
            self.later(turn.ends + patience, Event::Over(station, fate));
        }
        turn.ends
    }

    fn later(&mut self, at: Instant, event: Event<T>) {
        self.events.insert((at, self.next_event), event);
        self.next_event += 1;
    }

    /// A card knows what became of its try.
    fn over(&mut self, now: Instant, station: Station, fate: Fate) {
        let Some(mut card) = self.cards.remove(&station) else {
            return;
        };
        if fate != Fate::Acknowledged && card.tries <= self.config.retries {
            card.window = (card.window * 2 + 1).min(self.config.window_max);
            let slots = self.draw(card.window);
            card.contends = Some(Contention { since: now, slots });
            self.cards.insert(station, card);
            self.find_next_start();
            return;
        }
        if fate == Fate::Acknowledged {
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
