//! The tap: copies of what crosses the hop, for a capture. It changes nothing that the host does.
//!
//! Frames are copied before they are sealed and after they were opened; datagrams of the session as they are on the
//! wire. Keys are in neither. A datagram that does not open, and an answer to a stranger, are not copied.

use std::collections::VecDeque;
use std::net::IpAddr;

use session::{DATA_HEADER_BYTES, PeerId, Received};
use wire::address::HopAddress;
use wire::capture::{CaptureDirection, CaptureHeader, CaptureKind};
use wire::ip::Ecn;

use crate::host::{Host, TAG};
use crate::{Output, TapConfig, Tapped};

/// Room for the header of a copy, in bytes: a name may have 32 and an IPv6 address with a port 18.
const HEADER_USUAL: usize = 64;

/// The outputs that wait for the driver, and the tap.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    waiting: VecDeque<Output>,
    tap: Option<Box<Tap>>,
}

impl Outputs {
    pub(crate) fn push_back(&mut self, output: Output) {
        self.waiting.push_back(output);
    }

    pub(crate) fn pop_front(&mut self) -> Option<Output> {
        self.waiting.pop_front()
    }
}

/// An open tap.
#[derive(Debug)]
struct Tap {
    config: TapConfig,
    waiting: VecDeque<Tapped>,
}

/// Something that crosses the hop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crossing<'a> {
    pub(crate) kind: CaptureKind,
    pub(crate) direction: CaptureDirection,
    pub(crate) ecn: Ecn,
    pub(crate) address: Option<HopAddress>,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Crossing<'a> {
    /// Returns a frame or a message that leaves for this address.
    pub(crate) fn leaves(to: HopAddress, ecn: Ecn, plaintext: &'a [u8]) -> Self {
        Self {
            kind: CaptureKind::Plaintext,
            direction: CaptureDirection::Outbound,
            ecn,
            address: Some(to),
            bytes: plaintext,
        }
    }
}

/// A datagram that was handled, and what there is to copy of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handled {
    peer: Option<PeerId>,
    kind: CaptureKind,
}

impl Handled {
    /// Returns what there is to copy of a datagram by its result, if there is anything.
    pub(crate) fn of(received: &Received<'_>) -> Option<Self> {
        let (peer, kind) = match received {
            Received::Data { peer, .. } | Received::Goodbye(peer) => {
                (Some(*peer), CaptureKind::Plaintext)
            }
            Received::Handshake(peer) => (Some(*peer), CaptureKind::Datagram),
            Received::CookieReply => (None, CaptureKind::Datagram),
            Received::Reply(_) | Received::Dropped(_) => return None,
        };
        Some(Self { peer, kind })
    }
}

impl Host {
    /// Opens the tap, in the place of one that is open, or closes it. Returns false, and changes nothing, if the peer
    /// of `config` is not a peer of this host.
    pub fn set_tap(&mut self, config: Option<TapConfig>) -> bool {
        let wanted = config.as_ref().and_then(|config| config.peer.as_deref());
        let mut peers = self.peers.iter();
        if wanted.is_some_and(|name| peers.all(|(_, peer)| peer.settings.name != name)) {
            return false;
        }
        self.outputs.tap = config.map(|config| {
            Box::new(Tap {
                config,
                waiting: VecDeque::new(),
            })
        });
        true
    }

    /// Returns the name of the peer that has this inner address.
    pub fn peer_at(&self, address: IpAddr) -> Option<&str> {
        let index = self.routes.owner(address)?;
        self.peers.get(index).map(|peer| &*peer.settings.name)
    }

    /// Returns the next copy of an open tap. The driver takes all copies when it takes the outputs.
    pub fn poll_tapped(&mut self) -> Option<Tapped> {
        self.outputs.tap.as_mut()?.waiting.pop_front()
    }

    /// Copies something of this peer if the tap is open; returns true if it did.
    #[inline]
    pub(crate) fn tap(&mut self, index: Option<usize>, crossing: &Crossing<'_>) -> bool {
        self.outputs.tap.is_some() && self.copy(index, crossing)
    }

    #[cold]
    fn copy(&mut self, index: Option<usize>, crossing: &Crossing<'_>) -> bool {
        let Some(tap) = &mut self.outputs.tap else {
            return false;
        };
        let peer = index.and_then(|index| self.peers.get(index));
        let name = peer.map_or("", |peer| &peer.settings.name);
        if tap.config.peer.as_ref().is_some_and(|only| only != name) {
            return false;
        }
        let kept = &crossing.bytes[..crossing.bytes.len().min(tap.config.snap)];
        let header = CaptureHeader {
            kind: crossing.kind,
            direction: crossing.direction,
            ecn: crossing.ecn,
            association: peer.map_or(0, |peer| peer.streams.life),
            address: crossing.address,
            peer: name,
        };
        let mut bytes = Vec::with_capacity(HEADER_USUAL + kept.len());
        header.write(&mut bytes);
        let length = bytes.len() + crossing.bytes.len();
        bytes.extend_from_slice(kept);
        tap.waiting.push_back(Tapped {
            direction: crossing.direction,
            length,
            bytes,
        });
        true
    }

    /// Takes back the last copy: it did not leave.
    pub(crate) fn untap(&mut self) {
        if let Some(tap) = &mut self.outputs.tap {
            tap.waiting.pop_back();
        }
    }

    /// Copies a datagram that has arrived and was handled, if the tap is open.
    #[inline]
    pub(crate) fn tap_arrival(
        &mut self,
        from: HopAddress,
        ecn: Ecn,
        handled: Option<Handled>,
        datagram: &[u8],
    ) {
        let Some(handled) = handled.filter(|_| self.outputs.tap.is_some()) else {
            return;
        };
        let end = datagram.len().saturating_sub(TAG);
        let bytes = match handled.kind {
            CaptureKind::Plaintext => datagram.get(DATA_HEADER_BYTES..end).unwrap_or_default(),
            CaptureKind::Datagram => datagram,
        };
        let index = handled.peer.and_then(|peer| self.peers.index_of(peer));
        let crossing = Crossing {
            kind: handled.kind,
            direction: CaptureDirection::Inbound,
            ecn,
            address: Some(from),
            bytes,
        };
        self.copy(index, &crossing);
    }
}
