//! The common parts of the tests: a client with a clock, and messages to and from it.

use std::sync::Arc;

use bytes::Bytes;
use machine::Machine;
use rpc::message::{Call, Credentials, Identity, Refusal, Reply, SystemCredentials};
use rpc::{Answer, Class, Client, Config, Input, Output, Policy, Procedure, Request, Ticket};
use units::{Duration, Instant};

/// WRITE of NFS.
pub(crate) const WRITE: Procedure = Procedure {
    program: 100_003,
    version: 3,
    number: 7,
};

pub(crate) fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(crate) fn config(policy: Policy) -> Config {
    Config {
        retransmission: policy,
        ..Config::default()
    }
}

/// Returns a hard call.
pub(crate) fn request(ticket: u64) -> Request {
    let identity = Identity {
        user: 1_000,
        group: 100,
        groups: vec![4],
    };
    let credentials = SystemCredentials::new(1, "mobile", identity).expect("short enough");
    Request {
        ticket: Ticket(ticket),
        procedure: WRITE,
        class: Class::Write,
        credentials: Arc::new(Credentials::System(credentials)),
        arguments: Bytes::copy_from_slice(&ticket.to_be_bytes()),
        patience: None,
    }
}

pub(crate) fn soft(ticket: u64, patience: Duration) -> Input {
    let patience = Some(patience);
    Input::Call(Request {
        patience,
        ..request(ticket)
    })
}

pub(crate) fn call(ticket: u64) -> Input {
    Input::Call(request(ticket))
}

/// Returns a reply to `message` with its arguments as results.
pub(crate) fn echo(message: &[u8]) -> Bytes {
    let call = Call::parse(message).expect("a call");
    reply(call.xid, Ok(call.arguments))
}

pub(crate) fn reply(xid: u32, outcome: Result<&[u8], Refusal>) -> Bytes {
    let mut bytes = Vec::new();
    Reply { xid, outcome }.write(&mut bytes);
    bytes.into()
}

/// A client and its clock.
pub(crate) struct Driven {
    pub(crate) client: Client,
    pub(crate) now: Instant,
}

impl Driven {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            client: Client::new(config, 1).expect("a configuration"),
            now: Instant::ZERO,
        }
    }

    pub(crate) fn outputs(&mut self) -> Vec<Output> {
        std::iter::from_fn(|| self.client.poll_output()).collect()
    }

    pub(crate) fn input(&mut self, input: Input) -> Vec<Output> {
        self.client.handle_input(self.now, input);
        self.outputs()
    }

    /// Makes a call that goes out at once. Returns its message.
    pub(crate) fn sends(&mut self, input: Input) -> Bytes {
        match &self.input(input)[..] {
            [Output::Send(message)] => message.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// Delivers a reply that ends a call and does nothing else. Returns the answer.
    pub(crate) fn answered(&mut self, datagram: Bytes) -> Answer {
        match &self.input(Input::Received(datagram))[..] {
            [Output::Answer(answer)] => answer.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// Lets time pass. Returns each output with its time in milliseconds.
    pub(crate) fn wait(&mut self, span: Duration) -> Vec<(u64, Output)> {
        let end = self.now + span;
        let mut seen = Vec::new();
        while let Some(due) = self.client.poll_timeout().filter(|due| *due <= end) {
            self.now = due.max(self.now);
            self.client.handle_timeout(self.now);
            let now = self.now.since_origin().as_millis();
            seen.extend(self.outputs().into_iter().map(|output| (now, output)));
        }
        self.now = end;
        seen
    }

    /// Lets time pass. Returns the times of transmissions, in milliseconds.
    pub(crate) fn sendings(&mut self, span: Duration) -> Vec<u64> {
        let seen = self.wait(span).into_iter();
        let sent = seen.filter(|(_, output)| matches!(output, Output::Send(_)));
        sent.map(|(at, _)| at).collect()
    }
}
