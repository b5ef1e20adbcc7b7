//! A client and a server, and a seeded channel between them that loses, repeats, delays and overtakes.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use machine::{Machine, RandomStream};
use rpc::message::{Call, Refusal, Reply};
use rpc::{
    Adaptive, Client, Exponential, Failure, HybridLinear, Input, Linear, LinkEvent, Output, Policy,
};
use simulator::testing::{Clock, Next};
use units::{Duration, Instant, Probability};

use super::drive::{call, config, millis};

const CALLS: u64 = 500;

/// A server that executes calls and, with a cache, repeats the replies to calls that it has executed.
struct Server {
    cache: Option<BTreeMap<u32, Bytes>>,
    /// Number of executions of each call, by its arguments.
    executed: BTreeMap<Vec<u8>, u32>,
}

impl Server {
    fn answer(&mut self, datagram: &[u8]) -> Option<Bytes> {
        let call = match Call::parse(datagram) {
            Ok(call) => call,
            Err(error) => return error.answer().map(|reply| written(&reply)),
        };
        if let Some(known) = self.cache.as_ref().and_then(|cache| cache.get(&call.xid)) {
            return Some(known.clone());
        }
        let count = self.executed.entry(call.arguments.to_vec()).or_default();
        *count += 1;
        // As MKDIR: what exists cannot be made again.
        let outcome = match *count {
            1 => Ok(call.arguments),
            _ => Err(Refusal::SystemError),
        };
        let xid = call.xid;
        let reply = written(&Reply { xid, outcome });
        if let Some(cache) = &mut self.cache {
            cache.insert(xid, reply.clone());
        }
        Some(reply)
    }
}

fn written(reply: &Reply<'_>) -> Bytes {
    let mut bytes = Vec::new();
    reply.write(&mut bytes);
    bytes.into()
}

/// Faults of the channel between them, besides delays.
struct Hop {
    /// Percentages of messages that are lost, and that arrive twice.
    lost: u64,
    doubled: u64,
    /// Times at which fades begin and end, alternating; messages sent or received in a fade are lost.
    changes: Vec<Instant>,
    /// True if the client gets reports of fades.
    signals: bool,
}

impl Hop {
    fn losing() -> Self {
        Self {
            lost: 20,
            doubled: 5,
            changes: Vec::new(),
            signals: false,
        }
    }

    /// Returns a channel that is good for up to 2 s and bad for up to twice `bad`, as in the papers.
    fn fading(bad: Duration, signals: bool, chance: &mut RandomStream) -> Self {
        let mut at = Instant::ZERO;
        let mut changes = Vec::new();
        for _ in 0..1_000 {
            for mean in [Duration::from_secs(1), bad] {
                at += chance.uniform(Duration::ZERO, mean * 2);
                changes.push(at);
            }
        }
        Self {
            lost: 0,
            doubled: 0,
            changes,
            signals,
        }
    }

    fn is_bad(&self, at: Instant) -> bool {
        self.changes.partition_point(|change| *change <= at) % 2 == 1
    }
}

/// What happens.
enum Event {
    /// A fade begins or ends.
    Change,
    AtServer(Bytes),
    AtClient(Bytes),
}

struct Pair {
    client: Client,
    server: Server,
    chance: RandomStream,
    clock: Clock<Event>,
    hop: Hop,
    answers: BTreeMap<u64, (Result<Bytes, Failure>, u32)>,
}

impl Pair {
    fn new(policy: Policy, cache: bool, seed: u64) -> Self {
        let config = rpc::Config {
            in_flight: 4,
            ..config(policy)
        };
        Self {
            client: Client::new(config, 1).expect("a configuration"),
            server: Server {
                cache: cache.then(BTreeMap::new),
                executed: BTreeMap::new(),
            },
            chance: RandomStream::named(seed, "channel"),
            clock: Clock::new(Instant::ZERO),
            hop: Hop::losing(),
            answers: BTreeMap::new(),
        }
    }

    fn throw(&mut self, arrival: fn(Bytes) -> Event, bytes: &Bytes) {
        let now = self.clock.now;
        let mut happens = |percent| self.chance.chance(Probability::ratio(percent, 100));
        let copies = u32::from(!happens(self.hop.lost)) + u32::from(happens(self.hop.doubled));
        for _ in 0..copies {
            let arrives = now + self.chance.uniform(millis(5), millis(50));
            if self.hop.is_bad(now) || self.hop.is_bad(arrives) {
                continue;
            }
            self.clock.add(arrives, arrival(bytes.clone()));
        }
    }

    fn input(&mut self, input: Input) {
        self.client.handle_input(self.clock.now, input);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.client.poll_output() {
            match output {
                Output::Send(bytes) => self.throw(Event::AtServer, &bytes),
                Output::Answer(answer) => {
                    let known = (answer.result, answer.transmissions);
                    let twice = self.answers.insert(answer.ticket.0, known);
                    assert_eq!(twice, None, "{:?} was answered twice", answer.ticket);
                }
                _ => {}
            }
        }
        assert!(self.client.in_flight() <= 4);
    }

    fn run(&mut self) {
        // At one time a change comes first.
        for change in &self.hop.changes {
            self.clock.add(*change, Event::Change);
        }
        for ticket in 0..CALLS {
            self.input(call(ticket));
        }
        while (self.answers.len() as u64) < CALLS {
            let end = Instant::from_millis(36_000_000);
            match self.clock.advance(end, self.client.poll_timeout()) {
                Next::Event(event) => self.happen(event),
                Next::Deadline => {
                    self.client.handle_timeout(self.clock.now);
                    self.drain();
                }
                Next::End => panic!("{} calls have an answer", self.answers.len()),
            }
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Change if !self.hop.signals => {}
            Event::Change if self.hop.is_bad(self.clock.now) => {
                self.input(Input::Link(LinkEvent::FadeBegan));
            }
            Event::Change => self.input(Input::Link(LinkEvent::FadeEnded { kept: false })),
            Event::AtServer(bytes) => {
                if let Some(reply) = self.server.answer(&bytes) {
                    self.throw(Event::AtClient, &reply);
                }
            }
            Event::AtClient(bytes) => self.input(Input::Received(bytes)),
        }
    }
}

fn policies() -> [Policy; 4] {
    [
        Policy::Exponential(Exponential::default()),
        Policy::Linear(Linear::default()),
        Policy::HybridLinear(HybridLinear::default()),
        Policy::Adaptive(Adaptive::default()),
    ]
}

#[test]
fn every_call_is_answered_once_and_a_cache_lets_it_happen_once() {
    for policy in policies() {
        let mut pair = Pair::new(policy, true, 1);
        pair.run();
        for (ticket, (result, _)) in &pair.answers {
            assert_eq!(
                result.as_deref(),
                Ok(&ticket.to_be_bytes()[..]),
                "{policy:?}"
            );
        }
        assert!(pair.server.executed.values().all(|count| *count == 1));
        let counters = pair.client.counters();
        assert!(counters.repeated.total() > 100, "{policy:?}: {counters:?}");
        assert!(counters.received.late > 0 && counters.received.unknown == 0);
    }
}

#[test]
fn what_happened_twice_is_marked_where_there_is_no_cache() {
    for policy in policies() {
        let mut pair = Pair::new(policy, false, 2);
        pair.run();
        let refused: BTreeSet<u64> = pair
            .answers
            .iter()
            .filter(|(_, (result, _))| result.is_err())
            .map(|(ticket, _)| *ticket)
            .collect();
        assert!(refused.len() > 20, "{policy:?}: {}", refused.len());
        // Only the channel's own copies can make a call that was sent once happen twice.
        let unmarked = refused.iter().filter(|ticket| pair.answers[ticket].1 == 1);
        assert!(unmarked.count() < refused.len() / 4, "{policy:?}");
    }
}

#[test]
fn a_shorter_wait_that_is_measured_is_faster_on_a_lossy_channel() {
    let time = |policy| {
        let mut pair = Pair::new(policy, true, 3);
        pair.run();
        let repeated = pair.client.counters().repeated.total();
        (pair.clock.now, repeated)
    };
    let [exponential, _, hybrid, adaptive] = policies().map(time);
    assert!(adaptive.0 < hybrid.0 && hybrid.0 < exponential.0);
    // The number of its needless retransmissions is limited too.
    assert!(adaptive.1 < hybrid.1 * 3 / 2, "{adaptive:?} {hybrid:?}");
}

/// Fades that the link does not repair: the papers' loss process, without their queues.
#[test]
fn through_fades_the_adaptive_policy_is_fastest_and_faster_with_reports() {
    for bad in [40, 80, 160] {
        let spent = |policy, signals| {
            let mut pair = Pair::new(policy, true, 4);
            let mut chance = RandomStream::named(bad, "fades");
            pair.hop = Hop::fading(millis(bad), signals, &mut chance);
            pair.run();
            let counters = pair.client.counters();
            (pair.clock.now.since_origin(), counters.repeated.total())
        };
        let adaptive = Policy::Adaptive(Adaptive::default());
        let exponential = spent(Policy::Exponential(Exponential::default()), false);
        let hybrid = spent(Policy::HybridLinear(HybridLinear::default()), false);
        let without = spent(adaptive, false);
        let with = spent(adaptive, true);
        assert!(with.0 < without.0 && without.0 < hybrid.0 && hybrid.0 <= exponential.0);
        // Needless retransmissions, besides those that the fades made necessary.
        assert!(with.1 <= hybrid.1 * 2, "{bad} ms: {with:?} {hybrid:?}");
    }
}
