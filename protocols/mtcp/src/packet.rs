//! The packets of the hop: control packets and data packets (`docs/mtcp-packet.md`).

mod control;
mod data;
mod malformed;

pub use control::{Addresses, Control, Kind};
pub use data::{Data, Flags, Hole, Holes};
pub use malformed::{Field, Malformed};

use redirector::Content;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// First bit of a packet: set in data packets, which also carry acknowledgements.
const DATA: u16 = 0x8000;
/// Second bit: set in the wide profile.
const WIDE: u16 = 0x4000;

/// Largest number of holes that a packet reports besides the first.
pub const FURTHER_HOLES_MAX: usize = 7;

/// Width of the numbers in packets.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// As in the paper (Haas and Warkhedi, Figures 5a and 5b): 16-bit numbers, one hole, IPv4.
    #[default]
    Paper,
    /// An extension for links that the paper's numbers cannot fill: 32-bit numbers, scaled windows, several holes, a
    /// number in every packet, IPv4 and IPv6.
    Wide,
}

impl Profile {
    /// Returns the number of bits of a sequence number.
    pub const fn sequence_bits(self) -> u32 {
        match self {
            Self::Paper => 16,
            Self::Wide => 32,
        }
    }

    /// Returns the mask of the cycle bits that a packet carries.
    pub(crate) const fn cycle_mask(self) -> u16 {
        match self {
            Self::Paper => 1,
            Self::Wide => u16::MAX,
        }
    }

    /// Returns the largest receive buffer, in bytes: less than half of the number space, so that old and new data
    /// cannot be mistaken for each other.
    pub const fn buffer_max(self) -> u64 {
        match self {
            Self::Paper => 32_767,
            Self::Wide => 32 << 20,
        }
    }

    /// Returns the minimum length of a data header, in bytes.
    pub const fn header_length(self) -> usize {
        match self {
            Self::Paper => data::PAPER_HEADER,
            Self::Wide => data::WIDE_HEADER,
        }
    }

    /// Returns the shift of windows in packets for a receive buffer of this size: as many bits as needed to announce
    /// the whole buffer.
    pub const fn window_shift(self, buffer: u32) -> u32 {
        match self {
            Self::Paper => 0,
            Self::Wide => (u32::BITS - buffer.leading_zeros()).saturating_sub(u16::BITS),
        }
    }

    const fn bit(self) -> u16 {
        match self {
            Self::Paper => 0,
            Self::Wide => WIDE,
        }
    }

    const fn of(code: u16) -> Self {
        if code & WIDE == 0 {
            Self::Paper
        } else {
            Self::Wide
        }
    }
}

/// Connection ID on the hop, in one direction: chosen by the end that receives it, unique there. Never zero for a
/// connection that exists.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Cid(pub u16);

impl Cid {
    /// Not known yet, or not used.
    pub const NONE: Self = Self(0);
}

/// A packet, with data of type `C`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Packet<C> {
    /// Opens, answers, refuses or resets a connection, or reports a listener.
    Control(Control),
    /// Data of one direction, and an acknowledgement of the other.
    Data(Data<C>),
}

impl<'a> Packet<&'a [u8]> {
    /// Parses the packet at the start of `bytes`; bytes that follow it (the padding of short Ethernet frames) are
    /// ignored.
    ///
    /// # Errors
    /// If the bytes are no packet: the reason, and the field.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let Some(code) = bytes.first_chunk::<2>() else {
            let available = bytes.len();
            return Err(Malformed::short(Field::Code, 2, available));
        };
        let code = u16::from_be_bytes(*code);
        if code & DATA == 0 {
            Control::parse(code, bytes).map(Self::Control)
        } else {
            Data::parse(code, bytes).map(Self::Data)
        }
    }
}

impl<C: Content> Packet<C> {
    /// Returns the length of the packet, in bytes.
    pub fn length(&self) -> usize {
        match self {
            Self::Control(control) => control.length(),
            Self::Data(data) => data.header_length() + data.content.length() as usize,
        }
    }

    /// Writes the packet to `out`, which has its length; `copy` writes the content.
    ///
    /// # Panics
    /// If `out` has another length, or a control packet in the paper's profile has addresses that do not fit the
    /// profile: the caller must prevent both.
    pub fn write(&self, out: &mut [u8], copy: impl FnOnce(&C, &mut [u8])) {
        assert_eq!(out.len(), self.length(), "room for the packet");
        match self {
            Self::Control(control) => control.write(out),
            Self::Data(data) => {
                let (header, content) = out.split_at_mut(data.header_length());
                copy(&data.content, content);
                data.write_header(header, content);
            }
        }
    }
}

impl<C> Packet<C> {
    /// Returns the same packet with its data converted to another type.
    pub fn map<D>(self, convert: impl FnOnce(C) -> D) -> Packet<D> {
        match self {
            Self::Control(control) => Packet::Control(control),
            Self::Data(data) => Packet::Data(data.map(convert)),
        }
    }
}

/// Reads a field in network byte order. The callers have checked the length before.
fn read_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from(read_u16(bytes, at)) << 16 | u32::from(read_u16(bytes, at + 2))
}

/// A header that is written from its front.
struct Fields<'a> {
    rest: &'a mut [u8],
}

impl Fields<'_> {
    fn put(&mut self, bytes: &[u8]) -> &mut Self {
        let rest = std::mem::take(&mut self.rest);
        let (field, rest) = rest.split_at_mut(bytes.len());
        field.copy_from_slice(bytes);
        self.rest = rest;
        self
    }

    fn put_u16(&mut self, value: u16) -> &mut Self {
        self.put(&value.to_be_bytes())
    }

    fn put_u32(&mut self, value: u32) -> &mut Self {
        self.put(&value.to_be_bytes())
    }

    /// Writes a sequence number, in the profile's width.
    fn put_number(&mut self, profile: Profile, value: u32) -> &mut Self {
        match profile {
            Profile::Paper => self.put_u16(value as u16),
            Profile::Wide => self.put_u32(value),
        }
    }
}
