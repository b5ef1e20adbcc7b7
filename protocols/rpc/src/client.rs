//! The machine that makes calls.

mod link;
mod receive;
mod recent;
mod repeat;
mod silence;
mod stream;
mod table;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::VecDeque;

use bytes::Bytes;
use machine::{Machine, RandomStream, earlier};
use units::{Duration, Instant};

use crate::message::{Call, Credentials};
use crate::record::{MARK_BYTES, write_record};
use crate::{
    Answer, Class, Config, ConfigError, Counters, Failure, Input, Output, Procedure, Request,
    RoundTrip, Ticket, Transport,
};
use link::Link;
use recent::{Ended, Recent};
use silence::Silence;
use stream::Stream;
use table::{Pending, Table};

/// Upper limit of the headers of a call with the longest credentials, in bytes.
const HEADERS_MAX: usize = 512;

/// Estimates for the calls of a class.
#[derive(Debug, Clone, Copy, Default)]
struct Learned {
    round_trip: Option<RoundTrip>,
    /// Number of timeouts that the next call starts with (Karn 1987).
    timeouts: u32,
    /// Number of replies to later calls that have been observed without a loss: servers answer in any order.
    reordering: u32,
}

/// Returns true if bytes are results of a procedure, of any content.
pub type ResultCheck = fn(Procedure, &[u8]) -> bool;

/// RPC client of one server.
///
/// A call that is sent again has the same transaction ID and the same bytes, by which servers recognize it. They also
/// check its source port, so the driver keeps one socket for the life of the client.
///
/// # Panics
/// If a call has the ticket of another call that has not ended.
#[derive(Debug, Clone)]
pub struct Client {
    config: Config,
    check: Option<ResultCheck>,
    table: Table,
    recent: Recent,
    learned: [Learned; Class::ALL.len()],
    link: Link,
    stream: Option<Stream>,
    silence: Silence,
    next_xid: u32,
    /// Number of messages sent so far.
    places: u64,
    outputs: VecDeque<Output>,
    counters: Counters,
}

impl Client {
    /// Returns a client whose first transaction ID comes from the random stream "rpc transactions" of `seed`. Two
    /// clients of one server and port must not share a seed in quick succession: the server would take calls of one
    /// for calls of the other.
    ///
    /// # Errors
    /// If the configuration is invalid ([`Config::check`]).
    pub fn new(config: Config, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let limit = config.longest_message.get() as usize;
        let stream = (config.transport == Transport::Stream).then(|| Stream::new(limit));
        Ok(Self {
            config,
            check: None,
            table: Table::default(),
            recent: Recent::default(),
            learned: <[Learned; Class::ALL.len()]>::default(),
            link: Link::default(),
            stream,
            silence: Silence::default(),
            next_xid: RandomStream::named(seed, "rpc transactions").next_u64() as u32,
            places: 0,
            outputs: VecDeque::new(),
            counters: Counters::default(),
        })
    }

    /// Adds a check of results: over datagrams, a reply that fails it may have been cut on its way. Such a reply is
    /// counted as malformed and dropped, and the call is sent again later. If the server repeats such replies, one of
    /// them ends the call, with its result.
    #[must_use]
    pub fn checking(self, check: ResultCheck) -> Self {
        Self {
            check: Some(check),
            ..self
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns the transport of its messages.
    pub fn transport(&self) -> Transport {
        self.config.transport
    }

    /// Returns the number of calls that were sent and have not ended.
    pub fn in_flight(&self) -> usize {
        self.table.in_flight()
    }

    /// Returns the number of calls that wait for their turn.
    pub fn waiting(&self) -> usize {
        self.table.waiting()
    }

    /// Returns the round-trip estimate of a class, or none before the first sample.
    pub fn round_trip(&self, class: Class) -> Option<RoundTrip> {
        self.learned[class.index()].round_trip
    }

    /// Returns the time since which the server is silent, if that was reported ([`Output::Silent`]).
    pub fn silent_since(&self) -> Option<Instant> {
        self.silence.told()
    }

    /// Returns the time that the policy relies on a report of the hop.
    fn believed(&self) -> Duration {
        self.config.retransmission.rule().believes()
    }

    fn accept(&mut self, now: Instant, request: &Request) {
        while self.table.contains(self.next_xid) {
            self.next_xid = self.next_xid.wrapping_add(1);
        }
        let xid = self.next_xid;
        let limit = self.config.longest_message.get() as usize;
        let message = self.encode(xid, request);
        let mark = self.stream.as_ref().map_or(0, |_| MARK_BYTES);
        let length = message.len() - mark;
        if length > limit {
            self.outputs.push_back(Output::Answer(Answer {
                ticket: request.ticket,
                result: Err(Failure::TooLong { length, limit }),
                transmissions: 0,
                elapsed: Duration::ZERO,
                since_last: Duration::ZERO,
            }));
            return;
        }
        self.next_xid = xid.wrapping_add(1);
        self.table.insert(xid, Pending::new(now, request, message));
        self.silence.asked(now);
        self.fill(now);
    }

    /// Returns the encoded message of a call.
    fn encode(&self, xid: u32, request: &Request) -> Bytes {
        let call = Call {
            xid,
            procedure: request.procedure,
            credentials: Cow::<Credentials>::Borrowed(&request.credentials),
            arguments: &request.arguments,
        };
        let mut message = Vec::with_capacity(HEADERS_MAX + request.arguments.len());
        match self.stream {
            None => call.write(&mut message),
            Some(_) => write_record(&mut message, |message| call.write(message)),
        }
        message.into()
    }

    /// Sends waiting calls up to the limit of calls in flight.
    fn fill(&mut self, now: Instant) {
        if self
            .stream
            .as_ref()
            .is_some_and(|stream| !stream.is_connected())
        {
            return;
        }
        while self.table.in_flight() < self.config.in_flight {
            let Some(xid) = self.table.next_waiting() else {
                return;
            };
            self.counters.sent.calls += 1;
            self.transmit(now, xid);
        }
    }

    /// Removes a call that has ended, and remembers it among the recent ones.
    fn remove(&mut self, xid: u32) -> Option<Pending> {
        let call = self.table.remove(xid)?;
        if call.sent.is_some() {
            self.recent.insert(Ended {
                xid,
                class: call.class,
                doubtful: None,
                overtaken_by: call.doubts.overtaken_by,
            });
        }
        if self.table.is_empty() {
            self.silence.idle();
        }
        if let Some(stream) = self.stream.as_mut().filter(|_| self.table.in_flight() == 0) {
            stream.idle();
        }
        Some(call)
    }

    /// Ends a call with an answer.
    fn end(&mut self, now: Instant, xid: u32, result: Result<Bytes, Failure>) {
        let Some(call) = self.remove(xid) else {
            return;
        };
        let since = |sent: Option<Instant>| sent.map_or(Duration::ZERO, |sent| now.since(sent));
        self.outputs.push_back(Output::Answer(Answer {
            ticket: call.ticket,
            result,
            transmissions: call.sent.map_or(0, |sent| sent.count),
            elapsed: since(call.sent.map(|sent| sent.first)),
            since_last: since(call.sent.map(|sent| sent.last)),
        }));
    }

    fn cancel(&mut self, now: Instant, ticket: Ticket) {
        let Some(xid) = self.table.transaction(ticket) else {
            return;
        };
        self.counters.cancelled += 1;
        self.remove(xid);
        self.fill(now);
    }

    fn stream_deadline(&self) -> Option<Instant> {
        self.stream.as_ref()?.deadline(self.config.reconnect_after)
    }
}

impl Machine for Client {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Instant, input: Input) {
        match input {
            Input::Call(request) => self.accept(now, &request),
            Input::Cancel(ticket) => self.cancel(now, ticket),
            Input::Received(bytes) => self.receive(now, &bytes),
            Input::Connected => self.connected(now),
            Input::Disconnected => {
                if let Some(stream) = &mut self.stream {
                    stream.disconnect();
                }
            }
            Input::Link(event) => self.link_event(now, event),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(xid) = self.table.due(now) {
            self.act(now, xid);
        }
        let due = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        if due(self.silence.deadline(self.config.silent_after))
            && let Some(since) = self.silence.tell()
        {
            self.counters.silences += 1;
            self.outputs.push_back(Output::Silent { since });
        }
        if due(self.stream_deadline()) {
            self.give_up_stream();
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let silence = self.silence.deadline(self.config.silent_after);
        let calls = earlier(self.table.next_due(), silence);
        earlier(calls, self.stream_deadline())
    }
}
