//! The process that keeps a mount: from the address to a file system that works.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use edges::fuse::{Device, Kernel, Limits, MountOptions};
use edges::signals::{Signal, Signals};
use edges::wait::{Interest, Waiter};
use nfs::FileType;
use nfs::url::Url;
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
const PAUSE: Duration = Duration::from_secs(10);
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
    let (connection, root, parent) = reach(&wanted, &options, parent)?;
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
    let device = device_number(&wanted.point)?;
    let kernel: Arc<dyn Kernel> =
        Arc::new(Device::start(descriptor, Limits::default()).map_err(Failure::broken)?);
    let settings = Settings {
        root,
        machine: machine(),
        stamp: std::process::id(),
        memory: Memory::within(&wanted.options.files.validity),
    };
    let system = FileSystem::new(kernel, connection.clone(), &settings).map_err(Failure::broken)?;
    serve(&system, &sender)?;
    connection.observe(observer(sender.clone()));
    let asked = sender.clone();
    let control = Control::start(&place::socket(device), move |question, asker| {
        let _ = asked.send(News::Asked(question, asker));
    });
    let _control = control.map_err(|error| undo(&wanted.point, error))?;
    let _hop = hear_the_hop(&wanted.options.hop, &connection)?;
    let log = log_file(&wanted.options, device);
    if parent == Parent::Waits {
        background::leave(&log).map_err(|failure| undo(&wanted.point, failure))?;
    }
    tracing::info!("mounted {} on {}", wanted.url, wanted.point.display());
    let Durability::Server = wanted.options.durability;
    let keeper = Keeper {
        wanted,
        connection,
        caller: options.caller,
        system,
        log: (parent == Parent::Waits).then_some(log),
        begun: Instant::now(),
        sender,
    };
    keeper.run(&news)
}

/// Unmounts what was mounted before something failed.
fn undo(point: &Path, error: impl std::fmt::Display) -> Failure {
    if let Err(error) = edges::fuse::unmount(point, true) {
        tracing::warn!("cannot unmount again: {error}");
    }
    Failure::setting(error)
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
            let ends = |signal: &Signal| matches!(signal, Signal::Terminate | Signal::Interrupt);
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
    mut parent: Parent,
) -> Result<(Connection, Root, Parent), Failure> {
    loop {
        let error = match connect(&wanted.server, options, &interrupted) {
            Ok((connection, root)) => return Ok((connection, root, parent)),
            Err(ConnectError::Interrupted) => return Err(Failure::interrupted("interrupted")),
            Err(error) if wanted.options.background => error,
            Err(error) => return Err(Failure::broken(error)),
        };
        tracing::warn!("{error}; trying again");
        if parent == Parent::Waits {
            background::leave(&log_file(&wanted.options, std::process::id()))?;
            parent = Parent::None;
        }
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
) -> Result<nfs::FileHandle, Failure> {
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

fn device_number(point: &Path) -> Result<u32, Failure> {
    let folder = place::folder();
    std::fs::create_dir_all(&folder)
        .map_err(|error| undo(point, format!("{}: {error}", folder.display())))?;
    let all = edges::fuse::mounted().map_err(|error| undo(point, error))?;
    let ours = all.iter().rev().find(|mounted| mounted.point == point);
    ours.map(|mounted| mounted.device)
        .ok_or_else(|| undo(point, "the kernel does not list what was mounted"))
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

fn observer(sender: Sender<News>) -> impl FnMut(runtime::files::Event) + Send {
    move |event| {
        let _ = sender.send(News::Server(event));
    }
}

/// Listens to what the daemon of the hop tells, if there is one.
fn hear_the_hop(name: &str, connection: &Connection) -> Result<Reader, Failure> {
    let ending = runtime::signals::ENDING;
    let path = Path::new(edges::undo::STATE_FOLDER).join(format!("{name}.{ending}"));
    let connection = connection.clone();
    Reader::start(path, move |event| connection.link_event(event)).map_err(Failure::broken)
}

fn log_file(options: &Options, number: u32) -> PathBuf {
    options.log.clone().unwrap_or_else(|| place::log(number))
}
