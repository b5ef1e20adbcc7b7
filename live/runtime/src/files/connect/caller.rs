//! Synchronous calls with a time limit, before there is a client of files.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use edges::clock;
use edges::wait::{Ready, Waiter};
use machine::{Machine, earlier};
use rpc::message::Credentials;
use rpc::{Class, Client, Failure, Input, Output, Procedure, Request, Ticket};
use units::{Duration, Instant};

use super::error::ProgramError;
use crate::files::connection::LOOK;
use crate::files::link::Link;
use crate::files::socket::{LinkNews, Route, SOCKET};
use crate::files::{Protocol, SourcePort};

/// Settings that all callers of one connection share.
#[derive(Clone, Copy)]
pub(super) struct Setting<'s> {
    pub(super) calls: &'s rpc::Config,
    pub(super) caller: &'s Arc<Credentials>,
    pub(super) source_port: SourcePort,
    pub(super) seed: u64,
    /// Deadline of all calls.
    pub(super) deadline: Instant,
    pub(super) interrupted: &'s dyn Fn() -> bool,
}

/// A caller of one program of a server.
pub(crate) struct Caller {
    link: Link,
    rpc: Client,
    waiter: Waiter,
    way: Route,
    next_ticket: u64,
}

/// A call: procedure, arguments and timeout.
pub(super) struct PendingCall {
    pub(super) procedure: Procedure,
    pub(super) class: Class,
    pub(super) arguments: Vec<u8>,
    pub(super) patience: Duration,
}

impl Caller {
    /// Returns a caller of the program at this address.
    pub(super) fn new(
        protocol: Protocol,
        server: SocketAddr,
        setting: Setting<'_>,
    ) -> Result<Self, ProgramError> {
        let failed = |source| ProgramError::Socket { protocol, source };
        let transport = match protocol {
            Protocol::Udp => rpc::Transport::Datagrams,
            Protocol::Tcp => rpc::Transport::Stream,
        };
        let config = rpc::Config {
            transport,
            ..setting.calls.clone()
        };
        let invalid = |error| failed(io::Error::new(io::ErrorKind::InvalidInput, error));
        let rpc = Client::new(config, setting.seed)
            .map_err(invalid)?
            .checking(nfs::are_results);
        let way = Route {
            server,
            port: setting.source_port,
            seed: setting.seed,
        };
        let waiter = Waiter::new().map_err(failed)?;
        let link = Link::open(protocol, way, &waiter).map_err(failed)?;
        Ok(Self {
            link,
            rpc,
            waiter,
            way,
            next_ticket: 0,
        })
    }

    /// Returns the parts to use further: the server identifies the client by its port and its transaction numbers.
    pub(crate) fn into_parts(self) -> (Link, Client, Waiter, Route) {
        (self.link, self.rpc, self.waiter, self.way)
    }

    /// Returns the address of the program.
    pub(super) fn address(&self) -> SocketAddr {
        self.way.server
    }

    /// Makes a call and returns its results.
    pub(super) fn call(
        &mut self,
        question: PendingCall,
        setting: Setting<'_>,
    ) -> Result<Bytes, ProgramError> {
        let begun = clock::monotonic();
        let until = setting.deadline.min(begun + question.patience);
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        let request = Request {
            ticket,
            procedure: question.procedure,
            class: question.class,
            credentials: Arc::clone(setting.caller),
            arguments: question.arguments.into(),
            patience: None,
        };
        self.rpc.handle_input(begun, Input::Call(request));
        let result = self.wait(begun, until, setting.interrupted);
        if result.is_err() {
            let now = clock::monotonic();
            self.rpc.handle_input(now, Input::Cancel(ticket));
            self.drain(now);
        }
        result
    }

    fn wait(
        &mut self,
        begun: Instant,
        until: Instant,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Bytes, ProgramError> {
        let (protocol, port) = (self.link.protocol(), self.way.server.port());
        let failed = |source| ProgramError::Socket { protocol, source };
        let (mut ready, mut trouble) = (None, None);
        loop {
            let now = clock::monotonic();
            if self.rpc.poll_timeout().is_some_and(|due| due <= now) {
                self.rpc.handle_timeout(now);
            }
            if let Some(result) = self.turn(now, ready, &mut trouble).map_err(failed)? {
                return result.map_err(|failure| ProgramError::Failed {
                    protocol,
                    port,
                    failure,
                });
            }
            if matches!(&trouble, Some(error) if error.kind() == io::ErrorKind::ConnectionRefused) {
                return Err(ProgramError::Refused { protocol, port });
            }
            if interrupted() {
                return Err(ProgramError::Interrupted);
            }
            if now >= until {
                let after = Duration::from_millis(now.since(begun).as_millis());
                return Err(ProgramError::NoAnswer {
                    protocol,
                    port,
                    after,
                    trouble,
                });
            }
            let own = earlier(self.rpc.poll_timeout(), self.link.poll_timeout());
            let deadline = earlier(own, Some(until.min(now + LOOK.into())));
            ready = self
                .waiter
                .wait_until(deadline)
                .map_err(failed)?
                .find(|ready| ready.token == SOCKET);
        }
    }

    /// Lets the link work until no progress is possible; returns the call's result if it has ended.
    fn turn(
        &mut self,
        now: Instant,
        mut ready: Option<Ready>,
        trouble: &mut Option<io::Error>,
    ) -> io::Result<Option<Result<Bytes, Failure>>> {
        let mut result = self.drain(now);
        loop {
            self.link.work(now, ready.take(), &self.waiter)?;
            let mut is_told = false;
            while let Some(news) = self.link.poll_news() {
                let input = match news {
                    LinkNews::Received(bytes) => Input::Received(bytes),
                    LinkNews::Connected => Input::Connected,
                    LinkNews::Disconnected => Input::Disconnected,
                    LinkNews::Moved => continue,
                    LinkNews::Trouble(error) => {
                        *trouble = Some(error);
                        continue;
                    }
                };
                self.rpc.handle_input(now, input);
                result = self.drain(now).or(result);
                is_told = true;
            }
            if !is_told {
                return Ok(result);
            }
        }
    }

    fn drain(&mut self, now: Instant) -> Option<Result<Bytes, Failure>> {
        let mut result = None;
        while let Some(output) = self.rpc.poll_output() {
            match output {
                Output::Send(bytes) => self.link.queue(bytes),
                Output::Answer(answer) => result = Some(answer.result),
                Output::Reconnect => self.link.reconnect(now, &self.waiter),
                Output::Silent { .. } | Output::Answering { .. } => {}
            }
        }
        result
    }
}
