//! The packets of MTCP, and its endpoint with a peer that sends anything.

use bytes::Bytes;
use machine::{Machine, RandomStream};
use mtcp::packet::{Addresses, Cid, Control, Kind, Packet, Profile};
use mtcp::{Config, ConnectionId, Endpoint, Input, Output, Reason, Selective};
use redirector::Chunks;
use units::{Duration, Instant};
use wire::checksum::Sum;

use crate::outcome::note;

/// Sequence number of the peer's SYN.
pub(crate) const FIRST: u32 = 1_000;
/// The peer's identifier of the connection.
pub(crate) const PEER: Cid = Cid(7);
/// Limit of outputs after one input: a window of the smallest packets, and their acknowledgements.
const OUTPUTS_MAX: usize = 8_000;

/// Parses any bytes as a packet; a valid packet must be encoded to the same bytes.
pub fn mtcp_packet(bytes: &[u8]) {
    match Packet::parse(bytes) {
        Ok(packet) => {
            let packet = packet.map(owned);
            note_packet(&packet);
            let mut encoded = encode(&packet);
            let read = &bytes[..packet.length()];
            // A checksum of zero has two forms (RFC 1071).
            let place = encoded
                .iter()
                .zip(read)
                .position(|(one, other)| one != other);
            if let Some(field) = place.and_then(|at| encoded.get_mut(at..at + 2)) {
                assert_eq!(field, [0; 2], "only a checksum may differ");
                field.fill(0xff);
            }
            assert_eq!(encoded, read);
        }
        Err(error) => note(&error),
    }
}

/// Notes the kind of a packet.
fn note_packet(packet: &Packet<Chunks>) {
    match packet {
        Packet::Control(control) => {
            note(&control.profile);
            note(&control.kind);
        }
        Packet::Data(data) => {
            note(&data.profile);
            note(&data.flags);
            note(&data.further.as_slice().first());
        }
    }
}

pub(crate) fn owned(bytes: &[u8]) -> Chunks {
    Chunks::from(Bytes::copy_from_slice(bytes))
}

pub(crate) fn encode(packet: &Packet<Chunks>) -> Vec<u8> {
    let mut out = vec![0; packet.length()];
    packet.write(&mut out, |content, mut room| {
        for chunk in content.iter() {
            let (now, rest) = room.split_at_mut(chunk.len());
            now.copy_from_slice(chunk);
            room = rest;
        }
    });
    out
}

/// Runs packets, waits and actions of the application, in any order. The first byte chooses the configuration.
pub fn mtcp_tape(bytes: &[u8]) {
    let Some((setting, tape)) = bytes.split_first() else {
        return;
    };
    let mut session = Session::new(*setting);
    for piece in crate::pieces(tape) {
        let Some((kind, rest)) = piece.split_first() else {
            continue;
        };
        session.step(*kind, rest);
    }
    session.wait(u16::MAX);
}

fn config(setting: u8) -> Config {
    let mut config = if setting & 1 == 0 {
        Config::paper()
    } else {
        Config::wide()
    };
    config.lean = setting & 2 != 0;
    config.auto_buffer = (setting & 8 != 0).then(mtcp::AutoBuffer::default);
    config.repair.request = setting & 4 == 0;
    config.repair.cycles = setting & 8 == 0 || config.lean;
    config.repair.selective = match setting >> 4 & 3 {
        0 | 1 => Selective::Burst,
        2 => Selective::Cumulative,
        _ => Selective::Smart,
    };
    config
}

/// An endpoint's identifier of a connection, and the sequence number of its SYN.
#[derive(Clone, Copy, Default)]
pub(crate) struct Names {
    pub(crate) own: Cid,
    pub(crate) first: u32,
}

/// Returns the bytes as a packet with the connection's identifier and numbers, and a correct checksum.
pub(crate) fn complete(bytes: &[u8], names: Names) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let (wide, data) = match bytes.first() {
        Some(first) => (first & 0x40 != 0, first & 0x80 != 0),
        None => (false, false),
    };
    let checksum = match (wide, data) {
        (false, false) => 10,
        (true, true) => 24,
        (false, true) | (true, false) => 14,
    };
    if bytes.len() >= 28 {
        if bytes[2] != 0 {
            bytes[2..4].copy_from_slice(&names.own.0.to_be_bytes());
        }
        let width = if wide { 4 } else { 2 };
        for (place, base) in [(4, FIRST), (4 + width, names.first)] {
            let field = &mut bytes[place..place + width];
            let offset = field
                .iter()
                .fold(0, |sum, byte| sum << 8 | u32::from(*byte));
            let moved = base.wrapping_add(offset).to_be_bytes();
            field.copy_from_slice(&moved[4 - width..]);
        }
        bytes[checksum..checksum + 2].fill(0);
        let length = Packet::parse(&bytes)
            .err()
            .map_or(bytes.len(), |_| claimed(&bytes));
        let sum = Sum::of(&bytes[..length.min(bytes.len())]).checksum();
        bytes[checksum..checksum + 2].copy_from_slice(&sum.to_be_bytes());
    }
    bytes
}

/// An endpoint that has opened one connection.
struct Session {
    endpoint: Endpoint<Chunks>,
    profile: Profile,
    now: Instant,
    names: Names,
}

impl Session {
    fn new(setting: u8) -> Self {
        let config = config(setting);
        let profile = config.profile;
        let random = RandomStream::named(1, "names");
        let mut session = Self {
            endpoint: Endpoint::new(config, random).expect("a configuration"),
            profile,
            now: Instant::from_millis(1),
            names: Names::default(),
        };
        let ends = [([10, 0, 0, 1], 80).into(), ([10, 0, 0, 2], 4_000).into()];
        let addresses = Addresses::new(ends[0], ends[1]).expect("one family");
        let now = session.now;
        let open = Input::Open {
            number: 1,
            addresses,
        };
        session.endpoint.handle_input(now, open);
        if let Some(Output::Packet(Packet::Control(syn))) = session.endpoint.poll_output() {
            session.names = Names {
                own: syn.reverse,
                first: syn.sequence,
            };
            if setting & 0x80 == 0 {
                session.input(Input::Packet(Packet::Control(answer(&syn))));
            }
        }
        session
    }

    fn step(&mut self, kind: u8, rest: &[u8]) {
        let byte = |place: usize| rest.get(place).copied().unwrap_or_default();
        let number = u16::from_be_bytes([byte(0), byte(1)]);
        let id = match byte(2) % 4 {
            0 => ConnectionId::Arrived(u64::from(byte(2) / 4)),
            _ => ConnectionId::Opened(1),
        };
        let input = match kind % 16 {
            0 => return self.wait(number),
            1 | 2 => Input::Write(id, owned(&vec![0; number.into()])),
            3 => Input::Read(id, number.into()),
            4 if kind > 200 => Input::Abort(id, Reason::Aborted),
            4 if kind > 100 => Input::Close(id),
            4 => Input::Accept(id),
            5 | 6 => Input::Refuse(id, Reason::Refused),
            7 if kind > 128 => return self.move_connection(),
            7 => Input::Room(number.into()),
            _ => match Packet::parse(&complete(rest, self.names)) {
                Ok(packet) => Input::Packet(packet.map(owned)),
                Err(_) => Input::Damaged,
            },
        };
        self.input(input);
    }

    /// Suspends the connection, and continues with its state.
    fn move_connection(&mut self) {
        let moved = self.endpoint.suspend(self.now, ConnectionId::Opened(1));
        if let Some(state) = moved {
            let id = ConnectionId::Opened(1);
            let resumed = self.endpoint.resume(self.now, id, state);
            assert_eq!(resumed, Ok(()), "what it says is right");
            self.drain();
        }
    }

    fn input(&mut self, input: Input<Chunks>) {
        self.endpoint.handle_input(self.now, input);
        self.drain();
    }

    /// Takes the outputs of the endpoint: at most a window, and packets that can be encoded.
    fn drain(&mut self) {
        for _ in 0..OUTPUTS_MAX {
            match self.endpoint.poll_output() {
                Some(Output::Packet(packet)) => {
                    note_packet(&packet);
                    let bytes = encode(&packet);
                    let found = Packet::parse(&bytes).expect("what is written can be read");
                    assert_eq!(encode(&found.map(owned)), bytes);
                }
                Some(Output::Readable(_, bytes)) => assert!(bytes <= self.profile.buffer_max()),
                Some(output) => note(&output),
                None => return,
            }
        }
        panic!("it talks without end");
    }

    /// Lets `millis` milliseconds pass.
    fn wait(&mut self, millis: u16) {
        let end = self.now + Duration::from_millis(millis.into());
        for _ in 0..200 {
            let due = self.endpoint.poll_timeout();
            let Some(due) = due.filter(|due| *due <= end) else {
                break;
            };
            self.now = due.max(self.now);
            self.endpoint.handle_timeout(self.now);
            self.drain();
        }
        self.now = end.max(self.now);
    }
}

/// Returns the answer to this SYN.
pub(crate) fn answer(syn: &Control) -> Control {
    Control {
        kind: Kind::SynAck,
        lean: false,
        connection: syn.reverse,
        reverse: PEER,
        sequence: FIRST,
        acknowledgment: syn.sequence.wrapping_add(1),
        ..*syn
    }
}

/// Returns the length in the packet's own header, in bytes.
fn claimed(bytes: &[u8]) -> usize {
    let word = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    match bytes[0] >> 6 {
        0 => 28,
        1 if bytes[23] == 6 => 60,
        1 => 36,
        2 => 16 + word(12),
        _ => 28 + 8 * usize::from(bytes[26]) + word(14),
    }
}
