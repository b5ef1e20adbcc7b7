//! A mobile host without a daemon: its session is a real one, and its frames are whatever the caller writes.

use std::fs;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::time::Duration;

use edges::clock;
use edges::namespace::Namespace;
use machine::RandomStream;
use session::{
    Config, DATA_HEADER_BYTES, DATA_OVERHEAD_BYTES, Endpoint, Event, Limits, Output, PeerConfig,
    PeerId, PrivateKey, PublicKey, Received, Role,
};

use crate::Failure;
use crate::hosts::on;

/// Time that the gateway may take to answer.
const PATIENCE: Duration = Duration::from_mins(1);
/// Longest datagram that is received, in bytes.
const LONGEST: usize = 2_048;

/// The identity of a raw mobile host.
pub struct RawIdentity {
    /// Its private key.
    pub key: PrivateKey,
    /// The gateway's public key.
    pub gateway: PublicKey,
    /// The feature bits that it sends (`docs/session.md`).
    pub features: u64,
    /// Time by which its wall clock is ahead.
    pub clock_ahead: Duration,
}

impl RawIdentity {
    /// Returns an identity that follows in every method for TCP, and has the right time.
    pub fn new(key: PrivateKey, gateway: PublicKey) -> Self {
        Self {
            key,
            gateway,
            features: 15,
            clock_ahead: Duration::ZERO,
        }
    }

    /// Returns the identity of the mobile host with this key file.
    pub fn of_file(path: &Path, gateway: PublicKey) -> Result<Self, Failure> {
        let text = fs::read_to_string(path).map_err(Failure::file("read", path))?;
        let unreadable = |error| Failure::Found(format!("{}: {error}", path.display()));
        let key = text.trim().parse().map_err(unreadable)?;
        Ok(Self::new(key, gateway))
    }

    /// Returns a key for tests, the same for the same name each time.
    pub fn key_named(name: &str) -> PrivateKey {
        let mut stream = RandomStream::named(9, name);
        PrivateKey::generate(&mut move |buffer: &mut [u8]| stream.fill(buffer))
    }
}

/// A mobile host with valid keys, in the hands of the caller.
pub struct RawMobile {
    socket: UdpSocket,
    endpoint: Endpoint,
    gateway: PeerId,
    events: Vec<Event>,
}

impl RawMobile {
    /// Opens its socket on a host and begins a handshake with the gateway at `address`.
    pub fn begin(
        host: &Namespace,
        address: SocketAddr,
        identity: RawIdentity,
    ) -> Result<Self, Failure> {
        let socket = open(host, address)?;
        let wall = clock::wall().as_nanos();
        let mut stream = RandomStream::named(wall, "draws of a raw mobile host");
        let ahead = identity.clock_ahead.as_nanos() as u64;
        let config = Config {
            private_key: identity.key,
            wall_clock_at_origin: wall - clock::monotonic().as_nanos() + ahead,
            limits: Limits::default(),
        };
        let entropy = Box::new(move |buffer: &mut [u8]| stream.fill(buffer));
        let mut endpoint = Endpoint::new(config, entropy);
        let peer = PeerConfig {
            public_key: identity.gateway,
            preshared_key: None,
            role: Role::Initiator,
            features: identity.features,
        };
        let refused = |error| Failure::Found(format!("a raw mobile host: {error}"));
        let gateway = endpoint.add_peer(peer).map_err(refused)?;
        let now = clock::monotonic();
        endpoint.connect(now, gateway).map_err(refused)?;
        Ok(Self {
            socket,
            endpoint,
            gateway,
            events: Vec::new(),
        })
    }

    /// As [`begin`](Self::begin), and waits until there are keys.
    pub fn connect(
        host: &Namespace,
        address: SocketAddr,
        identity: RawIdentity,
    ) -> Result<Self, Failure> {
        let mut mobile = Self::begin(host, address, identity)?;
        let deadline = clock::monotonic() + PATIENCE.into();
        while !mobile.has_keys() {
            if clock::monotonic() > deadline {
                return Err(Failure::Found("the gateway does not answer".into()));
            }
            mobile.receive(|_| ());
        }
        Ok(mobile)
    }

    /// Returns true if it has had keys.
    pub fn has_keys(&self) -> bool {
        let keys = |event: &Event| matches!(event, Event::Established { .. });
        self.events.iter().any(keys)
    }

    /// Returns the changes of its session so far.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Does what the session has to do, and takes one datagram, for which it waits a millisecond; `frame` gets its
    /// plaintext if it is one of the gateway's. Returns false if none came.
    pub fn receive(&mut self, mut frame: impl FnMut(&[u8])) -> bool {
        let now = clock::monotonic();
        self.endpoint.handle_timeout(now);
        self.keep_session();
        let mut datagram = [0; LONGEST];
        let Ok(length) = self.socket.recv(&mut datagram) else {
            return false;
        };
        let received = self.endpoint.handle_datagram(now, &mut datagram[..length]);
        if let Received::Data { plaintext, .. } = received {
            frame(plaintext);
        }
        self.keep_session();
        true
    }

    /// Receives, and drops, what comes within this time.
    pub fn rest(&mut self, span: Duration) {
        let deadline = clock::monotonic() + span.into();
        while clock::monotonic() < deadline {
            self.receive(|_| ());
        }
    }

    fn keep_session(&mut self) {
        while let Some(output) = self.endpoint.poll_output() {
            match output {
                // What is lost is sent again.
                Output::Transmit { datagram, .. } => drop(self.socket.send(&datagram)),
                Output::Event(event) => self.events.push(event),
            }
        }
    }

    /// Returns a sealed datagram for the gateway; nothing if there are no keys.
    pub fn seal(&mut self, plaintext: &[u8]) -> Option<Vec<u8>> {
        let mut datagram = vec![0; DATA_HEADER_BYTES];
        datagram.extend_from_slice(plaintext);
        datagram.resize(plaintext.len() + DATA_OVERHEAD_BYTES, 0);
        let now = clock::monotonic();
        let sealed = self.endpoint.seal(now, self.gateway, &mut datagram);
        sealed.is_ok().then_some(datagram)
    }

    /// Returns the index of its session at the gateway, which everybody on the path can see.
    ///
    /// # Errors
    /// If there are no keys.
    pub fn index(&mut self) -> Result<[u8; 4], Failure> {
        let datagram = self.seal(&[]);
        let index = datagram
            .as_ref()
            .and_then(|bytes| bytes.get(1..5)?.try_into().ok());
        index.ok_or_else(|| Failure::Found("a raw mobile host without keys".into()))
    }

    /// Seals and sends a plaintext; returns false if there are no keys. What the network has no room for is lost.
    pub fn send(&mut self, plaintext: &[u8]) -> bool {
        let Some(datagram) = self.seal(plaintext) else {
            return false;
        };
        let _ = self.socket.send(&datagram);
        true
    }
}

/// Opens a socket on a host that is connected to an address; reading waits a millisecond.
pub(crate) fn open(host: &Namespace, address: SocketAddr) -> Result<UdpSocket, Failure> {
    on(host, || {
        let open = || {
            let socket = UdpSocket::bind("0.0.0.0:0")?;
            socket.connect(address)?;
            socket.set_read_timeout(Some(Duration::from_millis(1)))?;
            Ok::<_, io::Error>(socket)
        };
        open().map_err(|error| Failure::Found(format!("a socket of a raw mobile host: {error}")))
    })
}
