//! The daemon's end of a capture.

use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::unix::net::UnixStream;

use edges::clock;
use edges::wait::{Interest, Waiter};
use hosts::{TapConfig, Tapped};
use rustix::net::sockopt::socket_peercred;
use units::Instant;
use wire::capture::CaptureDirection;
use wire::packet::Packet;

use super::queue::Queue;
use super::record::{Counts, Record, Side, flags_of};
use super::{Beginning, Reply, Selection};
use crate::host::DrivenHost;

/// A query for a capture, and its client.
pub(crate) struct Ask {
    pub(crate) stream: UnixStream,
    /// Token of the client at the waiter.
    pub(crate) token: u64,
    /// The query, behind its first word.
    pub(crate) selection: Vec<u8>,
}

/// A capture in progress.
pub(crate) struct Tap {
    stream: UnixStream,
    token: u64,
    selection: Selection,
    queue: Queue,
    /// True while the socket has no room.
    is_blocked: bool,
    /// True if only what is in the queue is still to be sent.
    is_ending: bool,
}

impl Tap {
    /// Begins the capture that a client has asked for, and opens the tap of the host if frames are wanted. If it is
    /// refused, the client gets the reason.
    pub(crate) fn begin(
        ask: Ask,
        waiter: &Waiter,
        other: Option<&Self>,
        host: &mut impl DrivenHost,
    ) -> Option<Self> {
        let Ask {
            stream,
            token,
            selection,
        } = ask;
        let begun = serde_json::from_slice(&selection)
            .map_err(|error| format!("the query is no selection of a capture: {error}"))
            .and_then(|selection| match other {
                Some(other) => Err(other.is_in_the_way()),
                None => open(selection, host),
            });
        let (selection, reply) = match begun {
            Ok(selection) => (Some(selection), Reply::Capture(beginning())),
            Err(error) => (None, Reply::Error(error)),
        };
        let mut queue = Queue::default();
        // Text and numbers always become JSON.
        queue.push_line(&serde_json::to_string(&reply).unwrap_or_default());
        let Some(selection) = selection else {
            // A new connection has room for a line; then it is closed.
            let _ = (&stream).write_all(queue.next());
            return None;
        };
        if waiter.modify(&stream, token, Interest::Changes).is_err() {
            host.set_tap(None);
            return None;
        }
        Some(Self {
            stream,
            token,
            selection,
            queue,
            is_blocked: false,
            is_ending: false,
        })
    }

    fn is_in_the_way(&self) -> String {
        let process = socket_peercred(&self.stream).map(|peer| peer.pid.as_raw_nonzero());
        let process =
            process.map_or_else(|_| String::new(), |number| format!(" (process {number})"));
        format!("another capture of this daemon runs{process}; end it first")
    }

    /// Returns true if this is the token of its client.
    pub(crate) fn is_for(&self, token: u64) -> bool {
        self.token == token
    }

    /// Captures a packet of the device, as it is before the device changes it; `peer` returns the peer that has an
    /// inner address.
    pub(crate) fn packet<'h>(
        &mut self,
        direction: CaptureDirection,
        packet: &Packet,
        peer: impl FnOnce(IpAddr) -> Option<&'h str>,
    ) {
        let selection = &self.selection;
        if self.is_ending || !selection.inner {
            return;
        }
        if let Some(wanted) = &selection.peer {
            let address = packet.ip().map(|ip| match direction {
                CaptureDirection::Inbound => ip.source(),
                CaptureDirection::Outbound => ip.destination(),
            });
            if address.and_then(peer) != Some(wanted) {
                return;
            }
        }
        self.queue.push(Record {
            side: Side::Inner,
            at: clock::monotonic(),
            counts: Counts::default(),
            is_last: false,
            flags: flags_of(direction, packet.checksum, packet.segment_size > 0),
            length: packet.len() as u32,
            bytes: &packet[..packet.len().min(selection.snap)],
        });
    }

    /// Captures a frame of the hop.
    pub(crate) fn frame(&mut self, frame: &Tapped) {
        if !self.is_ending {
            self.queue.push(Record {
                side: Side::Hop,
                at: clock::monotonic(),
                counts: Counts::default(),
                is_last: false,
                flags: frame.direction as u32,
                length: frame.length as u32,
                bytes: &frame.bytes,
            });
        }
    }

    /// Handles what the client's socket reports: room, or the end.
    pub(crate) fn ready(&mut self, host: &mut impl DrivenHost) -> io::Result<()> {
        self.is_blocked = false;
        let mut ignored = [0; 64];
        loop {
            match self.stream.read(&mut ignored) {
                Ok(0) => {
                    self.end(clock::monotonic(), host);
                    return Ok(());
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Captures nothing more; the last counts are to be sent.
    pub(crate) fn end(&mut self, now: Instant, host: &mut impl DrivenHost) {
        if !self.is_ending {
            self.is_ending = true;
            host.set_tap(None);
            self.queue.end(now);
        }
    }

    /// Sends as much as the socket has room for; returns false if everything is sent, and nothing will follow.
    ///
    /// # Errors
    /// If the client is gone.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        while !self.is_blocked && !self.queue.is_empty() {
            match self.stream.write(self.queue.next()) {
                Ok(count) => self.queue.sent(count),
                // The waiter reports when there is room again.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.is_blocked = true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(!(self.is_ending && self.queue.is_empty()))
    }
}

/// Opens the tap of the host for a selection.
fn open(selection: Selection, host: &mut impl DrivenHost) -> Result<Selection, String> {
    let config = TapConfig {
        peer: selection.peer.clone(),
        snap: selection.snap,
    };
    // Opened in any case, which shows whether there is such a peer.
    if !host.set_tap(Some(config)) {
        let name = selection.peer.as_deref().unwrap_or_default();
        return Err(format!(
            "this daemon has no peer '{name}'; `lasthop status` lists its peers"
        ));
    }
    if !selection.hop {
        host.set_tap(None);
    }
    Ok(selection)
}

fn beginning() -> Beginning {
    let ahead = || clock::wall().saturating_sub(clock::monotonic().since_origin());
    Beginning {
        version: env!("CARGO_PKG_VERSION").into(),
        wall_ahead: clock::wall_ahead().unwrap_or_else(ahead),
    }
}
