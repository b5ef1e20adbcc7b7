//! The keys of peers, and keys that were a peer's once: who has one of these is answered with the reason why it counts
//! no more.

use std::collections::BTreeMap;

use crate::keys::PublicKey;
use crate::output::PeerId;

/// Most former keys that are remembered; the oldest makes room.
pub const FORMER_KEYS: usize = 1_024;

/// Reason why a key counts no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decline {
    /// The operator has revoked it.
    Revoked,
    /// It was the key of an invitation that has expired.
    Expired,
    /// Another key has taken its place: that of the host which has joined with the invitation, or of a later one.
    Replaced,
    /// The key of the gateway that its owner knows has ended; this reason is for keys that count.
    GatewayKeyEnded,
    /// A reason that this version does not know, by its number.
    Other(u32),
}

impl Decline {
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Revoked => 1,
            Self::Expired => 2,
            Self::Replaced => 3,
            Self::GatewayKeyEnded => 4,
            Self::Other(number) => number,
        }
    }

    pub(crate) fn of(number: u32) -> Self {
        match number {
            1 => Self::Revoked,
            2 => Self::Expired,
            3 => Self::Replaced,
            4 => Self::GatewayKeyEnded,
            other => Self::Other(other),
        }
    }
}

/// Keys that an endpoint knows.
#[derive(Debug, Default)]
pub(crate) struct KnownKeys {
    pub(crate) peers: BTreeMap<PublicKey, PeerId>,
    pub(crate) former: FormerKeys,
}

/// Former keys of peers, at most [`FORMER_KEYS`].
#[derive(Debug, Default)]
pub(crate) struct FormerKeys {
    /// Each with the number of keys that were noted before it.
    reasons: BTreeMap<PublicKey, (u64, Decline)>,
    noted: u64,
}

impl FormerKeys {
    /// Notes a former key; if there are too many, the one that was noted first is forgotten.
    pub(crate) fn note(&mut self, key: PublicKey, reason: Decline) {
        self.noted += 1;
        self.reasons.insert(key, (self.noted, reason));
        if self.reasons.len() > FORMER_KEYS {
            let oldest = self.reasons.iter().min_by_key(|(_, (number, _))| *number);
            if let Some(oldest) = oldest.map(|(key, _)| *key) {
                self.reasons.remove(&oldest);
            }
        }
    }

    /// Forgets a key: it is a peer's again.
    pub(crate) fn forget(&mut self, key: &PublicKey) {
        self.reasons.remove(key);
    }

    pub(crate) fn reason(&self, key: &PublicKey) -> Option<Decline> {
        self.reasons.get(key).map(|(_, reason)| *reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> PublicKey {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        PublicKey::from_bytes(bytes)
    }

    #[test]
    fn the_newest_keys_are_remembered() {
        let mut former = FormerKeys::default();
        for number in 0..FORMER_KEYS + 10 {
            former.note(key(number), Decline::Revoked);
        }
        // Noted again, it counts as new.
        former.note(key(10), Decline::Expired);
        former.note(key(FORMER_KEYS + 10), Decline::Replaced);
        assert_eq!(former.reasons.len(), FORMER_KEYS);
        assert_eq!(former.reason(&key(9)), None);
        assert_eq!(former.reason(&key(10)), Some(Decline::Expired));
        assert_eq!(former.reason(&key(11)), None);
        former.forget(&key(10));
        assert_eq!(former.reason(&key(10)), None);
    }

    #[test]
    fn a_reason_of_a_later_version_keeps_its_number() {
        for number in 0..9 {
            assert_eq!(Decline::of(number).number(), number);
        }
        assert_eq!(Decline::of(7), Decline::Other(7));
    }
}
