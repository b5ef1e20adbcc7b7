//! The machine: calls arrive, wait, are executed, and are answered.

mod looks;
mod transit;

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use machine::{Machine, earlier};
use rpc::message::{Call, Refusal, Reply};
use units::{Duration, Instant};

use crate::chances::Chances;
use crate::line::{Line, Serving, Waiting};
use crate::programs::{CallFault, Programs, nfs_procedure};
use crate::replies::{CacheState, ReplyCache};
use crate::{Config, ConfigError, Counters, Fault, Input, Output, Peer};

/// A file server: see the [crate].
#[derive(Debug, Clone)]
pub struct Server {
    config: Config,
    programs: Programs,
    chances: Chances,
    replies: ReplyCache,
    line: Line,
    /// Delayed replies, by the time at which they are sent, in the order in which they were delayed.
    delayed: BTreeMap<(Instant, u64), Output>,
    delays: u64,
    outputs: VecDeque<Output>,
    silent: bool,
    counters: Counters,
}

impl Machine for Server {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Instant, input: Input) {
        match input {
            Input::Received { from, message } => self.receive(now, from, &message),
            Input::Restart => self.restart(now),
            Input::Fault(fault) => self.break_something(fault),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.serve(now);
        while let Some(entry) = self.delayed.first_entry()
            && entry.key().0 <= now
        {
            self.outputs.push_back(entry.remove());
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let late = self.delayed.first_key_value();
        earlier(self.line.until(), late.map(|(key, _)| key.0))
    }
}

impl Server {
    /// Returns a server with an empty file system.
    ///
    /// # Errors
    /// If the configuration makes no sense.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            programs: Programs::new(&config),
            chances: Chances::new(config.seed, &config.faults),
            replies: ReplyCache::new(config.reply_cache),
            line: Line::new(config.service.receive_buffer.get()),
            delayed: BTreeMap::new(),
            delays: 0,
            outputs: VecDeque::new(),
            silent: false,
            counters: Counters::default(),
            config,
        })
    }

    fn restart(&mut self, now: Instant) {
        self.replies.clear();
        self.line.clear(now);
        self.programs.storage.set_time(now);
        self.counters.bytes_lost += self.programs.begin_life();
    }

    fn break_something(&mut self, fault: Fault) {
        match fault {
            Fault::Chances(faults) => self.chances.set(&faults),
            Fault::Silent(silent) => self.silent = silent,
            Fault::Stale(handle) => {
                let storage = &mut self.programs.storage;
                if let Ok(number) = storage.resolve(&handle) {
                    storage.make_stale(number);
                }
            }
            Fault::ForgetCookies => self.programs.forget_cookies(),
            Fault::Refuse {
                procedure,
                status,
                calls,
            } => {
                self.programs.refusals.insert(procedure, (status, calls));
            }
            Fault::FalseAnswer(lie) => self.programs.lie = lie,
        }
    }

    /// Handles a message from the network, which may be lost or repeated.
    fn receive(&mut self, now: Instant, from: Peer, message: &Bytes) {
        let injected = &mut self.counters.injected;
        let lost = self
            .chances
            .lost_requests
            .happens(&mut injected.lost_requests);
        if self.silent || lost {
            return;
        }
        let twice = self
            .chances
            .repeated_requests
            .happens(&mut injected.repeated_requests);
        for _ in 0..=u32::from(twice) {
            self.counters.received += 1;
            self.arrive(now, from, message);
        }
        self.serve(now);
    }

    /// Handles a call that has reached the server.
    fn arrive(&mut self, now: Instant, from: Peer, message: &Bytes) {
        let key = self.replies.key(from, message);
        match key.map_or(CacheState::New, |key| self.replies.look_up(key)) {
            CacheState::Underway => self.counters.dropped += 1,
            CacheState::Answered(reply) => {
                self.counters.replayed += 1;
                self.depart(now, from, reply);
            }
            CacheState::New => {
                let message = message.clone();
                let waits = self.line.push(Waiting {
                    arrived: now,
                    from,
                    message,
                    key,
                });
                match key {
                    Some(key) if waits => self.replies.begin(key),
                    _ => self.counters.overflowed += u64::from(!waits),
                }
            }
        }
    }

    /// Ends and begins calls that are due.
    fn serve(&mut self, now: Instant) {
        loop {
            if let Some(Serving { to, reply, key, .. }) = self.line.finish(now) {
                if let (Some(key), Some(reply)) = (key, &reply) {
                    self.replies.finish(key, reply.clone());
                }
                if let Some(reply) = reply {
                    self.depart(now, to, reply);
                }
            }
            let Some((start, call)) = self.line.begin() else {
                return;
            };
            let reply = self.answer(start, &call.message);
            let length = reply.as_ref().map_or(0, Bytes::len);
            let until = start + self.takes(length.max(call.message.len()));
            self.line.serve(Serving {
                until,
                to: call.from,
                reply,
                key: call.key,
            });
        }
    }

    /// Returns the service time of a call that moves `bytes` bytes.
    fn takes(&self, bytes: usize) -> Duration {
        let service = &self.config.service;
        service.per_call + service.per_byte * bytes as u64
    }

    /// Executes the call in a message; returns `None` if it is not a call.
    fn answer(&mut self, now: Instant, message: &[u8]) -> Option<Bytes> {
        let mut results = Vec::new();
        let mut bytes = Vec::new();
        let reply = match Call::parse(message) {
            Ok(call) => Reply {
                xid: call.xid,
                outcome: self.execute(now, &call, message.len(), &mut results),
            },
            Err(error) => {
                let reply = error.answer();
                self.counters.malformed += u64::from(reply.is_none());
                reply?
            }
        };
        reply.write(&mut bytes);
        if bytes.len() as u64 > self.config.longest_message.get() {
            bytes.clear();
            let outcome = Err(Refusal::SystemError);
            Reply { outcome, ..reply }.write(&mut bytes);
        }
        Some(bytes.into())
    }

    /// Appends the results of a call whose message had `length` bytes.
    fn execute<'a>(
        &mut self,
        now: Instant,
        call: &Call<'_>,
        length: usize,
        results: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], Refusal> {
        let fits = length as u64 <= self.config.longest_message.get();
        let mishap = self.mishap();
        let executed = if fits {
            self.programs.execute(now, call, mishap, results)
        } else {
            Err(Refusal::GarbageArguments)
        };
        match (executed, nfs_procedure(call)) {
            (Err(_), _) => self.counters.refused += 1,
            (Ok(()), Some(procedure)) => self.counters.note(procedure),
            (Ok(()), None) => self.counters.others += 1,
        }
        executed.map(|()| results.as_slice())
    }

    /// Returns the fault of the next call.
    fn mishap(&mut self) -> Option<CallFault> {
        let Chances {
            try_later,
            short_transfers,
            ..
        } = &mut self.chances;
        let injected = &mut self.counters.injected;
        if try_later.happens(&mut injected.try_later) {
            return Some(CallFault::TryLater);
        }
        let short = short_transfers.happens(&mut injected.short_transfers);
        short.then(|| CallFault::Short(short_transfers.number()))
    }
}
