//! TCP split at the gateway (I-TCP, Bakre and Badrinath 1995; Haas and Warkhedi 2000 §3): a mobile host's connection
//! ends here and a second one goes on to the fixed host, in the mobile's own name if that is wanted, and neither
//! notices.
//!
//! A first segment is held until the other host has answered. Then it is let in, to be taken by a transparent
//! listener; or it is refused as the other host, or the way to it, refused us. Between the two connections
//! a [`redirector::Redirector`] carries bytes in bounded buffers, so that a slow side closes the window of the other.
//! What ends early is reset: also when this process is killed (`live/edges/src/transparent.rs`).
//!
//! Across the hop goes TCP of the kernel, or a stream of MTCP. Then the mobile host has such a thread as well, which
//! takes in what its applications ask for, and nothing of TCP crosses the hop.

mod choices;
mod crossing;
mod device;
mod guard;
mod hop;
mod joint;
mod kernel;
mod mailbox;
pub(crate) mod port;
mod refusal;
mod shares;
mod stream;
mod worker;

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use edges::diversion::Diversion;
use edges::transparent::{Ends, TransparentListener, is_local};
use edges::wait::{Interest, Waiter, WaitingThread};
use hosts::Scope;
use ipnet::IpNet;
use redirector::Side;
use rustix::io::Errno;
use serde::Serialize;
use units::{Bytes, Duration, SeqNumber};
use wire::flow::FlowKey;
use wire::icmp::IcmpMessage;
use wire::ip::{IpPacket, Transport};
use wire::packet::Packet;

use choices::Choices;
pub use choices::{ChoiceStatus, Chosen};
use crossing::Crossing;
pub use device::SplitDevice;
use guard::Secret;
use mailbox::Mailbox;
pub use port::StreamPort;
use port::Streams;
use worker::Worker;

use crate::lock;

/// Requests that wait for the thread, and answers that wait for the device, at most; what is beyond is dropped, and a
/// request comes again.
const WAITING: usize = 8_192;

/// At which end of the hop TCP is split.
#[derive(Debug, Clone)]
pub enum End {
    /// At the gateway.
    Gateway {
        /// Whether fixed hosts see the mobile's address and port, not this host's; then what they ask of mobile hosts
        /// is split too.
        transparent: bool,
    },
    /// At the mobile host, for its own applications, while streams cross the hop.
    Mobile {
        /// What leads their packets here; installed when there are streams for the first time.
        diversion: Diversion,
    },
}

impl End {
    /// The side on which the hop is.
    fn hop_side(&self) -> Side {
        match self {
            Self::Gateway { .. } => Side::Mobile,
            Self::Mobile { .. } => Side::Fixed,
        }
    }
}

/// A mobile host whose TCP is split.
#[derive(Debug, Clone)]
pub struct Mobile {
    /// Which peer of the host that is, or at the mobile host its gateway.
    pub peer: usize,
    /// Its inner addresses.
    pub networks: Vec<IpNet>,
    /// Which of its connections are split; at the mobile host its gateway says so.
    pub scope: Scope,
}

/// How TCP is split.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where.
    pub end: End,
    /// Whose connections.
    pub mobiles: Vec<Mobile>,
    /// The congestion control of the connections across the hop, e.g. `reno`; the system's if there is none.
    pub congestion_control: Option<String>,
    /// What a connection buffers here in each direction, beside the kernel.
    pub buffer: Bytes,
    /// Connections at one time. One mobile host has at most as many as there is room for more (dynamic thresholds,
    /// Choudhury and Hahne 1998): alone half of them, and whoever comes later finds room.
    pub connections: usize,
    /// A connection on which nothing happens for so long is reset.
    pub idle: Duration,
}

impl Options {
    /// What the buffers of all connections take at most, beside the kernel's.
    pub fn memory(&self) -> Bytes {
        // Two directions, and as much again while it is handed from one socket to the other.
        Bytes::new(4 * self.buffer.get() * self.connections as u64)
    }
}

/// What the splitter has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counters {
    /// Connections that exist.
    pub open: u64,
    /// Connections that were asked for.
    pub asked: u64,
    /// Those of them that stood.
    pub joined: u64,
    /// Of these, the ones that cross the hop as MTCP.
    pub on_streams: u64,
    /// Those that the other host, or the way to it, refused.
    pub refused: u64,
    /// Those for which there was no room.
    pub without_room: u64,
    /// Requests of fixed hosts that had to prove first that they are there.
    pub challenged: u64,
    /// Connections that came to the listener without having been let in.
    pub strangers: u64,
    /// Connections that both sides finished.
    pub finished: u64,
    /// Connections that were reset.
    pub reset: u64,
    /// Connections on which nothing happened for too long.
    pub idle: u64,
    /// What was carried.
    #[serde(flatten)]
    pub carried: Carried,
}

/// What the splitter has carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Carried {
    /// Bytes that were written towards mobile hosts.
    pub bytes_to_mobiles: u64,
    /// Bytes that were written towards fixed hosts.
    pub bytes_to_fixed: u64,
}

/// A packet that asks for a connection.
#[derive(Debug)]
struct Request {
    ends: Ends,
    /// The first number of its stream.
    sequence: SeqNumber,
    /// On which side.
    asker: Side,
    /// Which mobile host is one of both ends.
    owner: usize,
    packet: Packet,
}

/// What packets tell the thread that splits.
#[derive(Debug)]
enum Heard {
    /// A connection is asked for.
    Request(Request),
    /// The way to who was asked for one is not there.
    NoWay(Ends, Errno),
    /// A fixed host has proven that it is there.
    Proven(IpAddr),
}

/// Where a packet goes on to, once the fate of a request is known.
#[derive(Debug)]
enum Verdict {
    /// To the system: a request that is let in, or what a fixed host is refused with.
    ToDevice(Packet),
    /// Across the hop: what a mobile host is refused with, or our own request.
    ToHop(Packet),
}

/// The thread that splits, as the thread of the air sees it.
pub struct Splitter {
    end: End,
    mobiles: Vec<Mobile>,
    /// By which ways connections of each of them cross the hop.
    crossings: Arc<[Crossing]>,
    streams: Streams,
    heard: Mailbox<Heard>,
    verdicts: Mailbox<Verdict>,
    counters: Counted,
    secret: Secret,
    _thread: WaitingThread,
}

/// What is told of connections that are split, or were not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SplitStatus {
    /// What became of them.
    #[serde(flatten)]
    pub counters: Counters,
    /// By which way connections were let across, where that is chosen for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choices: Option<ChoiceStatus>,
}

/// What both threads keep up to date.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    counters: Arc<Mutex<Counters>>,
    choices: Arc<Mutex<Choices>>,
}

impl Counted {
    /// As it is now.
    pub fn now(&self) -> SplitStatus {
        SplitStatus {
            counters: *lock(&self.counters),
            choices: lock(&self.choices).status(),
        }
    }

    fn set(&self, counters: Counters) {
        *lock(&self.counters) = counters;
    }
}

impl Splitter {
    /// Starts the thread, for connections that come to `listener`. It makes others in the calling thread's network
    /// namespace, for which it needs `CAP_NET_ADMIN` if it is transparent.
    ///
    /// # Errors
    /// Of the system.
    pub fn start(options: Options, listener: TransparentListener) -> io::Result<Self> {
        let (heard, verdicts) = (Mailbox::new()?, Mailbox::new()?);
        let waiter = Waiter::new()?;
        waiter.add(&heard, worker::HEARD, Interest::Readable)?;
        waiter.add(&listener, worker::LISTENER, Interest::Changes)?;
        let streams = Streams::new()?;
        waiter.add(&streams.told, worker::HOP, Interest::Readable)?;
        let (end, mobiles) = (options.end.clone(), options.mobiles.clone());
        let crossing = |mobile: &Mobile| Crossing::new(mobile.peer, mobile.scope);
        let crossings: Arc<[_]> = mobiles.iter().map(crossing).collect();
        let (counters, secret) = (Counted::default(), Secret::default());
        let worker = Worker::new(
            options,
            listener,
            worker::Ports {
                heard: heard.clone(),
                verdicts: verdicts.clone(),
                counters: counters.clone(),
                secret: secret.clone(),
                streams: streams.clone(),
                crossings: Arc::clone(&crossings),
            },
        );
        let thread = WaitingThread::start("split", waiter, |waiter| worker.run(waiter))?;
        Ok(Self {
            end,
            mobiles,
            crossings,
            streams,
            heard,
            verdicts,
            counters,
            secret,
            _thread: thread,
        })
    }

    /// What it counts.
    pub fn counters(&self) -> Counted {
        self.counters.clone()
    }

    /// The streams across the hop.
    pub fn stream_port(&self) -> StreamPort {
        StreamPort::new(self.streams.clone(), Arc::clone(&self.crossings))
    }

    /// Takes a packet that comes from this host or the wired network, if it asks for a connection that is to be split.
    fn take_from_device(&self, packet: &Packet) -> bool {
        let Ok(parsed) = IpPacket::parse(&packet.buffer) else {
            return false;
        };
        if matches!(self.end, End::Gateway { transparent: true }) {
            if let Some((ends, error)) = no_way(&parsed) {
                // Who asks in a mobile's name is told nothing by the kernel: the answer goes to the mobile.
                self.tell(Heard::NoWay(ends, error));
            } else if let Some(host) = self.secret.proven(&parsed) {
                self.tell(Heard::Proven(host));
                return true;
            }
        }
        self.take((packet, &parsed), self.end.hop_side().other())
    }

    /// The same of one that comes from the hop; what a mobile host hears of there is for its kernel.
    fn take_from_hop(&self, packet: &Packet) -> bool {
        matches!(self.end, End::Gateway { .. })
            && IpPacket::parse(&packet.buffer)
                .is_ok_and(|parsed| self.take((packet, &parsed), Side::Mobile))
    }

    /// Takes a packet that comes from the side of `asker` if it asks for a connection that is to be split; false for
    /// all others. What fixed hosts ask for through address translation is not: it would have to be undone twice.
    fn take(&self, (packet, parsed): (&Packet, &IpPacket<'_>), asker: Side) -> bool {
        let Some((ends, sequence)) = request(parsed) else {
            return false;
        };
        let (mobile, other) = match (asker, &self.end) {
            (Side::Mobile, _) => (ends.source, ends.destination),
            (Side::Fixed, End::Gateway { transparent: true }) => (ends.destination, ends.source),
            (Side::Fixed, _) => return false,
        };
        let Some(owner) = self.owner(mobile.ip()) else {
            return false;
        };
        let crossing = &self.crossings[owner];
        // The system is asked last.
        if !crossing.may_split(&self.end, (asker, mobile.ip())) || is_local(other.ip()) {
            return false;
        }
        if let Some(choice) = crossing.choice()
            && !lock(&self.counters.choices).splits(ends, sequence, choice)
        {
            return false;
        }
        let request = Request {
            ends,
            sequence,
            asker,
            owner,
            packet: packet.clone(),
        };
        self.tell(Heard::Request(request));
        true
    }

    fn tell(&self, heard: Heard) {
        // A request that finds no room is lost, as in any full queue, and comes again.
        let _ = self.heard.put_within(WAITING, heard);
    }

    /// Which mobile host has that address.
    fn owner(&self, address: IpAddr) -> Option<usize> {
        let has = |mobile: &Mobile| mobile.networks.iter().any(|one| one.contains(&address));
        self.mobiles.iter().position(has)
    }

    /// The next request whose fate is known.
    fn verdict(&self) -> Option<Verdict> {
        self.verdicts.next()
    }
}

/// Which connection could not be made, if a packet says that there is no way to who was asked, and why.
fn no_way(packet: &IpPacket<'_>) -> Option<(Ends, Errno)> {
    let Transport::Icmp(message) = packet.transport() else {
        return None;
    };
    let IcmpMessage::Unreachable { code, original } = message.message() else {
        return None;
    };
    let (ends, _) = request(&IpPacket::parse(original).ok()?)?;
    // Of the codes of both versions only those matter here that mean more than "no".
    let error = match (packet.destination().is_ipv4(), code) {
        (true, 3) | (false, 4) => Errno::CONNREFUSED,
        (true, 0 | 6) | (false, 0) => Errno::NETUNREACH,
        _ => Errno::HOSTUNREACH,
    };
    Some((ends, error))
}

/// Between whom the connection would be that a packet asks for, and the first number of its stream.
fn request(packet: &IpPacket<'_>) -> Option<(Ends, SeqNumber)> {
    let sequence = match packet.transport() {
        Transport::Tcp(tcp) if tcp.asks_for_connection() => tcp.sequence_number(),
        _ => return None,
    };
    Some((ends_of(packet), sequence))
}

/// Between whom a segment goes.
fn ends_of(packet: &IpPacket<'_>) -> Ends {
    let flow = FlowKey::of(packet);
    Ends {
        source: (flow.source, flow.source_port).into(),
        destination: (flow.destination, flow.destination_port).into(),
    }
}
