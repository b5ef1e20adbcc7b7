//! The process of a mount: from the URL to a working file system.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use edges::fuse::{Device, Limits, MountOptions};
use mount::{Config, Memory};
use nfs::url::Url;
use nfs::{FileHandle, FileType};
use rpc::message::Credentials;
use runtime::files::{
    CallError, ConnectError, ConnectOptions, Connection, ResolveError, Resolver, Root, connect,
};
use runtime::mount::control::Control;
use runtime::mount::{Mount, Mounted};
use runtime::signals::Reader;

use super::background;
use super::ending::{MountEvent, MountProcess};
use super::options::{Durability, Options};
use super::place;
use super::request::MountRequest;
use crate::client::host_name;
use crate::failure::Failure;
use crate::{interrupt, log};

/// Time between two attempts to connect of a mount in the background.
const PAUSE: Duration = Duration::from_secs(5);

/// The process that waits for the mount to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parent {
    /// None: the mount stays in the foreground.
    None,
    /// The foreground process.
    Waits,
}

/// Mounts, and serves the mount until it ends.
pub(super) fn run(wanted: MountRequest, parent: Parent) -> Result<(), Failure> {
    log::start()?;
    let (sender, news) = channel();
    let signalled = sender.clone();
    interrupt::watch(move |_| {
        // Nobody receives it once the process ends.
        let _ = signalled.send(MountEvent::Signal);
    })?;
    let options = wanted.options.client.connect_options()?;
    let mut terminal = Terminal { parent, log: None };
    let (connection, root) = reach(&wanted, &options, &mut terminal, &news)?;
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
    let keeper = MountProcess {
        mounted: serve(descriptor, root, &connection, &wanted.options, &sender)
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

/// The terminal of a foreground process that waits for the mount, and the log afterwards.
struct Terminal {
    parent: Parent,
    log: Option<PathBuf>,
}

impl Terminal {
    /// Releases the waiting process. If the user has not chosen a log, its name contains `number`.
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

/// Serves the files to the kernel, which waits for that since it mounted them.
fn serve(
    descriptor: OwnedFd,
    root: FileHandle,
    connection: &Connection,
    options: &Options,
    sender: &Sender<MountEvent>,
) -> Result<Mounted, Failure> {
    let sender = sender.clone();
    let mount = Mount {
        device: Device::start(descriptor, Limits::default()).map_err(Failure::broken)?,
        config: Config {
            root,
            machine: host_name(),
            stamp: std::process::id(),
            memory: Memory::within(&options.client.files.validity),
        },
        tape: None,
        ended: Box::new(move |result| {
            if let Err(error) = result {
                tracing::error!("the mount ends: {error}");
            }
            // Nobody receives it once the process ends.
            let _ = sender.send(MountEvent::Ended);
        }),
    };
    connection.mount(mount).map_err(Failure::broken)
}

/// Opens the control socket, and releases the waiting process.
fn begin(
    mut keeper: MountProcess,
    mut terminal: Terminal,
) -> Result<(MountProcess, (Control, Option<Reader>)), Failure> {
    let Durability::Server = keeper.wanted.options.durability;
    let device = device_number(&keeper.wanted.point)?;
    let observer = keeper.sender.clone();
    keeper.connection.observe(move |event| {
        let _ = observer.send(MountEvent::Server(event));
    });
    let asked = keeper.sender.clone();
    let control = Control::start(&place::socket(device), move |question, asker| {
        let _ = asked.send(MountEvent::Asked(question, asker));
    });
    let control = control.map_err(Failure::setting)?;
    let hop = keeper
        .wanted
        .options
        .client
        .hear_the_hop(&keeper.connection)
        .map_err(Failure::broken)?;
    terminal.leave(&keeper.wanted.options, device)?;
    keeper.log = terminal.log;
    let (url, point) = (&keeper.wanted.url, keeper.wanted.point.display());
    tracing::info!("mounted {url} on {point}");
    Ok((keeper, (control, hop)))
}

/// Unmounts after a later step has failed.
fn undo(point: &Path, failure: Failure) -> Failure {
    if let Err(error) = edges::fuse::unmount(point, true) {
        tracing::warn!("cannot unmount again: {error}");
    }
    failure
}

/// Connects; in the background, with as many attempts as needed.
fn reach(
    wanted: &MountRequest,
    options: &ConnectOptions,
    terminal: &mut Terminal,
    news: &Receiver<MountEvent>,
) -> Result<(Connection, Root), Failure> {
    loop {
        let error = match connect(&wanted.server, options, &interrupt::is_set) {
            Ok(connected) => return Ok(connected),
            Err(ConnectError::Interrupted) => return Err(Failure::interrupted("interrupted")),
            Err(error) if wanted.options.background => error,
            Err(error) => return Err(Failure::broken(error)),
        };
        tracing::warn!("{error}; trying again");
        terminal.leave(&wanted.options, std::process::id())?;
        // Before there is a mount, the only possible event is a request to end.
        if news.recv_timeout(PAUSE).is_ok() {
            return Err(Failure::interrupted("interrupted"));
        }
    }
}

/// Returns the directory of the URL.
fn directory(
    url: &Url,
    connection: &Connection,
    root: &Root,
    caller: &Arc<Credentials>,
) -> Result<FileHandle, Failure> {
    let resolver = Resolver {
        ask: &|operation| connection.call_while(caller, operation, &|| !interrupt::is_set()),
    };
    let found = resolver
        .resolve(root.handle, &root.rest, true)
        .map_err(|error| match error {
            ResolveError::Call {
                error: CallError::Cancelled,
                ..
            } => Failure::interrupted("interrupted"),
            error => Failure::broken(format!("{url}: {error}")),
        })?;
    match found.attributes.kind {
        FileType::Directory => Ok(found.file),
        _ => Err(Failure::setting(format!(
            "{url}: no directory; only directories can be mounted (`lasthop nfs cp` copies files)"
        ))),
    }
}

/// Returns the device number that the kernel gave the mount; creates the folder of its socket.
fn device_number(point: &Path) -> Result<u32, Failure> {
    let folder = place::folder();
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::setting(format!("{}: {error}", folder.display())))?;
    let all = edges::fuse::mounted().map_err(Failure::broken)?;
    let ours = all.iter().rev().find(|mounted| mounted.point == point);
    ours.map(|mounted| mounted.device)
        .ok_or_else(|| Failure::broken("the kernel does not list what was mounted"))
}
