//! The layouts of the messages, all numbers little-endian as in `WireGuard`. `docs/session.md` has diagrams.

use blake2::digest::{Mac, consts::U16};
use blake2::{Blake2s256, Blake2sMac, Digest};

use crate::former::Decline;
use crate::keys::PublicKey;

/// Version of all messages of this crate.
pub(crate) const VERSION: u8 = 2;
pub(crate) const INITIATION_TYPE: u8 = 1;
const RESPONSE_TYPE: u8 = 2;
const COOKIE_REPLY_TYPE: u8 = 3;
/// First byte of a data datagram.
pub const DATA_TYPE: u8 = 4;
pub(crate) const VERSION_REPLY_TYPE: u8 = 5;

/// Length of a ChaCha20-Poly1305 authentication tag, then of a mac1, in bytes.
pub(crate) const TAG_BYTES: usize = 16;
pub(crate) const MAC_BYTES: usize = 16;
const POINT_BYTES: usize = 32;

/// Bytes before the sealed part of a data datagram.
pub const DATA_HEADER_BYTES: usize = 9;
/// Bytes that sealing adds to a plaintext: header and tag.
pub const DATA_OVERHEAD_BYTES: usize = DATA_HEADER_BYTES + TAG_BYTES;

/// Bytes of type, version and zeros.
pub(crate) const HANDSHAKE_HEADER: usize = 4;
const INITIATION_HEADER: usize = HANDSHAKE_HEADER;
const INITIATION_NOISE: usize =
    POINT_BYTES + (POINT_BYTES + TAG_BYTES) + (Greeting::BYTES + TAG_BYTES);
/// Bytes of a handshake initiation.
pub const INITIATION_BYTES: usize = INITIATION_HEADER + INITIATION_NOISE + 2 * MAC_BYTES;

const RESPONSE_HEADER: usize = 8;
const RESPONSE_NOISE: usize = POINT_BYTES + (Answer::BYTES + TAG_BYTES);
/// Bytes of a handshake response: fewer than the initiation's, so that it cannot serve for amplification.
pub const RESPONSE_BYTES: usize = RESPONSE_HEADER + RESPONSE_NOISE + 2 * MAC_BYTES;

/// Bytes of a cookie reply: header, mac1 of the initiation, salt, and the sealed cookie.
pub const COOKIE_REPLY_BYTES: usize = HANDSHAKE_HEADER + 3 * MAC_BYTES + TAG_BYTES;

/// Bytes of a version reply: header, mac1 of the initiation, and a mac.
pub const VERSION_REPLY_BYTES: usize = HANDSHAKE_HEADER + 2 * MAC_BYTES;
/// Least length of an initiation of any version, in bytes: that of a version that answers no longer than it is asked.
pub(crate) const LEAST_INITIATION: usize = 100;

/// Plaintext of a goodbye. Every hop frame is longer.
pub(crate) const GOODBYE: [u8; 1] = [1];

/// Encrypted content of the first message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Greeting {
    /// Receiver index of datagrams to the sender of this message.
    pub(crate) index: u32,
    /// Identifier of the newest session that the sender has used with the receiver; 0 if it has none.
    pub(crate) known: u64,
    /// Extensions beyond this version that the sender supports, one bit each.
    pub(crate) features: u64,
    /// Time stamp that grows from each initiation of a host to the next, also over restarts.
    pub(crate) stamp: u64,
}

impl Greeting {
    pub(crate) const BYTES: usize = 28;

    pub(crate) fn encode(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.index.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.known.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.features.to_le_bytes());
        bytes[20..].copy_from_slice(&self.stamp.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; Self::BYTES]) -> Self {
        Self {
            index: u32_at(bytes, 0),
            known: u64_at(bytes, 4),
            features: u64_at(bytes, 12),
            stamp: u64_at(bytes, 20),
        }
    }
}

/// Relation of a new session to the one that the initiation names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    /// It continues the epoch of that session.
    Continues = 1,
    /// It begins a new epoch at both ends.
    BeginsAnew = 2,
    /// So it does, and the responder has used another session with the initiator's key since.
    Supersedes = 3,
}

/// First bytes of answers that refuse; those that offer a session begin with their [`Relation`].
const REFUSED: u8 = 4;
const DECLINED: u8 = 5;

/// Encrypted content of the second message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A session is offered.
    Offered {
        /// See [`Relation`].
        relation: Relation,
        /// Receiver index of datagrams to the sender of this message.
        index: u32,
        /// Extensions beyond this version that the sender supports, one bit each.
        features: u64,
    },
    /// None is, since the initiation is not newer than one with this stamp.
    Refused {
        /// Newest stamp that the responder has seen.
        newest_stamp: u64,
    },
    /// None is, since the key of the initiator counts no more.
    Declined {
        /// The reason.
        reason: Decline,
        /// Unix time of the responder, in seconds.
        clock: u64,
    },
}

impl Answer {
    pub(crate) const BYTES: usize = 13;

    pub(crate) fn encode(self) -> [u8; Self::BYTES] {
        let (kind, index, rest) = match self {
            Self::Offered {
                relation,
                index,
                features,
            } => (relation as u8, index, features),
            Self::Refused { newest_stamp } => (REFUSED, 0, newest_stamp),
            Self::Declined { reason, clock } => (DECLINED, reason.number(), clock),
        };
        let mut bytes = [0; Self::BYTES];
        bytes[0] = kind;
        bytes[1..5].copy_from_slice(&index.to_le_bytes());
        bytes[5..].copy_from_slice(&rest.to_le_bytes());
        bytes
    }

    /// Returns the answer, or `None` if this version does not define its first byte.
    pub(crate) fn decode(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let (index, rest) = (u32_at(bytes, 1), u64_at(bytes, 5));
        if bytes[0] == REFUSED {
            return Some(Self::Refused { newest_stamp: rest });
        }
        if bytes[0] == DECLINED {
            return Some(Self::Declined {
                reason: Decline::of(index),
                clock: rest,
            });
        }
        let relations = [
            Relation::Continues,
            Relation::BeginsAnew,
            Relation::Supersedes,
        ];
        let relation = relations
            .into_iter()
            .find(|relation| *relation as u8 == bytes[0])?;
        Some(Self::Offered {
            relation,
            index,
            features: rest,
        })
    }
}

/// A datagram parsed by type, version and length; nothing in it is authenticated yet.
pub(crate) enum Message<'a> {
    Initiation(&'a [u8; INITIATION_BYTES]),
    Response(&'a [u8; RESPONSE_BYTES]),
    CookieReply(&'a [u8; COOKIE_REPLY_BYTES]),
    VersionReply(&'a [u8; VERSION_REPLY_BYTES]),
    /// At least [`DATA_OVERHEAD_BYTES`] long.
    Data {
        receiver: u32,
        low: u32,
    },
}

/// Reason why a datagram is no [`Message`].
pub(crate) enum ParseError {
    Malformed,
    OtherVersion,
}

impl<'a> Message<'a> {
    pub(crate) fn parse(datagram: &'a [u8]) -> Result<Self, ParseError> {
        match datagram {
            [DATA_TYPE, ..] if datagram.len() >= DATA_OVERHEAD_BYTES => Ok(Self::Data {
                receiver: u32_at(datagram, 1),
                low: u32_at(datagram, 5),
            }),
            [
                INITIATION_TYPE | RESPONSE_TYPE | COOKIE_REPLY_TYPE,
                version,
                ..,
            ] if *version != VERSION => Err(ParseError::OtherVersion),
            // It is the same in all versions.
            [VERSION_REPLY_TYPE, ..] => match datagram.try_into() {
                Ok(whole) => Ok(Self::VersionReply(whole)),
                Err(_) => Err(ParseError::Malformed),
            },
            [INITIATION_TYPE, _, 0, 0, ..] => match datagram.try_into() {
                Ok(whole) => Ok(Self::Initiation(whole)),
                Err(_) => Err(ParseError::Malformed),
            },
            [RESPONSE_TYPE, _, 0, 0, ..] => match datagram.try_into() {
                Ok(whole) => Ok(Self::Response(whole)),
                Err(_) => Err(ParseError::Malformed),
            },
            [COOKIE_REPLY_TYPE, _, 0, 0, ..] => match datagram.try_into() {
                Ok(whole) => Ok(Self::CookieReply(whole)),
                Err(_) => Err(ParseError::Malformed),
            },
            _ => Err(ParseError::Malformed),
        }
    }
}

/// Returns an initiation without its Noise message and its mac.
pub(crate) fn new_initiation() -> [u8; INITIATION_BYTES] {
    let mut bytes = [0; INITIATION_BYTES];
    bytes[0] = INITIATION_TYPE;
    bytes[1] = VERSION;
    bytes
}

/// Returns a response without its Noise message and its mac.
pub(crate) fn new_response(receiver: u32) -> [u8; RESPONSE_BYTES] {
    let mut bytes = [0; RESPONSE_BYTES];
    bytes[0] = RESPONSE_TYPE;
    bytes[1] = VERSION;
    bytes[4..8].copy_from_slice(&receiver.to_le_bytes());
    bytes
}

/// Writes the header of a cookie reply.
pub(crate) fn begin_cookie_reply(reply: &mut [u8]) {
    reply[..HANDSHAKE_HEADER].copy_from_slice(&[COOKIE_REPLY_TYPE, VERSION, 0, 0]);
}

/// Returns the mac1 of a handshake message.
pub(crate) fn mac1_of(handshake: &[u8]) -> &[u8; MAC_BYTES] {
    let (covered, _) = handshake.split_at(handshake.len() - MAC_BYTES);
    covered
        .last_chunk()
        .expect("a handshake message has two macs")
}

/// Returns the mac2 of a handshake message.
pub(crate) fn mac2_of(handshake: &[u8]) -> &[u8; MAC_BYTES] {
    handshake
        .last_chunk()
        .expect("a handshake message has two macs")
}

/// Returns the receiver index of a response.
pub(crate) fn receiver_of(response: &[u8; RESPONSE_BYTES]) -> u32 {
    u32_at(response, 4)
}

/// Returns a handshake message without its mac2, which no mac covers and any host may change.
pub(crate) fn without_mac2(handshake: &[u8]) -> &[u8] {
    &handshake[..handshake.len() - MAC_BYTES]
}

pub(crate) fn initiation_noise(bytes: &[u8; INITIATION_BYTES]) -> &[u8] {
    &bytes[INITIATION_HEADER..INITIATION_HEADER + INITIATION_NOISE]
}

pub(crate) fn initiation_noise_mut(bytes: &mut [u8; INITIATION_BYTES]) -> &mut [u8] {
    &mut bytes[INITIATION_HEADER..INITIATION_HEADER + INITIATION_NOISE]
}

pub(crate) fn response_noise(bytes: &[u8; RESPONSE_BYTES]) -> &[u8] {
    &bytes[RESPONSE_HEADER..RESPONSE_HEADER + RESPONSE_NOISE]
}

pub(crate) fn response_noise_mut(bytes: &mut [u8; RESPONSE_BYTES]) -> &mut [u8] {
    &mut bytes[RESPONSE_HEADER..RESPONSE_HEADER + RESPONSE_NOISE]
}

/// Writes the clear header of a data datagram.
pub(crate) fn write_data_header(header: &mut [u8], receiver: u32, number: u64) {
    header[0] = DATA_TYPE;
    header[1..5].copy_from_slice(&receiver.to_le_bytes());
    header[5..9].copy_from_slice(&(number as u32).to_le_bytes());
}

/// Key of the mac1 of every handshake message to one host. Only hosts that have that host's public key can compute
/// it.
#[derive(Clone)]
pub(crate) struct Mac1Key([u8; 32]);

impl Mac1Key {
    /// Returns the key for messages to `receiver`: BLAKE2s-256("mac1----" ‖ public key), as in `WireGuard`.
    pub(crate) fn new(receiver: &PublicKey) -> Self {
        let digest = Blake2s256::new()
            .chain_update(b"mac1----")
            .chain_update(receiver.bytes())
            .finalize();
        Self(digest.into())
    }

    /// Writes the mac1 of a handshake message; its mac2 stays zero.
    pub(crate) fn sign(&self, handshake: &mut [u8]) {
        let (covered, macs) = handshake.split_at_mut(handshake.len() - 2 * MAC_BYTES);
        macs[..MAC_BYTES].copy_from_slice(&self.over(covered).finalize().into_bytes());
    }

    /// Returns true if the mac1 of a handshake message is correct; in constant time.
    pub(crate) fn verify(&self, handshake: &[u8]) -> bool {
        let (covered, macs) = handshake.split_at(handshake.len() - 2 * MAC_BYTES);
        self.over(covered).verify_slice(&macs[..MAC_BYTES]).is_ok()
    }

    fn over(&self, covered: &[u8]) -> Blake2sMac<U16> {
        Blake2sMac::new_from_slice(&self.0)
            .expect("BLAKE2s takes keys of 32 bytes")
            .chain_update(covered)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}
