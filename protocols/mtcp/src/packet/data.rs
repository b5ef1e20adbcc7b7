//! Data packets (Figure 5b).

use redirector::Content;
use wire::checksum::Sum;

use super::malformed::require;
use super::{Cid, DATA, FURTHER_HOLES_MAX, Field, Fields, Malformed, Profile, read_u16, read_u32};

/// The paper's header, in bytes.
pub(super) const PAPER_HEADER: usize = 16;
/// The wide one without further holes.
pub(super) const WIDE_HEADER: usize = 28;
/// What a further hole takes.
const HOLE_LENGTH: usize = 8;
/// Where the checksum stands.
const PAPER_CHECKSUM: usize = 14;
const WIDE_CHECKSUM: usize = 24;

const RC: u16 = 0x0001;
const RCR: u16 = 0x0002;
const RRQ: u16 = 0x0004;
const FIN: u16 = 0x0008;
const POLL: u16 = 0x0010;
const CAUSE: u16 = 0x0020;
const KNOWN: u16 = DATA | super::WIDE | RC | RCR | RRQ | FIN | POLL | CAUSE;

/// What a data packet says besides its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// Asks to send again what is missing (RRQ).
    pub request: bool,
    /// The stream ends after this packet's data.
    pub fin: bool,
    /// Asks for an answer at once.
    pub poll: bool,
    /// The negative acknowledgement is the number of the packet that caused this one (SMART), not the length of a hole.
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

/// Bytes that have not arrived although later ones have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hole {
    /// How far behind the acknowledgement number it begins, in bytes.
    pub offset: u32,
    /// Its length in bytes.
    pub length: u32,
}

/// Further holes: those besides the one at the acknowledgement number. Nothing is said of what is between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Holes {
    holes: [Hole; FURTHER_HOLES_MAX],
    count: u8,
}

impl Holes {
    /// Adds a hole; false if there is no room for it.
    pub fn push(&mut self, hole: Hole) -> bool {
        let place = self.holes.get_mut(usize::from(self.count));
        let found = place.is_some();
        if let Some(place) = place {
            *place = hole;
            self.count += 1;
        }
        found
    }

    /// The holes.
    pub fn as_slice(&self) -> &[Hole] {
        &self.holes[..usize::from(self.count)]
    }
}

/// A data packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Data<C> {
    /// The width of its numbers.
    pub profile: Profile,
    /// What else it says.
    pub flags: Flags,
    /// The name of the connection at the end that hears this.
    pub connection: Cid,
    /// The number of the first byte, or of the next one where there are none.
    pub sequence: u32,
    /// The number that is expected next.
    pub acknowledgment: u32,
    /// How much more is taken from that number on: in bytes, shifted right by [`Profile::window_shift`].
    pub window: u16,
    /// The length of the hole at the acknowledgement number, in bytes; 0 for none. See [`Flags::cause`].
    pub negative: u32,
    /// Further holes; the wide profile only.
    pub further: Holes,
    /// The retransmission cycle (RC): its low bit in the paper's profile, the packet's own number in the wide one.
    pub cycle: u16,
    /// The cycle of the last packet that arrived (RCR).
    pub reply: u16,
    /// The data.
    pub content: C,
}

impl<C> Data<C> {
    /// The length of the header, in bytes.
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
    /// Writes the header of a packet whose data are `content`, in bytes.
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

/// Header and data, if they are whole.
fn split(profile: Profile, bytes: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    require(Field::Header, bytes, profile.header_length())?;
    let (length_at, header) = match profile {
        Profile::Paper => (12, PAPER_HEADER),
        Profile::Wide => {
            let further = bytes[26];
            if usize::from(further) > FURTHER_HOLES_MAX {
                return Err(Malformed::Holes(further));
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
