//! What the chains of a firewall do with a packet, as far as their rules tell: a small part of nftables and iptables.
//! Conditions that it does not know are said to be unknown, and not guessed.

use std::ops::RangeInclusive;

/// Deepest jump that is followed.
const DEEPEST: usize = 8;
/// Link by which packets of this host alone come.
const LOOPBACK: &str = "lo";

/// The end of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Accept,
    Drop,
    /// Rules of another chain come next, and then those after this one.
    Jump(String),
    /// The chain that led here goes on.
    Return,
    /// None, or one that is not known.
    Other,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    /// Links by which packets must come and leave; a `*` at the end stands for any rest.
    pub(crate) inward: Option<Vec<String>>,
    pub(crate) outward: Option<Vec<String>>,
    /// Ports of UDP to which they must go.
    pub(crate) ports: Option<Vec<RangeInclusive<u16>>>,
    /// True if it is for a transport protocol other than UDP.
    pub(crate) is_of_other_protocol: bool,
    /// True if it is only for connections that were admitted before.
    pub(crate) is_of_known: bool,
    /// True if it has conditions that are not known here.
    pub(crate) is_conditional: bool,
    pub(crate) verdict: Verdict,
}

impl Rule {
    /// Returns a rule without conditions.
    pub(crate) fn always(verdict: Verdict) -> Self {
        Self {
            inward: None,
            outward: None,
            ports: None,
            is_of_other_protocol: false,
            is_of_known: false,
            is_conditional: false,
            verdict,
        }
    }
}

/// A chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chain {
    /// Program that manages it: "nft", "iptables" or "ip6tables".
    pub(crate) program: &'static str,
    /// Family and name of its table, as `nft` has them.
    pub(crate) family: String,
    pub(crate) table: String,
    pub(crate) name: String,
    /// Place in the kernel at which it begins, if it is one of the first.
    pub(crate) hook: Option<String>,
    /// True if it drops what none of its rules decides.
    pub(crate) drops: bool,
    pub(crate) rules: Vec<Rule>,
}

impl Chain {
    /// Returns true if another chain is of the same table.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        (self.program, &self.family, &self.table) == (other.program, &other.family, &other.table)
    }
}

/// A new packet, as far as it is known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Probe<'a> {
    pub(crate) inward: Option<&'a str>,
    pub(crate) outward: Option<&'a str>,
    /// Its port, if it is of UDP.
    pub(crate) port: Option<u16>,
}

/// Fate of a packet in a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Accepted,
    Dropped,
    /// It is dropped, unless a rule accepts it whose conditions are not known.
    PerhapsDropped,
}

/// Returns the fate of a packet in a chain; `all` are the chains to which it may jump.
pub(crate) fn fate(chain: &Chain, all: &[Chain], probe: &Probe<'_>) -> Fate {
    let mut walk = Walk {
        all,
        probe,
        may_be_accepted: false,
    };
    let is_accepted = walk.through(chain, 0).unwrap_or(!chain.drops);
    match (is_accepted, walk.may_be_accepted) {
        (true, _) => Fate::Accepted,
        (false, false) => Fate::Dropped,
        (false, true) => Fate::PerhapsDropped,
    }
}

struct Walk<'a> {
    all: &'a [Chain],
    probe: &'a Probe<'a>,
    may_be_accepted: bool,
}

/// How a rule applies to a packet.
#[derive(PartialEq, Eq)]
enum Match {
    Yes,
    No,
    Unknown,
}

impl Walk<'_> {
    /// Returns true if it is accepted, false if it is dropped, and `None` if no rule decides.
    fn through(&mut self, chain: &Chain, depth: usize) -> Option<bool> {
        for rule in &chain.rules {
            let applies = self.applies(rule);
            if applies == Match::No {
                continue;
            }
            let decided = match &rule.verdict {
                Verdict::Accept => Some(true),
                Verdict::Drop => Some(false),
                Verdict::Return if applies == Match::Yes => return None,
                Verdict::Jump(name) if depth < DEEPEST => {
                    let mut others = self.all.iter();
                    let next = others.find(|other| other.is_beside(chain) && other.name == *name);
                    next.and_then(|next| self.through(next, depth + 1))
                }
                Verdict::Jump(_) | Verdict::Return | Verdict::Other => None,
            };
            match (decided, applies) {
                (Some(decided), Match::Yes) => return Some(decided),
                (Some(true), _) => self.may_be_accepted = true,
                (Some(false) | None, _) => {}
            }
        }
        None
    }

    fn applies(&self, rule: &Rule) -> Match {
        let Probe {
            inward,
            outward,
            port,
        } = *self.probe;
        let links = [(&rule.inward, inward), (&rule.outward, outward)];
        let mut is_unknown = rule.is_conditional;
        for (wanted, given) in links {
            let Some(wanted) = wanted else {
                continue;
            };
            match given {
                Some(given) if !wanted.iter().any(|one| is_like(one, given)) => return Match::No,
                // A packet of another host crosses some link.
                None if wanted.iter().all(|one| one == LOOPBACK) => return Match::No,
                given => is_unknown |= given.is_none(),
            }
        }
        if let Some(ports) = &rule.ports {
            match port {
                Some(port) if !ports.iter().any(|range| range.contains(&port)) => {
                    return Match::No;
                }
                port => is_unknown |= port.is_none(),
            }
        }
        // A packet of no known protocol stands for all of them.
        match (rule.is_of_other_protocol, port) {
            (true, Some(_)) => return Match::No,
            (true, None) => is_unknown = true,
            (false, _) => {}
        }
        // The packet is the first of its connection.
        if rule.is_of_known {
            return Match::No;
        }
        if is_unknown {
            Match::Unknown
        } else {
            Match::Yes
        }
    }
}

fn is_like(pattern: &str, link: &str) -> bool {
    match pattern.strip_suffix(['*', '+']) {
        Some(begin) => link.starts_with(begin),
        None => pattern == link,
    }
}

#[cfg(test)]
#[path = "chains_tests.rs"]
mod tests;
