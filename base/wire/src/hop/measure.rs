//! Messages by which a mobile host measures the round trip to its home through a gateway. They take the place of a
//! frame, have no transmission number and are never repaired: a missing echo is a loss.

/// First byte; the version of a frame, its high four bits, is never zero.
const KIND: u8 = 15;
/// Second bytes.
const PROBE: u8 = 0;
const ECHO: u8 = 1;

/// A message about the round trip to a mobile host's home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasureMessage {
    /// The receiver returns these bits: at once if it is the home, otherwise once the home has returned them to it.
    Probe(u64),
    /// The bits of a probe.
    Echo(u64),
}

impl MeasureMessage {
    /// Length of an encoded message, in bytes.
    pub const BYTES: usize = 10;

    /// Returns the message in `plaintext`; `None` if it is something else.
    pub fn parse(plaintext: &[u8]) -> Option<Self> {
        let message: &[u8; Self::BYTES] = plaintext.try_into().ok()?;
        let [kind, which, bits @ ..] = *message;
        let bits = u64::from_be_bytes(bits);
        match (kind, which) {
            (KIND, PROBE) => Some(Self::Probe(bits)),
            (KIND, ECHO) => Some(Self::Echo(bits)),
            _ => None,
        }
    }

    /// Returns the bytes of the message.
    pub fn encode(self) -> [u8; Self::BYTES] {
        let (which, bits) = match self {
            Self::Probe(bits) => (PROBE, bits),
            Self::Echo(bits) => (ECHO, bits),
        };
        let mut bytes = [KIND; Self::BYTES];
        bytes[1] = which;
        bytes[2..].copy_from_slice(&bits.to_be_bytes());
        bytes
    }
}
