//! The terms that the two ends of a hop agree on in their handshake, by feature bits (`docs/session.md`).

use association::Profile;
use association::TcpMethod;

/// Feature bit: TCP may cross in the plain lane.
const TCP_PLAIN: u64 = 1;
/// Feature bit: TCP may cross in the plain lane, with the snoop protocol at both ends.
const TCP_SNOOP: u64 = 2;

/// Feature bit: split TCP may cross as MTCP in the paper's profile.
const SPLIT_PAPER: u64 = 4;
/// Feature bit: split TCP may cross as MTCP in the wide profile.
const SPLIT_WIDE: u64 = 8;

/// Feature bit: the gateway answers questions about bindings.
const BINDINGS: u64 = 16;

/// Feature bit: the host reads what gateways tell of others.
const SITES: u64 = 64;

/// Feature bit: this gateway remains the other end of the hop wherever the mobile host is; other gateways relay.
const REMAINS: u64 = 128;

/// Place of the tag of streams in the feature bits. Streams go on in another association if both ends show the same.
const STREAMS_TAG: u32 = 32;

/// Returns these feature bits with the tag of the streams that this host has with the peer; 0 if it has none.
pub(crate) fn with_streams_tag(features: u64, tag: u32) -> u64 {
    features & !(u64::from(u32::MAX) << STREAMS_TAG) | u64::from(tag) << STREAMS_TAG
}

/// Returns the tag in these feature bits.
pub(crate) fn streams_tag(features: u64) -> u32 {
    (features >> STREAMS_TAG) as u32
}

/// Returns the tag of streams that begin in this epoch, which both ends know; it is not 0.
pub(crate) fn tag_of_epoch(epoch: u64) -> u32 {
    (epoch as u32).max(1)
}

/// Returns true if a gateway with these feature bits remains the other end of the hop.
pub(crate) fn remains(features: u64) -> bool {
    features & REMAINS != 0
}

/// Returns the feature bits of every host.
pub(crate) fn of_all() -> u64 {
    SITES
}

/// Returns true if a host with these feature bits reads what gateways tell of others.
pub(crate) fn knows_sites(features: u64) -> bool {
    features & SITES != 0
}

/// Returns the feature bits of a gateway, which remains the other end of the hop if `remains`.
pub(crate) fn of_gateway(remains: bool) -> u64 {
    BINDINGS | if remains { REMAINS } else { 0 }
}

/// Returns true if a gateway with these feature bits answers questions about bindings.
pub(crate) fn answers_about_bindings(features: u64) -> bool {
    features & BINDINGS != 0
}

/// Terms for TCP on the hop to a peer. The gateway chooses and the mobile host follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpTerms {
    /// Use this method; or [`TcpMethod::Arq`], if the peer does not support it.
    Choose(TcpMethod),
    /// Use the method that the peer chooses.
    Follow,
}

impl TcpTerms {
    /// Returns the feature bits to advertise.
    pub(crate) fn features(self) -> u64 {
        match self {
            Self::Choose(TcpMethod::Arq) => 0,
            Self::Choose(TcpMethod::Plain) => TCP_PLAIN,
            Self::Choose(TcpMethod::Snoop) => TCP_SNOOP,
            Self::Follow => TCP_PLAIN | TCP_SNOOP,
        }
    }

    /// Returns the method, given the feature bits of the peer. Both ends get the same result: it is the only method
    /// that both named, and otherwise the link layer repairs.
    pub(crate) fn agreed(self, peer_features: u64) -> TcpMethod {
        match self.features() & peer_features {
            TCP_PLAIN => TcpMethod::Plain,
            TCP_SNOOP => TcpMethod::Snoop,
            _ => TcpMethod::Arq,
        }
    }

    /// Returns the chosen method if it was not agreed on.
    pub(crate) fn refused(self, agreed: TcpMethod) -> Option<TcpMethod> {
        match self {
            Self::Choose(chosen) => (chosen != agreed).then_some(chosen),
            Self::Follow => None,
        }
    }
}

/// Terms for streams of split TCP on the hop to a peer, as MTCP. The gateway chooses and the mobile host follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SplitTerms {
    /// Use no streams.
    #[default]
    Never,
    /// Use this profile, if the peer supports it.
    Choose(Profile),
    /// Use the profile that the peer chooses, if it does.
    Follow,
}

impl SplitTerms {
    /// Returns the feature bits to advertise.
    pub(crate) fn features(self) -> u64 {
        match self {
            Self::Never => 0,
            Self::Choose(Profile::Paper) => SPLIT_PAPER,
            Self::Choose(Profile::Wide) => SPLIT_WIDE,
            Self::Follow => SPLIT_PAPER | SPLIT_WIDE,
        }
    }

    /// Returns the profile, given the feature bits of the peer; both ends get the same result.
    pub(crate) fn agreed(self, peer_features: u64) -> Option<Profile> {
        match self.features() & peer_features {
            SPLIT_PAPER => Some(Profile::Paper),
            SPLIT_WIDE => Some(Profile::Wide),
            _ => None,
        }
    }

    /// Returns true if a profile was chosen and none was agreed on.
    pub(crate) fn is_refused(self, agreed: Option<Profile>) -> bool {
        matches!(self, Self::Choose(_)) && agreed.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_come_to_the_same() {
        let methods = [TcpMethod::Arq, TcpMethod::Plain, TcpMethod::Snoop];
        let terms: Vec<_> = methods
            .into_iter()
            .map(TcpTerms::Choose)
            .chain([TcpTerms::Follow])
            .collect();
        for one in &terms {
            for other in &terms {
                let agreed = one.agreed(other.features());
                assert_eq!(agreed, other.agreed(one.features()), "{one:?} {other:?}");
            }
        }
        for method in methods {
            let chosen = TcpTerms::Choose(method);
            assert_eq!(TcpTerms::Follow.agreed(chosen.features()), method);
            assert_eq!(chosen.refused(method), None);
        }
    }

    #[test]
    fn streams_are_agreed_on_where_one_chooses_and_the_other_follows() {
        let choices = [Profile::Paper, Profile::Wide].map(SplitTerms::Choose);
        let all = choices
            .into_iter()
            .chain([SplitTerms::Never, SplitTerms::Follow]);
        for one in all.clone() {
            for other in all.clone() {
                let agreed = one.agreed(other.features());
                assert_eq!(agreed, other.agreed(one.features()), "{one:?} {other:?}");
                let tcp = TcpTerms::Follow.agreed(one.features());
                assert_eq!(tcp, TcpMethod::Arq, "they do not touch each other");
            }
        }
        for (choice, profile) in choices.into_iter().zip([Profile::Paper, Profile::Wide]) {
            assert_eq!(SplitTerms::Follow.agreed(choice.features()), Some(profile));
            assert!(choice.is_refused(choice.agreed(SplitTerms::Never.features())));
            assert!(!choice.is_refused(Some(profile)));
        }
        assert!(!SplitTerms::Follow.is_refused(None));
    }

    /// Bits of later versions change nothing.
    #[test]
    fn unknown_bits_are_no_method() {
        let others = !(TCP_PLAIN | TCP_SNOOP);
        assert_eq!(TcpTerms::Follow.agreed(others), TcpMethod::Arq);
        assert_eq!(
            TcpTerms::Follow.agreed(others | TCP_SNOOP),
            TcpMethod::Snoop
        );
        let snoop = TcpTerms::Choose(TcpMethod::Snoop);
        assert_eq!(snoop.refused(snoop.agreed(others)), Some(TcpMethod::Snoop));
    }
}
