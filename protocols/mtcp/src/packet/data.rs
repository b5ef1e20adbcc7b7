//! Data packets (Figure 5b).

use redirector::Content;
use wire::checksum::Sum;

use super::malformed::require;
use super::{Cid, DATA, FURTHER_HOLES_MAX, Field, Fields, Malformed, Profile, read_u16, read_u32};

/// Length of the paper's header, in bytes.
pub(super) const PAPER_HEADER: usize = 16;
/// Length of the wide header without further holes, in bytes.
pub(super) const WIDE_HEADER: usize = 28;
/// Length of a further hole, in bytes.
const HOLE_LENGTH: usize = 8;
/// Offset of the checksum in the paper's header, then in the wide one.
const PAPER_CHECKSUM: usize = 14;
const WIDE_CHECKSUM: usize = 24;

const RC: u16 = 0x0001;
const RCR: u16 = 0x0002;
const RRQ: u16 = 0x0004;
const FIN: u16 = 0x0008;
const POLL: u16 = 0x0010;
const CAUSE: u16 = 0x0020;
const KNOWN: u16 = DATA | super::WIDE | RC | RCR | RRQ | FIN | POLL | CAUSE;

/// Flags of a data packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// Requests the retransmission of missing data (RRQ).
    pub request: bool,
    /// Set if the stream ends after this packet's data.
    pub fin: bool,
    /// Polls: requests an answer at once.
    pub poll: bool,
    /// Set if the negative acknowledgement is the number of the packet that caused this one (SMART), not the length
    /// of a hole.
    pub cause: bool,
}

impl Flags {
    fn code(self) -> u16 {
        let bit = |set, bit| if set { bit } else { 0 };
        bit(self.request, RRQ) | bit(self.fin, FIN) | bit(self.poll, POLL) | bit(self.cause, CAUSE)
    }

    fn of(code: u16) -> Self {
        Self {
            request: code & RRQ != 0,
            fin: code & FIN != 0,
            poll: code & POLL != 0,
            cause: code & CAUSE != 0,
        }
    }
}

/// A range of bytes that have not arrived although later bytes have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hole {
    /// Distance of its start from the acknowledgement number, in bytes.
    pub offset: u32,
    /// Length in bytes.
    pub length: u32,
}

/// Further holes: those besides the one at the acknowledgement number. They say nothing about the bytes between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Holes {
    holes: [Hole; FURTHER_HOLES_MAX],
    count: u8,
}

impl Holes {
    /// Adds a hole. Returns false if there is no room for it.
    pub fn push(&mut self, hole: Hole) -> bool {
        let place = self.holes.get_mut(usize::from(self.count));
        let found = place.is_some();
        if let Some(place) = place {
            *place = hole;
            self.count += 1;
        }
        found
    }

    /// Returns the holes.
    pub fn as_slice(&self) -> &[Hole] {
        &self.holes[..usize::from(self.count)]
    }
}

/// A data packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Data<C> {
    /// Width of its numbers.
    pub profile: Profile,
    /// Flags of the packet.
    pub flags: Flags,
    /// Connection ID at the receiver of the packet.
    pub connection: Cid,
    /// Sequence number of the first byte, or of the next one to be sent if the packet has no data.
    pub sequence: u32,
    /// Sequence number that the sender of the packet expects next.
    pub acknowledgment: u32,
    /// Window from the acknowledgement number on: in bytes, shifted right by [`Profile::window_shift`].
    pub window: u16,
    /// Length of the hole at the acknowledgement number, in bytes; 0 for none. See [`Flags::cause`].
    pub negative: u32,
    /// Further holes; in the wide profile only.
    pub further: Holes,
    /// Retransmission cycle (RC): its low bit in the paper's profile, the packet's own number in the wide one.
    pub cycle: u16,
    /// Cycle of the last packet that arrived (RCR).
    pub reply: u16,
    /// The data.
    pub content: C,
}

impl<C> Data<C> {
    /// Returns the length of the header, in bytes.
    pub fn header_length(&self) -> usize {
        self.profile.header_length() + self.further.as_slice().len() * HOLE_LENGTH
    }

    pub(super) fn map<D>(self, convert: impl FnOnce(C) -> D) -> Data<D> {
        Data {
            profile: self.profile,
            flags: self.flags,
            connection: self.connection,
            sequence: self.sequence,
            acknowledgment: self.acknowledgment,
            window: self.window,
            negative: self.negative,
            further: self.further,
            cycle: self.cycle,
            reply: self.reply,
            content: convert(self.content),
        }
    }
}

impl<'a> Data<&'a [u8]> {
    pub(super) fn parse(code: u16, bytes: &'a [u8]) -> Result<Self, Malformed> {
        let profile = Profile::of(code);
        let (header, content) = split(profile, bytes)?;
        if code & !KNOWN != 0 || (profile == Profile::Wide && code & (RC | RCR) != 0) {
            return Err(Malformed::Code(code));
        }
        let connection = Cid(read_u16(header, 2));
        if connection == Cid::NONE {
            return Err(Malformed::Nameless(Field::Header));
        }
        let flags = Flags::of(code);
        let further = Holes::default();
        Ok(match profile {
            Profile::Paper => Self {
                profile,
                flags,
                connection,
                sequence: read_u16(header, 4).into(),
                acknowledgment: read_u16(header, 6).into(),
                window: read_u16(header, 8),
                negative: read_u16(header, 10).into(),
                further,
                cycle: code & RC,
                reply: (code & RCR) >> 1,
                content,
            },
            Profile::Wide => Self {
                profile,
                flags,
                connection,
                sequence: read_u32(header, 4),
                acknowledgment: read_u32(header, 8),
                window: read_u16(header, 12),
                cycle: read_u16(header, 16),
                reply: read_u16(header, 18),
                negative: read_u32(header, 20),
                further: holes(&header[WIDE_HEADER..]),
                content,
            },
        })
    }
}

impl<C: Content> Data<C> {
    /// Writes the header of a packet with the data `content`.
    pub(super) fn write_header(&self, out: &mut [u8], content: &[u8]) {
        let profile = self.profile;
        let length = content.len() as u16;
        let cycles = match profile {
            Profile::Paper => self.cycle & 1 | (self.reply & 1) << 1,
            Profile::Wide => 0,
        };
        let mut fields = Fields { rest: out };
        fields
            .put_u16(DATA | profile.bit() | self.flags.code() | cycles)
            .put_u16(self.connection.0)
            .put_number(profile, self.sequence)
            .put_number(profile, self.acknowledgment)
            .put_u16(self.window);
        let checksum_at = match profile {
            Profile::Paper => {
                fields.put_u16(self.negative as u16).put_u16(length);
                fields.put_u16(0);
                PAPER_CHECKSUM
            }
            Profile::Wide => {
                fields.put_u16(length).put_u16(self.cycle);
                fields.put_u16(self.reply).put_u32(self.negative);
                fields.put_u16(0).put(&[self.further.count, 0]);
                for hole in self.further.as_slice() {
                    fields.put_u32(hole.offset).put_u32(hole.length);
                }
                WIDE_CHECKSUM
            }
        };
        let checksum = (Sum::of(out) + Sum::of(content)).checksum();
        out[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// Returns header and data, if the packet is complete.
fn split(profile: Profile, bytes: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    require(Field::Header, bytes, profile.header_length())?;
    let (length_at, header) = match profile {
        Profile::Paper => (12, PAPER_HEADER),
        Profile::Wide => {
            let further = bytes[26];
            if usize::from(further) > FURTHER_HOLES_MAX {
                return Err(Malformed::Holes(further));
            }
            if bytes[27] != 0 {
                return Err(Malformed::Reserved(bytes[27]));
            }
            (14, WIDE_HEADER + usize::from(further) * HOLE_LENGTH)
        }
    };
    require(Field::Header, bytes, header)?;
    let length = header + usize::from(read_u16(bytes, length_at));
    require(Field::Content, bytes, length)?;
    let bytes = &bytes[..length];
    if !Sum::of(bytes).is_valid() {
        return Err(Malformed::Checksum(Field::Content));
    }
    Ok(bytes.split_at(header))
}

fn holes(bytes: &[u8]) -> Holes {
    let mut holes = Holes::default();
    for hole in bytes.chunks_exact(HOLE_LENGTH) {
        holes.push(Hole {
            offset: read_u32(hole, 0),
            length: read_u32(hole, 4),
        });
    }
    holes
}
