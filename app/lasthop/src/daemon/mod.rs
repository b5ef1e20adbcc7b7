//! The common part of both daemons: set the system up, run the host, and undo all changes.

mod bearer;
mod differences;
mod dns;
mod exits;
mod follow;
mod gateway;
mod gateway_keys;
mod gateway_wiring;
mod lookout;
mod mobile;
mod names;
mod peer;
mod privileges;
mod reading;
mod reload;
mod router_advertisements;
mod source_check;
mod split;
mod succession;
mod wiring;

use std::path::{Path, PathBuf};

use edges::bearer::{Bearer, DatagramBearer};
use edges::clock;
use edges::detour::Detour;
use edges::netlink::NetworkWatch;
use edges::signals::{Signals, protect_memory};
use edges::tun::{TunDevice, TunOptions};
use edges::undo::{UndoError, UndoLog};
use hosts::{Host, Input, Role};
use runtime::control::Control;
use runtime::replay::{Draws, Recorder};
use runtime::signals::{self, Announcer, Audience, Publisher};
use runtime::succession::Successor;
use runtime::supervisor::Supervisor;
use runtime::{Changes, DrivenHost, EventLoop, Ports, RuntimeError, Stopped};
use session::Entropy;
use wire::address::HopAddress;

use crate::config::Source;
use crate::config::shared::{Network, Tun};
use crate::failure::Failure;
use crate::{background, doctor, entropy, log, state};

#[cfg(test)]
pub(crate) use differences::differences;
pub(crate) use dns::lacks_resolver;
pub(crate) use gateway::{
    Arguments as GatewayArguments, check as check_gateway, run as run_gateway, unix_seconds,
};
#[cfg(test)]
pub(crate) use gateway::{Member, members};
use lookout::Lookout;
pub(crate) use mobile::MARK;
pub(crate) use mobile::{Arguments as MobileArguments, check as check_mobile, run as run_mobile};
pub(crate) use names::{COMMAND as RESOLVER_HELPER, run_resolver_helper};
pub(crate) use privileges::{COMMAND as HELPER, run_helper};
use privileges::{Duties, Keeper, Marks, Needs};
use succession::Former;

/// Default UDP port of a gateway.
pub(crate) const PORT: u16 = 51_830;

/// If set, a daemon records the inputs of its host, and checks at the end that a second host gives the same outputs.
const REPLAY: &str = "LASTHOP_REPLAY";

/// A daemon before it runs.
struct Daemon {
    name: String,
    host: hosts::Config,
    bearer: Bearer,
    tun: Tun,
    state_dir: PathBuf,
    /// Settings of split TCP, if any peer has it.
    split: Option<split::Plan>,
    /// Users that may receive the signals of fades and hand-offs.
    audience: Audience,
    /// What only a mobile host does.
    mobile: MobilePlan,
    /// Inputs of the host before all others: former keys, of a gateway and of its mobile hosts.
    first: Vec<Input>,
    /// Name or number of the user that it becomes, if not the usual one.
    user: Option<String>,
    /// The configuration, which is read again on demand.
    reload: reload::Present,
}

/// What only a mobile host does.
#[derive(Default)]
struct MobilePlan {
    /// Way around the hop, if flows may take it while the hop is down.
    detour: Option<Detour>,
    /// What it does with the resolver of this host.
    names: Option<names::Plan>,
    /// What it looks for in its surroundings.
    lookout: Option<Lookout>,
}

impl MobilePlan {
    /// Returns what is opened with a mark for these peers.
    fn marks(&self, peers: &[hosts::Peer]) -> Marks {
        let lookout = self.lookout.as_ref();
        Marks {
            queries: lookout.is_some_and(Lookout::resolves_names),
            connections: peers.iter().any(|peer| peer.tls_port.is_some()),
        }
    }
}

/// Starts the log, and protects memory from dumps; called before any secret is read.
fn prepare(is_detached: bool) -> Result<(), Failure> {
    if is_detached {
        background::detach()?;
    }
    log::start()?;
    protect_memory()
        .map_err(|error| Failure::setting(format!("cannot keep keys out of core dumps: {error}")))
}

impl Daemon {
    /// Runs until a signal, and goes on with the split connections of a former process. `network` makes the changes to
    /// the system that this end needs besides its device; its second argument is the name of the device.
    fn run(
        self,
        former: Option<Former>,
        network: impl FnOnce(&mut UndoLog, &str) -> Result<(), UndoError>,
    ) -> Result<(), Failure> {
        let (role, peers) = (self.host.role, names_of(&self.host.peers));
        let mut first = self.first;
        first.extend(recalled(self.reload.source()));
        let bearer = self.bearer;
        let marks = self.mobile.marks(&self.host.peers);
        let config = hosts::Config {
            split: self.split.as_ref().map(split::Plan::config),
            ..self.host
        };
        let (host, twin) = make_host(config)?;
        let mobile = self.mobile;
        let needs = Needs::of(self.user.as_deref(), self.split.as_ref(), marks)?;
        // From here on a signal waits for the event loop, so nothing is left half done.
        let signals = Signals::catch().map_err(Failure::setting)?;
        let mut undo = open_undo(&self.state_dir, &self.name)?;
        let device = open_device(&self.tun.name, self.reload.has_lease())?;
        let link = device.name().to_owned();
        let mut splitting = self.split.map(split::Opened::new).transpose()?;
        bring_up(&mut undo, &link, &self.tun)
            .and_then(|()| network(&mut undo, &link))
            .and_then(|()| match &mut splitting {
                Some(opened) => opened.divert(&mut undo, &self.name, &link),
                None => Ok(()),
            })
            .and_then(|()| undo.remove_left_tables())
            .map_err(Failure::setting)?;
        examine(&bearer, role, &link, &self.tun);
        let socket = self.state_dir.join(format!("{}.sock", self.name));
        let control = Control::bind(&socket).map_err(Failure::setting)?;
        let announcer = announcer(&socket, self.audience, role, peers)?;
        let news = NetworkWatch::open().map_err(Failure::setting)?;
        let here = bearer.local_address();
        let supervisor = supervisor()?;
        let former = succession::take(former, splitting.as_ref())?;
        let duties = Duties {
            sockets: vec![socket.clone(), socket.with_extension(signals::ENDING)],
            splitting: splitting.as_ref(),
            detour: mobile.detour,
            source: self.reload.source(),
            link: &link,
        };
        let keeper = Keeper::start(undo, duties)?;
        let names = mobile.names.map(|plan| plan.open(&self.name, &link));
        needs.drop_others()?;
        detach_log()?;
        let start = |opened: split::Opened| opened.start(keeper.divert());
        let mut sockets = splitting.map(start).transpose()?;
        first.extend(succession::begin(former, sockets.as_mut()));
        let ports = Ports {
            signals: Some(signals),
            control: Some(control),
            network: Some(news),
            announcer: Some(announcer),
            supervisor,
            sockets,
            finder: lookout::start(mobile.lookout, &link)?,
            changes: Some(changer(keeper.clone())?),
            names: names.map(names::Opened::start).transpose()?,
            reloader: Some(self.reload.start(keeper.clone())?),
            ..Ports::new(device, bearer)
        };
        let (name, status) = (&self.name, socket.display());
        tracing::info!("{name} runs on {here} by {link}; status: {status}");
        run_host(&self.name, host, twin, &first, ports, keeper)
    }
}

/// Runs the host, after its first inputs, and compares it with its twin at the end.
fn run_host(
    name: &str,
    host: Host,
    twin: Option<Twin>,
    first: &[Input],
    ports: Ports<TunDevice, Bearer>,
    keeper: Keeper,
) -> Result<(), Failure> {
    let Some(twin) = twin else {
        let run = runtime::run_daemon;
        return drive(name, told(host, first), ports, keeper, run).map(drop);
    };
    let host = told(Recorder::new(host), first);
    twin.compare(&drive(name, host, ports, keeper, EventLoop::run)?)
}

/// Returns the input with what gateways have told a former life of the host.
fn recalled(source: &Source) -> Option<Input> {
    match state::load_told(source) {
        Ok(told) => (!told.is_empty()).then_some(Input::Told(told)),
        Err(error) => {
            tracing::warn!("{error}; the gateways of the site tell it again");
            None
        }
    }
}

fn names_of(peers: &[hosts::Peer]) -> Vec<String> {
    peers.iter().map(|peer| peer.name.clone()).collect()
}

/// Returns the host, and the twin on which its run is replayed, if that is requested.
fn make_host(config: hosts::Config) -> Result<(Host, Option<Twin>), Failure> {
    let twin = Twin::of(&config);
    let entropy: Box<dyn Entropy> = match &twin {
        Some(twin) => twin.draws.record(entropy::fill),
        None => Box::new(entropy::fill),
    };
    let host = Host::new(config, entropy).map_err(Failure::setting)?;
    Ok((host, twin))
}

/// Writes to the log what may keep the hop from working well.
fn examine(bearer: &Bearer, role: Role, link: &str, tun: &Tun) {
    let port = match bearer.local_address() {
        HopAddress::Udp(at) => (role == Role::Gateway).then(|| at.port()),
        HopAddress::Tls(_) | HopAddress::Ethernet(_) | HopAddress::Relay(_) => None,
    };
    doctor::examine_at_start(role, link, tun.own().collect(), port);
}

/// Opens the socket for signals of these peers. The first one of a mobile host is its home, and the others stand in for
/// it.
fn announcer(
    control: &Path,
    audience: Audience,
    role: Role,
    peers: Vec<String>,
) -> Result<Announcer, Failure> {
    let publisher = Publisher::bind(&control.with_extension(signals::ENDING), audience);
    let publisher = publisher.map_err(Failure::setting)?;
    Ok(match peers.first() {
        Some(home) if role == Role::Mobile => Announcer::of_mobile(publisher, home.clone()),
        _ => Announcer::new(publisher, peers.into_iter()),
    })
}

/// Returns the host after these inputs.
fn told<H: DrivenHost>(mut host: H, first: &[Input]) -> H {
    for input in first {
        host.handle_input(clock::monotonic(), input.clone());
    }
    host
}

fn detach_log() -> Result<(), Failure> {
    let failed = |error| Failure::setting(format!("cannot start the log's thread: {error}"));
    log::detach().map_err(failed)
}

/// Returns the supervisor of this process, if it has one.
fn supervisor() -> Result<Option<Supervisor>, Failure> {
    Supervisor::from_environment().map_err(|error| {
        Failure::setting(format!(
            "cannot reach the supervisor at $NOTIFY_SOCKET: {error}; start it as a service, or unset NOTIFY_SOCKET"
        ))
    })
}

/// Drives a host until a signal, and undoes the changes to the system.
fn drive<H: DrivenHost>(
    name: &str,
    host: H,
    ports: Ports<TunDevice, Bearer>,
    keeper: Keeper,
    run: fn(&mut EventLoop<H, TunDevice, Bearer>) -> Result<Stopped, RuntimeError>,
) -> Result<H, Failure> {
    let mut event_loop = EventLoop::new(host, ports).map_err(Failure::setting)?;
    let memory = event_loop.memory_most();
    tracing::info!("{name} takes at most {memory} of memory");
    let stopped = run(&mut event_loop);
    let successor = event_loop.take_successor();
    // The system is restored before the reason why the loop ended is reported.
    let undone = match &successor {
        // This host would answer segments for translated addresses with resets.
        Some(_) => keeper.leave(),
        None => keeper.undo(),
    };
    let stopped = stopped.map_err(Failure::broken)?;
    undone?;
    tracing::info!("{name} ended ({stopped:?})");
    // This closes the device and the port.
    let host = event_loop.into_host();
    if let Some(Err(error)) = successor.map(Successor::begin) {
        tracing::warn!("the process that was to go on has gone: {error}");
    }
    Ok(host)
}

/// Configuration and random draws of a second host, on which a run is replayed at its end (`LASTHOP_REPLAY`, see
/// CONTRIBUTING.md).
struct Twin {
    config: hosts::Config,
    draws: Draws,
}

impl Twin {
    /// Returns a twin if a replay is requested.
    fn of(config: &hosts::Config) -> Option<Self> {
        std::env::var_os(REPLAY).map(|_| Self {
            config: config.clone(),
            draws: Draws::default(),
        })
    }

    /// Replays the inputs of the first host on a second one.
    fn compare(self, recorder: &Recorder<Host>) -> Result<(), Failure> {
        let draws = self.draws.replay();
        let mut second = Host::new(self.config, draws).map_err(Failure::setting)?;
        let outputs = recorder.replay(&mut second).map_err(Failure::broken)?;
        tracing::info!("replayed with the same {outputs} outputs");
        Ok(())
    }
}

/// Starts the thread that changes the ways of packets.
fn changer(keeper: Keeper) -> Result<Changes, Failure> {
    Changes::start(move |changes| keeper.change(changes))
        .map_err(|error| Failure::setting(format!("cannot start the thread of changes: {error}")))
}

/// Opens the record of changes to the system, and undoes the changes that a dead process has left.
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

/// Opens the device, which renews a lease of addresses if there is one.
fn open_device(name: &str, has_lease: bool) -> Result<TunDevice, Failure> {
    let device = TunDevice::open(&TunOptions::new(name)).map_err(Failure::setting)?;
    Ok(if has_lease {
        device.with_lease()
    } else {
        device
    })
}

/// Sets the MTU and addresses of the device, and its state to up.
fn bring_up(undo: &mut UndoLog, link: &str, tun: &Tun) -> Result<(), UndoError> {
    undo.netlink().set_mtu(link, tun.mtu.0.into())?;
    for Network(address) in tun.addresses.get_ref() {
        undo.add_address(link, *address)?;
    }
    undo.netlink().set_up(link)?;
    Ok(())
}
