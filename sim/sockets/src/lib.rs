//! The system beside a [`split::Splitter`], in memory: its sockets, and the applications at the other ends of these.
//!
//! Every stream has its own content, which is checked on arrival: an application that receives the end of a stream has
//! received all of it.

mod application;
mod syn;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};

pub use application::{Application, Role, State};
use bytes::Bytes;
use redirector::{Chunks, Content};
use split::{Connect, Refusal, SocketEvent, SocketId, SocketRequest, SystemEvent, SystemRequest};
use wire::flow::Ends;
use wire::ip::Transport;
use wire::packet::Packet;
use wire::tcp::TcpFlags;

/// Bytes that a socket holds for an application that does not read.
const ROOM: u64 = 256 << 10;

/// The sockets of a host and the applications connected to them.
#[derive(Debug)]
pub struct System {
    addresses: Vec<IpAddr>,
    applications: BTreeMap<Ends, Application>,
    sockets: BTreeMap<SocketId, Ends>,
    /// Connections that the splitter opened and that are not answered yet.
    connecting: VecDeque<(SocketId, Ends)>,
    /// Connections that were accepted, and have no socket id yet.
    accepted: BTreeSet<Ends>,
    events: VecDeque<SystemEvent<Chunks>>,
}

impl System {
    /// Returns the system of a host with these addresses.
    pub fn new(addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        Self {
            addresses: addresses.into_iter().collect(),
            applications: BTreeMap::new(),
            sockets: BTreeMap::new(),
            connecting: VecDeque::new(),
            accepted: BTreeSet::new(),
            events: VecDeque::new(),
        }
    }

    /// Returns the application that has, or had, a connection between these endpoints.
    pub fn application(&self, ends: &Ends) -> Option<&Application> {
        self.applications.get(ends)
    }

    /// Returns all applications.
    pub fn applications(&self) -> impl Iterator<Item = (&Ends, &Application)> {
        self.applications.iter()
    }

    /// Returns the number of sockets that exist.
    pub fn sockets(&self) -> usize {
        self.sockets.len()
    }

    /// Returns the next event for the splitter.
    pub fn poll_event(&mut self) -> Option<SystemEvent<Chunks>> {
        self.events.pop_front()
    }

    /// Makes an application open a connection; returns its SYN packet.
    pub fn open(&mut self, source: SocketAddr, destination: SocketAddr) -> Packet {
        let ends = Ends {
            source,
            destination,
        };
        let asker = Application::new(Role::Asker, source.port());
        self.applications.insert(ends, asker);
        syn::syn(&ends)
    }

    /// Returns the SYN packet again of a connection that an application opened and that is not answered yet.
    pub fn repeat(&self, ends: &Ends) -> Option<Packet> {
        let application = self.applications.get(ends)?;
        let is_asking = application.state() == State::Asking;
        is_asking.then(|| syn::syn(ends))
    }

    /// Makes an application give up its request for a connection, if that is not answered yet.
    pub fn give_up(&mut self, ends: &Ends) {
        if let Some(application) = self.applications.get_mut(ends) {
            application.refuse();
        }
    }

    /// Handles a packet for this host; returns true if it answered a connection request of its applications.
    pub fn packet(&mut self, packet: &Packet) -> bool {
        let Some(parsed) = packet.ip() else {
            return false;
        };
        let Transport::Tcp(tcp) = parsed.transport() else {
            return false;
        };
        let ends = Ends::of(&parsed);
        if tcp.asks_for_connection() {
            self.events.push_back(SystemEvent::Accepted(ends));
            return self.accepted.insert(ends);
        }
        let asked = Ends {
            source: ends.destination,
            destination: ends.source,
        };
        let application = self.applications.get_mut(&asked);
        let is_refused = tcp.flags().contains(TcpFlags::RST);
        application.is_some_and(|application| is_refused && application.refuse())
    }

    /// Answers the oldest connection request of the splitter; returns its endpoints, if there was one.
    pub fn answer(&mut self, answer: Result<(), Refusal>) -> Option<Ends> {
        let (id, ends) = self.connecting.pop_front()?;
        match answer {
            Ok(()) => {
                let application = Application::new(Role::Answerer, ends.source.port());
                self.applications.insert(ends, application);
                self.attach(id, ends);
                self.report(id, SocketEvent::Connected);
                self.report(id, SocketEvent::Writable(ROOM));
            }
            Err(refusal) => self.report(id, SocketEvent::Failed(refusal)),
        }
        Some(ends)
    }

    /// Makes an application write `count` bytes.
    pub fn write(&mut self, ends: &Ends, count: u64) {
        self.act(ends, |application| application.write(count));
    }

    /// Makes an application close its direction.
    pub fn finish(&mut self, ends: &Ends) {
        self.act(ends, Application::finish);
    }

    /// Makes an application stop reading, or resume it.
    pub fn set_reading(&mut self, ends: &Ends, reads: bool) {
        let Some(application) = self.applications.get_mut(ends) else {
            return;
        };
        application.set_reading(reads);
        let room = application.room(ROOM);
        if let Some(id) = self.socket_of(ends).filter(|_| room > 0) {
            self.report(id, SocketEvent::Writable(room));
        }
    }

    /// Makes an application reset its connection.
    pub fn reset(&mut self, ends: &Ends) {
        if let Some(application) = self.applications.get_mut(ends) {
            application.break_off();
        }
        if let Some(id) = self.socket_of(ends) {
            self.report(id, SocketEvent::Failed(Refusal::Refused));
        }
    }

    /// Kills the splitter's process: the kernel resets all of its sockets.
    pub fn kill(&mut self) {
        for ends in std::mem::take(&mut self.sockets).values() {
            if let Some(application) = self.applications.get_mut(ends) {
                application.break_off();
            }
        }
        self.connecting.clear();
        self.accepted.clear();
        self.events.clear();
    }

    /// Another process takes the place of the splitter's, and goes on with these sockets; the kernel resets the others.
    pub fn succeed(&mut self, kept: &BTreeSet<SocketId>) {
        let (kept, lost) = std::mem::take(&mut self.sockets)
            .into_iter()
            .partition(|(id, _)| kept.contains(id));
        self.sockets = lost;
        self.kill();
        self.sockets = kept;
        for (id, ends) in self.sockets.clone() {
            let application = self.applications.get(&ends);
            let room = application.map_or(0, |application| application.room(ROOM));
            self.report(id, SocketEvent::Writable(room));
            self.look(id);
        }
    }

    fn act(&mut self, ends: &Ends, act: impl FnOnce(&mut Application)) {
        if let Some(application) = self.applications.get_mut(ends) {
            act(application);
        }
        if let Some(id) = self.socket_of(ends) {
            self.look(id);
        }
    }

    fn socket_of(&self, ends: &Ends) -> Option<SocketId> {
        let mut sockets = self.sockets.iter();
        sockets.find(|(_, own)| *own == ends).map(|(id, _)| *id)
    }

    fn report(&mut self, id: SocketId, event: SocketEvent<Chunks>) {
        self.events.push_back(SystemEvent::Socket(id, event));
    }

    /// Carries out a request of the splitter.
    pub fn carry_out(&mut self, request: SystemRequest<Chunks>) {
        match request {
            SystemRequest::Locate { number, address } => {
                let is_local = self.addresses.contains(&address);
                let located = SystemEvent::Located { number, is_local };
                self.events.push_back(located);
            }
            SystemRequest::Divert => {}
            SystemRequest::Adopt(ends, id) => {
                if self.accepted.remove(&ends) {
                    self.attach(id, ends);
                    self.report(id, SocketEvent::Writable(ROOM));
                    self.look(id);
                }
            }
            SystemRequest::Dismiss(ends) => {
                self.accepted.remove(&ends);
                if let Some(application) = self.applications.get_mut(&ends) {
                    application.break_off();
                }
            }
            SystemRequest::Socket(id, SocketRequest::Connect(connect)) => self.connect(id, connect),
            SystemRequest::Socket(id, request) => self.ask(id, request),
        }
    }

    fn connect(&mut self, id: SocketId, connect: Connect) {
        let source = connect.source.unwrap_or(connect.destination);
        let destination = connect.destination;
        let ends = Ends {
            source,
            destination,
        };
        self.connecting.push_back((id, ends));
    }

    fn attach(&mut self, id: SocketId, ends: Ends) {
        self.sockets.insert(id, ends);
        if let Some(application) = self.applications.get_mut(&ends) {
            application.connect();
        }
    }

    fn ask(&mut self, id: SocketId, request: SocketRequest<Chunks>) {
        self.connecting.retain(|(asked, _)| *asked != id);
        let Some(ends) = self.sockets.get(&id) else {
            return;
        };
        let Some(application) = self.applications.get_mut(ends) else {
            return;
        };
        match request {
            SocketRequest::Connect(_) => {}
            SocketRequest::Read(count) => {
                let content = application.take(count);
                let content = Chunks::from(Bytes::from(content));
                let is_empty = content.length() == 0;
                if is_empty {
                    self.look(id);
                }
                self.report(id, SocketEvent::Data(content));
                if !is_empty {
                    self.look(id);
                }
            }
            SocketRequest::Write(content) => {
                content.iter().for_each(|bytes| application.receive(bytes));
                let room = application.room(ROOM);
                if room > 0 {
                    self.report(id, SocketEvent::Writable(room));
                }
            }
            SocketRequest::Finish => {
                application.end();
                self.report(id, SocketEvent::Flushed);
            }
            SocketRequest::Reset => {
                application.break_off();
                self.sockets.remove(&id);
            }
            SocketRequest::Release => {
                self.sockets.remove(&id);
            }
        }
    }

    /// Reports the bytes that can be read.
    fn look(&mut self, id: SocketId) {
        let application = self.sockets.get(&id);
        let application = application.and_then(|ends| self.applications.get(ends));
        let Some(application) = application else {
            return;
        };
        let (available, has_ended) = application.available();
        self.report(id, SocketEvent::Readable(available));
        if available == 0 && has_ended {
            self.report(id, SocketEvent::Finished);
        }
    }
}
