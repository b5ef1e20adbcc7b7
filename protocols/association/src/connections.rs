//! The TCP connections that cross the hop, and the packets that keep them alive.
//!
//! A gateway that has lost its address translations refuses the segments of fixed hosts, which end their connections. A
//! mobile host that only receives would wait for ever. One acknowledgement for each connection lets the gateway
//! translate it again, or brings back the fixed host's reset.
//!
//! While the hop is silent, a sender gives up after some timeouts. The end of the hop that it can reach repeats the
//! other end's last acknowledgement with a closed window, as in M-TCP (Brown and Singh, 1997): TCP then probes the
//! window, and keeps the connection as long as the probes are answered (RFC 9293 §3.8.6.1). When the hop is back, the
//! same acknowledgement with its true window lets the sender go on.

use std::collections::{BTreeMap, BTreeSet};

use units::{Bytes, Duration, Instant, SeqNumber};
use wire::flow::FlowKey;
use wire::ip::Transport;
use wire::last_segment::LastSegment;
use wire::packet::Packet;
use wire::tcp::{SeqRange, TcpFlags};

/// Most connections that are kept; the one whose last segment is the oldest makes room.
const CONNECTIONS_MAX: usize = 1_024;
/// Bytes of an association's memory for each of them.
const EACH: usize = 8_192;
/// Approximate bytes of an entry, its places in trees included.
const ENTRY: usize = size_of::<(FlowKey, Connection)>() + 2 * size_of::<(Instant, FlowKey)>() + 192;
/// Time after the other end's last segment in which its connection is held: the shortest time that address
/// translators keep one without segments (RFC 5382, REQ-5).
const HELD_MOST: Duration = Duration::from_secs(7_440);

/// The last segments of each TCP connection.
#[derive(Debug)]
pub(crate) struct Connections {
    /// By the flow from this end.
    known: BTreeMap<FlowKey, Connection>,
    /// Their flows by a time no later than that of the last segment.
    order: BTreeSet<(Instant, FlowKey)>,
    /// Flows whose senders are held.
    held: BTreeSet<FlowKey>,
    room: usize,
}

/// Last segments of a connection.
#[derive(Debug, Clone, Copy)]
struct Connection {
    active: Instant,
    /// Its time in the order.
    listed: Instant,
    /// Last segment of this end.
    own: Option<LastSegment>,
    /// Last segment of the other end, and its time.
    theirs: Option<(Instant, LastSegment)>,
    /// Number of a segment that the other end expects and that was sent while the hop was silent.
    awaited: Option<SeqNumber>,
}

/// How far a flow of TCP has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached {
    /// Sequence number after all segments.
    pub next: SeqNumber,
    /// Sender's clock in the last one (RFC 7323): its receiver drops segments with an earlier one.
    pub clock: Option<u32>,
}

/// Place of a segment from this end, for the last acknowledgement of the other end.
enum Place {
    /// The other end has all of it, or it only probes.
    Acknowledged,
    /// It begins with what the other end expects.
    Awaited(SeqNumber),
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            known: BTreeMap::new(),
            order: BTreeSet::new(),
            held: BTreeSet::new(),
            room: CONNECTIONS_MAX,
        }
    }
}

impl Connections {
    /// Sets the part of the memory that may be used: it bounds the connections that are kept.
    pub(crate) fn set_memory(&mut self, memory: Bytes) {
        let room = usize::try_from(memory.get()).unwrap_or(usize::MAX) / EACH;
        self.room = room.clamp(1, CONNECTIONS_MAX);
    }

    /// Records a TCP packet of this end in the flow `key`.
    pub(crate) fn sent(&mut self, now: Instant, key: FlowKey, packet: &Packet) {
        match LastSegment::of(packet) {
            Some(own) => self.entry(now, key).own = Some(own),
            // It opens or resets the connection.
            None => self.forget(&key),
        }
    }

    /// Records a TCP packet of the other end; `key` is the flow of the answers.
    pub(crate) fn received(&mut self, now: Instant, key: FlowKey, packet: &Packet) {
        let Some(segment) = LastSegment::of(packet) else {
            return self.forget(&key);
        };
        let connection = self.entry(now, key);
        let former = connection.theirs.map(|(_, former)| former);
        let segment = former.map_or(segment, |former| segment.after(&former));
        connection.theirs = Some((now, segment));
        connection.awaited = None;
        // Its own window is known now.
        self.held.remove(&key);
    }

    /// Returns the flows in which this end has sent segments.
    pub(crate) fn own(&self) -> impl Iterator<Item = FlowKey> + '_ {
        let own = self.known.iter().filter(|(_, known)| known.own.is_some());
        own.map(|(key, _)| *key)
    }

    /// Returns the flows in which segments of the other end have come since this time, and how far each has come.
    pub(crate) fn received_since(
        &self,
        since: Instant,
    ) -> impl Iterator<Item = (FlowKey, Reached)> + '_ {
        let theirs = self
            .known
            .iter()
            .filter_map(|(key, known)| Some((key, known.theirs?)));
        let recent = theirs.filter(move |(_, (heard, _))| *heard >= since);
        recent.map(|(key, (_, last))| {
            let (next, clock) = (last.next(), last.clock());
            (key.reversed(), Reached { next, clock })
        })
    }

    /// Returns an acknowledgement for the connection with the flow `key` from this end.
    pub(crate) fn acknowledgment(&self, key: &FlowKey) -> Option<Packet> {
        Some(self.known.get(key)?.own?.acknowledgment())
    }

    /// Returns the answer to a packet of this end in the flow `key` while the hop is silent, if there is one: to a
    /// probe, and to the second copy of the segment that the other end expects, if this end keeps it until the hop is
    /// back (`is_kept`). The first copy need not be a repetition; and a sender that has begun its back-off before its
    /// window closes restores its congestion window afterwards (RFC 4015).
    pub(crate) fn answer(
        &mut self,
        now: Instant,
        key: &FlowKey,
        packet: &Packet,
        is_kept: bool,
    ) -> Option<Packet> {
        let connection = self.known.get_mut(key)?;
        let (heard, last) = connection.theirs?;
        if now.since(heard) >= HELD_MOST {
            return None;
        }
        if let Place::Awaited(number) = Place::of(packet, last.acknowledged())? {
            if connection.awaited.replace(number) != Some(number) || !is_kept {
                return None;
            }
            self.held.insert(*key);
        }
        Some(if self.held.contains(key) {
            last.closed()
        } else {
            last.acknowledgment()
        })
    }

    /// Returns true if a sender is held.
    pub(crate) fn are_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Returns the flows whose senders are held, each with the acknowledgement that lets it go on.
    pub(crate) fn let_go(&mut self) -> Vec<(FlowKey, Packet)> {
        let held = std::mem::take(&mut self.held);
        let opened = held.into_iter().filter_map(|key| {
            let (_, last) = self.known.get(&key)?.theirs?;
            Some((key, last.acknowledgment()))
        });
        opened.collect()
    }

    /// Returns the bytes of memory of the table.
    pub(crate) fn memory(&self) -> Bytes {
        Bytes::from(self.known.len() * ENTRY)
    }

    /// Returns the connection with the flow `key`, which is active now.
    fn entry(&mut self, now: Instant, key: FlowKey) -> &mut Connection {
        if !self.known.contains_key(&key) {
            while self.known.len() >= self.room {
                self.forget_oldest();
            }
            self.order.insert((now, key));
        }
        let connection = self.known.entry(key).or_insert(Connection {
            active: now,
            listed: now,
            own: None,
            theirs: None,
            awaited: None,
        });
        connection.active = now;
        connection
    }

    /// Forgets the connection whose last segment is the oldest.
    fn forget_oldest(&mut self) {
        while let Some((listed, key)) = self.order.pop_first() {
            match self.known.get_mut(&key) {
                Some(connection) if connection.active > listed => {
                    connection.listed = connection.active;
                    self.order.insert((connection.active, key));
                }
                Some(_) | None => return self.forget(&key),
            }
        }
    }

    fn forget(&mut self, key: &FlowKey) {
        if let Some(connection) = self.known.remove(key) {
            self.order.remove(&(connection.listed, *key));
            self.held.remove(key);
        }
    }
}

impl Place {
    /// Returns the place of the segment in `packet`, if the other end, which has acknowledged everything before
    /// `acknowledged`, would answer it.
    fn of(packet: &Packet, acknowledged: SeqNumber) -> Option<Self> {
        let Transport::Tcp(tcp) = packet.ip()?.transport() else {
            return None;
        };
        let flags = tcp.flags();
        if flags.contains(TcpFlags::SYN) || flags.contains(TcpFlags::RST) {
            return None;
        }
        let SeqRange { start, end } = tcp.sequence();
        if end > acknowledged {
            return (start <= acknowledged).then_some(Self::Awaited(start));
        }
        (start < acknowledged).then_some(Self::Acknowledged)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use wire::ip::Protocol;
    use wire::packet::PacketBuffer;

    use super::*;

    /// Returns a segment of the connection at `port` with these flags and ten bytes.
    fn packet(port: u16, flags: u8) -> (FlowKey, Packet) {
        let mut bytes = vec![0x45, 0, 0, 50, 0, 0, 0x40, 0, 64, 6, 0, 0];
        bytes.extend([10, 9, 0, 2, 192, 0, 2, 1]);
        bytes.extend(port.to_be_bytes());
        bytes.extend([0, 80, 0, 0, 0, 100, 0, 0, 0, 7, 0x50, flags, 1, 0]);
        bytes.extend([0; 14]);
        let key = FlowKey {
            protocol: Protocol::TCP,
            source: IpAddr::V4(Ipv4Addr::new(10, 9, 0, 2)),
            destination: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
            source_port: port,
            destination_port: 80,
        };
        (key, Packet::new(PacketBuffer::copy_of(&bytes)))
    }

    #[test]
    fn open_connections_are_acknowledged_and_others_are_not() {
        let mut sent = Connections::default();
        // SYN; data; data and FIN; data, then RST; the answer to a SYN.
        let segments = [
            (1, 0x02),
            (2, 0x18),
            (3, 0x19),
            (4, 0x18),
            (4, 0x14),
            (5, 0x12),
        ];
        for (port, flags) in segments {
            let (key, packet) = packet(port, flags);
            sent.sent(Instant::ZERO, key, &packet);
        }
        let flows = sent.own();
        let mut acknowledgments: Vec<_> =
            flows.filter_map(|key| sent.acknowledgment(&key)).collect();
        let expected = [(2, 110), (3, 111), (5, 111)];
        assert_eq!(acknowledgments.len(), expected.len());
        for (packet, (port, next)) in acknowledgments.iter_mut().zip(expected) {
            assert_eq!(packet.len(), 40);
            assert_eq!(packet[20..22], u16::to_be_bytes(port));
            assert_eq!(packet[24..28], u32::to_be_bytes(next));
            assert_eq!(packet[28..34], [0, 0, 0, 7, 0x50, 0x10]);
            let bytes = packet.to_vec();
            packet.checksum = wire::packet::Checksum::Unverified;
            packet.verify_checksum();
            assert_eq!(packet.checksum, wire::packet::Checksum::Verified);
            assert_eq!(bytes, packet.to_vec());
        }
    }

    #[test]
    fn the_table_is_bounded_and_keeps_the_latest() {
        let mut sent = Connections::default();
        let most = 128;
        sent.set_memory(Bytes::from(most * EACH));
        for port in 0..1_000_u16 {
            let (key, packet) = packet(port, 0x10);
            sent.sent(
                Instant::ZERO + Duration::from_millis(port.into()),
                key,
                &packet,
            );
        }
        let ports: Vec<_> = sent.known.keys().map(|key| key.source_port).collect();
        assert_eq!(ports, (1_000 - most as u16..1_000).collect::<Vec<_>>());
        assert_eq!(sent.order.len(), most);
        assert!(sent.memory() <= Bytes::from(most * EACH / 8));
    }

    /// Flow of the sender at this end.
    const FLOW: FlowKey = FlowKey {
        protocol: Protocol::TCP,
        source: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
        destination: IpAddr::V4(Ipv4Addr::new(10, 9, 0, 2)),
        source_port: 80,
        destination_port: 5_000,
    };
    const ACK: u8 = 0x10;
    const FIN: u8 = 0x11;
    const DATA: usize = 100;
    /// Number that each end expects of the other one.
    const EXPECTED: u32 = 1_000;
    const THEIRS: u32 = 7_000;

    /// Returns a segment in `flow` that begins at `sequence`, with timestamps and a report of a segment that arrived
    /// twice.
    fn segment(flow: FlowKey, sequence: u32, flags: u8, data: usize) -> Packet {
        let acknowledged = if flow == FLOW { THEIRS } else { EXPECTED };
        let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0];
        let length = 64 + data as u16;
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        for address in [flow.source, flow.destination] {
            match address {
                IpAddr::V4(address) => bytes.extend(address.octets()),
                IpAddr::V6(_) => unreachable!("the flow is of IPv4"),
            }
        }
        bytes.extend(flow.source_port.to_be_bytes());
        bytes.extend(flow.destination_port.to_be_bytes());
        bytes.extend(sequence.to_be_bytes());
        bytes.extend(acknowledged.to_be_bytes());
        bytes.extend([0xb0, flags, 2, 1, 0, 0, 0, 0]);
        bytes.extend([1, 1, 8, 10, 0, 0, 0, 77, 0, 0, 0, 33]);
        bytes.extend([1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        bytes.resize(length.into(), 7);
        Packet::new(PacketBuffer::copy_of(&bytes))
    }

    /// Returns a connection whose other end has sent ten bytes and expects [`EXPECTED`].
    fn connected(now: Instant) -> Connections {
        let mut known = Connections::default();
        let theirs = segment(FLOW.reversed(), THEIRS - 10, ACK, 10);
        known.received(now, FLOW, &theirs);
        known
    }

    /// Returns the window in the answer to a segment, after a check of its other fields.
    fn window(known: &mut Connections, now: Instant, segment: &Packet) -> Option<u16> {
        let packet = known.answer(now, &FLOW, segment, true)?;
        assert_eq!(packet.len(), 52, "no report of single segments");
        assert_eq!(packet[24..28], THEIRS.to_be_bytes());
        assert_eq!(packet[28..32], EXPECTED.to_be_bytes());
        assert_eq!(packet[32..34], [0x80, ACK]);
        assert_eq!(packet[40..52], [8, 10, 0, 0, 0, 77, 0, 0, 0, 33, 0, 0]);
        let mut copy = Packet::new(PacketBuffer::copy_of(&packet));
        copy.verify_checksum();
        assert_eq!(copy.checksum, wire::packet::Checksum::Verified);
        Some(u16::from_be_bytes([packet[34], packet[35]]))
    }

    const OPEN: Option<u16> = Some(0x0201);
    const CLOSED: Option<u16> = Some(0);

    #[test]
    fn the_second_copy_of_what_is_expected_closes_the_window() {
        for (flags, data) in [(ACK, DATA), (FIN, DATA), (FIN, 0)] {
            let mut known = connected(Instant::ZERO);
            let first = segment(FLOW, EXPECTED, flags, data);
            let later = segment(FLOW, EXPECTED + data as u32 + 1, flags, data);
            assert_eq!(window(&mut known, Instant::ZERO, &first), None);
            // Data behind it, as a tail loss probe has.
            assert_eq!(window(&mut known, Instant::ZERO, &later), None);
            assert!(!known.are_held());
            assert_eq!(window(&mut known, Instant::ZERO, &first), CLOSED);
            assert!(known.are_held());
            // A probe of this window.
            let probe = segment(FLOW, EXPECTED - 1, ACK, 0);
            assert_eq!(window(&mut known, Instant::ZERO, &probe), CLOSED);
            let opened = known.let_go();
            assert_eq!(opened.len(), 1);
            assert_eq!(opened[0].1[34..36], [2, 1]);
            assert!(!known.are_held());
        }
    }

    #[test]
    fn what_this_end_does_not_keep_closes_no_window() {
        let mut known = connected(Instant::ZERO);
        let copy = segment(FLOW, EXPECTED, ACK, DATA);
        for _ in 0..9 {
            let answer = known.answer(Instant::ZERO, &FLOW, &copy, false);
            assert!(answer.is_none());
        }
    }

    #[test]
    fn a_keep_alive_is_answered_and_no_acknowledgement_is() {
        let mut known = connected(Instant::ZERO);
        for data in [0, 1] {
            let probe = segment(FLOW, EXPECTED - 1, ACK, data);
            assert_eq!(window(&mut known, Instant::ZERO, &probe), OPEN);
        }
        for (sequence, flags) in [(EXPECTED, ACK), (EXPECTED + 9, ACK), (EXPECTED - 1, 0x14)] {
            let other = segment(FLOW, sequence, flags, 0);
            assert_eq!(window(&mut known, Instant::ZERO, &other), None);
        }
        assert!(!known.are_held());
    }

    #[test]
    fn nobody_is_held_for_an_end_that_stays_away() {
        let mut known = connected(Instant::ZERO);
        let copy = segment(FLOW, EXPECTED, ACK, DATA);
        let last = Instant::ZERO + HELD_MOST - Duration::from_nanos(1);
        assert_eq!(window(&mut known, Instant::ZERO, &copy), None);
        assert_eq!(window(&mut known, last, &copy), CLOSED);
        assert_eq!(window(&mut known, Instant::ZERO + HELD_MOST, &copy), None);
    }

    #[test]
    fn the_other_ends_own_segments_end_the_hold() {
        let mut known = connected(Instant::ZERO);
        let copy = segment(FLOW, EXPECTED, ACK, DATA);
        assert_eq!(window(&mut known, Instant::ZERO, &copy), None);
        assert_eq!(window(&mut known, Instant::ZERO, &copy), CLOSED);
        // A repetition, which lies before the end of what was sent.
        let again = segment(FLOW.reversed(), THEIRS - 10, ACK, 5);
        known.received(Instant::ZERO, FLOW, &again);
        assert!(!known.are_held());
        assert_eq!(window(&mut known, Instant::ZERO, &copy), None);
        assert_eq!(window(&mut known, Instant::ZERO, &copy), CLOSED);
        let reset = segment(FLOW.reversed(), THEIRS, 0x14, 0);
        known.received(Instant::ZERO, FLOW, &reset);
        assert!(!known.are_held() && known.memory() == Bytes::ZERO);
        assert_eq!(window(&mut known, Instant::ZERO, &copy), None);
    }
}
