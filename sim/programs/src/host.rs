//! The kernel of a host, its mount and its file client.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use files::{Client, ServerLimits};
use machine::{Machine, Step, earlier};
use mount::{Answer, Caller, Fault, FileSystem, Node, Operation, Request, RequestId, Tape};
use units::Instant;

/// An effect outside of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send this to the server: one datagram, or the next bytes of the stream.
    Send(Bytes),
    /// Close the stream and open a new one.
    Reconnect,
}

/// A host with a mounted file system, as a daemon joins its parts.
pub struct Host {
    /// The mount.
    pub system: FileSystem,
    /// The file client.
    pub client: Client,
    /// Inputs and outputs of the mount, if they are recorded.
    pub tape: Option<Tape>,
    /// Faults of the server that the mount has logged.
    pub logged: Vec<Fault>,
    answers: BTreeMap<RequestId, Answer>,
    requests: u64,
    to_mount: VecDeque<mount::Input>,
    to_client: VecDeque<files::Input>,
    outputs: VecDeque<Output>,
    /// Request that was answered twice.
    pub(crate) answered_twice: Option<RequestId>,
}

impl Host {
    /// Returns a host that has mounted the directory of its configuration.
    ///
    /// # Errors
    /// If a configuration is invalid.
    pub fn new(
        mount: &mount::Config,
        files: files::Config,
        limits: ServerLimits,
        calls: rpc::Config,
        seed: u64,
    ) -> Result<Self, machine::ConfigError> {
        let calls = rpc::Client::new(calls, seed)?;
        Ok(Self {
            system: FileSystem::new(mount),
            client: Client::new(files, limits, calls, seed)?,
            tape: None,
            logged: Vec::new(),
            answers: BTreeMap::new(),
            requests: 0,
            to_mount: VecDeque::new(),
            to_client: VecDeque::new(),
            outputs: VecDeque::new(),
            answered_twice: None,
        })
    }

    /// Makes a request of a program.
    pub fn request(&mut self, now: Instant, node: Node, operation: Operation) -> RequestId {
        self.requests += 1;
        let (id, caller) = (
            RequestId(self.requests),
            Caller {
                user: 1_000,
                group: 1_000,
                process: 7,
            },
        );
        self.to_mount.push_back(mount::Input::Request(Request {
            id,
            caller,
            node,
            operation,
        }));
        self.settle(now);
        id
    }

    /// Drops a reference to a node.
    pub fn forget(&mut self, now: Instant, node: Node) {
        self.request(now, Node(0), Operation::Forget(vec![(node, 1)]));
    }

    /// Returns the answer to a request, once.
    pub fn take_answer(&mut self, request: RequestId) -> Option<Answer> {
        self.answers.remove(&request)
    }

    /// Hands an input to the file client.
    pub fn receive(&mut self, now: Instant, input: files::Input) {
        self.client.handle_input(now, input);
        self.settle(now);
    }

    /// Handles the deadlines of mount and file client.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.client.handle_timeout(now);
        self.settle(now);
        self.record(|| Step::Timeout(now));
        self.system.handle_timeout(now);
        self.settle(now);
    }

    /// Returns the next deadline.
    pub fn poll_timeout(&self) -> Option<Instant> {
        earlier(self.client.poll_timeout(), self.system.poll_timeout())
    }

    /// Returns the next effect.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn record(&mut self, step: impl FnOnce() -> Step<mount::Input, mount::Output>) {
        if let Some(tape) = &mut self.tape {
            tape.record(step());
        }
    }

    /// Carries messages between mount and file client until there are none.
    fn settle(&mut self, now: Instant) {
        loop {
            while let Some(output) = self.system.poll_output() {
                self.record(|| Step::Output(output.clone()));
                self.carry_out(output);
            }
            while let Some(output) = self.client.poll_output() {
                match output {
                    files::Output::Send(bytes) => self.outputs.push_back(Output::Send(bytes)),
                    files::Output::Reconnect => self.outputs.push_back(Output::Reconnect),
                    files::Output::Answer(answer) => {
                        self.to_mount.push_back(mount::Input::Files(answer));
                    }
                    files::Output::Silent { .. } | files::Output::Answering { .. } => {}
                }
            }
            if let Some(input) = self.to_client.pop_front() {
                self.client.handle_input(now, input);
            } else if let Some(input) = self.to_mount.pop_front() {
                self.record(|| Step::Input(now, input.clone()));
                self.system.handle_input(now, input);
            } else {
                return;
            }
        }
    }

    fn carry_out(&mut self, output: mount::Output) {
        match output {
            mount::Output::Answer(request, answer) => {
                if self.answers.insert(request, answer).is_some() {
                    self.answered_twice = Some(request);
                }
            }
            mount::Output::ReadGroups { request, .. } => {
                let groups = vec![4, 5];
                self.to_mount
                    .push_back(mount::Input::Groups { request, groups });
            }
            mount::Output::ReadSignals {
                interrupt, waiting, ..
            } => {
                let wants_to_end = true;
                let signals = mount::Input::Signals {
                    interrupt,
                    waiting,
                    wants_to_end,
                };
                self.to_mount.push_back(signals);
            }
            mount::Output::Files(request) => {
                self.to_client.push_back(files::Input::Request(request));
            }
            mount::Output::Cancel(ticket) => {
                self.to_client.push_back(files::Input::Cancel(ticket));
            }
            mount::Output::ForgetAttributes(_) => {}
            mount::Output::Log(fault) => self.logged.push(fault),
        }
    }
}
