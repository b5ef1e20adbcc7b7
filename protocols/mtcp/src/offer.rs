//! In which profile a connection is offered, by what the other end is known to understand.

use units::{Duration, Instant};

use crate::{Addresses, Profile};

/// How long what was learned of the other end holds: it may be another program by then.
const KNOWN_FOR: Duration = Duration::from_secs(600);

/// How a connection is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offer {
    /// The profile of the SYN.
    pub(crate) profile: Profile,
    /// An end that does not answer, or refuses the profile, is asked again in the paper's.
    pub(crate) falls_back: bool,
}

/// The profile that the other end was heard to understand last, and until when that counts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Known(Option<(Profile, Instant)>);

impl Known {
    /// The other end was heard in this profile. The paper's alone says nothing: it may be what was asked for.
    pub(crate) fn hear(&mut self, profile: Profile, now: Instant) {
        if profile == Profile::Wide {
            self.learn(profile, now);
        }
    }

    /// The other end agreed to this profile. That it agrees to the paper's again is no news where nothing else was
    /// offered.
    pub(crate) fn learn(&mut self, profile: Profile, now: Instant) {
        if profile == Profile::Wide || self.profile(now) != Some(profile) {
            self.0 = Some((profile, now + KNOWN_FOR));
        }
    }

    fn profile(&self, now: Instant) -> Option<Profile> {
        let known = self.0.filter(|(_, until)| now < *until);
        known.map(|(profile, _)| profile)
    }

    /// What is offered to it by an end that has `own`. One that is known for the wide profile may be in a fade: its
    /// silence says nothing.
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
