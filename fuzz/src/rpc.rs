//! Calls, replies and records, and an RPC client that receives anything.

use std::collections::BTreeMap;
use std::sync::Arc;

use machine::Machine;
use rpc::message::{Call, Credentials, Reply};
use rpc::record::RecordReader;
use rpc::{
    Class, Client, Config, Input, LinkEvent, Output, Policy, Procedure, Request, Ticket, Transport,
};
use units::{Bytes, Duration, Instant};

use crate::outcome::note;

/// Largest record that is read.
const RECORD_MAX: usize = 4_096;
/// Limit of calls in flight.
const IN_FLIGHT: usize = 4;

/// Reads a call, a reply, and a stream of records; each valid value must be the same after encoding and decoding.
pub fn rpc_messages(bytes: &[u8]) {
    let mut again = Vec::new();
    match Reply::parse(bytes) {
        Ok(reply) => {
            note(&reply.outcome);
            reply.write(&mut again);
            assert_eq!(Reply::parse(&again), Ok(reply));
        }
        Err(error) => {
            note(&error);
            assert!(!error.to_string().is_empty());
        }
    }
    again.clear();
    match Call::parse(bytes) {
        Ok(call) => {
            note(&call.credentials);
            call.write(&mut again);
            assert_eq!(Call::parse(&again), Ok(call));
        }
        Err(error) => {
            note(&error);
            if let Some(answer) = error.answer() {
                answer.write(&mut again);
                assert_eq!(Reply::parse(&again), Ok(answer));
            }
        }
    }
    let mut reader = RecordReader::new(RECORD_MAX);
    for piece in crate::pieces(bytes) {
        let deliver = |record: &[u8]| assert!(record.len() <= RECORD_MAX);
        let read = reader.read(piece, deliver);
        note(&read);
        if read.is_err() {
            return;
        }
    }
}

/// The client, with the checks on it.
struct Watched {
    client: Client,
    now: Instant,
    tickets: u64,
    /// Messages of calls that have not ended, by ticket.
    open: BTreeMap<u64, Option<bytes::Bytes>>,
    /// The last message sent.
    last: bytes::Bytes,
}

/// Runs calls, replies that are genuine, changed or missing, waits, cancellations and events of the hop, in any order.
/// The first byte chooses the policy and the transport.
pub fn rpc_tape(bytes: &[u8]) {
    let Some((setting, tape)) = bytes.split_first() else {
        return;
    };
    let retransmission = match setting % 4 {
        0 => Policy::Exponential(rpc::Exponential::default()),
        1 => Policy::Linear(rpc::Linear::default()),
        2 => Policy::HybridLinear(rpc::HybridLinear::default()),
        _ => Policy::Adaptive(rpc::Adaptive::default()),
    };
    let stream = setting & 0x80 != 0;
    let config = Config {
        transport: if stream {
            Transport::Stream
        } else {
            Transport::Datagrams
        },
        retransmission,
        in_flight: IN_FLIGHT,
        longest_message: Bytes::kibi(4),
        ..Config::default()
    };
    let mut watched = Watched {
        client: Client::new(config, 1).expect("a configuration"),
        now: Instant::from_millis(1),
        tickets: 0,
        open: BTreeMap::new(),
        last: bytes::Bytes::new(),
    };
    for piece in crate::pieces(tape) {
        if let Some((kind, rest)) = piece.split_first() {
            watched.step(kind % 10, rest);
        }
    }
    watched.wait(Duration::from_secs(200));
}

impl Watched {
    fn step(&mut self, kind: u8, rest: &[u8]) {
        let number = u64::from(rest.first().copied().unwrap_or_default());
        match kind {
            0 => self.wait(Duration::from_millis(number * number)),
            1 | 2 => {
                let patience = (kind == 2).then(|| Duration::from_millis(number * 10));
                self.call(rest, patience);
            }
            3 => {
                let ticket = number % self.tickets.max(1);
                self.open.remove(&ticket);
                self.input(Input::Cancel(Ticket(ticket)));
            }
            4 => {
                let events = [
                    LinkEvent::FadeBegan,
                    LinkEvent::FadeEnded { kept: false },
                    LinkEvent::FadeEnded { kept: true },
                    LinkEvent::HandoffImpending,
                    LinkEvent::HandoffDone,
                ];
                self.input(Input::Link(events[number as usize % events.len()]));
            }
            5 if number % 4 == 0 => self.input(Input::Disconnected),
            5 => self.input(Input::Connected),
            6 | 7 => {
                // A reply to the last message, with the changes of `rest`.
                let mut reply = Vec::new();
                let xid = rpc::message::transaction(&self.last).unwrap_or_default();
                let outcome = Ok(&[7; 8][..]);
                Reply { xid, outcome }.write(&mut reply);
                let changes = rest.iter().skip(1);
                reply
                    .iter_mut()
                    .zip(changes)
                    .for_each(|(byte, bits)| *byte ^= bits);
                self.input(Input::Received(reply.into()));
            }
            _ => self.input(Input::Received(rest.to_vec().into())),
        }
    }

    fn call(&mut self, arguments: &[u8], patience: Option<Duration>) {
        let ticket = self.tickets;
        self.tickets += 1;
        self.open.insert(ticket, None);
        let mut named = ticket.to_be_bytes().to_vec();
        named.extend(arguments);
        self.input(Input::Call(Request {
            ticket: Ticket(ticket),
            procedure: Procedure {
                program: 100_003,
                version: 3,
                number: 1,
            },
            class: Class::ALL[arguments.len() % Class::ALL.len()],
            credentials: Arc::new(Credentials::None),
            arguments: named.into(),
            patience,
        }));
    }

    fn input(&mut self, input: Input) {
        self.client.handle_input(self.now, input);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.client.poll_output() {
            note(&output);
            match output {
                Output::Send(message) => self.sent(message),
                Output::Answer(answer) => {
                    note(&answer.result);
                    let open = self.open.remove(&answer.ticket.0);
                    assert!(open.is_some(), "an answer that nobody waits for");
                }
                _ => {}
            }
        }
        assert!(self.client.in_flight() <= IN_FLIGHT);
        assert_eq!(
            self.client.in_flight() + self.client.waiting(),
            self.open.len()
        );
        let due = self.client.poll_timeout();
        assert!(due.is_none_or(|due| due >= self.now));
    }

    fn sent(&mut self, message: bytes::Bytes) {
        let call = Call::parse(&message).or_else(|_| Call::parse(&message[4..]));
        let arguments = call.expect("what is sent is a call").arguments;
        let (ticket, _) = arguments.split_first_chunk().expect("a ticket");
        let open = self.open.get_mut(&u64::from_be_bytes(*ticket));
        let open = open.expect("a call that has not ended");
        let first = open.get_or_insert_with(|| message.clone());
        assert_eq!(*first, message, "sent again with other bytes");
        self.last = message;
    }

    /// Lets time pass.
    fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some(due) = self.client.poll_timeout().filter(|due| *due <= end) {
            assert!(due >= self.now, "a deadline that has passed");
            self.now = due;
            self.client.handle_timeout(due);
            self.drain();
        }
        self.now = end;
    }
}
