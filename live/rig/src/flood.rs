//! Floods of forged datagrams.

use std::io::IoSlice;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use edges::namespace::Namespace;
use machine::RandomStream;
use rustix::io::Errno;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg};
use session::{
    Config, Endpoint, INITIATION_BYTES, Limits, Output, PeerConfig, PrivateKey, PublicKey, Role,
};
use units::Instant as Moment;

use crate::Failure;
use crate::hosts::on;

/// Number of sockets, so that the kernel does not join datagrams of one source.
const SOURCES: usize = 16;
/// Number of datagrams in one system call.
const BATCH: usize = 32;
/// Time between two batches of each source, at most.
const TICK: Duration = Duration::from_millis(1);
/// Number of different datagrams.
const DIFFERENT: u64 = 2_048;

/// A kind of forged datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgery {
    /// Random bytes, in the length of an initiation.
    Random,
    /// Initiations whose mac1 is wrong, by somebody without the gateway's public key.
    WrongMac,
    /// Initiations with a valid mac1, by somebody whom the gateway does not know.
    Initiations,
    /// Data for an index that is not in use.
    UnknownIndex,
    /// Data for an index in use, which somebody on the path can see.
    WrongSeal([u8; 4]),
}

impl Forgery {
    /// Returns different datagrams of this kind for a gateway.
    pub fn datagrams(self, gateway: PublicKey) -> Vec<Vec<u8>> {
        let mut random = RandomStream::named(1, "forged datagrams");
        let mut bytes = |first: &[u8]| {
            let mut bytes = vec![0; INITIATION_BYTES];
            random.fill(&mut bytes);
            bytes[..first.len()].copy_from_slice(first);
            bytes
        };
        let each = (0..DIFFERENT).map(|number| match self {
            Self::Random => bytes(&[]),
            Self::WrongMac => bytes(&[1, 2, 0, 0]),
            Self::Initiations => initiation(number, gateway),
            Self::UnknownIndex => bytes(&[4]),
            Self::WrongSeal([a, b, c, d]) => bytes(&[4, a, b, c, d]),
        });
        each.collect()
    }
}

/// Returns an initiation of somebody with a key of their own, who knows the gateway's public key.
pub fn initiation(number: u64, gateway: PublicKey) -> Vec<u8> {
    let mut stream = RandomStream::named(number, "stranger");
    let mut entropy = Box::new(move |buffer: &mut [u8]| stream.fill(buffer));
    let config = Config {
        private_key: PrivateKey::generate(&mut entropy),
        wall_clock_at_origin: 1_800_000_000_000_000_000,
        limits: Limits::default(),
    };
    let mut endpoint = Endpoint::new(config, entropy);
    let peer = PeerConfig {
        public_key: gateway,
        preshared_key: None,
        role: Role::Initiator,
        features: 0,
    };
    let peer = endpoint.add_peer(peer).expect("the keys differ");
    endpoint
        .connect(Moment::ZERO, peer)
        .expect("it is an initiator");
    match endpoint.poll_output() {
        Some(Output::Transmit { datagram, .. }) => datagram,
        other => unreachable!("an initiator begins with an initiation: {other:?}"),
    }
}

/// A thread that floods an address; it ends when this is dropped.
pub struct Flood {
    thread: Option<JoinHandle<()>>,
    ends: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
}

impl Flood {
    /// Sends these datagrams from a host, again and again, so many in a second or as many as the machine can.
    pub fn start(
        host: &Namespace,
        to: SocketAddr,
        datagrams: Vec<Vec<u8>>,
        rate: u32,
    ) -> Result<Self, Failure> {
        let failed = |error| Failure::Found(format!("a socket of a flood: {error}"));
        let open = || {
            let socket = UdpSocket::bind("0.0.0.0:0").map_err(failed)?;
            socket.connect(to).map_err(failed)?;
            socket.set_nonblocking(true).map_err(failed)?;
            Ok(socket)
        };
        let sockets = on(host, || {
            (0..SOURCES)
                .map(|_| open())
                .collect::<Result<Vec<_>, Failure>>()
        })?;
        let (ends, sent) = (Arc::default(), Arc::default());
        let flooder = Flooder {
            sockets,
            datagrams,
            rate,
            ends: Arc::clone(&ends),
            sent: Arc::clone(&sent),
        };
        Ok(Self {
            thread: Some(thread::spawn(move || flooder.run())),
            ends,
            sent,
        })
    }

    /// Returns the number of datagrams sent so far.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Flooder {
    sockets: Vec<UdpSocket>,
    datagrams: Vec<Vec<u8>>,
    rate: u32,
    ends: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
}

impl Flooder {
    fn run(&self) {
        let begun = Instant::now();
        let mut sources = self.sockets.iter().cycle();
        let mut batches = self.datagrams.chunks(BATCH).cycle();
        // Datagrams sent, and those that the machine had no time for.
        let (mut sent, mut missed) = (0.0, 0.0);
        while !self.ends.load(Ordering::Relaxed) {
            let due = f64::from(self.rate) * begun.elapsed().as_secs_f64() - missed;
            // What is more than some milliseconds late is left out, so that the rate is never exceeded for long.
            let late = due - sent - f64::from(self.rate) / 50.0;
            missed += late.max(0.0);
            if due < sent + BATCH as f64 {
                thread::sleep(TICK);
                continue;
            }
            let (Some(source), Some(batch)) = (sources.next(), batches.next()) else {
                return;
            };
            let count = send(source, batch);
            // What the socket has no room for counts as missed.
            missed += (batch.len() - count) as f64;
            sent += count as f64;
            self.sent.fetch_add(count as u64, Ordering::Relaxed);
        }
    }
}

/// Sends datagrams by one system call; returns the number of those that were accepted.
fn send(socket: &UdpSocket, datagrams: &[Vec<u8>]) -> usize {
    let slices = datagrams.iter().map(|bytes| [IoSlice::new(bytes)]);
    let slices: Vec<_> = slices.collect();
    let mut controls: Vec<_> = datagrams
        .iter()
        .map(|_| SendAncillaryBuffer::default())
        .collect();
    let messages = slices.iter().zip(&mut controls);
    let mut messages: Vec<_> = messages
        .map(|(slice, control)| MMsgHdr::new(slice, control))
        .collect();
    loop {
        match sendmmsg(socket, &mut messages, SendFlags::empty()) {
            Ok(count) => return count,
            // A report about an earlier datagram.
            Err(Errno::CONNREFUSED | Errno::INTR) => {}
            Err(_) => return 0,
        }
    }
}
