//! The loop: one thread, one air.

mod carry;
mod catch_up;
mod paths;
mod status;

use std::io;
use std::os::fd::AsFd;

use carry::carry_out;
use edges::bearer::{Arrival, Batch, DatagramBearer, Footing};
use edges::clock;
use edges::signals::{Signal, Signals};
use edges::tun::PacketDevice;
use edges::wait::{Interest, WOKEN, Waiter, Waker};
use hosts::{Event, Input};
pub use status::{BearerStatus, DeviceStatus, Status};
use thiserror::Error;
use units::{Bytes, Duration, Instant};
use wire::packet::PacketBuffer;

use crate::finder::Finder;
use crate::host::Driven;
use crate::moderation::Moderation;
use crate::outbox::Outbox;
use crate::ports::Ports;
use crate::sockets::Sockets;

/// Tokens of what is waited for; those of the control socket's clients follow, and, far behind, those who listen.
const DEVICE: u64 = 0;
const BEARER: u64 = 1;
const SIGNALS: u64 = 2;
const CONTROL: u64 = 3;
const NETWORK: u64 = 4;
const ANNOUNCER: u64 = 5;
const SOCKETS: u64 = 6;
const FINDER: u64 = 7;
const FIRST_CLIENT: u64 = 8;
const FIRST_SUBSCRIBER: u64 = 1 << 32;

/// The share of one turn that belongs to the device: so many packets, or so many bytes. The bearer's
/// share is the batch of one receive call.
const PACKETS_A_TURN: usize = 64;
const BYTES_A_TURN: usize = 256 << 10;
/// Datagrams that wait for room in the socket before more are dropped.
const OUTBOX: usize = 4_096;
/// So many are handed to the kernel at once, within a turn.
const BATCH: usize = 64;
/// A change of the network seldom comes alone; the host hears of it when so much time has passed.
const SETTLING: Duration = Duration::from_millis(100);
/// What the program takes beside what its host holds, at most: itself, buffers of the ports, datagrams that wait for
/// room in the socket, and storage that is kept for the next packets.
pub const MEMORY_BESIDE: Bytes = Bytes::mebi(64);
/// How often the host is told the wall clock.
const WALL_INTERVAL: Duration = Duration::from_secs(60);

/// What the loop has done, beside the counters of its ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoopCounters {
    /// Times it waited.
    pub waits: u64,
    /// Deadlines on which the host was called.
    pub timeouts: u64,
    /// Packets for which the device had no room.
    pub packets_without_room: u64,
    /// Packets that the device refused: it is down, or they are malformed.
    pub packets_refused: u64,
}

/// Why the loop ended in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// By a signal.
    By(Signal),
    /// By [`EventLoop::stopper`].
    Woken,
}

/// Why the loop cannot go on.
#[derive(Debug, Error)]
pub enum RuntimeError {
    /// Reading from the device failed for good.
    #[error("the TUN device is gone: {0}")]
    Device(#[source] io::Error),
    /// Reading from the bearer failed for good.
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
    /// Whether the waiter watches for room in the bearer.
    blocked: bool,
    started: Instant,
    next_wall: Instant,
    /// When the host is told that the network has changed.
    news_due: Option<Instant>,
    moderation: Moderation,
}

/// What the host's outputs leave to be done, and what was done of them.
struct Work {
    outbox: Outbox,
    counters: LoopCounters,
    events: Vec<Event>,
    /// The sockets of TCP that is split.
    sockets: Option<Sockets>,
    finder: Option<Finder>,
}

impl Work {
    fn new(sockets: Option<Sockets>, finder: Option<Finder>) -> Self {
        Self {
            sockets,
            finder,
            outbox: Outbox::new(OUTBOX),
            counters: LoopCounters::default(),
            events: Vec::new(),
        }
    }
}

/// What a wait found; the clients of the control socket aside.
#[derive(Default)]
struct Found {
    device: bool,
    bearer: bool,
    network: bool,
    sockets: bool,
    stopped: Option<Stopped>,
}

impl<H: Driven, D: PacketDevice, B: DatagramBearer> EventLoop<H, D, B> {
    /// A loop that waits for everything in `ports`.
    pub fn new(host: H, mut ports: Ports<D, B>) -> io::Result<Self> {
        let waiter = Waiter::new()?;
        waiter.add(&ports.device, DEVICE, Interest::Readable)?;
        waiter.add(&ports.bearer, BEARER, Interest::Readable)?;
        let watch = |port: Option<&dyn AsFd>, token| match port {
            Some(port) => waiter.add(port.as_fd(), token, Interest::Readable),
            None => Ok(()),
        };
        watch(ports.sockets.as_ref().map(|port| port as _), SOCKETS)?;
        watch(ports.signals.as_ref().map(|port| port as _), SIGNALS)?;
        watch(ports.control.as_ref().map(|port| port as _), CONTROL)?;
        watch(ports.network.as_ref().map(|port| port as _), NETWORK)?;
        watch(ports.finder.as_ref().map(|port| port as _), FINDER)?;
        let publisher = ports.announcer.as_ref().map(|port| &port.publisher as _);
        watch(publisher, ANNOUNCER)?;
        let started = clock::monotonic();
        Ok(Self {
            host,
            work: Work::new(ports.sockets.take(), ports.finder.take()),
            ports,
            waiter,
            blocked: false,
            started,
            next_wall: started,
            news_due: None,
            moderation: Moderation::default(),
        })
    }

    /// A handle with which another thread ends the loop.
    pub fn stopper(&self) -> Waker {
        self.waiter.waker()
    }

    /// What the program takes of memory at most.
    pub fn memory_most(&self) -> Bytes {
        let sockets = self.work.sockets.as_ref().map(Sockets::memory);
        self.host.memory_most() + MEMORY_BESIDE + sockets.unwrap_or_default()
    }

    /// Returns the host that was driven.
    pub fn into_host(self) -> H {
        self.host
    }

    /// What the loop has done so far.
    pub fn counters(&self) -> LoopCounters {
        self.work.counters
    }

    /// Runs until a signal or the stopper ends it.
    pub fn run(&mut self) -> Result<Stopped, RuntimeError> {
        edges::wait::sharpen_timers()?;
        loop {
            self.catch_up()?;
            self.tell_time();
            self.flush()?;
            self.hear_of_paths();
            self.announce();
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
                self.tell(clock::monotonic(), Input::Leave);
                self.flush()?;
                return Ok(stopped);
            }
        }
    }

    /// Rests while datagrams keep coming; true if it did, and both ports are worth a look.
    fn rest(&mut self) -> bool {
        let deadline = self.host.poll_timeout();
        let rest = self.moderation.rest(clock::monotonic(), deadline);
        if let Some(rest) = rest {
            std::thread::sleep(rest.into());
        }
        rest.is_some()
    }

    /// Tells the host every deadline that has come, and the wall clock and news when they are due.
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
        if now >= self.next_wall {
            self.next_wall = now + WALL_INTERVAL;
            self.tell(now, Input::Wall(clock::wall().as_nanos()));
        }
        if self.news_due.is_some_and(|due| due <= now) {
            self.news_due = None;
            self.tell(now, Input::LinkUp);
        }
    }

    fn tell(&mut self, now: Instant, input: Input) {
        self.host.handle_input(now, input);
        self.carry_out();
    }

    /// Tells applications what has happened.
    fn announce(&mut self) {
        for event in self.work.events.drain(..) {
            if let Some(announcer) = &mut self.ports.announcer {
                announcer.note(clock::monotonic(), &event);
            }
        }
    }

    /// Carries out what the host asks for.
    fn carry_out(&mut self) {
        carry_out(&mut self.host, &mut self.ports.device, &mut self.work);
    }

    /// Waits for the next event or deadline.
    fn wait(&mut self) -> Result<Found, RuntimeError> {
        let own = machine::earlier(self.news_due, Some(self.next_wall));
        let deadline = machine::earlier(self.host.poll_timeout(), own);
        let needs_flush = self.work.sockets.as_ref().is_some_and(Sockets::needs_flush);
        let timeout = match deadline {
            _ if needs_flush => Some(Duration::ZERO),
            deadline => deadline.map(|deadline| deadline.since(clock::monotonic())),
        };
        self.work.counters.waits += 1;
        let mut found = Found::default();
        let mut askers: [Option<u64>; 16] = [None; 16];
        for (ready, asker) in self.waiter.wait(timeout)?.zip(&mut askers) {
            match ready.token {
                DEVICE => found.device = true,
                SOCKETS => found.sockets = true,
                BEARER => found.bearer = ready.readable,
                SIGNALS => found.stopped = self.ports.signals.as_mut().and_then(ending),
                WOKEN => found.stopped = Some(Stopped::Woken),
                NETWORK => found.network = true,
                token => *asker = Some(token),
            }
        }
        for token in askers.into_iter().flatten() {
            match token {
                ANNOUNCER | FIRST_SUBSCRIBER.. => self.listened(token)?,
                FINDER => self.take_found()?,
                _ => self.answer(token)?,
            }
        }
        if found.network {
            self.hear_news()?;
        }
        Ok(found)
    }

    /// Takes what has become ready of the sockets.
    fn read_sockets(&mut self) -> io::Result<()> {
        if let Some(sockets) = &mut self.work.sockets {
            sockets.take_ready()?;
            self.carry_out();
        }
        Ok(())
    }

    /// Notes that the network has changed.
    fn hear_news(&mut self) -> Result<(), RuntimeError> {
        let Some(network) = &mut self.ports.network else {
            return Ok(());
        };
        if !network.changed()? {
            return Ok(());
        }
        let footing = self
            .ports
            .bearer
            .follow_network()
            .map_err(RuntimeError::Bearer)?;
        let now = clock::monotonic();
        match footing {
            Footing::Lost => self.tell(now, Input::LinkChanging),
            Footing::Found => {
                self.tell(now, Input::LinkChanging);
                self.tell(now, Input::LinkUp);
            }
            Footing::Uncertain if self.news_due.is_none() => {
                self.news_due = Some(now + SETTLING);
                self.tell(now, Input::LinkChanging);
            }
            Footing::Unchanged | Footing::Uncertain => {}
        }
        Ok(())
    }

    /// Takes one batch of datagrams.
    fn read_bearer(&mut self) -> Result<Batch, RuntimeError> {
        let Self {
            host, ports, work, ..
        } = self;
        let Ports { device, bearer, .. } = ports;
        let now = clock::monotonic();
        let mut sink = |arrival: Arrival, datagram: &mut [u8]| {
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

    /// Takes the device's share of a turn.
    fn read_device(&mut self) -> Result<(), RuntimeError> {
        let mut bytes = 0;
        for _ in 0..PACKETS_A_TURN {
            let Some(packet) = self.ports.device.receive().map_err(RuntimeError::Device)? else {
                break;
            };
            bytes += packet.buffer.len();
            self.tell(clock::monotonic(), Input::Packet(packet));
            if self.work.outbox.len() >= BATCH {
                self.flush()?;
            }
            if bytes >= BYTES_A_TURN || self.blocked {
                break;
            }
        }
        Ok(())
    }

    /// Hands on what waits: bytes to sockets, and datagrams to the bearer, whose room is watched where some are left.
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
            // The device would stay ready, and a wait return at once.
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

    /// Lets in who wants to listen, or hears that one has gone.
    fn listened(&mut self, token: u64) -> io::Result<()> {
        let Some(announcer) = &mut self.ports.announcer else {
            return Ok(());
        };
        if token == ANNOUNCER {
            announcer.publisher.accept(&self.waiter, FIRST_SUBSCRIBER)
        } else {
            announcer.publisher.gone(token);
            Ok(())
        }
    }

    /// Lets in who wants to ask, or goes on with one who does.
    fn answer(&mut self, token: u64) -> io::Result<()> {
        let Some(mut control) = self.ports.control.take() else {
            return Ok(());
        };
        if token == CONTROL {
            control.accept(&self.waiter, FIRST_CLIENT)?;
        } else {
            // A status is numbers and text; nothing in it can refuse to become JSON.
            let status = || serde_json::to_string(&self.status()).unwrap_or_default();
            control.serve(token, &self.waiter, status);
        }
        self.ports.control = Some(control);
        Ok(())
    }
}

/// The signal that ends the loop, if one came.
fn ending(signals: &mut Signals) -> Option<Stopped> {
    let ends = |signal: &Signal| signal.ends();
    // Every signal that came is taken, whichever of them counts.
    let came: Vec<_> = signals.pending().filter(ends).collect();
    came.first().map(|signal| Stopped::By(*signal))
}
