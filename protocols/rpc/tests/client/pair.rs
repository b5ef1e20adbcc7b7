//! A client and a server, and a seeded channel between them that loses, repeats, delays and overtakes.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use machine::{Machine, RandomStream};
use rpc::message::{Call, Refusal, Reply};
use rpc::{Adaptive, Exponential, Failure, HybridLinear, Input, Linear, Output, Policy};
use units::{Instant, Probability};

use crate::drive::{Driven, call, config, millis};

const CALLS: u64 = 500;

/// Executes calls and, with a cache, repeats replies to what it knows.
struct Server {
    cache: Option<BTreeMap<u32, Bytes>>,
    /// How often each call was carried out, by its arguments.
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

struct Pair {
    driven: Driven,
    server: Server,
    chance: RandomStream,
    /// By arrival; the number keeps equal ones apart.
    flying: BTreeMap<(Instant, u64), (bool, Bytes)>,
    thrown: u64,
    answers: BTreeMap<u64, (Result<Bytes, Failure>, u32)>,
}

impl Pair {
    fn new(policy: Policy, cache: bool, seed: u64) -> Self {
        let config = rpc::Config {
            in_flight: 4,
            ..config(policy)
        };
        Self {
            driven: Driven::new(config),
            server: Server {
                cache: cache.then(BTreeMap::new),
                executed: BTreeMap::new(),
            },
            chance: RandomStream::named(seed, "channel"),
            flying: BTreeMap::new(),
            thrown: 0,
            answers: BTreeMap::new(),
        }
    }

    fn throw(&mut self, to_server: bool, bytes: &Bytes) {
        let percent = |count| Probability::ratio(count, 100);
        let copies =
            u32::from(!self.chance.chance(percent(20))) + u32::from(self.chance.chance(percent(5)));
        for _ in 0..copies {
            let arrival = self.driven.now + self.chance.uniform(millis(5), millis(50));
            self.thrown += 1;
            self.flying
                .insert((arrival, self.thrown), (to_server, bytes.clone()));
        }
    }

    fn carry_out(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                Output::Send(bytes) => self.throw(true, &bytes),
                Output::Answer(answer) => {
                    let known = (answer.result, answer.transmissions);
                    let twice = self.answers.insert(answer.ticket.0, known);
                    assert_eq!(twice, None, "{:?} was answered twice", answer.ticket);
                }
                _ => {}
            }
        }
        assert!(self.driven.client.in_flight() <= 4);
    }

    fn run(&mut self) {
        for ticket in 0..CALLS {
            let outputs = self.driven.input(call(ticket));
            self.carry_out(outputs);
        }
        while (self.answers.len() as u64) < CALLS {
            let arrival = self.flying.keys().next().map(|(at, _)| *at);
            let next = machine::earlier(arrival, self.driven.client.poll_timeout());
            self.driven.now = next.expect("something happens").max(self.driven.now);
            if arrival.is_some_and(|arrival| arrival <= self.driven.now) {
                let (_, (to_server, bytes)) = self.flying.pop_first().expect("one arrives");
                if !to_server {
                    let outputs = self.driven.input(Input::Received(bytes));
                    self.carry_out(outputs);
                } else if let Some(reply) = self.server.answer(&bytes) {
                    self.throw(false, &reply);
                }
            } else {
                self.driven.client.handle_timeout(self.driven.now);
                let outputs = self.driven.outputs();
                self.carry_out(outputs);
            }
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
        let counters = pair.driven.client.counters();
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
        let repeated = pair.driven.client.counters().repeated.total();
        (pair.driven.now, repeated)
    };
    let [exponential, _, hybrid, adaptive] = policies().map(time);
    assert!(adaptive.0 < hybrid.0 && hybrid.0 < exponential.0);
    // And what it sends for nothing is bounded.
    assert!(adaptive.1 < hybrid.1 * 3 / 2, "{adaptive:?} {hybrid:?}");
}
