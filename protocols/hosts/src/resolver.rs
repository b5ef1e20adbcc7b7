//! What the two ends of a hop want of each other about the resolver, and the question of a mobile host.

use wire::hop::Resolvers;

use crate::repetition::Repetition;

/// Feature bit: the gateway answers questions about its resolver.
const ANSWERS: u64 = 32;

/// Terms for the resolver of the hop to a peer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ResolverTerms {
    /// This host neither asks nor answers.
    #[default]
    Silent,
    /// A mobile host asks its gateway, and reports the answer ([`Output::Resolvers`](crate::Output::Resolvers)).
    Ask,
    /// A gateway answers with these, perhaps with none.
    Offer(Resolvers),
}

impl ResolverTerms {
    /// Returns the feature bits to advertise.
    pub(crate) fn features(&self) -> u64 {
        match self {
            Self::Silent | Self::Ask => 0,
            Self::Offer(_) => ANSWERS,
        }
    }
}

/// Returns true if a gateway with these feature bits answers.
pub(crate) fn answers(features: u64) -> bool {
    features & ANSWERS != 0
}

/// The question of a mobile host to its gateway.
#[derive(Debug, Default)]
pub(crate) struct Inquiry {
    /// The questions, until there is an answer.
    pub(crate) questions: Repetition,
    /// The last answer.
    known: Option<Resolvers>,
}

impl Inquiry {
    /// Notes an answer; returns true if it differs from the one before.
    pub(crate) fn answered(&mut self, resolvers: &Resolvers) -> bool {
        self.questions.end();
        let is_news = self.known.as_ref() != Some(resolvers);
        self.known = Some(resolvers.clone());
        is_news
    }
}
