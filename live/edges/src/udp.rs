//! The UDP bearer: frames of the hop as UDP datagrams, many with each system call.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};
use units::{Bytes, Duration, Instant};
use wire::address::HopAddress;
use wire::ip::Ecn;
use wire::packet::PacketBuffer;

use crate::datagrams::{
    Arrival, Batch, BearerCounters, DatagramBearer, NetworkChange, PathLimit, PathReport, REPORTS,
    Sent, no_such_address, refuse,
};
use crate::error_queue::{self, Report};
use crate::socket::{
    canonical, context, enlarge_buffers, is_news_of_the_network, no_room, set_option,
};
use crate::stamps::Stamps;

mod group;

/// Number of messages that one receive call takes; each may be a train of datagrams.
const MESSAGES: usize = 16;
/// Room for a message, in bytes: the longest train that the kernel joins.
const MESSAGE_ROOM: usize = 65_536;
/// Number of network reports that are read at once.
const REPORTS_AT_ONCE: u32 = 1_024;
/// Most addresses with a closed port that are kept: those of a gateway, and of some mobile hosts.
const REFUSED_MOST: usize = 64;
/// Requested size of the kernel's buffer for datagrams that are not privileged.
const REST: Bytes = Bytes::mebi(1);
/// Largest payload of one send call in IPv4 (RFC 768: 65,535 minus both headers), in bytes.
const TRAIN_ROOM: usize = 65_507;

/// Options of a [`UdpBearer`].
#[derive(Debug, Clone)]
pub struct UdpOptions {
    /// Address to bind; with port 0 the kernel chooses. `[::]` includes IPv4.
    pub bind: SocketAddr,
    /// Use this interface only (`SO_BINDTODEVICE`).
    pub device: Option<String>,
    /// Mark of every datagram for policy routing (`SO_MARK`), so that it does not enter the tunnel that it carries.
    /// Needs `CAP_NET_ADMIN`.
    pub mark: Option<u32>,
    /// Requested size of the kernel's buffer in each direction.
    pub buffer: Bytes,
    /// Datagrams that have the kernel's buffer for themselves, if not all share it.
    pub privileged: Option<Privileged>,
}

/// Datagrams that others cannot displace: the rest, as a flood of handshakes, has a buffer of its own.
#[derive(Debug, Clone, Copy)]
pub struct Privileged {
    /// Their first byte.
    pub first_byte: u8,
    /// Their least length, in bytes.
    pub least: usize,
}

impl UdpOptions {
    /// Returns the defaults, bound to `bind`: any device, no mark, buffers of 8 MiB, which all datagrams share.
    pub fn new(bind: SocketAddr) -> Self {
        Self {
            bind,
            device: None,
            mark: None,
            buffer: Bytes::mebi(8),
            privileged: None,
        }
    }

    /// Opens a socket that is not bound yet.
    fn socket(&self) -> io::Result<Socket> {
        let bind = self.bind;
        let socket = Socket::new(Domain::for_address(bind), Type::DGRAM, Some(Protocol::UDP))
            .map_err(|error| context(&error, "cannot open a UDP socket"))?;
        if bind.is_ipv6() {
            socket.set_only_v6(!bind.ip().is_unspecified())?;
        }
        if let Some(device) = &self.device {
            let what = || format!("cannot bind a UDP socket to device {device}");
            socket
                .bind_device(Some(device.as_bytes()))
                .map_err(|e| context(&e, &what()))?;
        }
        if let Some(mark) = self.mark {
            let what = "cannot mark a UDP socket (this needs CAP_NET_ADMIN)";
            socket
                .set_mark(mark)
                .map_err(|error| context(&error, what))?;
        }
        Ok(socket)
    }
}

/// Returns true if this kernel sends several UDP datagrams at once (`UDP_SEGMENT`).
pub fn has_segmentation() -> bool {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP));
    let state = socket.and_then(|socket| UdpSocketState::new((&socket).into()));
    state.is_ok_and(|state| state.max_gso_segments() > 1)
}

/// A socket with the state of batches, bound.
struct Port {
    socket: Socket,
    state: UdpSocketState,
}

impl Port {
    fn new(socket: Socket, bind: SocketAddr, buffer: Bytes) -> io::Result<Self> {
        enlarge_buffers(&socket, usize::try_from(buffer.get()).unwrap_or(usize::MAX))?;
        let state = UdpSocketState::new((&socket).into())?;
        error_queue::enable(&socket, bind.is_ipv6())?;
        leave_out_destinations(&socket, bind)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, state })
    }
}

/// A UDP socket: non-blocking, never fragments, uses kernel time stamps, and batches both ways.
pub struct UdpBearer {
    port: Port,
    /// Receives what is not [privileged](UdpOptions::privileged).
    rest: Option<Port>,
    address: SocketAddr,
    ecn: Option<EcnCodepoint>,
    incoming: Box<[u8]>,
    train: Vec<u8>,
    stamps: Stamps,
    counters: BearerCounters,
    /// Addresses with a closed port that have not been asked for.
    refused: Vec<SocketAddr>,
    reports: Vec<PathReport>,
}

impl UdpBearer {
    /// Opens and binds a socket.
    ///
    /// # Errors
    /// An error names the failed step and the address or device.
    pub fn open(options: &UdpOptions) -> io::Result<Self> {
        let bind = options.bind;
        let socket = options.socket()?;
        let what = || format!("cannot bind UDP {bind}");
        socket
            .bind(&bind.into())
            .map_err(|error| context(&error, &what()))?;
        let address = socket.local_addr()?.as_socket().unwrap_or(bind);
        let port = Port::new(socket, bind, options.buffer)?;
        let rest = options.privileged.map(|privileged| {
            let rest = options.socket()?;
            for socket in [&port.socket, &rest] {
                group::share(socket)?;
            }
            rest.bind(&address.into())
                .map_err(|error| context(&error, &what()))?;
            group::divide(&port.socket, privileged.first_byte, privileged.least)?;
            Port::new(rest, bind, REST)
        });
        Ok(Self {
            port,
            rest: rest.transpose()?,
            address,
            ecn: None,
            incoming: vec![0; MESSAGES * MESSAGE_ROOM].into_boxed_slice(),
            train: Vec::with_capacity(TRAIN_ROOM),
            stamps: Stamps::default(),
            counters: BearerCounters::default(),
            refused: Vec::new(),
            reports: Vec::new(),
        })
    }

    /// Returns the buffer sizes that the kernel granted, for sending and for receiving. (It includes its own overhead,
    /// and so reports twice the requested size.)
    pub fn buffers(&self) -> io::Result<(Bytes, Bytes)> {
        Ok((
            self.port.socket.send_buffer_size()?.into(),
            self.port.socket.recv_buffer_size()?.into(),
        ))
    }

    /// Passes `contents` to the kernel as one datagram, or as a train of `segment_size`.
    fn hand_over(
        &mut self,
        to: SocketAddr,
        contents: &[u8],
        segment_size: Option<usize>,
    ) -> io::Result<()> {
        self.counters.send_calls += 1;
        let transmit = Transmit {
            destination: to,
            ecn: self.ecn,
            contents,
            segment_size,
            src_ip: None,
        };
        let Port { socket, state } = &self.port;
        state.try_send(socket.into(), &transmit)
    }

    /// Sends one run of equal datagrams as a train.
    fn send_train(&mut self, to: SocketAddr, run: &[PacketBuffer]) -> io::Result<()> {
        let mut train = std::mem::take(&mut self.train);
        train.clear();
        for datagram in run {
            train.extend_from_slice(datagram);
        }
        let result = self.hand_over(to, &train, Some(run[0].len()));
        self.train = train;
        result
    }

    fn report(&mut self, to: SocketAddr, limit: PathLimit) {
        if self.reports.len() < REPORTS {
            let to = canonical(to).into();
            self.reports.push(PathReport { to, limit });
        }
    }

    fn note_refusal(&mut self, to: SocketAddr) {
        if self.refused.len() < REFUSED_MOST && !self.refused.contains(&to) {
            self.refused.push(to);
        }
    }

    /// Empties the error queue, without which the socket would stay ready; returns true if another host has reported an
    /// error.
    fn hear_errors(&mut self) -> bool {
        let mut is_news = false;
        for _ in 0..REPORTS_AT_ONCE {
            // The kernel may queue a report at either socket.
            let next = |port: &Port| error_queue::next(&port.socket);
            let second = || self.rest.as_ref().and_then(next);
            let Some(report) = next(&self.port).or_else(second) else {
                break;
            };
            is_news |= report != Report::Local;
            match report {
                Report::PortClosed(to) => self.note_refusal(to),
                Report::TooLong { to, most } => self.report(to, PathLimit::Said(most)),
                Report::Other | Report::Local => {}
            }
        }
        is_news
    }

    /// Sends one datagram; returns false if there is no room for it now.
    fn send_one(&mut self, to: SocketAddr, datagram: &PacketBuffer, sent: &mut Sent) -> bool {
        let mut result = self.hand_over(to, datagram, None);
        if result.as_ref().is_err_and(|error| !no_room(error)) && self.hear_errors() {
            // The error concerned an earlier datagram.
            result = self.hand_over(to, datagram, None);
        }
        match result {
            Ok(()) => self.counters.sent += 1,
            Err(error) if no_room(&error) => return false,
            Err(error) => {
                let too_large = Errno::from_io_error(&error) == Some(Errno::MSGSIZE);
                self.counters.too_large += u64::from(too_large);
                if too_large {
                    self.report(to, PathLimit::Refused(datagram.len()));
                    // The error queue holds the same error.
                    self.hear_errors();
                }
                self.counters.refused += u64::from(!too_large);
                sent.dropped += 1;
                sent.problem = Some(error);
            }
        }
        sent.handled += 1;
        true
    }
}

impl DatagramBearer for UdpBearer {
    fn local_address(&self) -> HopAddress {
        self.address.into()
    }

    fn receive_batch(
        &mut self,
        now: Instant,
        sink: &mut impl FnMut(Arrival, &mut [u8]),
    ) -> io::Result<Batch> {
        let batch = self.receive_from(Which::Privileged, now, sink)?;
        if self.rest.is_none() {
            return Ok(batch);
        }
        // Each gets its turn, whatever waits at the other.
        let rest = self.receive_from(Which::Rest, now, sink)?;
        Ok(Batch {
            datagrams: batch.datagrams + rest.datagrams,
            is_full: batch.is_full || rest.is_full,
        })
    }

    fn send(&mut self, to: HopAddress, datagrams: &[PacketBuffer]) -> Sent {
        let HopAddress::Udp(to) = to else {
            return refuse(datagrams, no_such_address(), &mut self.counters);
        };
        let to = if self.address.is_ipv6() {
            mapped(to)
        } else {
            to
        };
        let mut sent = Sent::default();
        while sent.handled < datagrams.len() {
            let rest = &datagrams[sent.handled..];
            let run = &rest[..run_length(rest, self.port.state.max_gso_segments())];
            if run.len() > 1 {
                match self.send_train(to, run) {
                    Ok(()) => {
                        sent.handled += run.len();
                        self.counters.sent += run.len() as u64;
                        continue;
                    }
                    Err(error) if no_room(&error) => return sent,
                    // The device may not segment, a datagram is too large, or an error is pending: send each
                    // separately.
                    Err(_) => {
                        self.hear_errors();
                    }
                }
            }
            for datagram in run {
                if !self.send_one(to, datagram, &mut sent) {
                    return sent;
                }
            }
        }
        sent
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = EcnCodepoint::from_bits(ecn.bits());
    }

    fn follow_network(&mut self) -> io::Result<NetworkChange> {
        // The kernel follows routes and addresses; only an answer shows whether they lead to the peer.
        Ok(NetworkChange::Uncertain)
    }

    fn refused(&mut self) -> Option<HopAddress> {
        self.refused.pop().map(HopAddress::from)
    }

    fn counters(&self) -> BearerCounters {
        self.counters
    }

    fn more_descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let rest = self.rest.iter().map(|rest| rest.socket.as_fd());
        rest.collect()
    }

    fn path_reports(&mut self) -> Vec<PathReport> {
        std::mem::take(&mut self.reports)
    }
}

/// One of the sockets.
#[derive(Debug, Clone, Copy)]
enum Which {
    Privileged,
    Rest,
}

impl UdpBearer {
    /// Receives up to a batch from one of the sockets.
    fn receive_from(
        &mut self,
        which: Which,
        now: Instant,
        sink: &mut impl FnMut(Arrival, &mut [u8]),
    ) -> io::Result<Batch> {
        let mut incoming = std::mem::take(&mut self.incoming);
        let mut metas = [RecvMeta::default(); MESSAGES];
        let result = self.receive_messages(which, &mut incoming, &mut metas);
        self.stamps.compare_clocks();
        let mut datagrams = 0;
        let messages = *result.as_ref().unwrap_or(&0);
        for (room, meta) in incoming
            .chunks_exact_mut(MESSAGE_ROOM)
            .zip(&metas[..messages])
        {
            let at = self.stamps.arrival(now, meta.timestamp.map(Duration::from));
            let ecn = match meta.ecn {
                Some(EcnCodepoint::Ce) => Ecn::CongestionExperienced,
                Some(EcnCodepoint::Ect0) => Ecn::Capable0,
                Some(EcnCodepoint::Ect1) => Ecn::Capable1,
                None => Ecn::NotCapable,
            };
            let arrival = Arrival {
                from: canonical(meta.addr).into(),
                at,
                ecn,
            };
            for datagram in room[..meta.len].chunks_mut(meta.stride.max(1)) {
                datagrams += 1;
                sink(arrival, datagram);
            }
        }
        self.incoming = incoming;
        self.counters.received += datagrams as u64;
        result.map(|messages| Batch {
            datagrams,
            is_full: messages == MESSAGES,
        })
    }

    /// Makes one receive call; returns the number of messages.
    fn receive_messages(
        &mut self,
        which: Which,
        incoming: &mut [u8],
        metas: &mut [RecvMeta; MESSAGES],
    ) -> io::Result<usize> {
        let mut rooms = incoming.chunks_exact_mut(MESSAGE_ROOM);
        let mut slices: [IoSliceMut<'_>; MESSAGES] =
            std::array::from_fn(|_| IoSliceMut::new(rooms.next().unwrap_or_default()));
        let port = match (which, &self.rest) {
            (Which::Rest, Some(rest)) => rest,
            _ => &self.port,
        };
        self.counters.receive_calls += 1;
        match port.state.recv((&port.socket).into(), &mut slices, metas) {
            Ok(messages) => Ok(messages),
            // A pending error keeps the descriptor ready as well.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.hear_errors();
                Ok(0)
            }
            Err(error) if is_news_of_the_network(&error) => {
                self.counters.receive_errors += 1;
                self.hear_errors();
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }
}

impl AsFd for UdpBearer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.port.socket.as_fd()
    }
}

/// Returns the number of `datagrams` that can go as one train: equal in size, except for a shorter last one.
fn run_length(datagrams: &[PacketBuffer], most: usize) -> usize {
    let Some(size) = datagrams.first().map(|first| first.len()) else {
        return 0;
    };
    let mut total = 0;
    let mut count = 0;
    for datagram in &datagrams[..datagrams.len().min(most.max(1))] {
        if datagram.len() > size || datagram.is_empty() || total + datagram.len() > TRAIN_ROOM {
            break;
        }
        total += datagram.len();
        count += 1;
        if datagram.len() < size {
            break;
        }
    }
    count.max(1)
}

/// Disables the report of the destination address of each datagram: with it, the length of a train and the time, there
/// would be no room left for the ECN field.
fn leave_out_destinations(socket: &Socket, bind: SocketAddr) -> io::Result<()> {
    let (level, option) = if bind.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_PKTINFO)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO)
    };
    set_option(socket, level, option, 0)
}

/// Returns an address as an IPv6 socket needs it.
fn mapped(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()),
        IpAddr::V6(_) => address,
    }
}
