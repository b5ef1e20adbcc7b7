//! Messages that find out how long a NAT keeps the binding of an idle mobile host: they belong to the path and not to
//! the association, so they have no transmission number and are never repaired.

/// First bytes; the version of a frame, its high four bits, is never zero.
const QUESTION: u8 = 6;
const ANSWER: u8 = 7;

/// A message about the binding of a mobile host, in place of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindingMessage {
    /// The gateway answers after this number of seconds.
    Question(u16),
    /// The answer to a question, with its number.
    Answer(u16),
}

impl BindingMessage {
    /// Length of an encoded message, in bytes.
    pub const BYTES: usize = 3;

    /// Returns the message in `plaintext`; `None` if it is something else.
    pub fn parse(plaintext: &[u8]) -> Option<Self> {
        match *plaintext {
            [QUESTION, high, low] => Some(Self::Question(u16::from_be_bytes([high, low]))),
            [ANSWER, high, low] => Some(Self::Answer(u16::from_be_bytes([high, low]))),
            _ => None,
        }
    }

    /// Returns the bytes of the message.
    pub fn encode(self) -> [u8; Self::BYTES] {
        let (kind, seconds) = match self {
            Self::Question(seconds) => (QUESTION, seconds),
            Self::Answer(seconds) => (ANSWER, seconds),
        };
        let [high, low] = seconds.to_be_bytes();
        [kind, high, low]
    }
}
