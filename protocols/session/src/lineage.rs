//! The epochs of two hosts: sessions that continue one association, and the rule that both ends agree on them.

use crate::message::Relation;

/// Place of a session in the succession of sessions with a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lineage {
    /// Identifier of the session; not 0.
    pub(crate) session: u64,
    /// Identifier of the first session of its epoch.
    pub(crate) epoch: u64,
}

impl Lineage {
    /// Returns the lineage of a new session that continues `former`, or begins an epoch if there is none.
    pub(crate) fn next(session: u64, former: Option<Self>) -> Self {
        let epoch = former.map_or(session, |former| former.epoch);
        Self { session, epoch }
    }
}

/// A session that a responder has offered. The initiator may have put it in use, but has not confirmed it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer {
    /// Session that the initiation named, or 0.
    pub(crate) named: u64,
    /// Its lineage, if this host knew it.
    pub(crate) continued: Option<Lineage>,
    /// The session itself.
    pub(crate) offered: Lineage,
}

/// Returns the session that a new one continues, and its relation to the one `named` by the initiation.
///
/// The initiator's newest session is the one `in_use`. While an offer is not confirmed, it may also be the one offered,
/// or the one that the answered initiation named. So a host that names another one has been superseded by a host with
/// its key, or is an old copy of itself.
pub(crate) fn relate(
    named: u64,
    in_use: Option<Lineage>,
    offer: Option<&Offer>,
) -> (Option<Lineage>, Relation) {
    let offered = offer.map(|offer| offer.offered);
    let continued = offer.and_then(|offer| offer.continued);
    let known = [in_use, offered, continued].into_iter().flatten();
    let former = known.into_iter().find(|known| known.session == named);
    let is_first = named == 0 || (in_use.is_none() && offer.is_none());
    let relation = match former {
        Some(_) => Relation::Continues,
        None if is_first || offer.is_some_and(|offer| offer.named == named) => Relation::BeginsAnew,
        None => Relation::Supersedes,
    };
    (former, relation)
}
