//! Control packets (Figure 5a).

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use serde::{Deserialize, Serialize};
use wire::checksum::Sum;

use super::malformed::require;
use super::{Cid, Field, Fields, Malformed, Profile, read_u16, read_u32};
use crate::Reason;

/// Length of the paper's control packet, in bytes.
const PAPER_LENGTH: usize = 28;
/// Length of the wide one before its addresses, in bytes.
const WIDE_FIXED: usize = 28;
/// Window shift of the largest buffer: windows have 16 bits.
const SHIFT_MAX: u8 = Profile::Wide.window_shift(Profile::Wide.buffer_max() as u32) as u8;
/// Offset of the checksum in the paper's packet, then in the wide one.
const PAPER_CHECKSUM: usize = 10;
const WIDE_CHECKSUM: usize = 14;

const KIND: u16 = 0x000f;
const REASON: u16 = 0x00f0;
const LEAN: u16 = 0x0100;
const KNOWN: u16 = KIND | REASON | LEAN | super::WIDE;

/// Type of a control packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Opens a connection.
    Syn,
    /// Agrees to the connection.
    SynAck,
    /// Refuses or ends the connection.
    Reset(Reason),
    /// Acknowledges a SYN whose answer waits for another host.
    Pending,
    /// Reports that the sender listens at the source address.
    Listen,
    /// Acknowledges a listener.
    Listening,
    /// Reports that no application listens at the source address any more, or refuses the listener.
    Unlisten(Reason),
}

impl Kind {
    /// Returns the bits of the type and the reason.
    fn code(self) -> u16 {
        let (kind, reason) = match self {
            Self::Syn => (1, None),
            Self::SynAck => (2, None),
            Self::Reset(reason) => (3, Some(reason)),
            Self::Pending => (4, None),
            Self::Listen => (5, None),
            Self::Listening => (6, None),
            Self::Unlisten(reason) => (7, Some(reason)),
        };
        kind | reason.map_or(0, Reason::number) << 4
    }

    fn of(code: u16) -> Option<Self> {
        let reason = (code & REASON) >> 4;
        let kind = match code & KIND {
            1 => Self::Syn,
            2 => Self::SynAck,
            3 => Self::Reset(Reason::numbered(reason)?),
            4 => Self::Pending,
            5 => Self::Listen,
            6 => Self::Listening,
            7 => Self::Unlisten(Reason::numbered(reason)?),
            _ => return None,
        };
        (kind.code() == code & (KIND | REASON)).then_some(kind)
    }
}

/// Addresses of both ends of a connection as applications know them; both of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Addresses {
    /// IPv4.
    V4 {
        /// Address to which the connection was opened.
        destination: SocketAddrV4,
        /// Address of the end that opened it.
        source: SocketAddrV4,
    },
    /// IPv6, without flow labels and scopes; the wide profile only.
    V6 {
        /// Address to which the connection was opened.
        destination: SocketAddrV6,
        /// Address of the end that opened it.
        source: SocketAddrV6,
    },
}

impl Addresses {
    /// Returns both addresses, or none if they are of two families.
    pub fn new(destination: SocketAddr, source: SocketAddr) -> Option<Self> {
        let plain = |address: SocketAddrV6| SocketAddrV6::new(*address.ip(), address.port(), 0, 0);
        match (destination, source) {
            (SocketAddr::V4(destination), SocketAddr::V4(source)) => Some(Self::V4 {
                destination,
                source,
            }),
            (SocketAddr::V6(destination), SocketAddr::V6(source)) => Some(Self::V6 {
                destination: plain(destination),
                source: plain(source),
            }),
            _ => None,
        }
    }

    /// Returns the address of a listener; the destination is unspecified.
    pub fn listening(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(source) => Self::V4 {
                destination: SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0),
                source,
            },
            SocketAddr::V6(source) => Self::V6 {
                destination: SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, 0, 0, 0),
                source: SocketAddrV6::new(*source.ip(), source.port(), 0, 0),
            },
        }
    }

    /// Returns the address to which the connection was opened.
    pub fn destination(&self) -> SocketAddr {
        match *self {
            Self::V4 { destination, .. } => destination.into(),
            Self::V6 { destination, .. } => destination.into(),
        }
    }

    /// Returns the address of the end that opened it.
    pub fn source(&self) -> SocketAddr {
        match *self {
            Self::V4 { source, .. } => source.into(),
            Self::V6 { source, .. } => source.into(),
        }
    }

    /// Returns the narrowest profile that can carry these addresses.
    pub fn least_profile(&self) -> Profile {
        match self {
            Self::V4 { .. } => Profile::Paper,
            Self::V6 { .. } => Profile::Wide,
        }
    }

    const fn family(&self) -> u8 {
        match self {
            Self::V4 { .. } => 4,
            Self::V6 { .. } => 6,
        }
    }

    /// Returns the length of both addresses without ports, in bytes.
    const fn length(family: u8) -> usize {
        if family == 4 { 8 } else { 32 }
    }

    fn read(family: u8, ports: &[u8], bytes: &[u8]) -> Self {
        let (destination, source) = (read_u16(ports, 0), read_u16(ports, 2));
        let v4 = |at, port| SocketAddrV4::new(read_u32(bytes, at).into(), port);
        let v6 = |at: usize, port| {
            let words: [u16; 8] = std::array::from_fn(|word| read_u16(bytes, at + 2 * word));
            SocketAddrV6::new(words.into(), port, 0, 0)
        };
        if family == 4 {
            Self::V4 {
                destination: v4(0, destination),
                source: v4(4, source),
            }
        } else {
            Self::V6 {
                destination: v6(0, destination),
                source: v6(16, source),
            }
        }
    }

    fn write(&self, fields: &mut Fields<'_>) {
        fields
            .put_u16(self.destination().port())
            .put_u16(self.source().port());
        match self {
            Self::V4 {
                destination,
                source,
            } => fields
                .put(&destination.ip().octets())
                .put(&source.ip().octets()),
            Self::V6 {
                destination,
                source,
            } => fields
                .put(&destination.ip().octets())
                .put(&source.ip().octets()),
        };
    }
}

/// A control packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Control {
    /// Profile: the one offered in a SYN, the one agreed on in its answer.
    pub profile: Profile,
    /// Type of the packet.
    pub kind: Kind,
    /// Set if the sender keeps no timers: the receiver of the packet keeps them for both.
    pub lean: bool,
    /// Connection ID at the receiver of the packet.
    pub connection: Cid,
    /// Connection ID at the sender of the packet.
    pub reverse: Cid,
    /// Sequence number of the SYN, or of the next byte of the sender.
    pub sequence: u32,
    /// Sequence number that the sender expects next.
    pub acknowledgment: u32,
    /// Receive buffer of the sender, in bytes.
    pub buffer: u32,
    /// Maximum length of a data packet that the sender accepts, header included, in bytes.
    pub packet: u16,
    /// Window shift of the sender in bits, if it is more than the buffer needs; else 0, as always in the paper's
    /// profile.
    pub shift: u8,
    /// Addresses of both ends of the connection.
    pub addresses: Addresses,
}

impl Control {
    /// Returns the length of the packet, in bytes.
    pub fn length(&self) -> usize {
        match self.profile {
            Profile::Paper => PAPER_LENGTH,
            Profile::Wide => WIDE_FIXED + Addresses::length(self.addresses.family()),
        }
    }

    /// Returns the first window of the sender in `profile`, in bytes, and the shift of later windows, in bits.
    pub(crate) fn first_window(&self, profile: Profile) -> (u64, u32) {
        let buffer = u64::from(self.buffer).min(profile.buffer_max());
        let needed = profile.window_shift(buffer as u32);
        let shift = match profile {
            Profile::Paper => 0,
            Profile::Wide => needed.max(self.shift.into()),
        };
        (buffer, shift)
    }

    pub(super) fn parse(code: u16, bytes: &[u8]) -> Result<Self, Malformed> {
        let profile = Profile::of(code);
        let bytes = Self::checked(profile, bytes)?;
        let kind = Kind::of(code).filter(|_| code & !KNOWN == 0);
        let kind = kind.ok_or(Malformed::Code(code))?;
        let (connection, lean) = (Cid(read_u16(bytes, 2)), code & LEAN != 0);
        Ok(match profile {
            Profile::Paper => Self {
                profile,
                kind,
                lean,
                connection,
                sequence: read_u16(bytes, 4).into(),
                acknowledgment: read_u16(bytes, 6).into(),
                reverse: Cid(read_u16(bytes, 8)),
                buffer: read_u16(bytes, 12).into(),
                packet: read_u16(bytes, 14),
                shift: 0,
                addresses: Addresses::read(4, &bytes[16..20], &bytes[20..]),
            },
            Profile::Wide => Self {
                profile,
                kind,
                lean,
                connection,
                sequence: read_u32(bytes, 4),
                acknowledgment: read_u32(bytes, 8),
                reverse: Cid(read_u16(bytes, 12)),
                buffer: read_u32(bytes, 16),
                packet: read_u16(bytes, 20),
                shift: bytes[22],
                addresses: Addresses::read(bytes[23], &bytes[24..28], &bytes[28..]),
            },
        })
    }

    /// Returns the packet without trailing bytes, after it is checked.
    fn checked(profile: Profile, bytes: &[u8]) -> Result<&[u8], Malformed> {
        let length = match profile {
            Profile::Paper => PAPER_LENGTH,
            Profile::Wide => {
                require(Field::Control, bytes, WIDE_FIXED)?;
                match bytes[23] {
                    family @ (4 | 6) => WIDE_FIXED + Addresses::length(family),
                    family => return Err(Malformed::Family(family)),
                }
            }
        };
        require(Field::Control, bytes, length)?;
        let bytes = &bytes[..length];
        if !Sum::of(bytes).is_valid() {
            return Err(Malformed::Checksum(Field::Control));
        }
        if profile == Profile::Wide && bytes[22] > SHIFT_MAX {
            return Err(Malformed::Shift(bytes[22]));
        }
        Ok(bytes)
    }

    pub(super) fn write(&self, out: &mut [u8]) {
        let profile = self.profile;
        assert!(
            profile >= self.addresses.least_profile(),
            "the paper's control packet holds IPv4 addresses only"
        );
        let lean = if self.lean { LEAN } else { 0 };
        let mut fields = Fields { rest: out };
        fields
            .put_u16(profile.bit() | lean | self.kind.code())
            .put_u16(self.connection.0)
            .put_number(profile, self.sequence)
            .put_number(profile, self.acknowledgment)
            .put_u16(self.reverse.0)
            .put_u16(0)
            .put_number(profile, self.buffer)
            .put_u16(self.packet);
        if profile == Profile::Wide {
            fields.put(&[self.shift, self.addresses.family()]);
        }
        self.addresses.write(&mut fields);
        let at = match profile {
            Profile::Paper => PAPER_CHECKSUM,
            Profile::Wide => WIDE_CHECKSUM,
        };
        let checksum = Sum::of(out).checksum();
        out[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}
