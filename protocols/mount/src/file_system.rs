//! The machine.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use files::{Found, Operation as Wanted, Ticket, Validity};
use machine::Machine;
use nfs::{Attributes, FileHandle};
use rpc::message::Credentials;
use units::{Duration, Instant};

use crate::attributes::{from_kernel, to_kernel};
use crate::call::{Call, Pending, Step};
use crate::credentials::Users;
use crate::directories::Directories;
use crate::errno::Failure;
use crate::nodes::Nodes;
use crate::{Answer, Errno, Fault, Handle, Input, Operation, Output, Request, RequestId};

/// Least time between two log messages.
const LOG_INTERVAL: Duration = Duration::from_secs(1);
/// Interval at which an interrupted process is checked for a signal that shall end it. The kernel reports only the
/// first signal by itself: that one may not be meant to end anything, but a later one may.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Times that the kernel may cache names and attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Time for names.
    pub names: Duration,
    /// Time for attributes.
    pub attributes: Duration,
}

impl Memory {
    /// Returns one second, or less if the file client's cache is valid for less. A program accesses most files
    /// several times at once, and a request that the cache saves costs a twentieth.
    pub fn within(validity: &Validity) -> Self {
        let at_most = |valid: Duration| valid.min(Duration::from_secs(1));
        Self {
            names: at_most(validity.directory_min),
            attributes: at_most(validity.file_min),
        }
    }
}

/// Configuration of a file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// File handle of the mounted directory.
    pub root: FileHandle,
    /// Name of this host, for the server.
    pub machine: String,
    /// Stamp of the credentials: any number.
    pub stamp: u32,
    /// Cache times of the kernel.
    pub memory: Memory,
}

/// Numbers of waiting requests and open files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waiting {
    /// Number of waiting requests.
    pub requests: usize,
    /// Arrival time of the oldest of them.
    pub oldest: Option<Instant>,
    /// Number of open files.
    pub open_files: usize,
    /// Number of files that the kernel refers to.
    pub nodes: usize,
}

/// A server's files as a file system of the kernel.
#[derive(Debug, Clone)]
pub struct FileSystem {
    pub(crate) memory: Memory,
    pub(crate) nodes: Nodes,
    pub(crate) calls: BTreeMap<RequestId, Pending>,
    pub(crate) tickets: BTreeMap<Ticket, RequestId>,
    pub(crate) tickets_made: u64,
    /// Open files, each with the credentials of the process that opened it.
    pub(crate) open_files: BTreeMap<Handle, Arc<Credentials>>,
    pub(crate) directories: Directories,
    users: Users,
    /// Interrupts that the kernel is to repeat, with their times.
    repeats: VecDeque<(Instant, RequestId)>,
    logged: Option<Instant>,
    now: Instant,
    pub(crate) outputs: VecDeque<Output>,
}

impl FileSystem {
    /// Returns a file system of which the kernel knows only the root.
    pub fn new(config: &Config) -> Self {
        Self {
            memory: config.memory,
            nodes: Nodes::new(config.root),
            calls: BTreeMap::new(),
            tickets: BTreeMap::new(),
            tickets_made: 0,
            open_files: BTreeMap::new(),
            directories: Directories::default(),
            users: Users::new(&config.machine, config.stamp),
            repeats: VecDeque::new(),
            logged: None,
            now: Instant::ZERO,
            outputs: VecDeque::new(),
        }
    }

    /// Returns the numbers of waiting requests and open files.
    pub fn waiting(&self) -> Waiting {
        let calls = self.calls.values().map(|pending| pending.call.since);
        Waiting {
            requests: self.calls.len() + self.users.held.len(),
            oldest: calls.min(),
            open_files: self.open_files.len(),
            nodes: self.nodes.count(),
        }
    }

    fn request(&mut self, request: Request) {
        match request.operation {
            Operation::Forget(nodes) => {
                for (node, references) in nodes {
                    self.nodes.forget(node, references);
                }
            }
            Operation::Interrupt(waiting) => self.interrupt(request.id, waiting),
            operation => {
                let request = Request {
                    operation,
                    ..request
                };
                if let Some(credentials) = self.users.known(request.caller, self.now) {
                    return self.begin(request, credentials);
                }
                let (process, id) = (request.caller.process, request.id);
                self.users.held.insert(id, request);
                let request = id;
                let read = Output::ReadGroups { request, process };
                self.outputs.push_back(read);
            }
        }
    }

    fn begin(&mut self, request: Request, credentials: Arc<Credentials>) {
        let Some(file) = self.nodes.file(request.node) else {
            let stale = Answer::Error(Errno::STALE);
            return self.outputs.push_back(Output::Answer(request.id, stale));
        };
        let call = Call {
            id: request.id,
            process: request.caller.process,
            since: self.now,
            node: request.node,
            file,
            credentials,
        };
        match request.operation {
            Operation::Attributes => self.ask(&call, Wanted::Attributes(file), Step::Attributes),
            Operation::SetAttributes(changes) => {
                let attributes = from_kernel(&changes);
                let wanted = Wanted::SetAttributes { file, attributes };
                self.ask(&call, wanted, Step::Attributes);
            }
            Operation::Space => self.ask(&call, Wanted::Space(file), Step::Space),
            Operation::Open(flags) => self.ask(&call, Wanted::Open(file), Step::Open(flags)),
            Operation::Create { name, mode, flags } => self.create(&call, &name, mode, flags),
            Operation::Read {
                handle,
                offset,
                count,
            } => self.read(call, handle, offset, count),
            Operation::Write {
                handle,
                offset,
                data,
                append,
            } => {
                let offset = (!append).then_some(offset);
                self.write(call, handle, offset, data);
            }
            Operation::Flush(handle) | Operation::Synchronize(handle) => self.flush(call, handle),
            Operation::Close(handle) => self.close(&call, handle),
            Operation::OpenDirectory => {
                let opened = self.directories.open();
                self.answer(&call, Answer::Opened(opened));
            }
            Operation::List {
                handle,
                offset,
                size,
                with_entries,
            } => {
                let listing = crate::Listing::new(size, with_entries);
                self.list(&call, handle, offset, listing);
            }
            // The server answers changes of a directory after they are on stable storage (RFC 1813 §1.1).
            Operation::SynchronizeDirectory(_) => self.answer(&call, Answer::Done),
            Operation::CloseDirectory(handle) => {
                self.directories.close(handle);
                self.answer(&call, Answer::Done);
            }
            named => self.names(&call, named),
        }
    }

    pub(crate) fn tell_attributes(&mut self, call: &Call, attributes: &Attributes) {
        let answer = match attributes.checked() {
            _ if !self.nodes.may_be(call.node, attributes) => Answer::Error(Errno::STALE),
            Ok(checked) => Answer::Attributes(to_kernel(&checked), self.memory.attributes),
            Err(fault) => {
                self.log(Fault::Attributes(fault));
                Answer::Error(Errno::IO)
            }
        };
        self.answer(call, answer);
    }

    /// Requests the pending signals of the process whose request was interrupted.
    fn interrupt(&mut self, interrupt: RequestId, waiting: RequestId) {
        let pending = self.calls.get(&waiting).map(|it| it.call.process);
        let held = self.users.held.get(&waiting).map(|it| it.caller.process);
        if let Some(process) = pending.or(held) {
            self.outputs.push_back(Output::ReadSignals {
                interrupt,
                waiting,
                process,
            });
        }
    }

    /// Ends a request with `EINTR`.
    fn give_up(&mut self, waiting: RequestId) {
        if self.users.held.remove(&waiting).is_some() {
            let interrupted = Answer::Error(Errno::INTR);
            self.outputs.push_back(Output::Answer(waiting, interrupted));
        }
        if let Some(pending) = self.calls.get(&waiting) {
            self.outputs.push_back(Output::Cancel(pending.ticket));
            self.end_wait(waiting, Err(Failure::Interrupted));
        }
    }

    fn shut_down(&mut self) {
        for (id, _) in std::mem::take(&mut self.users.held) {
            let closed = Answer::Error(Errno::SHUTDOWN);
            self.outputs.push_back(Output::Answer(id, closed));
        }
        let calls: Vec<_> = self.calls.keys().copied().collect();
        for id in calls {
            self.end_wait(id, Err(Failure::Closed));
        }
    }

    /// Undoes the references and opens of an answer that the kernel has not accepted.
    fn take_back(&mut self, answer: &Answer) {
        match answer {
            Answer::Entry(entry) => self.unrefer(entry),
            Answer::Opened(opened) => self.close_unused(opened.handle),
            Answer::Created(entry, opened) => {
                self.unrefer(entry);
                self.close_unused(opened.handle);
            }
            Answer::Listing(listing) if listing.with_entries() => {
                for listed in listing.entries() {
                    self.unrefer(&listed.entry);
                }
            }
            Answer::Listing(_)
            | Answer::Done
            | Answer::Error(_)
            | Answer::Attributes(..)
            | Answer::Data(_)
            | Answer::Written(_)
            | Answer::Space(_) => {}
        }
    }

    pub(crate) fn unrefer(&mut self, entry: &crate::Entry) {
        if let Some(found) = entry.found {
            self.nodes.forget(found.node, 1);
        }
    }

    /// Logs a fault of the server, at most one a second.
    pub(crate) fn log(&mut self, fault: Fault) {
        let now = self.now;
        if self
            .logged
            .is_none_or(|logged| now.since(logged) >= LOG_INTERVAL)
        {
            self.logged = Some(now);
            self.outputs.push_back(Output::Log(fault));
        }
    }

    /// Returns the kernel's entry of a file, which is a reference to its node from now on.
    pub(crate) fn refer(&mut self, found: &Found) -> Result<crate::Entry, Failure> {
        let attributes = found.attributes.checked().map_err(|fault| {
            let procedure = nfs::Procedure::LookUp;
            Failure::Files(files::Error::Implausible { procedure, fault })
        })?;
        let node = self.nodes.refer(found);
        Ok(crate::Entry {
            found: Some(crate::Found {
                node,
                attributes: to_kernel(&attributes),
            }),
            name_valid: self.memory.names,
            attributes_valid: self.memory.attributes,
        })
    }
}

impl Machine for FileSystem {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Instant, input: Input) {
        self.now = now;
        match input {
            Input::Request(request) => self.request(request),
            Input::Groups { request, groups } => {
                if let Some(request) = self.users.held.remove(&request) {
                    let credentials = self.users.learn(request.caller, groups, now);
                    self.begin(request, credentials);
                }
            }
            Input::Signals {
                waiting,
                wants_to_end: true,
                ..
            } => self.give_up(waiting),
            Input::Signals { interrupt, .. } => {
                self.repeats.push_back((now + LOOK_AGAIN, interrupt));
            }
            Input::NotTaken(answer) => self.take_back(&answer),
            Input::Files(files::Answer { ticket, result }) => {
                if let Some(id) = self.tickets.get(&ticket).copied() {
                    self.end_wait(id, result.map_err(Failure::Files));
                }
            }
            Input::Closed => self.shut_down(),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        while let Some((_, interrupt)) = self.repeats.pop_front_if(|(due, _)| *due <= now) {
            let again = Answer::Error(Errno::AGAIN);
            self.outputs.push_back(Output::Answer(interrupt, again));
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.repeats.front().map(|(due, _)| *due)
    }
}
