//! The event loop: one thread for one medium.

mod capture;
mod carry;
mod catch_up;
mod fades;
mod paths;
mod reload;
mod signals;
mod status;
mod succession;
mod told;

use std::io;
use std::os::fd::AsFd;

use carry::carry_out;
use edges::bearer::{Arrival, Batch, DatagramBearer};
use edges::clock;
use edges::signals::Signal;
use edges::tun::PacketDevice;
use edges::wait::{Interest, WOKEN, Waiter, Waker};
use fades::{FadeLine, FadeLog};
use hosts::{Event, Input};
pub use status::{BearerStatus, DeviceStatus, Status, Summary};
use thiserror::Error;
use units::{Bytes, Duration, Instant};
use wire::capture::CaptureDirection;
use wire::packet::PacketBuffer;

use crate::capture::Tap;
use crate::changes::Changes;
use crate::control::Control;
use crate::finder::Finder;
use crate::host::DrivenHost;
use crate::load::Load;
use crate::moderation::Moderation;
use crate::outbox::Outbox;
use crate::ports::Ports;
use crate::reloader::KeyClaim;
use crate::resolver::Names;
use crate::sockets::Sockets;
use crate::supervisor::Supervisor;

/// Tokens of descriptors; those of the control socket's clients follow, and then those of signal subscribers.
const DEVICE: u64 = 0;
const BEARER: u64 = 1;
const SIGNALS: u64 = 2;
const CONTROL: u64 = 3;
const NETWORK: u64 = 4;
const ANNOUNCER: u64 = 5;
const SOCKETS: u64 = 6;
const FINDER: u64 = 7;
const RELOADER: u64 = 8;
const FIRST_CLIENT: u64 = 9;
const FIRST_SUBSCRIBER: u64 = 1 << 32;

/// Share of the device in one turn: this number of packets and as many as were written to it, as each of those may be
/// answered at once; or this number of bytes. The share of the bearer is the batch of one receive call.
const PACKETS_A_TURN: usize = 64;
const BYTES_A_TURN: usize = 256 << 10;
/// Number of changes of the configuration in one turn.
const CHANGES_A_TURN: usize = 8;
/// Largest number of datagrams that wait for room in the socket; more are dropped.
const OUTBOX: usize = 4_096;
/// Number of datagrams passed to the kernel at once, within a turn.
const BATCH: usize = 64;
/// Time that a change of the network may take to settle before the host is notified, as changes seldom come alone.
const SETTLING: Duration = Duration::from_millis(100);
/// Limit of the program's memory besides that of its host: the program itself, buffers of the ports, datagrams that
/// wait for room in the socket, the queue of a capture, and storage that is kept for later packets.
pub const MEMORY_BESIDE: Bytes = Bytes::mebi(64);
/// Interval at which the host gets the wall clock time.
const WALL_INTERVAL: Duration = Duration::from_secs(60);

/// Counters of the loop, besides those of its ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoopCounters {
    /// Number of waits.
    pub waits: u64,
    /// Number of deadlines at which the host was called.
    pub timeouts: u64,
    /// Packets for which the device had no room.
    pub packets_without_room: u64,
    /// Packets that the device refused: it is down, or they are malformed.
    pub packets_refused: u64,
}

/// Reason why the loop ended normally.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// A signal.
    By(Signal),
    /// A client of the control socket.
    Asked,
    /// A call of [`EventLoop::stopper`].
    Woken,
}

/// Reason why the loop cannot continue.
#[derive(Debug, Error)]
pub enum RuntimeError {
    /// Reading from the device failed for ever.
    #[error("the TUN device is gone: {0}")]
    Device(#[source] io::Error),
    /// Reading from the bearer failed for ever.
    #[error("the socket of the bearer failed: {0}")]
    Bearer(#[source] io::Error),
    /// Waiting failed.
    #[error("cannot wait for events: {0}")]
    Wait(#[from] io::Error),
}

/// Drives one host between a packet device and a bearer.
pub struct EventLoop<H, D, B> {
    host: H,
    ports: Ports<D, B>,
    waiter: Waiter,
    work: Work,
    /// True if the waiter watches for room in the bearer.
    blocked: bool,
    started: Instant,
    next_wall: Instant,
    /// Time at which the host is notified of a change of the network.
    news_due: Option<Instant>,
    moderation: Moderation,
    load: Load,
    /// Changes of the last reload.
    changes: Option<reload::Changes>,
}

/// Pending work from the host's outputs, and its counters.
struct Work {
    outbox: Outbox,
    counters: LoopCounters,
    /// Packets written to the device since it was last read.
    written: usize,
    events: Vec<Event>,
    fades: FadeLog,
    /// Claims of mobile hosts that are not passed on yet.
    claims: Vec<KeyClaim>,
    /// Sockets of split connections.
    sockets: Option<Sockets>,
    finder: Option<Finder>,
    changes: Option<Changes>,
    /// Time when what gateways have told is stored.
    told_due: Option<Instant>,
    names: Option<Names>,
    /// The capture, if there is one.
    tap: Option<Box<Tap>>,
}

impl Work {
    fn new<D, B>(ports: &mut Ports<D, B>) -> Self {
        Self {
            sockets: ports.sockets.take(),
            finder: ports.finder.take(),
            changes: ports.changes.take(),
            told_due: None,
            names: ports.names.take(),
            outbox: Outbox::new(OUTBOX),
            counters: LoopCounters::default(),
            written: 0,
            events: Vec::new(),
            fades: FadeLog::default(),
            claims: Vec::new(),
            tap: None,
        }
    }
}

/// Result of a wait, without the clients of the control socket.
#[derive(Default)]
struct Found {
    device: bool,
    bearer: bool,
    network: bool,
    sockets: bool,
    signalled: bool,
    stopped: Option<Stopped>,
}

impl<H: DrivenHost, D: PacketDevice, B: DatagramBearer> EventLoop<H, D, B> {
    /// Returns a loop that waits for everything in `ports`.
    pub fn new(host: H, mut ports: Ports<D, B>) -> io::Result<Self> {
        let waiter = Waiter::new()?;
        waiter.add(&ports.device, DEVICE, Interest::Readable)?;
        waiter.add(&ports.bearer, BEARER, Interest::Readable)?;
        for other in ports.bearer.more_descriptors() {
            waiter.add(other, BEARER, Interest::Readable)?;
        }
        let watch = |port: Option<&dyn AsFd>, token| match port {
            Some(port) => waiter.add(port.as_fd(), token, Interest::Readable),
            None => Ok(()),
        };
        watch(ports.sockets.as_ref().map(|port| port as _), SOCKETS)?;
        watch(ports.signals.as_ref().map(|port| port as _), SIGNALS)?;
        watch(ports.control.as_ref().map(|port| port as _), CONTROL)?;
        watch(ports.network.as_ref().map(|port| port as _), NETWORK)?;
        watch(ports.finder.as_ref().map(|port| &port.found as _), FINDER)?;
        watch(ports.reloader.as_ref().map(|port| port as _), RELOADER)?;
        watch(ports.changes.as_ref().map(|port| &port.done as _), FINDER)?;
        let publisher = ports.announcer.as_ref().map(|port| &port.publisher as _);
        watch(publisher, ANNOUNCER)?;
        let started = clock::monotonic();
        Ok(Self {
            host,
            work: Work::new(&mut ports),
            ports,
            waiter,
            blocked: false,
            started,
            next_wall: started,
            news_due: None,
            moderation: Moderation::default(),
            load: Load::new(started),
            changes: None,
        })
    }

    /// Returns a handle with which another thread can end the loop.
    pub fn stopper(&self) -> Waker {
        self.waiter.waker()
    }

    /// Returns the largest memory use of the program.
    pub fn memory_most(&self) -> Bytes {
        let sockets = self.work.sockets.as_ref().map(Sockets::memory);
        let ports = self.ports.bearer.memory_most() + sockets.unwrap_or_default();
        self.host.memory_most(clock::monotonic()) + MEMORY_BESIDE + ports
    }

    /// Returns the host.
    pub fn into_host(self) -> H {
        self.host
    }

    /// Returns the counters of the loop.
    pub fn counters(&self) -> LoopCounters {
        self.work.counters
    }

    /// Runs until a signal or the stopper ends it.
    pub fn run(&mut self) -> Result<Stopped, RuntimeError> {
        edges::wait::sharpen_timers()?;
        self.ports.supervisor.iter().for_each(Supervisor::begin);
        self.look();
        loop {
            self.catch_up()?;
            self.tell_time();
            self.take_changes(CHANGES_A_TURN);
            self.pass_claims();
            self.flush()?;
            self.hear_of_paths();
            self.announce();
            self.send_captured();
            let found = if self.rest() {
                Found {
                    device: true,
                    bearer: true,
                    sockets: true,
                    ..Found::default()
                }
            } else {
                self.wait()?
            };
            // What is read may lead to answers that a lease of the device lets out.
            self.ports.device.handle_timeout(clock::monotonic());
            if found.bearer {
                self.read_bearer()?;
                self.tell_refusals();
                self.flush()?;
            }
            if found.sockets {
                self.read_sockets()?;
            }
            // While datagrams wait for room, packets wait in the device, whose queue is bounded too.
            if found.device && !self.blocked {
                self.read_device()?;
            }
            if let Some(stopped) = found.stopped {
                self.hand_over();
                self.ports.supervisor.iter().for_each(Supervisor::end);
                let rest = self.work.fades.due(Instant::from_nanos(u64::MAX));
                rest.iter().for_each(FadeLine::log);
                self.tell(clock::monotonic(), Input::Leave);
                self.flush()?;
                self.finish_capture();
                return Ok(stopped);
            }
        }
    }

    /// Rests while datagrams keep coming; returns true if it did, and both ports should be read.
    fn rest(&mut self) -> bool {
        let deadline = self.host.poll_timeout();
        let now = clock::monotonic();
        let rest = self.moderation.rest(now, deadline);
        if let Some(rest) = rest {
            std::thread::sleep(rest.into());
            self.load.rested(rest);
        }
        rest.is_some()
    }

    /// Calls the host at deadlines that have come, and notifies it of wall clock time and network changes when they are
    /// due.
    fn tell_time(&mut self) {
        let now = clock::monotonic();
        if self
            .host
            .poll_timeout()
            .is_some_and(|deadline| deadline <= now)
        {
            self.work.counters.timeouts += 1;
            self.host.handle_timeout(now);
            self.carry_out();
        }
        if let Some(sockets) = &mut self.work.sockets {
            sockets.handle_timeout(now);
            self.carry_out();
        }
        self.ports.bearer.handle_timeout(now);
        if let Some(supervisor) = &mut self.ports.supervisor {
            supervisor.handle_timeout(now);
        }
        if self.load.is_overloaded(now) {
            self.tell(now, Input::Overloaded);
        }
        if now >= self.next_wall {
            self.next_wall = now + WALL_INTERVAL;
            self.work.fades.due(now).iter().for_each(FadeLine::log);
            self.tell(now, Input::Wall(clock::wall().as_nanos()));
        }
        self.store_told(now);
        if self.news_due.is_some_and(|due| due <= now) {
            self.news_due = None;
            self.link_up(now);
        }
    }

    fn tell(&mut self, now: Instant, input: Input) {
        self.host.handle_input(now, input);
        self.carry_out();
    }

    /// Carries out the outputs of the host.
    fn carry_out(&mut self) {
        carry_out(&mut self.host, &mut self.ports.device, &mut self.work);
    }

    /// Waits for the next event or deadline.
    fn wait(&mut self) -> Result<Found, RuntimeError> {
        let supervisor = self.ports.supervisor.as_ref();
        let own = supervisor.and_then(Supervisor::poll_timeout);
        let sockets = self.work.sockets.as_ref();
        let own = machine::earlier(own, sockets.and_then(Sockets::poll_timeout));
        let own = machine::earlier(own, self.bearer_due());
        let own = machine::earlier(own, self.ports.device.poll_timeout());
        let own = machine::earlier(own, Some(self.next_wall));
        let own = machine::earlier(own, self.work.told_due);
        let needs_flush = self.work.sockets.as_ref().is_some_and(Sockets::needs_flush);
        let goes_on = needs_flush || self.changes.is_some();
        let own = machine::earlier(own, goes_on.then_some(Instant::ZERO));
        let deadline = machine::earlier(self.host.poll_timeout(), own);
        self.work.counters.waits += 1;
        let mut found = Found::default();
        let mut askers: [Option<u64>; 16] = [None; 16];
        let from = clock::monotonic();
        let ready = self.waiter.wait_until(deadline)?;
        self.load.waited(from, deadline, clock::monotonic());
        for (ready, asker) in ready.zip(&mut askers) {
            match ready.token {
                DEVICE => found.device = true,
                SOCKETS => found.sockets = true,
                BEARER => found.bearer |= ready.readable,
                SIGNALS => found.signalled = true,
                WOKEN => found.stopped = Some(Stopped::Woken),
                NETWORK => found.network = true,
                token => *asker = Some(token),
            }
        }
        for token in askers.into_iter().flatten() {
            match token {
                ANNOUNCER | FIRST_SUBSCRIBER.. => self.listened(token)?,
                FINDER => self.take_found()?,
                RELOADER => self.take_reloaded(),
                token if self.serve_capture(token) => {}
                token => self.answer(token)?,
            }
        }
        if self.ports.control.as_ref().is_some_and(Control::stops) {
            found.stopped = Some(Stopped::Asked);
        }
        if found.signalled {
            found.stopped = self.take_signals().or(found.stopped);
        }
        if found.network {
            self.hear_news()?;
        }
        Ok(found)
    }

    /// Handles sockets that have become ready.
    fn read_sockets(&mut self) -> io::Result<()> {
        if let Some(sockets) = &mut self.work.sockets {
            sockets.take_ready()?;
            self.carry_out();
        }
        Ok(())
    }

    /// Reads one batch of datagrams.
    fn read_bearer(&mut self) -> Result<Batch, RuntimeError> {
        let Self {
            host,
            ports,
            work,
            load,
            ..
        } = self;
        let Ports { device, bearer, .. } = ports;
        let now = clock::monotonic();
        let mut sink = |arrival: Arrival, datagram: &mut [u8]| {
            load.arrived(arrival.at);
            let buffer = PacketBuffer::copy_of(datagram);
            let input = Input::Datagram {
                from: arrival.from,
                arrived: arrival.at,
                ecn: arrival.ecn,
                buffer,
            };
            host.handle_input(now, input);
            carry_out(host, device, work);
        };
        let batch = bearer
            .receive_batch(now, &mut sink)
            .map_err(RuntimeError::Bearer)?;
        self.moderation.read(now, batch);
        Ok(batch)
    }

    /// Reads the device's share of a turn.
    fn read_device(&mut self) -> Result<(), RuntimeError> {
        let mut bytes = 0;
        for _ in 0..PACKETS_A_TURN + std::mem::take(&mut self.work.written) {
            let Some(packet) = self.ports.device.receive().map_err(RuntimeError::Device)? else {
                break;
            };
            bytes += packet.len();
            if let Some(tap) = &mut self.work.tap {
                let peer = |address| self.host.peer_at(address);
                tap.packet(CaptureDirection::Outbound, &packet, peer);
            }
            let taken = match &mut self.work.sockets {
                Some(sockets) => sockets.take(packet),
                None => Some(packet),
            };
            match taken {
                Some(packet) => self.tell(clock::monotonic(), Input::Packet(packet)),
                None => self.carry_out(),
            }
            if self.work.outbox.len() >= BATCH {
                self.flush()?;
            }
            if bytes >= BYTES_A_TURN || self.blocked {
                break;
            }
        }
        Ok(())
    }

    /// Writes pending bytes to sockets and datagrams to the bearer; watches for room in the bearer if some are left.
    fn flush(&mut self) -> io::Result<()> {
        if let Some(sockets) = &mut self.work.sockets {
            sockets.flush();
            self.carry_out();
        }
        self.work.outbox.flush(&mut self.ports.bearer);
        while let Some(to) = self.work.outbox.poll_unreachable() {
            self.tell(clock::monotonic(), Input::Unreachable(to));
        }
        let blocked = !self.work.outbox.is_empty();
        if blocked != self.blocked {
            let interest = Interest::in_room_too(blocked);
            self.waiter.modify(&self.ports.bearer, BEARER, interest)?;
            // Otherwise the device would stay ready, and each wait would return at once.
            if blocked {
                self.waiter.remove(&self.ports.device)?;
            } else {
                self.waiter
                    .add(&self.ports.device, DEVICE, Interest::Readable)?;
            }
            self.blocked = blocked;
        }
        Ok(())
    }
}
