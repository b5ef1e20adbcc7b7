//! A client, a server and what lies between them, with a clock.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use files::{
    Answer, Client, Config, Entry, Error, Found, Input, OpenFile, Operation, Output, Reply,
    Request, ServerLimits, Ticket,
};
use fileserver::{Peer, Server};
use machine::{Machine, RandomStream, earlier};
use nfs::{FileHandle, NewAttributes};
use rpc::message::Credentials;
use simulator::testing::{Clock, Next};
use units::{Duration, Instant, Probability};

/// What lies between.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    pub(crate) delay: Duration,
    pub(crate) loss: Probability,
}

impl Default for Way {
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(5),
            loss: Probability::default(),
        }
    }
}

/// What arrives next.
pub(crate) enum Arrival {
    AtServer(Bytes),
    AtClient(Bytes),
}

/// A client and its server.
pub(crate) struct Pair {
    pub(crate) client: Client,
    pub(crate) server: Server,
    pub(crate) clock: Clock<Arrival>,
    way: Way,
    chance: RandomStream,
    answers: BTreeMap<Ticket, Result<Reply, Error>>,
    tickets: u64,
    /// Whether nothing crosses at present.
    pub(crate) dark: bool,
    /// By which a message is lost for each 1,480 bytes that it has.
    pub(crate) fragment_loss: Probability,
    /// What the client was told, and when.
    pub(crate) told: Vec<(Instant, Input)>,
}

/// Longer than anything may take.
const PATIENCE: Duration = Duration::from_secs(3_600);

impl Pair {
    pub(crate) fn new(config: Config, server: fileserver::Config, way: Way) -> Self {
        Self {
            client: client(config),
            server: Server::new(server).expect("a configuration"),
            clock: Clock::new(Instant::from_millis(1_000)),
            way,
            chance: RandomStream::named(11, "way"),
            answers: BTreeMap::new(),
            tickets: 0,
            dark: false,
            fragment_loss: Probability::default(),
            told: Vec::new(),
        }
    }

    /// Both as they are by default, with nothing lost between them.
    pub(crate) fn usual() -> Self {
        Self::new(
            Config::default(),
            fileserver::Config::default(),
            Way::default(),
        )
    }

    pub(crate) fn root(&self) -> FileHandle {
        self.server.root()
    }

    pub(crate) fn entry(&self, name: &str) -> Entry {
        Entry::new(self.root(), name.as_bytes()).expect("a name")
    }

    fn send(&mut self, arrival: Arrival) {
        let (Arrival::AtServer(bytes) | Arrival::AtClient(bytes)) = &arrival;
        let fragments = bytes.len().div_ceil(1_480);
        let harmed = (0..fragments).any(|_| self.chance.chance(self.fragment_loss));
        if self.dark || harmed || self.chance.chance(self.way.loss) {
            return;
        }
        self.clock.add_after(self.way.delay, arrival);
    }

    fn drain(&mut self) {
        while let Some(output) = self.client.poll_output() {
            match output {
                Output::Send(bytes) => self.send(Arrival::AtServer(bytes)),
                Output::Answer(Answer { ticket, result }) => {
                    let before = self.answers.insert(ticket, result);
                    assert!(before.is_none(), "{ticket:?} was answered twice");
                }
                Output::Silent { .. } | Output::Answering { .. } | Output::Reconnect => {}
            }
        }
        while let Some(fileserver::Output::Send { message, .. }) = self.server.poll_output() {
            self.send(Arrival::AtClient(message));
        }
    }

    /// Does the next thing that is to happen until `end`; says whether there was one.
    fn step(&mut self, end: Instant) -> bool {
        let timers = earlier(self.client.poll_timeout(), self.server.poll_timeout());
        match self.clock.advance(end, timers) {
            Next::Event(Arrival::AtServer(message)) => {
                let from = Peer(1);
                self.tell_server(fileserver::Input::Received { from, message });
            }
            Next::Event(Arrival::AtClient(message)) => self.tell_client(Input::Received(message)),
            Next::Deadline => {
                self.client.handle_timeout(self.clock.now);
                self.server.handle_timeout(self.clock.now);
                self.drain();
            }
            Next::End => return false,
        }
        true
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, span: Duration) {
        let end = self.clock.now + span;
        while self.step(end) {}
    }

    fn tell_client(&mut self, input: Input) {
        self.told.push((self.clock.now, input.clone()));
        self.client.handle_input(self.clock.now, input);
        self.drain();
    }

    /// Tells the server something.
    pub(crate) fn tell_server(&mut self, input: fileserver::Input) {
        self.server.handle_input(self.clock.now, input);
        self.drain();
    }

    /// Asks for something, and does not wait for it.
    pub(crate) fn start(&mut self, operation: Operation) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let request = Request {
            ticket,
            caller: Arc::new(Credentials::None),
            operation,
        };
        self.tell_client(Input::Request(request));
        ticket
    }

    pub(crate) fn cancel(&mut self, ticket: Ticket) {
        self.tell_client(Input::Cancel(ticket));
    }

    /// Whether a request has ended.
    pub(crate) fn has_ended(&self, ticket: Ticket) -> bool {
        self.answers.contains_key(&ticket)
    }

    /// Waits for what was asked for.
    pub(crate) fn end(&mut self, ticket: Ticket) -> Result<Reply, Error> {
        let end = self.clock.now + PATIENCE;
        while !self.answers.contains_key(&ticket) {
            assert!(self.step(end), "{ticket:?} never ends");
        }
        self.answers.remove(&ticket).expect("just seen")
    }

    pub(crate) fn call(&mut self, operation: Operation) -> Result<Reply, Error> {
        let ticket = self.start(operation);
        self.end(ticket)
    }

    pub(crate) fn create(&mut self, name: &str) -> (OpenFile, Found) {
        let reply = self.call(Operation::Create {
            entry: self.entry(name),
            attributes: attributes(),
            exclusive: false,
        });
        match reply {
            Ok(Reply::Opened(open, found)) => (open, found),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn look_up(&mut self, name: &str) -> Result<Found, Error> {
        match self.call(Operation::LookUp(self.entry(name)))? {
            Reply::Found(found) => Ok(found),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn open(&mut self, file: FileHandle) -> (OpenFile, Found) {
        match self.call(Operation::Open(file)) {
            Ok(Reply::Opened(open, found)) => (open, found),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn write(&mut self, open: OpenFile, offset: u64, data: &[u8]) -> Result<(), Error> {
        let data = Bytes::copy_from_slice(data);
        match self.call(Operation::Write { open, offset, data })? {
            Reply::Done => Ok(()),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn read(
        &mut self,
        open: OpenFile,
        offset: u64,
        count: u32,
    ) -> Result<Vec<u8>, Error> {
        match self.call(Operation::Read {
            open,
            offset,
            count,
        })? {
            Reply::Data(pieces) => Ok(pieces.concat()),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn flush(&mut self, open: OpenFile) -> Result<(), Error> {
        self.call(Operation::Flush(open)).map(|_| ())
    }

    pub(crate) fn close(&mut self, open: OpenFile) {
        self.call(Operation::Close(open)).expect("it is open");
    }
}

/// A client of a server that has not said anything.
pub(crate) fn client(config: Config) -> Client {
    let rpc = rpc::Client::new(rpc::Config::default(), 7).expect("a configuration");
    Client::new(config, ServerLimits::default(), rpc, 7).expect("a configuration")
}

/// Those of a new file.
pub(crate) fn attributes() -> NewAttributes {
    NewAttributes {
        mode: Some(0o644),
        ..NewAttributes::default()
    }
}

/// Bytes that differ from place to place.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    let byte = |index: usize| (index as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0];
    (0..length).map(byte).collect()
}

/// So many in a hundred.
pub(crate) fn percent(count: u64) -> Probability {
    Probability::ratio(count, 100)
}
