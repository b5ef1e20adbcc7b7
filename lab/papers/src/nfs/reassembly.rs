//! Reassembly of fragments into datagrams (RFC 791, §3.2), with limits of memory and time.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use bytes::{Bytes as Content, BytesMut};
use serde::Deserialize;
use units::{Bytes, Duration, Instant};
use wire::ip::Ipv4View;

/// Limits of a host's incomplete datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Room {
    /// Bytes of all incomplete datagrams together; the oldest are discarded first.
    pub(crate) bytes: Bytes,
    /// Time from the first fragment on.
    pub(crate) lasts: Duration,
}

/// The key of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Name {
    source: Ipv4Addr,
    identification: u16,
}

/// A datagram with missing fragments.
#[derive(Debug)]
struct Incomplete {
    name: Name,
    until: Instant,
    /// Fragments by offset.
    pieces: BTreeMap<usize, Content>,
    /// Length of the datagram, once its last fragment has arrived.
    end: Option<usize>,
    /// Bytes of all fragments.
    kept: usize,
}

impl Incomplete {
    /// Returns the datagram if it is complete.
    fn whole(&self) -> Option<Content> {
        let end = self.end.filter(|end| self.kept >= *end)?;
        let mut whole = BytesMut::with_capacity(end);
        for (at, piece) in &self.pieces {
            if *at != whole.len() {
                return None;
            }
            whole.extend_from_slice(piece);
        }
        (whole.len() == end).then(|| whole.freeze())
    }
}

/// The fragments that a host keeps.
#[derive(Debug)]
pub(super) struct Reassembly {
    room: Room,
    /// Oldest first.
    incomplete: VecDeque<Incomplete>,
    kept: u64,
    given_up: u64,
}

impl Reassembly {
    pub(super) fn new(room: Room) -> Self {
        Self {
            room,
            incomplete: VecDeque::new(),
            kept: 0,
            given_up: 0,
        }
    }

    /// Takes a fragment, a checked IPv4 packet; returns the datagram that it completes, without IP header.
    pub(super) fn take(&mut self, now: Instant, packet: &Content) -> Option<Content> {
        let view = Ipv4View::parse(packet).ok()?;
        let fragment = view.fragment()?;
        let name = Name {
            source: view.source(),
            identification: view.identification(),
        };
        let piece = packet.slice(view.header_length()..view.bytes().len());
        let known = self.incomplete.iter().position(|known| known.name == name);
        let place = known.unwrap_or_else(|| {
            self.incomplete.push_back(Incomplete {
                name,
                until: now + self.room.lasts,
                pieces: BTreeMap::new(),
                end: None,
                kept: 0,
            });
            self.incomplete.len() - 1
        });
        let datagram = &mut self.incomplete[place];
        let at = usize::from(fragment.offset);
        if !fragment.more {
            datagram.end = Some(at + piece.len());
        }
        let length = piece.len();
        let replaced = datagram.pieces.insert(at, piece);
        let replaced = replaced.map_or(0, |old| old.len());
        datagram.kept = datagram.kept + length - replaced;
        self.kept = self.kept + length as u64 - replaced as u64;
        if let Some(whole) = datagram.whole() {
            self.remove(place);
            return Some(whole);
        }
        while self.kept > self.room.bytes.get() && !self.incomplete.is_empty() {
            self.remove(0);
            self.given_up += 1;
        }
        None
    }

    fn remove(&mut self, place: usize) {
        if let Some(gone) = self.incomplete.remove(place) {
            self.kept -= gone.kept as u64;
        }
    }

    /// Discards datagrams whose time is over.
    pub(super) fn expire(&mut self, now: Instant) {
        while self.deadline().is_some_and(|until| until <= now) {
            self.remove(0);
            self.given_up += 1;
        }
    }

    /// Returns the time at which a datagram is discarded next.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.incomplete.front().map(|oldest| oldest.until)
    }

    /// Returns the number of datagrams that were discarded.
    pub(super) fn given_up(&self) -> u64 {
        self.given_up
    }
}
