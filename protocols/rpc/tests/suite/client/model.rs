//! Random transitions against a reference that predicts every call's transmissions and its end.

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;
use rpc::message::{Call, Refusal};
use rpc::{Failure, HybridLinear, Input, LinkEvent, Output, Policy, Ticket};
use units::{Duration, Instant};

use super::drive::{Driven, call, config, echo, millis, reply, soft};

const IN_FLIGHT: usize = 3;

fn rule() -> HybridLinear {
    HybridLinear {
        initial: millis(50),
        step: millis(20),
        linear_steps: 2,
        maximum: millis(400),
    }
}

/// Returns the timeout, computed independently.
fn wait_after(transmissions: u32) -> Duration {
    let waits = [50, 70, 90, 180, 360];
    millis(
        waits
            .get(transmissions as usize - 1)
            .copied()
            .unwrap_or(400),
    )
}

/// Visible results of calls: the ticket, its transmissions, and its end if it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Sent(u64),
    Ended(u64, End, u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Answered,
    Refused,
    Malformed,
    Expired,
}

/// A call, in the order of creation.
#[derive(Debug)]
struct Expected {
    ticket: u64,
    expires: Option<Instant>,
    transmissions: u32,
    repeat: Option<Instant>,
    malformed: u32,
}

#[derive(Default)]
struct Reference {
    calls: Vec<Expected>,
    seen: Vec<(Instant, Seen)>,
}

impl Reference {
    fn send(&mut self, now: Instant, place: usize) {
        let call = &mut self.calls[place];
        call.transmissions += 1;
        call.repeat = Some(now + wait_after(call.transmissions));
        self.seen.push((now, Seen::Sent(call.ticket)));
    }

    fn fill(&mut self, now: Instant) {
        let flying = self
            .calls
            .iter()
            .filter(|call| call.transmissions > 0)
            .count();
        let waiting = self.calls.iter().enumerate();
        let waiting = waiting.filter(|(_, call)| call.transmissions == 0);
        let places: Vec<usize> = waiting.map(|(place, _)| place).collect();
        for place in places.into_iter().take(IN_FLIGHT - flying) {
            self.send(now, place);
        }
    }

    fn end(&mut self, now: Instant, place: usize, how: Option<End>) {
        let call = self.calls.remove(place);
        if let Some(how) = how {
            self.seen
                .push((now, Seen::Ended(call.ticket, how, call.transmissions)));
        }
        self.fill(now);
    }

    fn place(&self, ticket: u64) -> Option<usize> {
        self.calls.iter().position(|call| call.ticket == ticket)
    }

    fn wait(&mut self, until: Instant) {
        loop {
            let due = self.calls.iter().enumerate().filter_map(|(place, call)| {
                let due = machine::earlier(call.expires, call.repeat)?;
                Some((due, place))
            });
            let Some((now, place)) = due.min().filter(|(due, _)| *due <= until) else {
                return;
            };
            if self.calls[place].expires == Some(now) {
                self.end(now, place, Some(End::Expired));
            } else {
                self.send(now, place);
            }
        }
    }

    fn reply(&mut self, now: Instant, ticket: u64, kind: End) {
        let Some(place) = self.place(ticket) else {
            return;
        };
        let call = &mut self.calls[place];
        if kind == End::Malformed {
            call.malformed += 1;
            if call.malformed <= 2 {
                return;
            }
        }
        self.end(now, place, Some(kind));
    }
}

/// The client and the reference.
struct World {
    driven: Driven,
    reference: Reference,
    seen: Vec<(Instant, Seen)>,
    messages: BTreeMap<u64, Bytes>,
    tickets: u64,
}

impl World {
    fn new() -> Self {
        let config = rpc::Config {
            in_flight: IN_FLIGHT,
            ..config(Policy::HybridLinear(rule()))
        };
        Self {
            driven: Driven::new(config),
            reference: Reference::default(),
            seen: Vec::new(),
            messages: BTreeMap::new(),
            tickets: 0,
        }
    }

    fn record(&mut self, at: Instant, outputs: Vec<Output>) {
        for output in outputs {
            let seen = match output {
                Output::Send(message) => {
                    let arguments = Call::parse(&message).expect("a call").arguments;
                    let ticket = u64::from_be_bytes(arguments.try_into().expect("a ticket"));
                    let first = self
                        .messages
                        .entry(ticket)
                        .or_insert_with(|| message.clone());
                    assert_eq!(*first, message, "sent again with other bytes");
                    Seen::Sent(ticket)
                }
                Output::Answer(answer) => {
                    let end = match answer.result {
                        Ok(_) => End::Answered,
                        Err(Failure::Refused(_)) => End::Refused,
                        Err(Failure::Malformed(_)) => End::Malformed,
                        Err(_) => End::Expired,
                    };
                    Seen::Ended(answer.ticket.0, end, answer.transmissions)
                }
                _ => continue,
            };
            self.seen.push((at, seen));
        }
    }

    fn input(&mut self, input: Input) {
        let outputs = self.driven.input(input);
        self.record(self.driven.now, outputs);
    }

    fn wait(&mut self, span: Duration) {
        let end = self.driven.now + span;
        self.reference.wait(end);
        for (at, output) in self.driven.wait(span) {
            self.record(Instant::from_millis(at), vec![output]);
        }
    }

    fn make(&mut self, patience: Option<Duration>) {
        let (now, ticket) = (self.driven.now, self.tickets);
        self.tickets += 1;
        self.reference.calls.push(Expected {
            ticket,
            expires: patience.map(|patience| now + patience),
            transmissions: 0,
            repeat: None,
            malformed: 0,
        });
        self.reference.fill(now);
        self.input(patience.map_or_else(|| call(ticket), |patience| soft(ticket, patience)));
    }

    /// Delivers a reply to any call that was sent, ended or not.
    fn reply(&mut self, choice: u8, kind: End) {
        let count = self.messages.len().max(1);
        let Some((ticket, message)) = self.messages.iter().nth(usize::from(choice) % count) else {
            return;
        };
        let xid = Call::parse(message).expect("a call").xid;
        let bytes = match kind {
            End::Refused => reply(xid, Err(Refusal::ProcedureUnavailable)),
            End::Malformed => echo(message).slice(..9),
            _ => echo(message),
        };
        self.reference.reply(self.driven.now, *ticket, kind);
        self.input(Input::Received(bytes));
    }

    fn step(&mut self, kind: u8, choice: u8) {
        match kind {
            0..3 => self.make(None),
            3 => self.make(Some(millis(u64::from(choice) * 4 + 1))),
            4..6 => self.reply(choice, End::Answered),
            6 => self.reply(choice, End::Refused),
            7 => self.reply(choice, End::Malformed),
            8 => {
                let ticket = self.tickets.saturating_sub(u64::from(choice % 8));
                if let Some(place) = self.reference.place(ticket) {
                    self.reference.end(self.driven.now, place, None);
                }
                self.input(Input::Cancel(Ticket(ticket)));
            }
            9 => self.input(Input::Received(Bytes::copy_from_slice(&[choice; 24]))),
            10 => self.input(Input::Link(LinkEvent::HandoffDone)),
            _ => self.wait(millis(u64::from(choice))),
        }
    }
}

proptest! {
    #[test]
    fn the_client_does_what_the_reference_predicts(steps in proptest::collection::vec((0..14u8, any::<u8>()), 0..120)) {
        let mut world = World::new();
        for (kind, choice) in steps {
            world.step(kind, choice);
            prop_assert_eq!(&world.seen, &world.reference.seen);
            let flying = world.reference.calls.iter().filter(|call| call.transmissions > 0);
            prop_assert_eq!(world.driven.client.in_flight(), flying.count());
        }
        world.wait(Duration::from_secs(10));
        prop_assert_eq!(&world.seen, &world.reference.seen);
        let (client, left) = (&world.driven.client, world.reference.calls.len());
        prop_assert_eq!(client.in_flight() + client.waiting(), left);
    }
}
