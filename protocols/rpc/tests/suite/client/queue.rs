//! Tests of reads across a slow hop with a queue, as NFS makes them: the cost of an outage with its signal and
//! without.

use std::collections::VecDeque;

use bytes::Bytes;
use channel::{Channel, Direction, Link};
use machine::Machine;
use rpc::message::Call;
use rpc::{Adaptive, Input, LinkEvent, Output, Policy};
use units::{Duration, Instant};

use super::drive::{Driven, call, config, echo, millis};

/// Blocks of 4 KiB in 1 MB.
const CALLS: u64 = 245;
const REQUEST: u64 = 190;
const REPLY: u64 = 4_400;
/// Time without an outage: the air carries one message after the other, and only the first waits for its own delay.
const CLEAN: Duration = Duration::from_nanos((CALLS * (REQUEST + REPLY) * 8 + 10_000) * 1_000);

/// Reports that the client gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueueReport {
    Nothing,
    /// Fades at their begin and their end.
    Fades,
    /// The same, and each also reported this long ahead, as a hand-off.
    Ahead(Duration),
}

/// Returns a half-duplex link of 1 Mbit/s, with an outage of `length` every 3 s, the first after `first`.
fn link(first: u64, length: u64) -> Link {
    let text = "medium = \"half-duplex\"\n[each]\nrate = \"1 Mbit/s\"\ndelay = \"5 ms\"\n\
                queue = \"50 packets\"\n[errors]\nmodel = \"replay\"\nfile = \"outages\"\n\
                repeat = \"3 s\"\n";
    let outages = format!("{first} ms bad\n{} ms good\n", first + length);
    Link::from_toml_with(text, "link.toml", &|_| Ok(outages.clone())).expect("a link")
}

/// Cost of a run.
struct Spent {
    time: Duration,
    repeated: rpc::Repeated,
}

struct Transfer {
    driven: Driven,
    channel: Channel<Bytes>,
    news: VecDeque<(Instant, LinkEvent)>,
    answered: u64,
}

impl Transfer {
    fn new(link: &Link, told: QueueReport) -> Self {
        let config = rpc::Config {
            in_flight: 4,
            ..config(Policy::Adaptive(Adaptive::default()))
        };
        let mut news = VecDeque::new();
        for outage in link.outages(1).take(100) {
            let until = outage.until.expect("it ends");
            if let QueueReport::Ahead(lead) = told {
                news.push_back((outage.from - lead, LinkEvent::HandoffImpending));
            }
            if told != QueueReport::Nothing {
                news.push_back((outage.from, LinkEvent::FadeBegan));
                let end = match told {
                    QueueReport::Ahead(_) => LinkEvent::HandoffDone,
                    _ => LinkEvent::FadeEnded { kept: false },
                };
                news.push_back((until, end));
            }
        }
        Self {
            driven: Driven::new(config),
            channel: Channel::new(link, 1),
            news,
            answered: 0,
        }
    }

    fn send(&mut self, direction: Direction, size: u64, payload: Bytes) {
        let input = channel::Input::Send {
            direction,
            size: units::Bytes::new(size),
            payload,
        };
        self.channel.handle_input(self.driven.now, input);
        self.drain();
    }

    fn carry_out(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                Output::Send(bytes) => self.send(Direction::Up, REQUEST, bytes),
                Output::Answer(_) => self.answered += 1,
                _ => {}
            }
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.channel.poll_output() {
            let channel::Output::Deliver { direction, payload } = output else {
                continue;
            };
            if direction == Direction::Up {
                assert!(Call::parse(&payload).is_ok());
                self.send(Direction::Down, REPLY, echo(&payload));
            } else {
                let outputs = self.driven.input(Input::Received(payload));
                self.carry_out(outputs);
            }
        }
    }

    fn run(mut self) -> Spent {
        for ticket in 0..CALLS {
            let outputs = self.driven.input(call(ticket));
            self.carry_out(outputs);
        }
        while self.answered < CALLS {
            let news = self.news.front().map(|(at, _)| *at);
            let timers = [
                self.channel.poll_timeout(),
                self.driven.client.poll_timeout(),
            ];
            let next = timers.into_iter().chain([news]).flatten().min();
            self.driven.now = next.expect("something happens").max(self.driven.now);
            let now = self.driven.now;
            if let Some((_, event)) = self.news.pop_front_if(|(at, _)| *at <= now) {
                let outputs = self.driven.input(Input::Link(event));
                self.carry_out(outputs);
            }
            self.channel.handle_timeout(now);
            self.drain();
            self.driven.client.handle_timeout(now);
            let outputs = self.driven.outputs();
            self.carry_out(outputs);
        }
        let counters = self.driven.client.counters();
        Spent {
            time: self.driven.now.since_origin(),
            repeated: counters.repeated,
        }
    }
}

/// Returns the time lost by each outage in milliseconds, over runs that begin at different times before the first
/// outage, and the number of retransmissions.
fn cost(length: u64, told: QueueReport) -> (u64, u64) {
    let (mut spent, mut outages, mut repeated) = (0, 0, 0);
    for first in [100, 750, 1_400, 1_900] {
        let link = link(first, length);
        let run = Transfer::new(&link, told).run();
        let end = Instant::ZERO + run.time;
        outages += link
            .outages(1)
            .take_while(|outage| outage.from < end)
            .count() as u64;
        spent += (run.time - CLEAN).as_millis();
        repeated += run.repeated.total();
    }
    (spent / outages, repeated / outages)
}

/// The link repairs nothing, and all messages in flight when an outage begins are lost. Without a report a client
/// retransmits into the outage, and is late at its end; with a report it repeats each call in flight once.
#[test]
fn an_outage_costs_less_with_its_signal() {
    for length in [80, 160, 500, 1_000] {
        let (without, into) = cost(length, QueueReport::Nothing);
        for told in [
            QueueReport::Fades,
            QueueReport::Ahead(millis(500)),
            QueueReport::Ahead(millis(40)),
        ] {
            let (with, once) = cost(length, told);
            println!(
                "{length} ms cost {with} ms with {told:?}, {without} ms without; {once} and {into} repeated"
            );
            assert!(
                with < without && with <= length + 40,
                "{length} ms: {with} ms, {told:?}"
            );
            assert!(
                once <= 5 && once <= into,
                "{length} ms: {once} repeated, {told:?}"
            );
        }
    }
}
