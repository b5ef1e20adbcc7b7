//! TCP split at the gateway (I-TCP, Bakre and Badrinath 1995; Haas and Warkhedi 2000 §3): a mobile host's connection
//! ends here and a second one goes on to the fixed host, in the mobile's own name if that is wanted, and neither
//! notices.
//!
//! A first segment is held until the other host has answered. Then it is let in, to be taken by a transparent
//! listener; or it is refused as the other host, or the way to it, refused us. Between the two connections
//! a [`redirector::Redirector`] carries bytes in bounded buffers, so that a slow side closes the window of the other.
//! What ends early is reset: also when this process is killed (`live/edges/src/transparent.rs`).

mod device;
mod joint;
mod refusal;
mod shares;
mod stream;
mod worker;

use std::io;
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use edges::transparent::{Ends, TransparentListener, is_local};
use edges::wait::{Bell, Interest, Waiter, WaitingThread};
use ipnet::IpNet;
use redirector::Side;
use serde::Serialize;
use units::{Bytes, Duration, SeqNumber};
use wire::flow::FlowKey;
use wire::ip::{IpPacket, Transport};
use wire::packet::Packet;

pub use device::SplitDevice;
use worker::Worker;

use crate::lock;

/// Requests that wait for the thread, and answers that wait for the device, at most; what is beyond is dropped, and a
/// request comes again.
const WAITING: usize = 1_024;

/// How TCP is split.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whose connections: the inner addresses of each mobile host.
    pub mobiles: Vec<Vec<IpNet>>,
    /// Whether fixed hosts see the mobile's address and port, not this host's; then what they ask of mobile hosts is
    /// split too.
    pub transparent: bool,
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
    /// Those that the other host, or the way to it, refused.
    pub refused: u64,
    /// Those for which there was no room.
    pub without_room: u64,
    /// Connections that came to the listener without having been let in.
    pub strangers: u64,
    /// Connections that both sides finished.
    pub finished: u64,
    /// Connections that were reset.
    pub reset: u64,
    /// Connections on which nothing happened for too long.
    pub idle: u64,
    /// Bytes that were written towards mobile hosts.
    pub bytes_to_mobiles: u64,
    /// Bytes that were written towards fixed hosts.
    pub bytes_to_fixed: u64,
}

/// A packet that asks for a connection.
#[derive(Debug)]
struct Request {
    ends: Ends,
    /// The first number of its stream, by which copies of one request are known.
    sequence: SeqNumber,
    /// On which side.
    asker: Side,
    /// Which mobile host is one of both ends.
    owner: usize,
    packet: Packet,
}

/// Where a packet goes on to, once the fate of a request is known.
#[derive(Debug)]
enum Verdict {
    /// To the system: a request that is let in, or what a fixed host is refused with.
    ToDevice(Packet),
    /// Across the hop: what a mobile host is refused with, or our own request.
    ToMobile(Packet),
}

/// The thread that splits, as the thread of the air sees it.
pub struct Splitter {
    mobiles: Vec<Vec<IpNet>>,
    requests: SyncSender<Request>,
    transparent: bool,
    asked: Bell,
    verdicts: Receiver<Verdict>,
    decided: Bell,
    counters: Counted,
    _thread: WaitingThread,
}

/// Counters that the thread keeps up to date.
#[derive(Debug, Clone, Default)]
pub struct Counted(Arc<Mutex<Counters>>);

impl Counted {
    /// As they are now.
    pub fn now(&self) -> Counters {
        *lock(&self.0)
    }

    fn set(&self, counters: Counters) {
        *lock(&self.0) = counters;
    }
}

impl Splitter {
    /// Starts the thread, for connections that come to `listener`. It makes others in the calling thread's network
    /// namespace, for which it needs `CAP_NET_ADMIN` if it is transparent.
    ///
    /// # Errors
    /// Of the system.
    pub fn start(options: Options, listener: TransparentListener) -> io::Result<Self> {
        let (requests, incoming) = sync_channel(WAITING);
        let (outgoing, verdicts) = sync_channel(WAITING);
        let (asked, decided) = (Bell::new()?, Bell::new()?);
        let waiter = Waiter::new()?;
        waiter.add(&asked, worker::ASKED, Interest::Readable)?;
        waiter.add(&listener, worker::LISTENER, Interest::Changes)?;
        let (mobiles, transparent) = (options.mobiles.clone(), options.transparent);
        let counters = Counted::default();
        let worker = Worker::new(
            options,
            listener,
            worker::Ports {
                requests: incoming,
                asked: asked.clone(),
                verdicts: outgoing,
                decided: decided.clone(),
                counters: counters.clone(),
            },
        );
        let thread = WaitingThread::start("split", waiter, |waiter| worker.run(waiter))?;
        Ok(Self {
            mobiles,
            requests,
            transparent,
            asked,
            verdicts,
            decided,
            counters,
            _thread: thread,
        })
    }

    /// What it counts.
    pub fn counters(&self) -> Counted {
        self.counters.clone()
    }

    /// Takes a packet that comes from the side of `asker` if it asks for a connection that is to be split; false for
    /// all others. What fixed hosts ask for through address translation is not: it would have to be undone twice.
    fn take(&self, packet: &Packet, asker: Side) -> bool {
        let Some((ends, sequence)) = request(&packet.buffer) else {
            return false;
        };
        let (mobile, other) = match asker {
            Side::Mobile => (ends.source, ends.destination),
            Side::Fixed if self.transparent => (ends.destination, ends.source),
            Side::Fixed => return false,
        };
        let Some(owner) = self.owner(mobile.ip()).filter(|_| !is_local(other.ip())) else {
            return false;
        };
        let request = Request {
            ends,
            sequence,
            asker,
            owner,
            packet: packet.clone(),
        };
        // A request that finds no room is lost, as in any full queue, and comes again.
        if self.requests.try_send(request).is_ok() {
            let _ = self.asked.ring();
        }
        true
    }

    /// Which mobile host has that address.
    fn owner(&self, address: IpAddr) -> Option<usize> {
        let has = |networks: &Vec<IpNet>| networks.iter().any(|one| one.contains(&address));
        self.mobiles.iter().position(has)
    }

    /// The next request whose fate is known.
    fn verdict(&self) -> Option<Verdict> {
        self.verdicts.try_recv().ok()
    }
}

/// Between whom the connection would be that a packet asks for, and the first number of its stream.
fn request(packet: &[u8]) -> Option<(Ends, SeqNumber)> {
    let packet = IpPacket::parse(packet).ok()?;
    let sequence = match packet.transport() {
        Transport::Tcp(tcp) if tcp.asks_for_connection() => tcp.sequence_number(),
        _ => return None,
    };
    let flow = FlowKey::of(&packet);
    let ends = Ends {
        source: (flow.source, flow.source_port).into(),
        destination: (flow.destination, flow.destination_port).into(),
    };
    Some((ends, sequence))
}
