//! The kernel's requests, one by one.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use edges::fuse::{Answer, Kernel, Node, Operation, Request, RequestId};
use files::{Found, Operation as Wanted, Reply, Validity};
use nfs::{FileHandle, Space};
use rustix::io::Errno;

use super::attributes::{from_kernel, to_kernel};
use super::calls::{Call, Calls};
use super::credentials::Users;
use super::directories::Directories;
use super::interrupts::Later;
use super::nodes::Nodes;
use super::open_files::OpenFiles;
use super::service::FileService;
use crate::files::CallError;
use crate::lock;

/// The unit in which a file system's room is told, in bytes.
const BLOCK: u32 = 4_096;
/// The least time between two lines of the log about answers that cannot be used.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// For how long the kernel takes for true what it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// What a name leads to.
    pub names: Duration,
    /// Attributes.
    pub attributes: Duration,
}

impl Memory {
    /// A second, but not longer than a client of files takes for true what it knows. A program looks at most files
    /// several times at once, and a look that the kernel need not ask for costs a twentieth.
    pub fn within(validity: &Validity) -> Self {
        let at_most = |valid: units::Duration| {
            Duration::from_nanos(valid.min(units::Duration::from_secs(1)).as_nanos())
        };
        Self {
            names: at_most(validity.directory_min),
            attributes: at_most(validity.file_min),
        }
    }
}

/// How files are shown to the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The directory that is mounted.
    pub root: FileHandle,
    /// This host's name, which the server is told.
    pub machine: String,
    /// Any number; the server is told it, too.
    pub stamp: u32,
    /// What the kernel remembers.
    pub memory: Memory,
}

/// What processes wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waiting {
    /// How many requests.
    pub requests: usize,
    /// Since when the oldest of them.
    pub oldest: Option<Instant>,
    /// Files that are open.
    pub open_files: usize,
    /// Files that the kernel remembers.
    pub nodes: usize,
}

/// A server's files as a file system of the kernel.
pub struct FileSystem<S> {
    pub(super) kernel: Arc<dyn Kernel>,
    pub(super) service: S,
    pub(super) memory: Memory,
    pub(super) nodes: Mutex<Nodes>,
    pub(super) calls: Mutex<Calls>,
    pub(super) open_files: Mutex<OpenFiles>,
    pub(super) directories: Mutex<Directories>,
    users: Mutex<Users>,
    later: Later,
    logged: Mutex<Option<Instant>>,
}

impl<S: FileService> FileSystem<S> {
    /// Shows what `service` has to `kernel`.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn new(kernel: Arc<dyn Kernel>, service: S, settings: &Settings) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            later: Later::start(&kernel)?,
            kernel,
            service,
            memory: settings.memory,
            nodes: Mutex::new(Nodes::new(settings.root)),
            calls: Mutex::default(),
            open_files: Mutex::default(),
            directories: Mutex::default(),
            users: Mutex::new(Users::new(&settings.machine, settings.stamp)),
            logged: Mutex::new(None),
        }))
    }

    /// Takes requests until nothing is mounted any more.
    ///
    /// # Errors
    /// If the kernel cannot be heard any more.
    pub fn serve(self: &Arc<Self>) -> io::Result<()> {
        while let Some(request) = self.kernel.next_request()? {
            self.take(request);
        }
        Ok(())
    }

    /// What waits.
    pub fn waiting(&self) -> Waiting {
        let calls = lock(&self.calls);
        Waiting {
            requests: calls.count(),
            oldest: calls.oldest(),
            open_files: lock(&self.open_files).count(),
            nodes: lock(&self.nodes).count(),
        }
    }

    /// Takes a request. It is answered at once or later, from any thread.
    pub fn take(self: &Arc<Self>, request: Request) {
        match request.operation {
            Operation::Forget(nodes) => self.forget(&nodes),
            Operation::Interrupt(waiting) => self.interrupt(request.id, waiting),
            operation => {
                let Some(file) = lock(&self.nodes).file(request.node) else {
                    let stale = Answer::Error(Errno::STALE);
                    self.kernel.answer(request.id, &stale);
                    return;
                };
                let call = Call {
                    id: request.id,
                    process: request.caller.process,
                    node: request.node,
                    file,
                    credentials: lock(&self.users).of(request.caller),
                };
                self.begin(call, operation);
            }
        }
    }

    fn begin(self: &Arc<Self>, call: Call, operation: Operation) {
        match operation {
            Operation::Attributes => {
                let file = call.file;
                self.attributes(call, Wanted::Attributes(file));
            }
            Operation::SetAttributes(changes) => {
                let attributes = from_kernel(&changes);
                let file = call.file;
                self.attributes(call, Wanted::SetAttributes { file, attributes });
            }
            Operation::Space => self.space(call),
            Operation::Open(flags) => self.open(call, flags),
            Operation::Create { name, mode, flags } => self.create(call, &name, (mode, flags)),
            Operation::Read {
                handle,
                offset,
                count,
            } => self.read(&call, handle, (offset, count)),
            Operation::Write {
                handle,
                offset,
                data,
                append,
            } => self.write(&call, handle, (offset, data, append)),
            Operation::Flush(handle) | Operation::Synchronize(handle) => self.flush(&call, handle),
            Operation::Close(handle) => self.close(&call, handle),
            Operation::OpenDirectory => self.open_directory(&call),
            Operation::List {
                handle,
                offset,
                size,
                with_entries,
            } => self.list(call, handle, (offset, size, with_entries)),
            // The server answers changes of a directory when they are safe (RFC 1813 §1.1).
            Operation::SynchronizeDirectory(_) => self.answer(&call, &Answer::Done),
            Operation::CloseDirectory(handle) => self.close_directory(&call, handle),
            named => self.names(call, named),
        }
    }

    fn attributes(self: &Arc<Self>, call: Call, wanted: Wanted) {
        self.ask(call, wanted, |system, call, reply| {
            let Reply::Attributes(attributes) = reply else {
                return system.unexpected(&call);
            };
            let answer = match attributes.checked() {
                _ if !lock(&system.nodes).may_be(call.node, &attributes) => {
                    Answer::Error(Errno::STALE)
                }
                Ok(checked) => Answer::Attributes(to_kernel(&checked), system.memory.attributes),
                Err(fault) => {
                    system.log(&fault);
                    Answer::Error(Errno::IO)
                }
            };
            system.answer(&call, &answer);
        });
    }

    fn space(self: &Arc<Self>, call: Call) {
        let file = call.file;
        self.ask(
            call,
            Wanted::Space(file),
            |system, call, reply| match reply {
                Reply::Space(space) => system.answer(&call, &Answer::Space(room(&space))),
                _ => system.unexpected(&call),
            },
        );
    }

    fn forget(&self, nodes: &[(Node, u64)]) {
        let mut known = lock(&self.nodes);
        for (node, references) in nodes {
            known.forget(*node, *references);
        }
    }

    /// A process that waits has got a signal.
    fn interrupt(&self, interrupt: RequestId, waiting: RequestId) {
        let process = lock(&self.calls).process(waiting);
        let Some(process) = process else { return };
        if !edges::fuse::wants_to_end(process) {
            return self.later.repeat(interrupt);
        }
        let ticket = lock(&self.calls).give_up(waiting);
        if let Some(ticket) = ticket {
            self.service.cancel(ticket);
        }
    }

    /// Logs what a server said that cannot be, but not more than a line a second.
    pub(super) fn log(&self, fault: &dyn std::fmt::Display) {
        let mut logged = lock(&self.logged);
        if logged.is_none_or(|at| at.elapsed() >= LOG_INTERVAL) {
            *logged = Some(Instant::now());
            tracing::warn!("a program was told of an input/output error: {fault}");
        }
    }

    /// What the kernel is told of a file that a name leads to, and is a reference to it from now on.
    pub(super) fn refer(&self, found: &Found) -> Result<edges::fuse::Entry, CallError> {
        let attributes = found.attributes.checked().map_err(|fault| {
            let procedure = nfs::Procedure::LookUp;
            CallError::Files(files::Error::Implausible { procedure, fault })
        })?;
        let node = lock(&self.nodes).refer(found);
        Ok(edges::fuse::Entry {
            found: Some(edges::fuse::Found {
                node,
                attributes: to_kernel(&attributes),
            }),
            name_valid: self.memory.names,
            attributes_valid: self.memory.attributes,
        })
    }
}

fn room(space: &Space) -> edges::fuse::Space {
    let blocks = |bytes: u64| bytes / u64::from(BLOCK);
    edges::fuse::Space {
        block: BLOCK,
        blocks: (
            blocks(space.total_bytes),
            blocks(space.free_bytes),
            blocks(space.available_bytes),
        ),
        files: (space.total_files, space.free_files),
        name_max: nfs::NAME_MAX as u32,
    }
}
