//! The Ethernet bearer: frames of the hop in Ethernet frames, without IP and UDP, for two hosts on one link.
//! `docs/hop-frame.md` has the layout.
//!
//! It uses a packet socket (packet(7)) without Ethernet headers, which is bound to one interface and one `EtherType`,
//! so that the kernel passes nothing else to it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};
use units::{Bytes, Instant};
use wire::address::HopAddress;
use wire::ethernet::{MacAddress, datagram_in};
use wire::ip::Ecn;
use wire::packet::PacketBuffer;

use crate::datagrams::{
    Arrival, Batch, BearerCounters, DatagramBearer, NetworkChange, Sent, no_such_address, refuse,
};
use crate::netlink::{Link, Netlink};
use crate::socket::{context, enlarge_buffers, is_news_of_the_network, no_room, set_option};
use crate::stamps::Stamps;

mod messages;

use messages::{BATCH, ROOM, Received, link_address, receive, send};

/// Smallest MTU that IPv6 requires of a link (RFC 8200 §5), in bytes.
const LEAST_MTU: usize = 1_280;

/// Options of an [`EthernetBearer`].
#[derive(Debug, Clone)]
pub struct EthernetOptions {
    /// Interface of the link to the other host.
    pub interface: String,
    /// `EtherType` of the frames, which must be the same on both hosts.
    pub ether_type: u16,
    /// Requested size of the kernel's buffer in each direction.
    pub buffer: Bytes,
}

impl EthernetOptions {
    /// Returns the defaults on `interface`: the default `EtherType`, buffers of 8 MiB.
    pub fn new(interface: &str) -> Self {
        Self {
            interface: interface.into(),
            ether_type: wire::ethernet::ETHER_TYPE,
            buffer: Bytes::mebi(8),
        }
    }
}

/// State of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    index: u32,
    address: MacAddress,
    has_carrier: bool,
    carrier_gains: u32,
}

/// A packet socket: non-blocking, uses kernel time stamps, and batches both ways.
pub struct EthernetBearer {
    socket: Socket,
    options: EthernetOptions,
    mtu: usize,
    address: MacAddress,
    /// State of the interface; `None` while it does not exist.
    place: Option<Place>,
    rooms: Box<[u8]>,
    stamps: Stamps,
    counters: BearerCounters,
}

impl EthernetBearer {
    /// Opens and binds a socket. It needs `CAP_NET_RAW`, but not afterwards, even if the interface disappears and comes
    /// back.
    ///
    /// # Errors
    /// An error names the failed step, the interface, and the remedy.
    pub fn open(options: &EthernetOptions) -> io::Result<Self> {
        let interface = &options.interface;
        let link = find(interface)?.ok_or_else(|| {
            let what =
                format!("there is no interface '{interface}'; `ip link` lists what there is");
            io::Error::new(io::ErrorKind::NotFound, what)
        })?;
        let place = place_of(&link)?;
        let socket = packet_socket(Type::DGRAM)?;
        socket.set_nonblocking(true)?;
        let size = usize::try_from(options.buffer.get()).unwrap_or(usize::MAX);
        enlarge_buffers(&socket, size)?;
        set_option(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        let bearer = Self {
            socket,
            options: options.clone(),
            mtu: link.mtu as usize,
            address: place.address,
            place: Some(place),
            rooms: vec![0; BATCH * ROOM].into_boxed_slice(),
            stamps: Stamps::default(),
            counters: BearerCounters::default(),
        };
        bearer.bind(place)?;
        Ok(bearer)
    }

    /// Returns the largest payload of a frame, in bytes, at the time of opening.
    pub fn mtu(&self) -> usize {
        self.mtu
    }

    fn bind(&self, place: Place) -> io::Result<()> {
        let address = link_address(place.index, self.options.ether_type, MacAddress::BROADCAST);
        messages::bind(&self.socket, &address).map_err(|error| {
            let interface = &self.options.interface;
            context(
                &error,
                &format!("cannot bind a packet socket to {interface}"),
            )
        })
    }

    /// Passes on one message, if it holds a datagram for this station.
    fn take(
        &mut self,
        now: Instant,
        received: Received,
        room: &mut [u8],
        sink: &mut impl FnMut(Arrival, &mut [u8]),
    ) -> usize {
        let payload = &mut room[..received.length.min(ROOM)];
        let datagram = datagram_in(payload).ok();
        let Some(datagram) = datagram.filter(|_| received.is_for_us) else {
            self.counters.malformed += 1;
            return 0;
        };
        let arrival = Arrival {
            from: received.from.into(),
            at: self.stamps.arrival(now, received.stamp),
            ecn: Ecn::NotCapable,
        };
        sink(arrival, datagram);
        1
    }
}

/// Opens a packet socket. With protocol 0 it receives nothing until it is bound to one interface and type.
fn packet_socket(kind: Type) -> io::Result<Socket> {
    Socket::new(Domain::PACKET, kind, Some(Protocol::from(0))).map_err(|error| {
        context(
            &error,
            "cannot open a packet socket (this needs CAP_NET_RAW)",
        )
    })
}

/// Opens a packet socket that sends whole frames by an interface, and receives none.
pub(crate) fn open_to_send(index: u32) -> io::Result<Socket> {
    let socket = packet_socket(Type::RAW)?;
    messages::bind(&socket, &link_address(index, 0, MacAddress::BROADCAST))?;
    Ok(socket)
}

/// Returns the interface called `interface`, if it exists.
fn find(interface: &str) -> io::Result<Option<Link>> {
    let mut netlink = Netlink::open().map_err(io::Error::other)?;
    let links = netlink.links().map_err(io::Error::other)?;
    Ok(links.into_iter().find(|link| link.name == interface))
}

/// Returns the state of an interface, if it is an Ethernet interface with a sufficient MTU.
fn place_of(link: &Link) -> io::Result<Place> {
    let address = <[u8; 6]>::try_from(&*link.hardware_address);
    let wrong = |what: &str| {
        let what = format!("the interface '{}' {what}", link.name);
        io::Error::new(io::ErrorKind::InvalidInput, what)
    };
    let address = address.map_err(|_| {
        wrong("has no Ethernet address; name a card that shares a link with the other end")
    })?;
    if (link.mtu as usize) < LEAST_MTU {
        return Err(wrong("carries too little in a frame; raise its MTU"));
    }
    Ok(Place {
        index: link.index,
        address: MacAddress(address),
        has_carrier: link.has_carrier,
        carrier_gains: link.carrier_gains,
    })
}

impl DatagramBearer for EthernetBearer {
    fn local_address(&self) -> HopAddress {
        self.address.into()
    }

    fn receive_batch(
        &mut self,
        now: Instant,
        sink: &mut impl FnMut(Arrival, &mut [u8]),
    ) -> io::Result<Batch> {
        let mut rooms = std::mem::take(&mut self.rooms);
        let mut received = [Received::default(); BATCH];
        self.counters.receive_calls += 1;
        let count = match receive(&self.socket, &mut rooms, &mut received) {
            Err(error) if no_room(&error) => Ok(0),
            // The interface went down; the socket works again when it comes up.
            Err(error) if is_news_of_the_network(&error) => {
                self.counters.receive_errors += 1;
                Ok(0)
            }
            other => other,
        };
        self.stamps.compare_clocks();
        let messages = received.iter().zip(rooms.chunks_exact_mut(ROOM));
        let messages = messages.take(*count.as_ref().unwrap_or(&0));
        let datagrams = messages
            .map(|(received, room)| self.take(now, *received, room, sink))
            .sum();
        self.rooms = rooms;
        self.counters.received += datagrams as u64;
        count.map(|messages| Batch {
            datagrams,
            is_full: messages == BATCH,
        })
    }

    fn send(&mut self, to: HopAddress, datagrams: &[PacketBuffer]) -> Sent {
        let HopAddress::Ethernet(to) = to else {
            return refuse(datagrams, no_such_address(), &mut self.counters);
        };
        let Some(place) = self.place else {
            return refuse(datagrams, Errno::NODEV.into(), &mut self.counters);
        };
        let address = link_address(place.index, self.options.ether_type, to);
        let mut sent = Sent::default();
        while sent.handled < datagrams.len() {
            self.counters.send_calls += 1;
            let rest = &datagrams[sent.handled..];
            match send(&self.socket, &address, &rest[..rest.len().min(BATCH)]) {
                Ok(count) => {
                    self.counters.sent += count as u64;
                    sent.handled += count;
                }
                Err(error) if no_room(&error) => break,
                // The error concerns the first datagram only; the others have not been tried.
                Err(error) => {
                    let too_large = Errno::from_io_error(&error) == Some(Errno::MSGSIZE);
                    self.counters.too_large += u64::from(too_large);
                    self.counters.refused += u64::from(!too_large);
                    sent.handled += 1;
                    sent.dropped += 1;
                    sent.problem = Some(error);
                }
            }
        }
        sent
    }

    fn set_ecn(&mut self, _: Ecn) {
        // Ethernet frames have no IP header.
    }

    fn follow_network(&mut self) -> io::Result<NetworkChange> {
        let found = find(&self.options.interface)?.map(|link| place_of(&link));
        // An interface that took our interface's name and cannot carry frames counts as none.
        let place = found.and_then(Result::ok);
        let former = std::mem::replace(&mut self.place, place);
        if place == former {
            return Ok(NetworkChange::Unchanged);
        }
        let Some(place) = place else {
            return Ok(NetworkChange::Lost);
        };
        self.address = place.address;
        if former.is_none_or(|former| former.index != place.index) {
            self.bind(place)?;
        }
        // A pending error of the socket concerns the time before; it would be taken for an error of the next datagram.
        self.socket.take_error()?;
        Ok(if place.has_carrier {
            NetworkChange::Found
        } else {
            NetworkChange::Lost
        })
    }

    fn counters(&self) -> BearerCounters {
        self.counters
    }
}

impl AsFd for EthernetBearer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
