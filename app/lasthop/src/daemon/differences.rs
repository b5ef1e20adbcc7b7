//! What a reload changes among the peers of a gateway.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hosts::{Decline, Input, SitePart};
use session::PublicKey;

use super::gateway::Member;

/// Returns the inputs that lead from the present members of a gateway to the next ones, and a report of them.
pub(crate) fn differences(
    present: &[Member],
    next: &[Member],
    former: &BTreeMap<PublicKey, Decline>,
) -> (Vec<Input>, String) {
    fn by_key(members: &[Member]) -> HashMap<PublicKey, &Member> {
        let members = members.iter();
        members.map(|member| (member.peer.public, member)).collect()
    }
    let known = by_key(present);
    let (mut inputs, mut changes) = (Vec::new(), Vec::new());
    let mut stay = 0;
    let (mut added, mut changed) = (0, 0);
    for member in next {
        match known.get(&member.peer.public) {
            Some(known) => {
                stay += 1;
                if *known == member {
                    continue;
                }
                changed += 1;
            }
            None => added += 1,
        }
        changes.push(Input::Admit {
            peer: Box::new(member.peer.clone()),
            scope: member.scope,
        });
    }
    let revoked = present.len() - stay;
    if revoked > 0 {
        let next_by_key = by_key(next);
        let gone = present.iter();
        let gone = gone.filter(|member| !next_by_key.contains_key(&member.peer.public));
        let gone: BTreeMap<_, _> = gone.map(|member| (member.peer.public, member)).collect();
        let names: BTreeSet<_> = next.iter().map(|member| &member.peer.name).collect();
        inputs.extend(gone.into_iter().map(|(key, member)| {
            // A gateway whose next key was stored, and that was removed since, has none in its place.
            let is_gateway = member.peer.membership.site == SitePart::Gateway;
            let is_gone = is_gateway && !names.contains(&member.peer.name);
            let reason = former.get(&key).copied().filter(|_| !is_gone);
            Input::Revoke(key, reason.unwrap_or(Decline::Revoked))
        }));
    }
    inputs.extend(changes);
    let report = format!("{added} peers added, {changed} changed, {revoked} revoked");
    (inputs, report)
}
