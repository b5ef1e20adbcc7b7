//! The core of a mount, its device, and its queries about processes.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};

use edges::clock;
use edges::fuse::{Device, groups_of, wants_to_end};
use machine::{Machine, Step};
use mount::{Config, FileSystem, Input, Output, Tape, Waiting};
use units::Instant;

use crate::lock;

/// Limit of the requests read in one turn, so that the socket is served between turns.
const REQUESTS_A_TURN: usize = 16;

/// Callback for the end: nothing is mounted any more, or the kernel cannot be read from.
pub type Ended = Box<dyn FnOnce(io::Result<()>) + Send>;

/// A file system to mount.
pub struct Mount {
    /// Device from which its requests come.
    pub device: Device,
    /// Settings of the file system.
    pub config: Config,
    /// Recorder of inputs and outputs, for tests.
    pub tape: Option<Arc<Mutex<Tape>>>,
    /// Called at the end, by the connection's thread.
    pub ended: Ended,
}

/// A mounted file system.
#[derive(Debug, Clone, Default)]
pub struct Mounted(Arc<Mutex<Waiting>>);

impl Mounted {
    /// Returns the numbers of requests and files in use.
    pub fn waiting(&self) -> Waiting {
        *lock(&self.0)
    }
}

/// A file system served by the thread of its connection.
pub(crate) struct MountDriver {
    pub(crate) device: Device,
    core: FileSystem,
    buffer: Vec<u8>,
    /// Inputs from the core to the client of files.
    asked: VecDeque<files::Input>,
    counts: Mounted,
    tape: Option<Arc<Mutex<Tape>>>,
    ended: Ended,
}

impl MountDriver {
    /// Creates it from a mount, and makes the device non-blocking.
    pub(crate) fn new(mount: Mount, counts: Mounted) -> io::Result<Self> {
        mount.device.set_nonblocking()?;
        Ok(Self {
            device: mount.device,
            core: FileSystem::new(&mount.config),
            buffer: Vec::new(),
            asked: VecDeque::new(),
            counts,
            tape: mount.tape,
            ended: mount.ended,
        })
    }

    /// Reads the kernel's next requests; returns false when nothing is mounted any more.
    ///
    /// # Errors
    /// If the kernel cannot be read from.
    pub(crate) fn read(&mut self, now: Instant) -> io::Result<bool> {
        for _ in 0..REQUESTS_A_TURN {
            match self.device.next_request(&mut self.buffer) {
                Ok(Some(request)) => self.input(now, Input::Request(request)),
                Ok(None) => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Passes an input to the core, and carries out its outputs.
    pub(crate) fn input(&mut self, now: Instant, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            self.record(|| Step::Input(now, input.clone()));
            self.core.handle_input(now, input);
            self.drain(&mut inputs);
        }
    }

    /// Handles deadlines that have passed.
    pub(crate) fn time_out(&mut self, now: Instant) {
        if self.poll_timeout().is_some_and(|due| due <= now) {
            self.record(|| Step::Timeout(now));
            self.core.handle_timeout(now);
            let mut inputs = VecDeque::new();
            self.drain(&mut inputs);
            for input in inputs {
                self.input(now, input);
            }
        }
    }

    /// Returns the time at which [`time_out`](Self::time_out) is next due.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.core.poll_timeout()
    }

    /// Removes and returns the next input for the client of files.
    pub(crate) fn poll_asked(&mut self) -> Option<files::Input> {
        self.asked.pop_front()
    }

    /// Replies to all waiting requests, and ends.
    pub(crate) fn end(mut self, result: io::Result<()>) {
        self.input(clock::monotonic(), Input::Closed);
        *lock(&self.counts.0) = Waiting::default();
        (self.ended)(result);
    }

    /// Carries out the outputs of the core. Replies to its own queries go to `inputs`.
    fn drain(&mut self, inputs: &mut VecDeque<Input>) {
        // First, because a process that has its reply may read the counters.
        *lock(&self.counts.0) = self.core.waiting();
        while let Some(output) = self.core.poll_output() {
            self.record(|| Step::Output(output.clone()));
            match output {
                Output::Answer(request, answer) => {
                    if !self.device.answer(request, &answer) {
                        inputs.push_back(Input::NotTaken(answer));
                    }
                }
                Output::ForgetAttributes(node) => self.device.forget_attributes(node),
                Output::ReadGroups { request, process } => {
                    let groups = groups_of(process);
                    inputs.push_back(Input::Groups { request, groups });
                }
                Output::ReadSignals {
                    interrupt,
                    waiting,
                    process,
                } => inputs.push_back(Input::Signals {
                    interrupt,
                    waiting,
                    wants_to_end: wants_to_end(process),
                }),
                Output::Files(request) => self.asked.push_back(files::Input::Request(request)),
                Output::Cancel(ticket) => self.asked.push_back(files::Input::Cancel(ticket)),
                Output::Log(fault) => {
                    tracing::warn!("a program was told of an input/output error: {fault}");
                }
            }
        }
    }

    fn record(&self, step: impl FnOnce() -> Step<Input, Output>) {
        if let Some(tape) = &self.tape {
            lock(tape).record(step());
        }
    }
}
