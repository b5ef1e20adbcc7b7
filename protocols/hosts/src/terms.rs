//! What the two ends of a hop settle in their handshake, by feature bits (`docs/session.md`).

use association::TcpMethod;

/// TCP may cross in the plain lane.
const TCP_PLAIN: u64 = 1;
/// TCP may cross in the plain lane, with the snoop protocol at both ends.
const TCP_SNOOP: u64 = 2;

/// How TCP may cross the hop to a peer. The gateway chooses and the mobile host follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpTerms {
    /// By this method and no other; or by [`TcpMethod::Arq`], where the peer does not know it.
    Choose(TcpMethod),
    /// By whatever the peer chooses.
    Follow,
}

impl TcpTerms {
    /// What the peer is told.
    pub(crate) fn features(self) -> u64 {
        match self {
            Self::Choose(TcpMethod::Arq) => 0,
            Self::Choose(TcpMethod::Plain) => TCP_PLAIN,
            Self::Choose(TcpMethod::Snoop) => TCP_SNOOP,
            Self::Follow => TCP_PLAIN | TCP_SNOOP,
        }
    }

    /// The method, given what the peer told. Both ends come to the same: it is the only one that both
    /// named, and otherwise the link layer repairs.
    pub(crate) fn agreed(self, peer_features: u64) -> TcpMethod {
        match self.features() & peer_features {
            TCP_PLAIN => TcpMethod::Plain,
            TCP_SNOOP => TcpMethod::Snoop,
            _ => TcpMethod::Arq,
        }
    }

    /// What was chosen in vain, given what was agreed.
    pub(crate) fn refused(self, agreed: TcpMethod) -> Option<TcpMethod> {
        match self {
            Self::Choose(chosen) => (chosen != agreed).then_some(chosen),
            Self::Follow => None,
        }
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
