//! An end of a connection that crosses the hop: of TCP, or of MTCP, which has no IP below it.

use machine::{Machine, earlier};
use mtcp::{Addresses, ConnectionId};
use redirector::Count;
use tcp::Endpoint;
use units::{Duration, Instant};
use wire::TcpSegment;

use super::driver::Waiting;

/// Number that an MTCP endpoint gives to the connection that it opens.
const OPENED: u64 = 0;

/// An end of either transport. Both take the inputs of TCP ([`tcp::Input`]) and return its outputs ([`EndOutput`]).
#[derive(Debug)]
pub(crate) enum End {
    Tcp(Box<Endpoint>),
    Mtcp(Box<Mtcp>),
}

/// An output of an end.
#[derive(Debug)]
pub(crate) enum EndOutput {
    /// A packet of MTCP to send.
    Mtcp(mtcp::Packet<Count>),
    /// Any other output, segments to send included.
    Tcp(tcp::Output),
}

/// Counters of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// Bytes of data sent, every transmission counted.
    pub(crate) bytes: u64,
    /// Retransmitted packets with data.
    pub(crate) again: u64,
    /// Retransmission timeouts. For MTCP, all timeouts after which something was sent.
    pub(crate) timeouts: u64,
    /// Recoveries that began by acknowledgements.
    pub(crate) recoveries: u64,
    /// Bytes of data delivered in order.
    pub(crate) received: u64,
}

impl End {
    /// Takes an input of the application, or of the other half of a split connection; segments are ignored.
    pub(crate) fn handle_input(&mut self, now: Instant, input: tcp::Input) {
        match self {
            Self::Tcp(endpoint) => endpoint.handle_input(now, input),
            Self::Mtcp(mtcp) => mtcp.handle_input(now, input),
        }
    }

    /// Takes a segment of TCP.
    pub(crate) fn segment(&mut self, now: Instant, segment: TcpSegment) {
        if let Self::Tcp(endpoint) = self {
            endpoint.handle_input(now, tcp::Input::Segment(segment));
        }
    }

    /// Takes a packet of MTCP.
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
    pub(crate) fn poll_output(&mut self) -> Option<EndOutput> {
        match self {
            Self::Tcp(endpoint) => endpoint.poll_output().map(EndOutput::Tcp),
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

    /// Returns the endpoint of TCP, if it is one.
    pub(crate) fn tcp(&self) -> Option<&Endpoint> {
        match self {
            Self::Tcp(endpoint) => Some(endpoint),
            Self::Mtcp(_) => None,
        }
    }

    /// Returns the smoothed round-trip time of MTCP, if it has measured one.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        match self {
            Self::Tcp(_) => None,
            Self::Mtcp(mtcp) => mtcp.endpoint.status(mtcp.connection)?.round_trip,
        }
    }

    /// Returns the counter for the packets that wait for the air, if it needs their number.
    pub(crate) fn waiting(&self) -> Option<Waiting> {
        match self {
            Self::Tcp(_) => None,
            Self::Mtcp(mtcp) => mtcp.grants.as_ref().map(|grants| grants.waiting.clone()),
        }
    }

    /// Returns its counters.
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
    /// Returns the counters of an endpoint of TCP.
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

/// Takes a packet from MTCP only when none waits for the air, so that retransmissions do not wait behind a window.
#[derive(Debug)]
struct Grants {
    /// Number of packets that wait for the air.
    waiting: Waiting,
    /// Time between two looks at that number after a packet has left.
    every: Duration,
    next: Option<Instant>,
}

impl Mtcp {
    /// Creates an end that opens a connection between `addresses` on [`tcp::Input::Connect`], and accepts one that the
    /// peer opens.
    pub(crate) fn new(endpoint: mtcp::Endpoint<Count>, addresses: Addresses) -> Self {
        Self {
            endpoint,
            addresses,
            connection: ConnectionId::Opened(OPENED),
            grants: None,
            now: Instant::ZERO,
        }
    }

    /// Returns the same end, but packets wait here instead of in the queue of the air; it checks that queue at this
    /// interval.
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
            // MTCP detects the losses of the air itself.
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

    fn poll_output(&mut self) -> Option<EndOutput> {
        loop {
            return Some(EndOutput::Tcp(match self.endpoint.poll_output()? {
                mtcp::Output::Packet(packet) => {
                    if let Some(grants) = &mut self.grants {
                        grants.next = Some(self.now + grants.every);
                    }
                    return Some(EndOutput::Mtcp(packet));
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
                // Counted bytes carry no content beyond their count, which is known. No application listens by name.
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
