//! The state machine of the client.

mod alarms;
mod ask;
mod flushing;
mod listing;
mod lookups;
mod making;
mod opening;
mod pump;
mod reading;
mod removing;
mod request;
mod writing;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use machine::{Machine, RandomStream, earlier};
use nfs::FileHandle;
use rpc::message::Credentials;
use units::{Duration, Instant};

use crate::block::BlockChoice;
use crate::node::Node;
use crate::window::BlockWindow;
use crate::{
    Answer, Config, ConfigError, Counters, Error, Input, OpenFile, Operation, Output, Reply,
    Request, ServerLimits, Ticket,
};
use alarms::{Alarm, Alarms};
use ask::PendingCall;
use request::{ActiveRequest, Stage};

/// Approximate limit of the files and directories that are remembered.
const NODES_MAX: usize = 65_536;

/// An open file.
#[derive(Debug, Clone)]
struct OpenHandle {
    file: FileHandle,
    caller: Arc<Credentials>,
    /// Number of write errors that were reported at this opening, or occurred before it.
    errors_told: u64,
}

/// The client of one server of files.
///
/// # Panics
/// If a request has the ticket of one that has not ended.
#[derive(Debug, Clone)]
pub struct Client {
    config: Config,
    server: ServerLimits,
    calls: Calls,
    requests: BTreeMap<Ticket, ActiveRequest>,
    nodes: BTreeMap<FileHandle, Node>,
    openings: Openings,
    blocks: Blocks,
    written: UnsafeData,
    alarms: Alarms,
    /// Source of unique values: verifiers of CREATE, names of removed files.
    unique: RandomStream,
    outputs: VecDeque<Output>,
    counters: Counters,
}

/// The calls to the server.
#[derive(Debug, Clone)]
struct Calls {
    rpc: rpc::Client,
    /// Calls that wait for their replies.
    sent: BTreeMap<u64, PendingCall>,
    /// Number of calls made so far.
    made: u64,
}

/// The open files.
#[derive(Debug, Clone, Default)]
struct Openings {
    open: BTreeMap<OpenFile, OpenHandle>,
    /// Number of files opened so far.
    made: u64,
}

/// Blocks in flight, and their sizes.
#[derive(Debug, Clone)]
struct Blocks {
    window: BlockWindow,
    read_size: BlockChoice,
    write_size: BlockChoice,
    /// Files that may have blocks to send, in turn.
    busy: VecDeque<FileHandle>,
    queued: BTreeSet<FileHandle>,
}

/// Written bytes that the server may still lose.
#[derive(Debug, Clone, Default)]
struct UnsafeData {
    /// Files that have such bytes.
    unsafe_files: BTreeSet<FileHandle>,
    /// Number of such bytes.
    kept: u64,
    /// Files with writers that wait for room.
    starved: VecDeque<FileHandle>,
    /// True if everything is written out to make room.
    pressed: bool,
    /// Files that requests no longer keep writers from.
    lifted: Vec<(FileHandle, Ticket)>,
}

impl Client {
    /// Creates a client of a server with these limits. `rpc` made the first calls, if there were any: the server knows
    /// it by its port and its transactions. Unique values come from the stream "files" of `seed`.
    ///
    /// # Errors
    /// Returns an error if the configuration is invalid ([`Config::check`]).
    pub fn new(
        config: Config,
        server: ServerLimits,
        rpc: rpc::Client,
        seed: u64,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            blocks: Blocks {
                window: BlockWindow::new(config.window),
                read_size: BlockChoice::new(config.block, rpc.transport()),
                write_size: BlockChoice::new(config.block, rpc.transport()),
                busy: VecDeque::new(),
                queued: BTreeSet::new(),
            },
            config,
            server,
            calls: Calls {
                rpc: rpc.checking(nfs::are_results),
                sent: BTreeMap::new(),
                made: 0,
            },
            requests: BTreeMap::new(),
            nodes: BTreeMap::new(),
            openings: Openings::default(),
            written: UnsafeData::default(),
            alarms: Alarms::default(),
            unique: RandomStream::named(seed, "files"),
            outputs: VecDeque::new(),
            counters: Counters::default(),
        })
    }

    /// Returns the counters of its calls.
    pub fn calls(&self) -> rpc::Counters {
        self.calls.rpc.counters()
    }

    /// Returns its counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns the start of the server's silence, if it was reported ([`Output::Silent`]).
    pub fn silent_since(&self) -> Option<Instant> {
        self.calls.rpc.silent_since()
    }

    /// Returns the bytes taken by written data that are not safe at the server, with their overhead.
    pub fn unsafe_bytes(&self) -> u64 {
        self.written.kept
    }

    /// Returns the number of files with such data.
    pub fn unsafe_files(&self) -> usize {
        self.written.unsafe_files.len()
    }

    /// Returns the number of requests that have not ended.
    pub fn waiting(&self) -> usize {
        self.requests.len()
    }

    /// Returns the present block sizes of reads and writes, in bytes.
    pub fn block_sizes(&self) -> (u32, u32) {
        (self.read_block(), self.write_block())
    }

    /// Returns the number of blocks that may be in flight at present.
    pub fn window(&self) -> u64 {
        self.blocks.window.limit()
    }

    fn request(&mut self, now: Instant, request: Request) {
        let Request {
            ticket,
            caller,
            operation,
        } = request;
        let limit = self.config.requests;
        let ends_something = matches!(operation, Operation::Close(_));
        if self.requests.len() >= limit && !ends_something {
            self.tell(ticket, Err(Error::TooMany { limit }));
            return;
        }
        let before = self
            .requests
            .insert(ticket, ActiveRequest::new(caller, operation));
        assert!(before.is_none(), "{ticket:?} names two requests");
        self.begin(now, ticket);
    }

    /// Starts a request, or starts it again.
    fn begin(&mut self, now: Instant, ticket: Ticket) {
        let Some(running) = self.requests.get(&ticket) else {
            return;
        };
        match running.operation.clone() {
            Operation::LookUp(entry) => self.look_up(now, ticket, &entry),
            Operation::Attributes(file) => self.attributes(now, ticket, file),
            Operation::SetAttributes { file, .. } => self.set_attributes(now, ticket, file),
            Operation::ReadLink(_)
            | Operation::List { .. }
            | Operation::Space(_)
            | Operation::MakeDirectory { .. }
            | Operation::MakeSymbolicLink { .. }
            | Operation::MakeNode { .. }
            | Operation::Link { .. }
            | Operation::Open(_)
            | Operation::RemoveDirectory(_) => self.ask(now, ticket, Stage::Main),
            Operation::Create { exclusive, .. } => self.create(now, ticket, exclusive),
            Operation::Remove(entry) => self.remove(now, ticket, &entry),
            Operation::Rename { from, to } => self.rename(now, ticket, &from, &to),
            Operation::Read {
                open,
                offset,
                count,
            } => self.read(now, ticket, open, offset, count),
            Operation::Write { open, offset, data } => {
                self.write(now, ticket, open, offset, &data);
            }
            Operation::Flush(open) => self.flush(now, ticket, open),
            Operation::Close(open) => self.close(now, ticket, open),
            Operation::Sync => self.sync(now, ticket),
        }
    }

    /// Ends a request with `result`.
    fn end(&mut self, ticket: Ticket, result: Result<Reply, Error>) {
        if let Some(running) = self.requests.remove(&ticket) {
            self.written
                .lifted
                .extend(running.barrier.map(|file| (file, ticket)));
            match &result {
                Ok(reply) => {
                    debug_assert!(running.operation.fits(reply), "{reply:?} to {running:?}");
                }
                Err(error) => self.forget_stale(&running.operation, error),
            }
            self.tell(ticket, result);
        }
    }

    fn tell(&mut self, ticket: Ticket, result: Result<Reply, Error>) {
        let answer = Answer { ticket, result };
        self.outputs.push_back(Output::Answer(answer));
    }

    /// Cancels a request: nobody waits for it any more.
    fn cancel(&mut self, now: Instant, ticket: Ticket) {
        let Some(running) = self.requests.remove(&ticket) else {
            return;
        };
        if let Some(call) = running.call {
            self.calls.sent.remove(&call);
            self.calls
                .rpc
                .handle_input(now, rpc::Input::Cancel(Ticket(call)));
        }
        self.withdraw(now, ticket, &running);
    }

    fn node(&mut self, file: FileHandle) -> &mut Node {
        if self.nodes.len() >= NODES_MAX && !self.nodes.contains_key(&file) {
            self.nodes.retain(|_, node| !node.is_idle());
        }
        self.nodes.entry(file).or_default()
    }

    /// Processes the replies of the calls, and makes the calls that follow from them.
    fn settle_calls(&mut self, now: Instant) {
        loop {
            while let Some(output) = self.calls.rpc.poll_output() {
                match output {
                    rpc::Output::Send(bytes) => self.outputs.push_back(Output::Send(bytes)),
                    rpc::Output::Answer(answer) => self.answer(now, answer),
                    rpc::Output::Silent { since } => {
                        self.outputs.push_back(Output::Silent { since });
                    }
                    rpc::Output::Answering { after } => {
                        self.outputs.push_back(Output::Answering { after });
                    }
                    rpc::Output::Reconnect => self.outputs.push_back(Output::Reconnect),
                }
            }
            while let Some((file, ticket)) = self.written.lifted.pop() {
                self.lift_barrier(now, file, ticket);
            }
            if !self.pump(now) {
                return;
            }
        }
    }

    fn alarm(&mut self, now: Instant, alarm: Alarm) {
        match alarm {
            Alarm::Request(ticket) => {
                match self.requests.get(&ticket).map(|running| running.stage) {
                    Some(Stage::Parked) => self.lose_patience(now, ticket),
                    Some(stage) => self.ask(now, ticket, stage),
                    None => {}
                }
            }
            Alarm::File(file) => self.look_after(now, file),
        }
    }
}

/// Delay before a call is repeated if the server wants more time (`NFS3ERR_JUKEBOX`) or could not write.
pub const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Delay before data that the server refused are written again.
const REFUSED_AFTER: Duration = Duration::from_secs(10);

impl Machine for Client {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Instant, input: Input) {
        let call = match input {
            Input::Request(request) => {
                self.request(now, request);
                None
            }
            Input::Cancel(ticket) => {
                self.cancel(now, ticket);
                None
            }
            Input::Received(bytes) => Some(rpc::Input::Received(bytes)),
            Input::Connected => Some(rpc::Input::Connected),
            Input::Disconnected => Some(rpc::Input::Disconnected),
            Input::Link(event) => Some(rpc::Input::Link(event)),
        };
        if let Some(call) = call {
            self.calls.rpc.handle_input(now, call);
        }
        self.settle_calls(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.calls.rpc.handle_timeout(now);
        self.settle_calls(now);
        while let Some(alarm) = self.alarms.due(now) {
            self.alarm(now, alarm);
            self.settle_calls(now);
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        earlier(self.calls.rpc.poll_timeout(), self.alarms.next())
    }
}
