//! The hosts, the events between them, and time.

use std::collections::{BTreeMap, VecDeque};

use hosts::{Input, Output, SystemEvent, SystemRequest};
use machine::{RandomStream, earlier, fnv1a};
use redirector::Chunks;
use split::{Refusal, SocketEvent, SocketRequest};
use units::{Duration, Instant};
use wire::flow::Ends;
use wire::packet::Packet;

use crate::flow::Flow;
use crate::mounts::Files;
use crate::network::{Datagram, Network};
use crate::oracle::{Keys, Violation};
use crate::path::Path;
use crate::probes::Probes;
use crate::process::{Identity, LOOPBACK, Process};
use crate::stranger::{HOSTILE, Hostile};
use crate::{Report, Setting};

/// First port of the side that opens a connection; each has its own.
pub(crate) const FIRST_PORT: u16 = 1_024;
/// Most calls of machines at one instant (R11).
const CALLS_AT_ONCE: u64 = 50_000;
/// Interval at which a host reads its wall clock.
const MINUTE: Duration = Duration::from_secs(60);
/// Time between two SYNs of a connection.
const REPETITION: Duration = Duration::from_secs(10);
/// Number of SYNs after which a side gives up, as kernels do after two minutes.
pub(crate) const SYNS: u32 = 12;

/// A connection of two applications.
pub(crate) enum Connection {
    /// Its packets cross the hop.
    Packets(Box<Flow>),
    /// Both hosts split it; the sockets are those of the processes' systems.
    Split {
        /// Number of the mobile host.
        mobile: usize,
        /// Side that opened it.
        opener: usize,
        /// Its ends; the source is the side that opened it.
        ends: Ends,
    },
}

/// Something that happens later.
pub(crate) enum Event {
    Arrives(Datagram),
    Starts(usize),
    /// A process ends for good.
    Ends(usize),
    /// The side that opened a split connection sends its SYN so many times more if that is not answered.
    Repeats(usize, u32),
    Minute,
    /// A silence of the server of files ends.
    ServerAnswers,
}

/// Everything that is counted and checked.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) keys: Keys,
    /// True if something in the run may end connections: an application, or the end of a process.
    pub(crate) may_reset: bool,
    mark: u64,
    calls: u64,
    /// Time of the last call, and number of calls at it.
    calls_at: (Instant, u64),
    violation: Option<Violation>,
}

/// Events that are due at their times, in the order in which they were scheduled.
#[derive(Default)]
struct Schedule {
    events: BTreeMap<(Instant, u64), Event>,
    /// Number of events scheduled so far.
    number: u64,
}

/// The world of a run.
pub(crate) struct World {
    pub(crate) setting: Setting,
    pub(crate) now: Instant,
    pub(crate) processes: Vec<Process>,
    pub(crate) network: Network,
    pub(crate) connections: Vec<Connection>,
    pub(crate) probes: Probes,
    pub(crate) hostile: Hostile,
    /// Server of files and mounts, if any are used.
    pub(crate) files: Option<Box<Files>>,
    pub(crate) random: RandomStream,
    schedule: Schedule,
    pub(crate) inbox: VecDeque<(usize, Input)>,
    pub(crate) ledger: Ledger,
}

impl World {
    pub(crate) fn new(setting: Setting) -> Self {
        let gateways = 1 + usize::from(setting.has_standby);
        let mobiles = (0..setting.mobiles).map(Identity::Mobile);
        let identities = std::iter::repeat_n(Identity::Gateway, gateways).chain(mobiles);
        let processes = identities.enumerate();
        let processes: Vec<_> = processes
            .map(|(number, identity)| Process::new(identity, number))
            .collect();
        let wall = processes[0].wall(Instant::ZERO);
        let mut world = Self {
            setting,
            now: Instant::from_millis(1),
            processes,
            network: Network::new(),
            connections: Vec::new(),
            probes: Probes::default(),
            hostile: Hostile::new(&setting, wall),
            files: None,
            random: RandomStream::named(setting.seed, "faults"),
            schedule: Schedule::default(),
            inbox: VecDeque::new(),
            ledger: Ledger::default(),
        };
        for number in 0..setting.mobiles {
            let process = world.mobile(number);
            world.network.add(process, world.path());
        }
        world.network.add(HOSTILE, world.path());
        for process in 0..world.processes.len() {
            world.start(process);
        }
        world.schedule(MINUTE, Event::Minute);
        world
    }

    /// Returns a path without faults.
    pub(crate) fn path(&self) -> Path {
        Path::new(self.setting.rate, self.setting.delay)
    }

    /// Returns the process of a mobile host, by its number.
    pub(crate) fn mobile(&self, number: usize) -> usize {
        1 + usize::from(self.setting.has_standby) + number
    }

    /// Returns the number of processes that exist from the start; those after them are clones.
    pub(crate) fn originals(&self) -> usize {
        self.mobile(self.setting.mobiles)
    }

    pub(crate) fn schedule(&mut self, after: Duration, event: Event) {
        self.schedule.number += 1;
        let place = (self.now + after, self.schedule.number);
        self.schedule.events.insert(place, event);
    }

    /// Starts a process after a time.
    pub(crate) fn start_after(&mut self, after: Duration, process: usize) {
        self.schedule(after, Event::Starts(process));
    }

    /// Ends a process for good after a time.
    pub(crate) fn end_after(&mut self, after: Duration, process: usize) {
        self.schedule(after, Event::Ends(process));
    }

    /// Starts a process that does not run.
    pub(crate) fn start(&mut self, process: usize) {
        if self.processes[process].host().is_some() {
            return;
        }
        let gateway = self.network.gateway_address();
        self.processes[process].start(&self.setting, gateway);
        self.read_clock(process);
    }

    /// Hands in the reading of a process's wall clock.
    pub(crate) fn read_clock(&mut self, process: usize) {
        let wall = self.processes[process].wall(self.now);
        self.input(process, Input::Wall(wall));
    }

    /// Notes a broken promise; the first one counts.
    pub(crate) fn fail(&mut self, promise: &'static str, text: impl Into<String>) {
        let violation = Violation::new(promise, self.now, text);
        self.ledger.violation.get_or_insert(violation);
    }

    /// Returns the first broken promise, if any.
    pub(crate) fn verdict(&self) -> Result<(), Violation> {
        self.ledger.violation.clone().map_or(Ok(()), Err)
    }

    pub(crate) fn report(&self) -> Report {
        Report {
            time: self.now.since_origin(),
            calls: self.ledger.calls,
            mark: self.ledger.mark,
        }
    }

    /// Hands an input to a process, and carries out what follows from it.
    pub(crate) fn input(&mut self, process: usize, input: Input) {
        self.inbox.push_back((process, input));
        self.settle();
    }

    /// Hands a packet of the wired network to the gateway, or one of a mobile host to its daemon.
    pub(crate) fn packet(&mut self, side: usize, mobile: usize, packet: Packet) {
        let process = if side == 0 {
            self.mobile(mobile)
        } else {
            self.network.gateway
        };
        self.inbox.push_back((process, Input::Packet(packet)));
    }

    /// As [`World::packet`], and carries out what follows.
    pub(crate) fn send_packet(&mut self, side: usize, mobile: usize, packet: Packet) {
        self.packet(side, mobile, packet);
        self.settle();
    }

    /// Handles all inputs.
    pub(crate) fn settle(&mut self) {
        while let Some((process, input)) = self.inbox.pop_front() {
            self.count_call();
            self.processes[process].handle_input(self.now, input);
            self.drain(process);
        }
    }

    fn count_call(&mut self) {
        self.ledger.calls += 1;
        let (at, count) = &mut self.ledger.calls_at;
        if *at != self.now {
            (*at, *count) = (self.now, 0);
        }
        *count += 1;
        if *count > CALLS_AT_ONCE {
            self.inbox.clear();
            self.fail(
                "R11",
                format!("more than {CALLS_AT_ONCE} calls at one instant"),
            );
        }
    }

    /// Carries out the outputs of a process.
    pub(crate) fn drain(&mut self, process: usize) {
        while let Some(output) = self.processes[process].poll_output() {
            self.carry_out(process, output);
        }
        if let Some((0, downtime)) = self.processes[process].killed_after {
            self.processes[process].kill();
            self.start_after(downtime, process);
        }
        let system = &mut self.processes[process].system;
        while system.answer(Ok(())).is_some() {}
        while let Some(event) = system.poll_event() {
            self.inbox.push_back((process, Input::System(event)));
        }
    }

    fn carry_out(&mut self, process: usize, output: Output) {
        match output {
            Output::Datagram { to, buffer, .. } => self.launch(process, to, buffer.to_vec()),
            Output::Packet(packet) => self.released(process, &packet),
            Output::System(request) => self.system_asked(process, request),
            Output::Seek { peer } => {
                let found = Input::Found {
                    peer,
                    at: self.network.gateway_address(),
                };
                self.inbox.push_back((process, found));
            }
            Output::Event(_)
            | Output::Claim { .. }
            | Output::Resolvers(_)
            | Output::Exits { .. }
            | Output::HandedOver(_)
            | Output::Told => {}
        }
    }

    /// Carries out a request to the system beside a process.
    fn system_asked(&mut self, process: usize, request: SystemRequest<Chunks>) {
        match request {
            // No kernel's TCP stands at the other end of the hop.
            SystemRequest::Socket(id, SocketRequest::Connect(connect)) if connect.crosses_hop => {
                let failed = SystemEvent::Socket(id, SocketEvent::Failed(Refusal::NoAnswer));
                self.inbox.push_back((process, Input::System(failed)));
            }
            request => {
                let is_intruded = matches!(&request,
                    SystemRequest::Socket(_, SocketRequest::Connect(connect))
                        if connect.destination.ip() == LOOPBACK);
                if is_intruded && process >= self.mobile(0) {
                    self.fail(
                        "S13",
                        "a connection from the gateway to a loopback interface",
                    );
                }
                self.processes[process].system.carry_out(request);
            }
        }
    }

    /// Mixes an output into the mark (FNV-1a).
    pub(crate) fn note(&mut self, process: usize, bytes: &[u8]) {
        let time = self.now.as_nanos().to_le_bytes();
        let head = [process as u8, bytes.len() as u8];
        let mark = fnv1a(fnv1a(self.ledger.mark, &time), &head);
        self.ledger.mark = fnv1a(mark, bytes);
    }

    /// Hands in the packets of a connection's ends.
    pub(crate) fn pump(&mut self, number: usize) {
        while let Some(Connection::Packets(flow)) = self.connections.get_mut(number)
            && let Some((side, packet)) = flow.poll_packet(self.now)
        {
            let mobile = flow.mobile;
            self.packet(side, mobile, packet);
        }
    }

    /// Acts on a connection whose packets cross, and carries out what follows.
    pub(crate) fn act_on_flow(&mut self, number: usize, act: impl FnOnce(&mut Flow, Instant)) {
        if let Some(Connection::Packets(flow)) = self.connections.get_mut(number) {
            act(flow, self.now);
        }
        self.pump(number);
        self.settle();
    }

    /// Returns the process that a side's application stands behind.
    pub(crate) fn process_at(&self, mobile: usize, side: usize) -> usize {
        if side == 0 {
            self.mobile(mobile)
        } else {
            self.network.gateway
        }
    }

    /// Sends the SYN of a split connection, and again so many times until it is answered.
    pub(crate) fn ask(&mut self, number: usize, left: u32) {
        let Some(Connection::Split {
            mobile,
            opener,
            ends,
        }) = self.connections.get(number)
        else {
            return;
        };
        let (mobile, opener, ends) = (*mobile, *opener, *ends);
        let mut sides = 0..self.originals();
        let process = sides.find(|process| self.processes[*process].system.repeat(&ends).is_some());
        let Some(system) = process.map(|process| &mut self.processes[process].system) else {
            return;
        };
        match left.checked_sub(1) {
            None => system.give_up(&ends),
            Some(left) => {
                let syn = system.repeat(&ends);
                self.schedule(REPETITION, Event::Repeats(number, left));
                if let Some(syn) = syn {
                    self.send_packet(opener, mobile, syn);
                }
            }
        }
    }

    /// Returns the time at which something must happen.
    fn deadline(&self) -> Option<Instant> {
        let event = self
            .schedule
            .events
            .first_key_value()
            .map(|((at, _), _)| *at);
        let processes = self.processes.iter().map(Process::poll_timeout);
        let connections = self.connections.iter().map(|connection| match connection {
            Connection::Packets(flow) => flow.poll_timeout(),
            Connection::Split { .. } => None,
        });
        let own = processes.chain(connections).fold(event, earlier);
        let files = self.files.as_ref().and_then(|files| files.poll_timeout());
        earlier(earlier(own, self.hostile.poll_timeout()), files)
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, span: Duration) -> Result<(), Violation> {
        let end = self.now + span;
        while let Some(at) = self.deadline().filter(|at| *at <= end) {
            self.now = at.max(self.now);
            self.act();
            self.verdict()?;
        }
        self.now = end;
        Ok(())
    }

    /// Handles everything that is due now.
    fn act(&mut self) {
        let now = self.now;
        self.count_call();
        while let Some(entry) = self.schedule.events.first_entry()
            && entry.key().0 <= now
        {
            match entry.remove() {
                Event::Arrives(datagram) => self.arrives(datagram),
                Event::Starts(process) => self.start(process),
                Event::Ends(process) => self.processes[process].kill(),
                Event::Repeats(number, left) => self.ask(number, left),
                Event::ServerAnswers => self.server_answers(),
                Event::Minute => {
                    (0..self.processes.len()).for_each(|process| self.read_clock(process));
                    self.schedule(MINUTE, Event::Minute);
                }
            }
        }
        for process in 0..self.processes.len() {
            if self.processes[process]
                .poll_timeout()
                .is_some_and(|at| at <= now)
            {
                while let Some(input) = self.processes[process].poll_waiting(now) {
                    self.input(process, input);
                }
                self.count_call();
                self.processes[process].handle_timeout(now);
                self.drain(process);
                self.settle();
                if self.processes[process].spins() {
                    self.fail(
                        "R11",
                        format!("process {process} wakes up for nothing, again and again"),
                    );
                }
            }
        }
        for number in 0..self.connections.len() {
            self.act_on_flow(number, |flow, now| {
                if flow.poll_timeout().is_some_and(|at| at <= now) {
                    flow.handle_timeout(now);
                }
            });
        }
        self.act_on_mounts();
        if self.hostile.poll_timeout().is_some_and(|at| at <= now) {
            self.hostile.handle_timeout(now);
            self.drain_hostile();
            self.settle();
        }
    }
}
