//! The process that keeps a mount: from the address to a file system that works.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use edges::fuse::{Device, Kernel, Limits, MountOptions};
use edges::signals::{Signal, Signals};
use edges::wait::{Interest, Waiter};
use nfs::url::Url;
use nfs::{FileHandle, FileType};
use rpc::message::{Credentials, Identity, SystemCredentials};
use runtime::files::{
    ConnectError, ConnectOptions, Connection, Resolver, Root, Server, SourcePort, connect,
};
use runtime::mount::control::Control;
use runtime::mount::{FileSystem, Memory, Settings};
use runtime::signals::Reader;

use super::background;
use super::ending::{Keeper, News};
use super::options::{Durability, Options};
use super::place;
use crate::failure::Failure;
use crate::nfs::{merged, server_of};
use crate::{entropy, log};

/// How long a server may take to answer at all, before there is a mount.
const CONNECT_TIME: units::Duration = units::Duration::from_secs(30);
/// How long a mount in the background waits before it tries again.
const PAUSE: Duration = Duration::from_secs(5);
/// How often it is looked whether somebody wants it to end.
const LOOK: Duration = Duration::from_millis(50);

/// Whether somebody asked for the end before there was a mount.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Who waits for the mount to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parent {
    /// Nobody: it stays in the foreground.
    None,
    /// The process in the foreground.
    Waits,
}

/// What is to be mounted.
pub(super) struct Wanted {
    pub(super) url: Url,
    server: Server,
    pub(super) point: PathBuf,
    pub(super) options: Options,
}

impl Wanted {
    /// The address with what the options say of it.
    pub(super) fn new(url: &OsStr, point: PathBuf, options: Options) -> Result<Self, Failure> {
        let url = merged(url, &options.url)?;
        Ok(Self {
            server: server_of(&url)?,
            url,
            point,
            options,
        })
    }
}

/// Mounts, and keeps the mount until it ends.
pub(super) fn run(wanted: Wanted, parent: Parent) -> Result<(), Failure> {
    log::start()?;
    let (sender, news) = channel();
    watch_signals(sender.clone())?;
    let options = connect_options(&wanted.options)?;
    let mut terminal = Terminal { parent, log: None };
    let (connection, root) = reach(&wanted, &options, &mut terminal)?;
    let root = directory(&wanted.url, &connection, &root, &options.caller)?;
    let mounting = MountOptions {
        source: wanted.url.to_string(),
        allow_other: wanted
            .options
            .allow_other
            .unwrap_or_else(|| rustix::process::geteuid().is_root()),
        read_only: wanted.options.read_only,
    };
    let descriptor = edges::fuse::mount(&wanted.point, &mounting).map_err(Failure::setting)?;
    let point = wanted.point.clone();
    let keeper = Keeper {
        system: file_system(descriptor, root, &connection, &wanted.options)
            .map_err(|failure| undo(&point, failure))?,
        wanted,
        connection,
        caller: options.caller,
        log: None,
        begun: Instant::now(),
        sender,
    };
    let (keeper, _guards) = begin(keeper, terminal).map_err(|failure| undo(&point, failure))?;
    keeper.run(&news)
}

/// Whoever waits for the mount to work, and the log once nobody does.
struct Terminal {
    parent: Parent,
    log: Option<PathBuf>,
}

impl Terminal {
    /// Lets go whoever waits. Without a choice of the user's the log has this number in its name.
    fn leave(&mut self, options: &Options, number: u32) -> Result<(), Failure> {
        if self.parent == Parent::Waits {
            let log = options.log.clone().unwrap_or_else(|| place::log(number));
            background::leave(&log)?;
            self.log = Some(log);
            self.parent = Parent::None;
        }
        Ok(())
    }
}

/// Shows the files to the kernel, which waits for that since it has mounted them.
fn file_system(
    descriptor: OwnedFd,
    root: FileHandle,
    connection: &Connection,
    options: &Options,
) -> Result<Arc<FileSystem<Connection>>, Failure> {
    let device = Device::start(descriptor, Limits::default()).map_err(Failure::broken)?;
    let kernel: Arc<dyn Kernel> = Arc::new(device);
    let settings = Settings {
        root,
        machine: machine(),
        stamp: std::process::id(),
        memory: Memory::within(&options.files.validity),
    };
    FileSystem::new(kernel, connection.clone(), &settings).map_err(Failure::broken)
}

/// Takes requests and questions, and lets go whoever waits for that.
fn begin(
    mut keeper: Keeper,
    mut terminal: Terminal,
) -> Result<(Keeper, (Control, Option<Reader>)), Failure> {
    let Durability::Server = keeper.wanted.options.durability;
    let device = device_number(&keeper.wanted.point)?;
    serve(&keeper.system, &keeper.sender)?;
    let observer = keeper.sender.clone();
    keeper.connection.observe(move |event| {
        let _ = observer.send(News::Server(event));
    });
    let asked = keeper.sender.clone();
    let control = Control::start(&place::socket(device), move |question, asker| {
        let _ = asked.send(News::Asked(question, asker));
    });
    let control = control.map_err(Failure::setting)?;
    let hop = hear_the_hop(&keeper)?;
    terminal.leave(&keeper.wanted.options, device)?;
    keeper.log = terminal.log;
    let (url, point) = (&keeper.wanted.url, keeper.wanted.point.display());
    tracing::info!("mounted {url} on {point}");
    Ok((keeper, (control, hop)))
}

/// Unmounts what was mounted before something failed.
fn undo(point: &Path, failure: Failure) -> Failure {
    if let Err(error) = edges::fuse::unmount(point, true) {
        tracing::warn!("cannot unmount again: {error}");
    }
    failure
}

fn watch_signals(sender: Sender<News>) -> Result<(), Failure> {
    let failed = |error| Failure::broken(format!("cannot catch signals: {error}"));
    let mut signals = Signals::catch().map_err(failed)?;
    let mut waiter = Waiter::new().map_err(failed)?;
    waiter
        .add(&signals, 0, Interest::Readable)
        .map_err(failed)?;
    let watch = move || {
        while waiter.wait(None).is_ok() {
            let ends = |signal: &Signal| *signal != Signal::User1;
            for _ in signals.pending().filter(ends) {
                INTERRUPTED.store(true, Ordering::Relaxed);
                let _ = sender.send(News::Signal);
            }
        }
    };
    let builder = thread::Builder::new().name("signals".into());
    builder.spawn(watch).map(drop).map_err(failed)
}

fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

fn machine() -> String {
    let system = rustix::system::uname();
    system.nodename().to_string_lossy().into_owned()
}

fn connect_options(options: &Options) -> Result<ConnectOptions, Failure> {
    let identity = Identity {
        user: rustix::process::geteuid().as_raw(),
        group: rustix::process::getegid().as_raw(),
        groups: Vec::new(),
    };
    let credentials = SystemCredentials::new(std::process::id(), &machine(), identity);
    let mut calls = rpc::Config::default();
    if let Some(policy) = &options.policy {
        calls.retransmission = *policy;
    }
    let mut seed = [0; 8];
    entropy::fill(&mut seed);
    Ok(ConnectOptions {
        files: options.files.clone(),
        calls,
        caller: Arc::new(Credentials::System(credentials.map_err(Failure::setting)?)),
        time: CONNECT_TIME,
        source_port: if options.any_port {
            SourcePort::Any
        } else {
            SourcePort::Reserved
        },
        seed: u64::from_le_bytes(seed),
    })
}

/// Connects; in the background, as often as it takes.
fn reach(
    wanted: &Wanted,
    options: &ConnectOptions,
    terminal: &mut Terminal,
) -> Result<(Connection, Root), Failure> {
    loop {
        let error = match connect(&wanted.server, options, &interrupted) {
            Ok(connected) => return Ok(connected),
            Err(ConnectError::Interrupted) => return Err(Failure::interrupted("interrupted")),
            Err(error) if wanted.options.background => error,
            Err(error) => return Err(Failure::broken(error)),
        };
        tracing::warn!("{error}; trying again");
        terminal.leave(&wanted.options, std::process::id())?;
        let until = Instant::now() + PAUSE;
        while Instant::now() < until {
            thread::sleep(LOOK);
            if interrupted() {
                return Err(Failure::interrupted("interrupted"));
            }
        }
    }
}

/// The directory that the address names.
fn directory(
    url: &Url,
    connection: &Connection,
    root: &Root,
    caller: &Arc<Credentials>,
) -> Result<FileHandle, Failure> {
    let resolver = Resolver {
        connection,
        caller,
        wanted: &|| !interrupted(),
    };
    let found = resolver
        .resolve(root.handle, &root.rest, true)
        .map_err(|error| Failure::broken(format!("{url}: {error}")))?;
    match found.attributes.kind {
        FileType::Directory => Ok(found.file),
        _ => Err(Failure::setting(format!(
            "{url}: no directory; only directories can be mounted (`lasthop nfs cp` copies files)"
        ))),
    }
}

/// The number that the kernel gave the mount; the folder of its socket is there afterwards.
fn device_number(point: &Path) -> Result<u32, Failure> {
    let folder = place::folder();
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::setting(format!("{}: {error}", folder.display())))?;
    let all = edges::fuse::mounted().map_err(Failure::broken)?;
    let ours = all.iter().rev().find(|mounted| mounted.point == point);
    ours.map(|mounted| mounted.device)
        .ok_or_else(|| Failure::broken("the kernel does not list what was mounted"))
}

fn serve(system: &Arc<FileSystem<Connection>>, sender: &Sender<News>) -> Result<(), Failure> {
    let (serving, sender) = (Arc::clone(system), sender.clone());
    let serve = move || {
        if let Err(error) = serving.serve() {
            tracing::error!("the kernel cannot be heard any more: {error}");
        }
        let _ = sender.send(News::Ended);
    };
    let builder = thread::Builder::new().name("mount".into());
    builder.spawn(serve).map(drop).map_err(Failure::broken)
}

/// Listens to what a daemon tells of the hop, if there is one, now or later.
fn hear_the_hop(keeper: &Keeper) -> Result<Option<Reader>, Failure> {
    let Some(path) = keeper.wanted.options.signals.clone() else {
        return Ok(None);
    };
    let connection = keeper.connection.clone();
    Reader::start(path, move |event| connection.link_event(event))
        .map(Some)
        .map_err(Failure::broken)
}
