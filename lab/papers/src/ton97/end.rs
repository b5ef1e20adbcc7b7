//! An end of a connection that crosses the hop: TCP's, or MTCP's, which has no IP below it.

use machine::{Machine, earlier};
use mtcp::{Addresses, ConnectionId};
use redirector::Count;
use tcp::Endpoint;
use units::{Duration, Instant};
use wire::TcpSegment;

use super::radio::Waiting;

/// What an endpoint of MTCP calls the connection that it asks for.
const OPENED: u64 = 0;

/// An end of either transport. Both are told what TCP's is ([`tcp::Input`]), and tell what it does ([`Said`]).
#[derive(Debug)]
pub(crate) enum End {
    Tcp(Box<Endpoint>),
    Mtcp(Box<Mtcp>),
}

/// What an end has to say.
#[derive(Debug)]
pub(crate) enum Said {
    /// A packet of MTCP leaves.
    Mtcp(mtcp::Packet<Count>),
    /// Anything else; a segment leaves if it is one.
    Tcp(tcp::Output),
}

/// What an end has sent, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// Data, every transmission counted, in bytes.
    pub(crate) bytes: u64,
    /// Packets with data that had been sent before.
    pub(crate) again: u64,
    /// Retransmission timers that went off. Of MTCP all timers that sent something.
    pub(crate) timeouts: u64,
    /// Recoveries that acknowledgements brought about.
    pub(crate) recoveries: u64,
    /// Data handed on in order, in bytes.
    pub(crate) received: u64,
}

impl End {
    /// Takes what the application, or the other half of a split connection, wants. No segments.
    pub(crate) fn handle_input(&mut self, now: Instant, input: tcp::Input) {
        match self {
            Self::Tcp(endpoint) => endpoint.handle_input(now, input),
            Self::Mtcp(mtcp) => mtcp.handle_input(now, input),
        }
    }

    /// A segment of TCP arrives.
    pub(crate) fn segment(&mut self, now: Instant, segment: TcpSegment) {
        if let Self::Tcp(endpoint) = self {
            endpoint.handle_input(now, tcp::Input::Segment(segment));
        }
    }

    /// A packet of MTCP arrives.
    pub(crate) fn packet(&mut self, now: Instant, packet: mtcp::Packet<Count>) {
        if let Self::Mtcp(mtcp) = self {
            mtcp.now = now;
            let packet = mtcp::Input::Packet(packet);
            mtcp.endpoint.handle_input(now, packet);
        }
    }

    /// See [`Machine::handle_timeout`].
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Tcp(endpoint) => endpoint.handle_timeout(now),
            Self::Mtcp(mtcp) => mtcp.handle_timeout(now),
        }
    }

    /// See [`Machine::poll_output`].
    pub(crate) fn poll_output(&mut self) -> Option<Said> {
        match self {
            Self::Tcp(endpoint) => endpoint.poll_output().map(Said::Tcp),
            Self::Mtcp(mtcp) => mtcp.poll_output(),
        }
    }

    /// See [`Machine::poll_timeout`].
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Tcp(endpoint) => endpoint.poll_timeout(),
            Self::Mtcp(mtcp) => mtcp.poll_timeout(),
        }
    }

    /// The endpoint of TCP, if it is one.
    pub(crate) fn tcp(&self) -> Option<&Endpoint> {
        match self {
            Self::Tcp(endpoint) => Some(endpoint),
            Self::Mtcp(_) => None,
        }
    }

    /// The smoothed round trip, if it is one of MTCP that has measured any.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        match self {
            Self::Tcp(_) => None,
            Self::Mtcp(mtcp) => mtcp.endpoint.status(mtcp.connection)?.round_trip,
        }
    }

    /// Where it wants to be told what waits for the air, if it does.
    pub(crate) fn waiting(&self) -> Option<Waiting> {
        match self {
            Self::Tcp(_) => None,
            Self::Mtcp(mtcp) => mtcp.grants.as_ref().map(|grants| grants.waiting.clone()),
        }
    }

    /// What it has done.
    pub(crate) fn counts(&self) -> Counts {
        match self {
            Self::Tcp(endpoint) => Counts::of_tcp(endpoint),
            Self::Mtcp(mtcp) => mtcp.counts(),
        }
    }
}

impl From<Endpoint> for End {
    fn from(endpoint: Endpoint) -> Self {
        Self::Tcp(Box::new(endpoint))
    }
}

impl From<Mtcp> for End {
    fn from(mtcp: Mtcp) -> Self {
        Self::Mtcp(Box::new(mtcp))
    }
}

impl Counts {
    /// What an endpoint of TCP has done.
    pub(crate) fn of_tcp(endpoint: &Endpoint) -> Self {
        let counters = endpoint.counters();
        Self {
            bytes: counters.sent.bytes,
            again: counters.sent.retransmitted_segments,
            timeouts: counters.recovered.timeouts,
            recoveries: counters.recovered.fast_retransmissions,
            received: counters.received.bytes,
        }
    }
}

/// One connection of MTCP.
#[derive(Debug)]
pub(crate) struct Mtcp {
    endpoint: mtcp::Endpoint<Count>,
    addresses: Addresses,
    connection: ConnectionId,
    grants: Option<Grants>,
    now: Instant,
}

/// Takes a packet from MTCP only when none waits for the air, so that repairs need not wait behind a window.
#[derive(Debug)]
struct Grants {
    /// What waits for the air.
    waiting: Waiting,
    /// How often it is looked at after a packet has left.
    every: Duration,
    next: Option<Instant>,
}

impl Mtcp {
    /// An end that asks for a connection between `addresses` when told to connect, and agrees to one that the other
    /// end asks for.
    pub(crate) fn new(endpoint: mtcp::Endpoint<Count>, addresses: Addresses) -> Self {
        Self {
            endpoint,
            addresses,
            connection: ConnectionId::Opened(OPENED),
            grants: None,
            now: Instant::ZERO,
        }
    }

    /// The same, but packets wait here and not for the air; so often it is looked whether the air takes one.
    pub(crate) fn granted(mut self, every: Duration) -> Self {
        self.endpoint.handle_input(self.now, mtcp::Input::Room(1));
        self.grants = Some(Grants {
            waiting: Waiting::default(),
            every,
            next: None,
        });
        self
    }

    fn handle_input(&mut self, now: Instant, input: tcp::Input) {
        let connection = self.connection;
        self.now = now;
        let input = match input {
            tcp::Input::Connect => mtcp::Input::Open {
                number: OPENED,
                addresses: self.addresses,
            },
            tcp::Input::Write(count) => mtcp::Input::Write(connection, Count(count)),
            tcp::Input::Read(count) => mtcp::Input::Read(connection, count),
            tcp::Input::Close => mtcp::Input::Close(connection),
            tcp::Input::Abort => mtcp::Input::Abort(connection, mtcp::Reason::Aborted),
            // Of what the air lost, MTCP learns by itself.
            tcp::Input::Segment(_) | tcp::Input::AirLoss(_) => return,
        };
        self.endpoint.handle_input(now, input);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        self.endpoint.handle_timeout(now);
        if let Some(grants) = &mut self.grants
            && grants.next.take_if(|next| *next <= now).is_some()
        {
            if grants.waiting.get() == 0 {
                self.endpoint.handle_input(now, mtcp::Input::Room(1));
            } else {
                grants.next = Some(now + grants.every);
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let grants = self.grants.as_ref().and_then(|grants| grants.next);
        earlier(self.endpoint.poll_timeout(), grants)
    }

    fn poll_output(&mut self) -> Option<Said> {
        loop {
            return Some(Said::Tcp(match self.endpoint.poll_output()? {
                mtcp::Output::Packet(packet) => {
                    if let Some(grants) = &mut self.grants {
                        grants.next = Some(self.now + grants.every);
                    }
                    return Some(Said::Mtcp(packet));
                }
                mtcp::Output::Arrived(connection, _) => {
                    self.connection = connection;
                    let accept = mtcp::Input::Accept(connection);
                    self.endpoint.handle_input(self.now, accept);
                    continue;
                }
                mtcp::Output::Connected(_) => tcp::Output::Connected,
                mtcp::Output::Readable(_, count) => tcp::Output::Readable(count),
                mtcp::Output::Writable(_, room) => tcp::Output::Writable(room),
                mtcp::Output::Finished(_) => tcp::Output::Finished,
                mtcp::Output::Reset(..) => tcp::Output::Reset,
                // Counted bytes say no more than their count, which is known. Nobody listens by name.
                _ => continue,
            }));
        }
    }

    fn counts(&self) -> Counts {
        let traffic = self.endpoint.counters().traffic;
        Counts {
            bytes: traffic.sent.bytes,
            again: traffic.sent.repairs,
            timeouts: traffic.timeouts,
            recoveries: traffic.received.followed,
            received: traffic.received.bytes,
        }
    }
}
