//! Messages by which a host replaces its key. They are sealed under its present key, which so vouches for the
//! next one, and take the place of a frame; they have no transmission number and are never repaired.

/// First bytes; the version of a frame, its high four bits, is never zero.
const CLAIM: u8 = 4;
const REFUSED: u8 = 5;
const SUCCESSOR: u8 = 11;
/// Length of a public key, in bytes.
const KEY: usize = 32;

/// A message about the key of its sender, in place of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimMessage {
    /// The mobile host's public key from now on. If the gateway accepts it, the present one gets a goodbye.
    Claim([u8; KEY]),
    /// The gateway has refused the claim.
    Refused(ClaimRefusal),
    /// The gateway's public key from now on. It still accepts the present one.
    Successor([u8; KEY]),
}

/// Reason why a gateway has refused a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimRefusal {
    /// The key of this host stands in the gateway's configuration, where only its operator changes it.
    Fixed,
    /// The invitation has expired.
    Expired,
    /// The gateway cannot store the claim, or another host has the claimed key.
    Failed,
}

impl ClaimMessage {
    /// Length of the longest message, in bytes.
    pub const LONGEST: usize = 1 + KEY;

    /// Returns the message in `plaintext`; `None` if it is something else. An unknown reason is
    /// [`ClaimRefusal::Failed`].
    pub fn parse(plaintext: &[u8]) -> Option<Self> {
        match plaintext {
            [CLAIM, key @ ..] => Some(Self::Claim(key.try_into().ok()?)),
            [SUCCESSOR, key @ ..] => Some(Self::Successor(key.try_into().ok()?)),
            [REFUSED, reason] => Some(Self::Refused(match reason {
                1 => ClaimRefusal::Fixed,
                2 => ClaimRefusal::Expired,
                _ => ClaimRefusal::Failed,
            })),
            _ => None,
        }
    }

    /// Returns the bytes of the message.
    pub fn encode(self) -> Vec<u8> {
        match self {
            Self::Claim(key) => [&[CLAIM], key.as_slice()].concat(),
            Self::Successor(key) => [&[SUCCESSOR], key.as_slice()].concat(),
            Self::Refused(reason) => {
                let reason = match reason {
                    ClaimRefusal::Fixed => 1,
                    ClaimRefusal::Expired => 2,
                    ClaimRefusal::Failed => 3,
                };
                vec![REFUSED, reason]
            }
        }
    }
}
