//! Datagrams of a mobile host and its home that another gateway of their site relays. They are sealed for their
//! receiver; this is what stands before them, in place of a frame, in the sessions with the gateway that relays.

/// First bytes; the version of a frame, its high four bits, is never zero.
const DATAGRAM: u8 = 13;
const LABELLED: u8 = 14;
/// Length of a label: the public key of a mobile host.
const LABEL: usize = 32;

/// What stands before a relayed datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelayHeader {
    /// Between the mobile host and the gateway that relays.
    Own,
    /// Between the gateway that relays and the home: the public key of the mobile host.
    Of([u8; LABEL]),
}

impl RelayHeader {
    /// Length of the longest header, in bytes.
    pub const LONGEST: usize = 1 + LABEL;

    /// Returns the header at the begin of `plaintext`; `None` if it is something else.
    pub fn parse(plaintext: &[u8]) -> Option<Self> {
        match plaintext.split_first()? {
            (&DATAGRAM, _) => Some(Self::Own),
            (&LABELLED, rest) => rest.first_chunk().map(|label| Self::Of(*label)),
            _ => None,
        }
    }

    /// Returns its length, in bytes.
    pub const fn length(self) -> usize {
        match self {
            Self::Own => 1,
            Self::Of(_) => Self::LONGEST,
        }
    }

    /// Writes it to `out`, which has its length.
    ///
    /// # Panics
    /// If `out` has another length.
    pub fn write(self, out: &mut [u8]) {
        match self {
            Self::Own => out.copy_from_slice(&[DATAGRAM]),
            Self::Of(label) => {
                out[0] = LABELLED;
                out[1..].copy_from_slice(&label);
            }
        }
    }
}
