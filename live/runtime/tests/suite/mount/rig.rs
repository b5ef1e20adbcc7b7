//! A file server over loopback UDP, mounted by the real kernel.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ::mount::{Config, FileSystem, Memory, Tape};
use edges::clock;
use edges::fuse::{Device, Limits, MountOptions, abort, mount, unmount};
use files::{Entry, Operation, Reply};
use fileserver::{Fault, Input, Output, Peer};
use machine::Machine;
use rpc::message::Credentials;
use runtime::files::{ConnectOptions, Connection, Server, Transport, connect};
use runtime::mount::{Mount, Mounted};

/// Time after which a test counts as hanging; it then unmounts, so that no unkillable processes are left.
const PATIENCE: Duration = Duration::from_mins(2);
/// Interval at which the server checks for its end.
const LOOK: Duration = Duration::from_millis(2);

/// A server in a thread.
pub(crate) struct Served {
    server: Arc<Mutex<fileserver::Server>>,
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    pub(crate) fn start(config: fileserver::Config) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(LOOK)).unwrap();
        let address = socket.local_addr().unwrap();
        let server = Arc::new(Mutex::new(fileserver::Server::new(config).unwrap()));
        let ended = Arc::new(AtomicBool::new(false));
        let (shared, stop) = (Arc::clone(&server), Arc::clone(&ended));
        let thread = thread::spawn(move || run(&socket, &shared, &stop));
        Self {
            server,
            address,
            ended,
            thread: Some(thread),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, fileserver::Server> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn input(&self, input: Input) {
        self.lock().handle_input(clock::monotonic(), input);
    }

    pub(crate) fn fault(&self, fault: Fault) {
        self.input(Input::Fault(fault));
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(socket: &UdpSocket, server: &Mutex<fileserver::Server>, ended: &AtomicBool) {
    let mut peers: HashMap<Peer, SocketAddr> = HashMap::new();
    let mut buffer = vec![0; 65_536];
    while !ended.load(Ordering::Relaxed) {
        let received = socket.recv_from(&mut buffer);
        let mut server = server.lock().unwrap_or_else(PoisonError::into_inner);
        let now = clock::monotonic();
        if let Ok((length, address)) = received {
            let from = Peer(address.port().into());
            peers.insert(from, address);
            let message = buffer[..length].to_vec().into();
            server.handle_input(now, Input::Received { from, message });
        }
        if server.poll_timeout().is_some_and(|due| due <= now) {
            server.handle_timeout(now);
        }
        while let Some(Output::Send { to, message }) = server.poll_output() {
            socket.send_to(&message, peers[&to]).unwrap();
        }
    }
}

/// Options of the mount.
#[derive(Default)]
pub(crate) struct Setup {
    pub(crate) server: fileserver::Config,
    pub(crate) files: files::Config,
}

impl Setup {
    /// Returns a setup whose client caches nothing.
    pub(crate) fn without_memory() -> Self {
        Self {
            files: files::Config {
                validity: files::Validity::NONE,
                ..files::Config::default()
            },
            ..Self::default()
        }
    }
}

/// A server, a connection, and a mount. The run of the mount's core is recorded; at the end the tape is replayed to a
/// new core, whose outputs must be equal.
pub(crate) struct Rig {
    pub(crate) served: Served,
    pub(crate) system: Mounted,
    /// This handle is the last, which closes the connection.
    _connection: Connection,
    config: Config,
    tape: Arc<Mutex<Tape>>,
    folder: tempfile::TempDir,
    ended: Receiver<std::io::Result<()>>,
    finished: Option<Sender<()>>,
}

impl Rig {
    /// Returns a rig; `None` if this system cannot mount.
    pub(crate) fn new(setup: Setup) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let options = MountOptions {
            source: "test".into(),
            allow_other: true,
            read_only: false,
        };
        let descriptor = match mount(folder.path(), &options) {
            Ok(descriptor) => descriptor,
            Err(error) => {
                skip(&error.to_string());
                return None;
            }
        };
        let finished = watch(folder.path().to_owned());
        let served = Served::start(setup.server);
        let memory = Memory::within(&setup.files.validity);
        let (connection, root) = attach(&served, setup.files);
        let config = Config {
            root: root.handle,
            machine: "test".into(),
            stamp: 1,
            memory,
        };
        let (sender, ended) = channel();
        let tape = Arc::default();
        let mount = Mount {
            device: Device::start(descriptor, Limits::default()).unwrap(),
            config: config.clone(),
            tape: Some(Arc::clone(&tape)),
            ended: Box::new(move |result| drop(sender.send(result))),
        };
        Some(Self {
            served,
            system: connection.mount(mount).unwrap(),
            _connection: connection,
            config,
            tape,
            folder,
            ended,
            finished: Some(finished),
        })
    }

    /// Returns a rig with default options.
    pub(crate) fn usual() -> Option<Self> {
        Self::new(Setup::default())
    }

    /// Writes an existing file as another client.
    pub(crate) fn written_by_another(&self, name: &str, content: &[u8]) {
        let (connection, root) = attach(&self.served, files::Config::default());
        let nobody = Arc::new(Credentials::None);
        let call = |operation| connection.call(&nobody, operation).unwrap();
        let entry = Entry::new(root.handle, name.as_bytes()).unwrap();
        let Reply::Found(found) = call(Operation::LookUp(entry)) else {
            panic!()
        };
        let Reply::Opened(open, _) = call(Operation::Open(found.file)) else {
            panic!()
        };
        let (offset, data) = (0, content.to_vec().into());
        call(Operation::Write { open, offset, data });
        call(Operation::Flush(open));
    }

    pub(crate) fn point(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.served.fault(Fault::Silent(false));
        // The folder must be empty of the server's files before it is removed.
        let unmounted = unmount(self.folder.path(), true);
        if !thread::panicking() {
            unmounted.unwrap();
            self.ended.recv().unwrap().unwrap();
            let tape = self.tape.lock().unwrap();
            let equal = tape.replay(&mut FileSystem::new(&self.config)).unwrap();
            assert!(equal > 0, "the kernel asks at least for the root");
        }
        drop(self.finished.take());
    }
}

/// Aborts the mount if it takes too long, until the returned value is dropped.
fn watch(point: PathBuf) -> Sender<()> {
    let (finished, end) = channel::<()>();
    thread::spawn(move || {
        if end.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            let _ = abort(&point);
        }
    });
    finished
}

/// Returns a client of the server.
fn attach(served: &Served, files: files::Config) -> (Connection, runtime::files::Root) {
    let port = Some(served.address.port());
    let server = Server {
        nfs_port: port,
        mount_port: port,
        transport: Transport::Udp,
        ..Server::new("127.0.0.1", b"/export")
    };
    let options = ConnectOptions {
        files,
        ..ConnectOptions::default()
    };
    connect(&server, &options, &|| false).unwrap()
}

fn skip(reason: &str) {
    assert!(
        std::env::var_os("CI").is_none(),
        "under CI nothing is skipped: {reason}"
    );
    eprintln!("skipped: {reason}");
}
