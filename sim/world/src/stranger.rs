//! Attackers: one with a valid key, and one without.

use std::net::SocketAddr;

use machine::RandomStream;
use session::{DATA_HEADER_BYTES, DATA_OVERHEAD_BYTES, Endpoint, Limits, PeerConfig, PeerId, Role};
use units::Instant;
use wire::address::HopAddress;

use crate::Setting;
use crate::network::Network;
use crate::process::{Identity, entropy};

/// Number of the hostile peer among the processes.
pub(crate) const HOSTILE: usize = 200;

/// A peer of the gateway with a valid key that sends frames with arbitrary content.
pub(crate) struct Hostile {
    endpoint: Endpoint,
    gateway: PeerId,
    frame: u32,
}

/// Bytes of the last field of a handshake message.
const MAC2_BYTES: usize = 16;
/// First bytes of the chunks of a frame.
const CHUNKS: [u8; 12] = [
    0x11, 0x12, 0x13, 0x20, 0x21, 0x22, 0x23, 0x30, 0x31, 0x40, 0x41, 0x50,
];

impl Hostile {
    pub(crate) fn new(setting: &Setting, wall: u64) -> Self {
        let config = session::Config {
            private_key: Identity::Hostile.key(),
            wall_clock_at_origin: wall,
            limits: Limits::default(),
        };
        let mut endpoint =
            Endpoint::new(config, entropy(setting.seed, "draws of the hostile peer"));
        let gateway = endpoint.add_peer(PeerConfig {
            public_key: Identity::Gateway.key().public_key(),
            preshared_key: None,
            role: Role::Initiator,
            features: u64::from(setting.seed as u8 & 15),
        });
        Self {
            endpoint,
            gateway: gateway.expect("the keys differ"),
            frame: 0,
        }
    }

    /// Begins a handshake.
    pub(crate) fn connect(&mut self, now: Instant) {
        // It is an initiator, and the gateway is its peer.
        let _ = self.endpoint.connect(now, self.gateway);
    }

    pub(crate) fn arrived(&mut self, now: Instant, mut bytes: Vec<u8>) {
        self.endpoint.handle_datagram(now, &mut bytes);
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.endpoint.handle_timeout(now);
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.endpoint.poll_timeout()
    }

    /// Returns the next datagram of its session.
    pub(crate) fn poll_datagram(&mut self) -> Option<Vec<u8>> {
        loop {
            match self.endpoint.poll_output()? {
                session::Output::Transmit { datagram, .. } => return Some(datagram),
                session::Output::Event(_) => {}
            }
        }
    }

    /// Returns a sealed frame with arbitrary content, if it has keys.
    pub(crate) fn frame(
        &mut self,
        now: Instant,
        kind: u8,
        stream: &mut RandomStream,
    ) -> Option<Vec<u8>> {
        let mut content = vec![0x10];
        content.extend(self.frame.to_be_bytes());
        self.frame = self
            .frame
            .wrapping_add(1 + u32::from(kind & 1) * stream.below(1 << 16) as u32);
        for _ in 0..=stream.below(6) {
            content.push(CHUNKS[stream.below(CHUNKS.len() as u64) as usize]);
            let mut body = vec![0; stream.below(1 + 8 * u64::from(kind)) as usize % 200];
            stream.fill(&mut body);
            if kind & 2 != 0 {
                // Small numbers pass more checks.
                for byte in &mut body {
                    *byte &= 0x43;
                }
            }
            content.extend(body);
        }
        let mut datagram = vec![0; DATA_HEADER_BYTES];
        datagram.extend(&content);
        datagram.resize(content.len() + DATA_OVERHEAD_BYTES, 0);
        let sealed = self.endpoint.seal(now, self.gateway, &mut datagram);
        sealed.is_ok().then_some(datagram)
    }
}

/// Returns the address of a host without any key.
pub(crate) fn stranger() -> HopAddress {
    SocketAddr::from(([203, 0, 113, 99], 5_000)).into()
}

/// Returns a forged datagram of a kind.
pub(crate) fn forged(kind: u8, network: &Network, stream: &mut RandomStream) -> Vec<u8> {
    let recorded = network.recorded(stream.below(16) as usize);
    let mut bytes = recorded.map_or_else(Vec::new, |datagram| datagram.bytes.clone());
    match kind % 5 {
        0 => {
            bytes = vec![0; stream.below(1_500) as usize];
            stream.fill(&mut bytes);
        }
        // A whole one would be no forgery.
        1 => bytes.truncate(stream.below(bytes.len().max(1) as u64) as usize),
        // What follows is a field that the hosts do not check.
        2 => {
            let checked = bytes.len().saturating_sub(MAC2_BYTES);
            flip(&mut bytes[..checked], stream);
        }
        3 => {
            // Recorded header, other content.
            let header = bytes.len().min(DATA_HEADER_BYTES);
            stream.fill(&mut bytes[header..]);
        }
        _ => {
            bytes = vec![0; 180];
            stream.fill(&mut bytes);
            bytes[..4].copy_from_slice(&[1 + kind % 3, 1, 0, 0]);
        }
    }
    bytes
}

/// Changes one bit.
pub(crate) fn flip(bytes: &mut [u8], stream: &mut RandomStream) {
    if !bytes.is_empty() {
        let place = stream.below(bytes.len() as u64) as usize;
        bytes[place] ^= 1 << stream.below(8);
    }
}
