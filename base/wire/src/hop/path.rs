//! Messages that validate a path: they belong to an address and not to the association, so they have no transmission
//! number and are never repaired.

/// First bytes; the version of a frame, its high four bits, is never zero.
const CHALLENGE: u8 = 2;
const ANSWER: u8 = 3;

/// A message about the path on which it comes, in place of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathMessage {
    /// The receiver returns these bits to the address from which they came.
    Challenge(u64),
    /// The bits of a challenge.
    Answer(u64),
}

impl PathMessage {
    /// Length of an encoded message, in bytes.
    pub const BYTES: usize = 9;

    /// Returns the message in `plaintext`; `None` if it is something else.
    pub fn parse(plaintext: &[u8]) -> Option<Self> {
        let message: &[u8; Self::BYTES] = plaintext.try_into().ok()?;
        let [kind, bits @ ..] = *message;
        let bits = u64::from_be_bytes(bits);
        match kind {
            CHALLENGE => Some(Self::Challenge(bits)),
            ANSWER => Some(Self::Answer(bits)),
            _ => None,
        }
    }

    /// Returns the bytes of the message.
    pub fn encode(self) -> [u8; Self::BYTES] {
        let (kind, bits) = match self {
            Self::Challenge(bits) => (CHALLENGE, bits),
            Self::Answer(bits) => (ANSWER, bits),
        };
        let mut bytes = [kind; Self::BYTES];
        bytes[1..].copy_from_slice(&bits.to_be_bytes());
        bytes
    }
}
