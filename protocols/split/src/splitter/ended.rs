//! Connections to mobile hosts whose streams have ended.
//!
//! Packets of such a connection cross the hop only if the mobile host's former process was killed: it was the other end
//! for the application, and nobody else knows the connection. The fixed host may know it, but with other numbers, and
//! it may have closed it; then its answers meet the gateway's own socket in TIME-WAIT. So the gateway answers them with
//! a reset.

use std::collections::BTreeMap;

use redirector::{Content, Side};
use units::{Duration, Instant};
use wire::flow::Ends;
use wire::ip::{IpPacket, Transport};
use wire::packet::{Checksum, Packet};
use wire::tcp::{TcpFlags, connection_unknown};

use super::Splitter;
use crate::connection::Connection;
use crate::{End, Output};

/// Largest number of ended connections that are remembered, and the time for which they are: as long as TIME-WAIT of
/// the gateway's socket can last (RFC 9293 §3.4.2), after which the fixed host itself answers with a reset.
const ENDED: usize = 4_096;
const REMEMBERED: Duration = Duration::from_secs(240);

/// Connections that have ended, with the time until which they are remembered.
#[derive(Debug, Default)]
pub(super) struct Ended(BTreeMap<Ends, Instant>);

impl Ended {
    /// Notes that a connection has ended.
    fn note(&mut self, now: Instant, ends: Ends) {
        if self.0.len() >= ENDED {
            self.0.retain(|_, until| now < *until);
        }
        if self.0.len() >= ENDED {
            // Its mobile host repeats its segments until TIME-WAIT is over.
            self.0.pop_first();
        }
        self.0.insert(ends, now + REMEMBERED);
    }

    /// Forgets a connection, whose ends are used again.
    pub(super) fn forget(&mut self, ends: &Ends) {
        self.0.remove(ends);
    }

    /// Returns true if a connection is remembered.
    fn knows(&self, now: Instant, ends: &Ends) -> bool {
        self.0.get(ends).is_some_and(|until| now < *until)
    }
}

/// Returns true if a fixed host requested the connection, and a stream carried it.
fn is_by_stream(connection: &Connection) -> bool {
    connection.stream.is_some() && connection.asker == Side::Fixed
}

impl<C: Content + Default> Splitter<C> {
    /// Remembers a connection that ends.
    pub(super) fn remember(&mut self, now: Instant, ends: Ends) {
        if self.is_carried(&ends) {
            self.table.ended.note(now, ends);
        }
    }

    /// Handles a segment of a mobile host in a connection that a stream carries or has carried.
    pub(super) fn strayed(&mut self, now: Instant, packet: Packet) {
        let Some(parsed) = packet.ip() else { return };
        let ends = Ends::of(&parsed).reversed();
        let answer = connection_unknown(&parsed);
        let is_unknown = self.is_carried(&ends) || self.table.ended.knows(now, &ends);
        if let (true, Some(answer)) = (is_unknown, answer) {
            let reset = Packet::new(answer).with_checksum(Checksum::Verified);
            return self.outputs.push_back(Output::ToHop(reset));
        }
        if let Transport::Tcp(tcp) = parsed.transport()
            && tcp.flags().contains(TcpFlags::SYN)
        {
            // A new connection, as packets.
            self.table.ended.forget(&ends);
        }
        self.outputs.push_back(Output::ToHost(packet));
    }
}

impl<C> Splitter<C> {
    /// Returns true if a packet from the hop belongs to a connection with a mobile host that a stream carries, or has
    /// carried a while ago.
    pub(crate) fn may_have_strayed(&self, packet: &IpPacket<'_>) -> bool {
        let table = &self.table;
        let has_any = !table.by_stream.is_empty() || !table.ended.0.is_empty();
        if !has_any || !matches!(packet.transport(), Transport::Tcp(_)) {
            return false;
        }
        let ends = Ends::of(packet).reversed();
        self.is_carried(&ends) || table.ended.0.contains_key(&ends)
    }

    fn is_carried(&self, ends: &Ends) -> bool {
        let id = self.table.by_ends.get(ends);
        let connection = id.and_then(|id| self.table.connections.get(id));
        self.end == (End::Gateway { transparent: true }) && connection.is_some_and(is_by_stream)
    }
}
