//! A peer with the right keys and the wrong behaviour.

use hosts::Role;
use mtcp::packet::{Addresses, Cid, Control, Kind, Packet, Profile};
use session::{
    DATA_HEADER_BYTES, DATA_OVERHEAD_BYTES, Endpoint, Limits, PeerConfig, PeerId, Received,
};
use units::Instant;
use wire::hop::{Chunk, Frame, NoticeMessage, PathMessage, RecordWriter};
use wire::packet::PacketBuffer;

use super::packets::packet;
use crate::cores::{entropy, key};
use crate::cursor::Cursor;
use crate::mtcp::{FIRST, Names, PEER, complete, encode, owned};
use crate::outcome::note;

/// Plaintext of a datagram that says goodbye.
const GOODBYE: u8 = 1;
/// First byte of a frame, and of a chunk with a packet of the split transport and its length.
const FRAME: u8 = 0x10;
const TRANSPORT: u8 = 0x71;

/// The peer.
pub(super) struct Intruder {
    endpoint: Endpoint,
    id: PeerId,
    /// True if it begins handshakes.
    initiates: bool,
    /// True if it answers challenges and requests for connections.
    answers: bool,
    profile: Profile,
    /// Number of its next frame, and the highest number of the host's frames.
    number: u32,
    heard: u32,
    /// Number of acknowledgements from the host.
    acknowledged: u64,
    /// Identifiers of the connection that the host named last.
    names: Names,
    /// Frames that it sends when the host has been heard.
    pub(super) replies: Vec<Vec<u8>>,
}

impl Intruder {
    /// Returns the peer of a host with this role, in one of several lives: each has its own draws, and a later clock.
    pub(super) fn new(of: Role, life: u64, features: u64) -> Self {
        let (own, host, role) = match of {
            Role::Gateway => ("mobile", "gateway", session::Role::Initiator),
            Role::Mobile => ("gateway", "mobile", session::Role::Responder),
        };
        let config = session::Config {
            private_key: key(own),
            wall_clock_at_origin: 1_800_000_000_000_000_000 + (life << 40),
            limits: Limits::default(),
        };
        let mut endpoint = Endpoint::new(config, entropy(&format!("life {life} of {own}")));
        let peer = PeerConfig {
            public_key: key(host).public_key(),
            preshared_key: None,
            role,
            features,
        };
        let id = endpoint.add_peer(peer).expect("the keys differ");
        Self {
            endpoint,
            id,
            initiates: of == Role::Gateway,
            answers: true,
            profile: Profile::Wide,
            number: 0,
            heard: 0,
            acknowledged: 0,
            names: Names::default(),
            replies: Vec::new(),
        }
    }

    pub(super) fn set_answers(&mut self, answers: bool, profile: Profile) {
        (self.answers, self.profile) = (answers, profile);
    }

    /// Begins a handshake, if that is its part.
    pub(super) fn connect(&mut self, now: Instant) {
        if self.initiates {
            self.endpoint.connect(now, self.id).expect("an initiator");
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.endpoint.expires_at(self.id).is_some()
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.endpoint.poll_timeout()
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.endpoint.handle_timeout(now);
    }

    /// Returns the next datagram of its session.
    pub(super) fn poll_datagram(&mut self) -> Option<Vec<u8>> {
        loop {
            match self.endpoint.poll_output()? {
                session::Output::Transmit { datagram, .. } => return Some(datagram),
                session::Output::Event(event) => note(&event),
            }
        }
    }

    /// Returns the sealed datagram with this content, if it has keys.
    pub(super) fn seal(&mut self, now: Instant, content: &[u8]) -> Option<Vec<u8>> {
        let mut datagram = vec![0; DATA_HEADER_BYTES];
        datagram.extend(content);
        datagram.resize(content.len() + DATA_OVERHEAD_BYTES, 0);
        let sealed = self.endpoint.seal(now, self.id, &mut datagram);
        sealed.is_ok().then_some(datagram)
    }

    /// Returns the number of acknowledgements that came.
    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Handles a datagram of the host.
    pub(super) fn arrived(&mut self, now: Instant, datagram: &mut [u8]) {
        let Received::Data { plaintext, .. } = self.endpoint.handle_datagram(now, datagram) else {
            return;
        };
        if plaintext.is_empty() {
            return;
        }
        if let Some(message) = PathMessage::parse(plaintext) {
            note(&message);
            if let (PathMessage::Challenge(bits), true) = (message, self.answers) {
                self.replies
                    .push(PathMessage::Answer(bits).encode().to_vec());
            }
            return;
        }
        // About a source that this intruder has made up.
        if NoticeMessage::parse(plaintext).is_some() {
            return;
        }
        let frame = Frame::parse(plaintext).expect("a host sends frames");
        self.heard = self.heard.max(frame.number);
        let mut packets = Vec::new();
        for chunk in frame.chunks() {
            let chunk = chunk.expect("a host's frame can be read");
            note(&chunk);
            self.acknowledged += u64::from(matches!(chunk, Chunk::Ack(_)));
            if let Chunk::Transport(packet) = chunk {
                packets.push(packet.to_vec());
            }
        }
        for packet in &packets {
            self.transport_arrived(packet);
        }
    }

    fn transport_arrived(&mut self, bytes: &[u8]) {
        let packet = Packet::parse(bytes).expect("a host's packet can be read");
        match packet {
            Packet::Control(control) => {
                note(&control.kind);
                if matches!(control.kind, Kind::Syn | Kind::SynAck) {
                    self.names = Names {
                        own: control.reverse,
                        first: control.sequence,
                    };
                }
                if control.kind == Kind::Syn && self.answers {
                    let answer = crate::mtcp::answer(&control);
                    self.reply(&Packet::Control(answer));
                }
            }
            Packet::Data(data) => note(&data.flags.request),
        }
    }

    fn reply(&mut self, packet: &Packet<redirector::Chunks>) {
        let frame = self.transport(&encode(packet));
        self.replies.push(frame);
    }

    /// Returns the header of its next frame.
    fn header(&mut self) -> Vec<u8> {
        let mut frame = vec![FRAME];
        frame.extend(self.number.to_be_bytes());
        self.number = self.number.wrapping_add(1);
        frame
    }

    /// Returns a frame with these bytes after its header.
    pub(super) fn raw(&mut self, chunks: &[u8]) -> Vec<u8> {
        let mut frame = self.header();
        frame.extend(chunks);
        frame
    }

    fn transport(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut frame = self.header();
        frame.push(TRANSPORT);
        frame.extend((packet.len() as u16).to_be_bytes());
        frame.extend(packet);
        frame
    }

    /// Returns a frame with a packet of the split transport that has correct names and checksum.
    pub(super) fn completed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let packet = complete(bytes, self.names);
        self.transport(&packet)
    }

    /// Returns a frame that requests a connection.
    pub(super) fn syn(&mut self, cursor: &mut Cursor<'_>) -> Vec<u8> {
        let port = cursor.short();
        let hosts: [[u8; 4]; 6] = [
            [192, 0, 2, 1],
            [192, 0, 2, 1],
            [10, 9, 0, 2],
            [127, 0, 0, 1],
            [169, 254, 1, 1],
            [10, 9, 0, 1],
        ];
        let far = hosts[usize::from(cursor.byte()) % hosts.len()];
        let addresses = Addresses::new(
            (far, port).into(),
            ([10, 9, 0, 2 + cursor.byte() / 128], 4_000 + port % 4).into(),
        );
        let control = Control {
            profile: self.profile,
            kind: Kind::Syn,
            lean: cursor.byte() > 200,
            connection: Cid::NONE,
            reverse: Cid(PEER.0 + u16::from(cursor.byte() % 8)),
            sequence: FIRST,
            acknowledgment: 0,
            buffer: cursor.number() as u32,
            packet: 1_400 - cursor.short() % 1_400,
            shift: cursor.byte() % 10,
            addresses: addresses.expect("one family"),
        };
        if !control_is_valid(&control) {
            return self.raw(&[0x40]);
        }
        self.transport(&encode(&Packet::Control(control)))
    }

    /// Returns a frame with chunks that a tape composes.
    pub(super) fn composed(&mut self, cursor: &mut Cursor<'_>) -> Vec<u8> {
        let mut frame = self.header();
        while !cursor.is_empty() && frame.len() < 1_500 {
            match cursor.byte() % 8 {
                0 => stream(cursor, &mut frame, true),
                1 => stream(cursor, &mut frame, false),
                2 => brief(cursor, &mut frame),
                3 | 4 => self.acknowledge(cursor, &mut frame),
                5 => frame.push(if cursor.byte() < 128 { 0x40 } else { 0x42 }),
                6 => {
                    frame.extend([0x51, 0, 4]);
                    frame.extend([0; 4]);
                }
                _ => frame.extend(cursor.take(4)),
            }
        }
        frame
    }

    /// Writes an acknowledgement of what the host has sent, of more, or of less.
    fn acknowledge(&self, cursor: &mut Cursor<'_>, frame: &mut Vec<u8>) {
        let has_counts = cursor.byte() > 200;
        frame.push(0x30 | u8::from(has_counts));
        let back = cursor.byte();
        let largest = if back > 240 {
            self.heard.wrapping_add(u32::from(back))
        } else {
            self.heard.saturating_sub(u32::from(back / 4))
        };
        frame.extend(largest.to_be_bytes());
        frame.extend((cursor.number() as u32).to_be_bytes());
        varint(u64::from(cursor.byte()), frame);
        let first = cursor.byte();
        let first = if first < 128 {
            u64::from(largest)
        } else {
            cursor.number()
        };
        varint(first, frame);
        if has_counts {
            varint(cursor.number(), frame);
            varint(cursor.number(), frame);
        }
        let count = cursor.byte() % 4;
        frame.push(count);
        for _ in 0..count {
            varint(cursor.number() >> 40, frame);
            varint(cursor.number() >> 40, frame);
        }
    }

    /// Returns a content that says goodbye, challenges, or answers a challenge that there was not.
    pub(super) fn message(cursor: &mut Cursor<'_>) -> Vec<u8> {
        let bits = cursor.number();
        match cursor.byte() % 8 {
            0 => vec![GOODBYE],
            1..=4 => PathMessage::Challenge(bits).encode().to_vec(),
            _ => PathMessage::Answer(bits).encode().to_vec(),
        }
    }

    /// Returns a frame that acknowledges all that was heard.
    pub(super) fn all_heard(&mut self) -> Vec<u8> {
        let mut frame = self.header();
        frame.push(0x30);
        frame.extend(self.heard.to_be_bytes());
        frame.extend([0; 4]);
        frame.push(0);
        varint(u64::from(self.heard), &mut frame);
        frame.push(0);
        frame
    }
}

/// Returns true if the packet has numbers and addresses that its profile can carry.
fn control_is_valid(control: &Control) -> bool {
    let mut bytes = vec![0; control.length()];
    Packet::<redirector::Chunks>::Control(*control).write(&mut bytes, |_, _| {});
    Packet::parse(&bytes).is_ok_and(|read| read.map(owned) == Packet::Control(*control))
}

/// Writes a number as in RFC 9000 §16, in eight bytes.
fn varint(value: u64, frame: &mut Vec<u8>) {
    frame.extend((value & (u64::MAX >> 2) | 3 << 62).to_be_bytes());
}

/// Writes a range of a stream: a record of a packet, or any bytes.
fn stream(cursor: &mut Cursor<'_>, frame: &mut Vec<u8>, is_record: bool) {
    let (flow, mark) = (cursor.byte(), cursor.byte());
    let offset = match mark % 4 {
        0 | 1 => 0,
        2 => u32::from(cursor.byte()),
        _ => cursor.number() as u32,
    };
    let bytes = if is_record {
        record(&packet(cursor, true))
    } else {
        let count = usize::from(cursor.byte());
        cursor.take(count).to_vec()
    };
    frame.extend([0x11 | (mark >> 6 & 2), flow % 16]);
    frame.extend(offset.to_be_bytes());
    frame.extend((bytes.len() as u16).to_be_bytes());
    frame.extend(bytes);
}

/// Writes a packet that waits for no other, or a part of it.
fn brief(cursor: &mut Cursor<'_>, frame: &mut Vec<u8>) {
    let (number, mark) = (cursor.byte(), cursor.byte());
    let record = record(&packet(cursor, true));
    let offset = if mark & 4 == 0 {
        0
    } else {
        usize::from(cursor.short()) % record.len()
    };
    frame.push(0x21 | mark & 0x0e);
    frame.extend(u32::from(number).to_be_bytes());
    if mark & 4 != 0 {
        frame.extend((offset as u16).to_be_bytes());
    }
    frame.extend(((record.len() - offset) as u16).to_be_bytes());
    frame.extend(&record[offset..]);
}

/// Returns the record of a packet that is the first of its flow.
fn record(bytes: &[u8]) -> Vec<u8> {
    let packet = wire::packet::Packet::new(PacketBuffer::copy_of(bytes));
    let head = RecordWriter::default().write(&packet);
    let mut record = head.as_bytes().to_vec();
    record.extend(&packet[head.skip()..]);
    record
}
