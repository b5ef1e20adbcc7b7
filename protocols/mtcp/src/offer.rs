//! The profile that a SYN offers, which depends on the profile that the peer is known to support.

use units::{Duration, Instant};

use crate::{Addresses, Profile};

/// Time that knowledge about the peer stays valid: after that it may run another program.
const KNOWN_FOR: Duration = Duration::from_secs(600);

/// Parameters of a SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Profile of the SYN.
    pub(crate) profile: Profile,
    /// Set if a peer that does not answer, or refuses the profile, gets a second SYN in the paper's profile.
    pub(crate) falls_back: bool,
}

/// Profile that the peer used last, and the time until which that is valid.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PeerProfile(Option<(Profile, Instant)>);

impl PeerProfile {
    /// Notes a packet of the peer in this profile. The paper's profile proves nothing: the peer may only follow this
    /// end's.
    pub(crate) fn hear(&mut self, profile: Profile, now: Instant) {
        if profile == Profile::Wide {
            self.learn(profile, now);
        }
    }

    /// Notes that the peer agreed to this profile. A repeated agreement to the paper's profile is ignored if nothing
    /// else was offered.
    pub(crate) fn learn(&mut self, profile: Profile, now: Instant) {
        if profile == Profile::Wide || self.profile(now) != Some(profile) {
            self.0 = Some((profile, now + KNOWN_FOR));
        }
    }

    fn profile(&self, now: Instant) -> Option<Profile> {
        let known = self.0.filter(|(_, until)| now < *until);
        known.map(|(profile, _)| profile)
    }

    /// Returns the offer to the peer by an end that has the profile `own`. A peer that is known for the wide profile
    /// may be in a fade: its silence proves nothing.
    pub(crate) fn offer(&self, own: Profile, addresses: &Addresses, now: Instant) -> Offer {
        let known = self.profile(now);
        let least = addresses.least_profile();
        let profile = own.min(known.unwrap_or(own)).max(least);
        Offer {
            profile,
            falls_back: profile > least && known.is_none(),
        }
    }
}
