//! What both daemons do: set the system up, run the host, and take everything back.

mod bearer;
mod gateway;
mod mobile;
mod peer;
mod router_advertisements;
mod source_check;
mod split;

use std::path::{Path, PathBuf};

use edges::bearer::{Bearer, DatagramBearer};
use edges::names::Name;
use edges::netlink::NetworkWatch;
use edges::signals::{Signals, protect_memory};
use edges::tun::{TunDevice, TunOptions};
use edges::undo::{UndoError, UndoLog};
use hosts::Host;
use runtime::control::Control;
use runtime::replay::{Draws, Recorder};
use runtime::signals::{self, Announcer, Audience, Publisher};
use runtime::{Driven, EventLoop, Finder, Ports, privileges};
use session::Entropy;
use wire::address::HopAddress;

use crate::config::shared::{Network, Tun};
use crate::failure::Failure;
use crate::{entropy, log};

pub(crate) use gateway::{Arguments as GatewayArguments, run as run_gateway};
pub(crate) use mobile::{Arguments as MobileArguments, run as run_mobile};

/// The UDP port of a gateway unless its configuration says otherwise.
pub(crate) const PORT: u16 = 51_830;

/// Set, it has a daemon record what its host is given, and check at the end that another one does the same with it.
const REPLAY: &str = "LASTHOP_REPLAY";

/// A daemon that is to run.
struct Daemon {
    name: String,
    host: hosts::Config,
    bearer: Bearer,
    tun: Tun,
    state_dir: PathBuf,
    /// How TCP is split, if that of any peer is.
    split: Option<split::Plan>,
    /// Who may hear of fades and hand-offs.
    audience: Audience,
    /// The name of the other end, if it is known by one.
    name_of_peer: Option<Name>,
}

/// What comes before any secret is read: the log, and memory that no dump shows.
fn prepare() -> Result<(), Failure> {
    log::start()?;
    protect_memory()
        .map_err(|error| Failure::setting(format!("cannot keep keys out of core dumps: {error}")))
}

impl Daemon {
    /// Runs until a signal. `network` adds to the system what this end needs beside its device,
    /// whose name it is told.
    fn run(
        self,
        network: impl FnOnce(&mut UndoLog, &str) -> Result<(), UndoError>,
    ) -> Result<(), Failure> {
        let peers: Vec<_> = self
            .host
            .peers
            .iter()
            .map(|peer| peer.name.clone())
            .collect();
        let bearer = self.bearer;
        let config = hosts::Config {
            split: self.split.as_ref().map(split::Plan::config),
            ..self.host
        };
        let twin = Twin::of(&config);
        let entropy: Box<dyn Entropy> = match &twin {
            Some(twin) => twin.draws.record(entropy::fill),
            None => Box::new(entropy::fill),
        };
        let host = Host::new(config, entropy).map_err(Failure::setting)?;
        // From here on a signal waits until the loop sees it, so nothing is left half done.
        let signals = Signals::catch().map_err(Failure::setting)?;
        let mut undo = open_undo(&self.state_dir, &self.name)?;
        let device = TunDevice::open(&TunOptions::new(&self.tun.name)).map_err(Failure::setting)?;
        let link = device.name().to_owned();
        let mut splitting = self.split.map(split::Opened::new).transpose()?;
        bring_up(&mut undo, &link, &self.tun)
            .and_then(|()| network(&mut undo, &link))
            .and_then(|()| match &mut splitting {
                Some(opened) => opened.divert(&mut undo, (&self.name, &link)),
                None => Ok(()),
            })
            .map_err(Failure::setting)?;
        let socket = self.state_dir.join(format!("{}.sock", self.name));
        let control = Control::bind(&socket).map_err(Failure::setting)?;
        let publisher = Publisher::bind(&socket.with_extension(signals::ENDING), self.audience);
        let announcer = Announcer::new(publisher.map_err(Failure::setting)?, peers.into_iter());
        privileges::keep_network_administration()
            .map_err(|error| Failure::setting(format!("cannot drop privileges: {error}")))?;
        let news = NetworkWatch::open().map_err(Failure::setting)?;
        let here = bearer.local_address();
        let ports = Ports {
            signals: Some(signals),
            control: Some(control),
            network: Some(news),
            announcer: Some(announcer),
            sockets: splitting.map(split::Opened::start).transpose()?,
            finder: self.name_of_peer.map(finder).transpose()?,
            ..Ports::new(device, bearer)
        };
        tracing::info!(
            "{} runs on {here} by {link}; status: {}",
            self.name,
            socket.display()
        );
        match twin {
            None => drive(&self.name, host, ports, undo).map(drop),
            Some(twin) => twin.compare(&drive(&self.name, Recorder::new(host), ports, undo)?),
        }
    }
}

/// Drives a host until a signal, and takes back what was added to the system.
fn drive<H: Driven>(
    name: &str,
    host: H,
    ports: Ports<TunDevice, Bearer>,
    undo: UndoLog,
) -> Result<H, Failure> {
    let mut event_loop = EventLoop::new(host, ports).map_err(Failure::setting)?;
    let memory = event_loop.memory_most();
    tracing::info!("{name} takes at most {memory} of memory");
    let stopped = event_loop.run();
    // The system is as it was before anybody hears why the loop ended.
    let undone = undo.undo();
    let stopped = stopped.map_err(Failure::broken)?;
    undone.map_err(Failure::broken)?;
    tracing::info!("{name} ended ({stopped:?})");
    Ok(event_loop.into_host())
}

/// What a second host is made from, to which the end of a run is replayed (`LASTHOP_REPLAY`, see CONTRIBUTING.md).
struct Twin {
    config: hosts::Config,
    draws: Draws,
}

impl Twin {
    /// Returns one if a replay is wanted.
    fn of(config: &hosts::Config) -> Option<Self> {
        std::env::var_os(REPLAY).map(|_| Self {
            config: config.clone(),
            draws: Draws::default(),
        })
    }

    /// Has a second host do what the first one did.
    fn compare(self, recorder: &Recorder<Host>) -> Result<(), Failure> {
        let draws = self.draws.replay();
        let mut second = Host::new(self.config, draws).map_err(Failure::setting)?;
        let outputs = recorder.replay(&mut second).map_err(Failure::broken)?;
        tracing::info!("replayed with the same {outputs} outputs");
        Ok(())
    }
}

/// What looks for a host that does not answer where its name led at first.
fn finder(name: Name) -> Result<Finder, Failure> {
    let find = move || match name.addresses() {
        Ok(found) => found.into_iter().map(HopAddress::Udp).collect(),
        Err(error) => {
            let host = &name.host;
            tracing::warn!("the gateway does not answer, and '{host}' cannot be resolved: {error}");
            Vec::new()
        }
    };
    Finder::start(find)
        .map_err(|error| Failure::setting(format!("cannot start the name resolver: {error}")))
}

/// The record of changes to the system, after what a dead process has left is taken back.
fn open_undo(state_dir: &Path, name: &str) -> Result<UndoLog, Failure> {
    let (undo, left) = UndoLog::open(state_dir, name).map_err(Failure::setting)?;
    for recovery in &left {
        let (path, undone) = (recovery.path.display(), recovery.undone);
        tracing::info!("undid {undone} changes that a dead process had left ({path})");
        recovery
            .warnings
            .iter()
            .for_each(|warning| tracing::warn!("{warning}"));
    }
    Ok(undo)
}

/// Gives the device its MTU and addresses, and takes it up.
fn bring_up(undo: &mut UndoLog, link: &str, tun: &Tun) -> Result<(), UndoError> {
    undo.netlink().set_mtu(link, tun.mtu.0.into())?;
    for Network(address) in tun.addresses.get_ref() {
        undo.add_address(link, *address)?;
    }
    undo.netlink().set_up(link)?;
    Ok(())
}
