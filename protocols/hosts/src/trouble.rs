//! The cause that keeps a mobile host from its gateway, in words with remedies: a table over what the network, the
//! gateway and the driver have reported. It says what is known, and names guesses as guesses.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use session::Decline;
use units::{Duration, Instant};
use wire::address::HopAddress;

use crate::places::Places;
use crate::verdict::Reach;
use crate::ways::Ways;

/// Unix times, in seconds, between which a clock may be right: 2026 to 2100.
pub const CLOCKS: std::ops::Range<u64> = 1_767_225_600..4_102_444_800;

/// Time without an answer after which a mobile host without keys says so, and one with keys, which fades keep silent.
const SILENCE: Duration = Duration::from_secs(5);
const LONG_SILENCE: Duration = Duration::from_secs(30);
/// Time for which a notice about a foreign source counts. A gateway repeats it each minute.
const FOREIGN: Duration = Duration::from_secs(90);
/// Least difference of two clocks that is worth a word, in seconds.
const CLOCK_DIFFERENCE: u64 = 24 * 60 * 60;

/// Cause that keeps a mobile host from its gateway. Programs may rely on the codes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum TroubleCode {
    /// Two hosts use one key.
    KeyShared,
    /// The local network has this host's inner address.
    AddressClash,
    /// The gateway has revoked this host's key.
    Revoked,
    /// The key is that of an invitation which has expired.
    Expired,
    /// Another key has taken the place of this host's.
    Replaced,
    /// The key of the gateway that this host knows has ended.
    GatewayKeyEnded,
    /// The gateway declines the key, for a reason that this version does not know.
    Declined,
    /// No datagram can leave: the link is down, or there is no route.
    NoRoute,
    /// No process listens at the gateway's port.
    PortRefused,
    /// The gateway speaks only older versions of the protocol.
    GatewayTooOld,
    /// The gateway speaks only later versions of the protocol.
    GatewayTooNew,
    /// Answers come that cannot be opened.
    KeysDiffer,
    /// The gateway's name has no address.
    NameUnresolved,
    /// The gateway's name leads to a private address, as in a network that wants a login first.
    NamePrivate,
    /// Nothing answers.
    Silent,
    /// The gateway was in reach, and is silent for long.
    OutOfReach,
    /// The gateway drops packets from a source that is no inner address of this host.
    ForeignSource,
    /// UDP is not answered: TLS carries the hop.
    UdpBlocked,
    /// This host's clock cannot be right.
    Clock,
}

impl TroubleCode {
    /// Returns true if the gateway has declined this host's key.
    pub fn is_decline(self) -> bool {
        [
            Self::Revoked,
            Self::Expired,
            Self::Replaced,
            Self::GatewayKeyEnded,
            Self::Declined,
        ]
        .contains(&self)
    }
}

impl fmt::Display for TroubleCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

/// Trouble of a peer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trouble {
    /// The cause.
    pub code: TroubleCode,
    /// The cause in words, with its remedy.
    pub words: String,
}

impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "trouble ({}): {}", self.code, self.words)
    }
}

/// A fact about this host's surroundings that its driver has noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Circumstance {
    /// A network of this host has its inner address: which network, and by which interface.
    AddressClash,
    /// No name of the gateway can be resolved: which names, and the errors.
    NameUnresolved,
    /// The same of some of its names, while others can.
    OtherNameUnresolved,
    /// The gateway's name leads to a private address now: which name, and which address.
    NamePrivate,
}

/// What was reported about a peer, until it is reached.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clues {
    /// The reason, and the gateway's clock.
    pub(crate) declined: Option<(Decline, u64)>,
    /// True if the gateway speaks older versions only.
    pub(crate) other_version: Option<bool>,
    /// Source of packets that the gateway drops, and the time of its last notice.
    pub(crate) foreign: Option<(Instant, IpAddr)>,
    /// What the driver has noticed. It stays until the driver takes it back.
    pub(crate) circumstances: BTreeMap<Circumstance, String>,
    /// This host's clock: Unix time in seconds.
    pub(crate) wall: u64,
    /// Troubles in the log since the peer was reached last.
    logged: BTreeSet<TroubleCode>,
}

impl Clues {
    /// Records that the peer was reached.
    pub(crate) fn reached(&mut self) {
        self.declined = None;
        self.other_version = None;
        self.logged.clear();
    }

    /// Returns true if this trouble is not in the log yet.
    pub(crate) fn is_news(&mut self, code: TroubleCode) -> bool {
        self.logged.insert(code)
    }
}

/// Facts on which the judgement rests.
#[derive(Debug, Clone)]
pub(crate) struct TroubleFacts<'a> {
    pub(crate) now: Instant,
    pub(crate) reach: Reach,
    /// True if nothing can leave.
    pub(crate) is_shut: bool,
    /// Time since the first datagram that was not answered.
    pub(crate) silent_for: Duration,
    /// Address of the gateway.
    pub(crate) at: Option<HopAddress>,
    /// Its ways, if there are several.
    pub(crate) ways: Option<&'a Ways>,
    /// Its other addresses that were asked.
    pub(crate) others: &'a Places,
    pub(crate) clues: &'a Clues,
}

/// A cause, and a function that returns true if it applies.
type Row = (TroubleCode, fn(&TroubleFacts<'_>) -> bool);

/// The rows in the order of their test: what is certain comes before what is possible.
const ROWS: &[Row] = &[
    (TroubleCode::KeyShared, |facts| facts.reach.is_shared),
    (TroubleCode::AddressClash, |facts| {
        facts.notes(Circumstance::AddressClash)
    }),
    (TroubleCode::Revoked, |facts| {
        facts.is_declined(Decline::Revoked)
    }),
    (TroubleCode::Expired, |facts| {
        facts.is_declined(Decline::Expired)
    }),
    (TroubleCode::Replaced, |facts| {
        facts.is_declined(Decline::Replaced)
    }),
    (TroubleCode::GatewayKeyEnded, |facts| {
        facts.is_declined(Decline::GatewayKeyEnded)
    }),
    (TroubleCode::Declined, |facts| {
        facts.clues.declined.is_some()
    }),
    (TroubleCode::NoRoute, |facts| facts.is_shut),
    (TroubleCode::PortRefused, |facts| facts.reach.is_refused),
    (TroubleCode::GatewayTooOld, |facts| {
        !facts.reach.is_linked && facts.clues.other_version == Some(true)
    }),
    (TroubleCode::GatewayTooNew, |facts| {
        !facts.reach.is_linked && facts.clues.other_version == Some(false)
    }),
    (TroubleCode::KeysDiffer, |facts| {
        !facts.reach.is_linked && facts.reach.is_unopened
    }),
    (TroubleCode::NameUnresolved, |facts| {
        facts.is_silent() && facts.notes(Circumstance::NameUnresolved)
    }),
    (TroubleCode::NamePrivate, |facts| {
        facts.is_silent() && facts.notes(Circumstance::NamePrivate)
    }),
    (TroubleCode::Silent, |facts| {
        !facts.reach.is_linked && facts.is_silent()
    }),
    (TroubleCode::OutOfReach, |facts| {
        facts.reach.is_linked && facts.silent_for >= LONG_SILENCE
    }),
    (TroubleCode::ForeignSource, |facts| {
        let foreign = facts.clues.foreign;
        foreign.is_some_and(|(at, _)| facts.now.since(at) < FOREIGN)
    }),
    (TroubleCode::UdpBlocked, |facts| {
        facts.by_tls_since().is_some()
    }),
    (TroubleCode::Clock, |facts| {
        facts.clues.wall > 0 && !CLOCKS.contains(&facts.clues.wall)
    }),
];

impl TroubleFacts<'_> {
    fn notes(&self, circumstance: Circumstance) -> bool {
        self.clues.circumstances.contains_key(&circumstance)
    }

    fn is_declined(&self, reason: Decline) -> bool {
        self.clues.declined.is_some_and(|(its, _)| its == reason)
    }

    fn by_tls_since(&self) -> Option<Instant> {
        self.ways.and_then(Ways::tls_since)
    }

    fn is_silent(&self) -> bool {
        self.silent_for >= SILENCE
    }

    /// Returns the trouble of the first row that applies.
    pub(crate) fn judge(&self) -> Option<Trouble> {
        let (code, _) = ROWS.iter().find(|(_, holds)| holds(self))?;
        let words = self.words(*code) + &self.words_of_others(*code);
        Some(Trouble { code: *code, words })
    }

    /// Returns what is known of the gateway's other addresses, where they might serve.
    fn words_of_others(&self, code: TroubleCode) -> String {
        let may_serve = [
            TroubleCode::NoRoute,
            TroubleCode::PortRefused,
            TroubleCode::Silent,
            TroubleCode::OutOfReach,
        ];
        let others = self.others.status(self.now, self.at);
        let mut others: Vec<_> = others.iter().map(ToString::to_string).collect();
        let unresolved = &self.clues.circumstances;
        others.extend(unresolved.get(&Circumstance::OtherNameUnresolved).cloned());
        if others.is_empty() || !may_serve.contains(&code) {
            return String::new();
        }
        format!(". Its other addresses: {}", others.join("; "))
    }

    fn words(&self, code: TroubleCode) -> String {
        let note = |circumstance| {
            let notes = &self.clues.circumstances;
            notes.get(&circumstance).map_or("", String::as_str)
        };
        let at = self.at.map_or("its address".into(), |at| at.to_string());
        match code {
            TroubleCode::KeyShared => "two hosts use one key, and take the hop from each other; give each host a key \
                                       of its own (a join line of its own, or `lasthop keygen`)"
                .into(),
            TroubleCode::AddressClash => format!(
                "{}; connect to another network, or have the gateway use other inner addresses (`addresses` of `[tun]` \
                 at both ends)",
                note(Circumstance::AddressClash)
            ),
            TroubleCode::Revoked
            | TroubleCode::Expired
            | TroubleCode::Replaced
            | TroubleCode::GatewayKeyEnded
            | TroubleCode::Declined => self.words_of_decline(),
            TroubleCode::NoRoute => "no datagram can leave: no interface is up, or there is no route to the gateway; \
                                     connect this host to a network (`ip route get` with the gateway's address shows \
                                     the route)"
                .into(),
            TroubleCode::PortRefused => format!(
                "the host at {at} answers that no process listens at this port; start the gateway there (`lasthop \
                 gateway up`), or correct the address and port"
            ),
            TroubleCode::GatewayTooOld => {
                "the gateway speaks only older versions of the protocol; update lasthop there".into()
            }
            TroubleCode::GatewayTooNew => {
                "the gateway speaks only later versions of the protocol; update lasthop on this host".into()
            }
            TroubleCode::KeysDiffer => format!(
                "answers come from {at} that this host cannot open: its preshared key differs from the gateway's, or \
                 another host answers there; compare `preshared_key_file` at both ends"
            ),
            TroubleCode::NameUnresolved => format!(
                "{}; check this host's network and its DNS, or write the gateway's address as `endpoint`",
                note(Circumstance::NameUnresolved)
            ),
            TroubleCode::NamePrivate => format!(
                "{}, and nothing answers there. That is right only if the gateway is in this network; else the network \
                 may want a login first: open any page in a browser",
                note(Circumstance::NamePrivate)
            ),
            TroubleCode::Silent => self.words_of_silence(&at),
            TroubleCode::OutOfReach => format!(
                "the gateway was in reach and is silent for {}: a long fade, or its host or its network is down",
                self.silent_for
            ),
            TroubleCode::ForeignSource => self.words_of_foreign_source(),
            TroubleCode::UdpBlocked => self.words_of_tls(),
            TroubleCode::Clock => "this host's clock is off by years; set it: the hop works without it, other programs \
                                   do not"
                .into(),
        }
    }

    fn words_of_silence(&self, at: &str) -> String {
        let ways = self.ways.map_or("", |_| ", neither by UDP nor by TLS");
        format!(
            "nothing answers at {at}{ways}, for {}. It may be, the most likely first: the gateway is off, or a \
             firewall or this network blocks UDP on the way; the gateway does not know this host's key (`lasthop \
             peers` there); `public_key` here is not the gateway's. `lasthop doctor` at either end looks further",
            self.silent_for
        )
    }

    fn words_of_tls(&self) -> String {
        let since = self.by_tls_since().unwrap_or(self.now);
        format!(
            "a network on the way lets no UDP through: TLS has carried the hop for {}, slower and with longer delays. \
             UDP is tried again from time to time; another network may let it through",
            Duration::from_secs(self.now.since(since).as_millis() / 1000)
        )
    }

    fn words_of_foreign_source(&self) -> String {
        let source = self.clues.foreign.map(|(_, source)| source.to_string());
        format!(
            "the gateway drops packets from {}, which is no inner address that it knows for this host; programs that \
             were connected before the hop must connect anew; if it is an address of `[tun]` here, give it to this \
             host at the gateway too",
            source.unwrap_or_default()
        )
    }

    fn words_of_decline(&self) -> String {
        let (reason, clock) = self.clues.declined.unwrap_or((Decline::Other(0), 0));
        let mut words = decline_words(reason);
        let wall = self.clues.wall;
        let difference = wall.abs_diff(clock);
        if wall > 0 && difference >= CLOCK_DIFFERENCE {
            let days = difference / CLOCK_DIFFERENCE;
            // Writing to a string cannot fail.
            let _ = write!(words, ". The two clocks differ by {days} days");
        }
        words
    }
}

/// Returns why a gateway declines a key, with the remedy.
pub fn decline_words(reason: Decline) -> String {
    match reason {
        Decline::Revoked => {
            "the gateway has revoked this host's key; ask its operator for a join line (`lasthop invite`)".into()
        }
        Decline::Expired => {
            "the invitation has expired; ask for another join line (`lasthop invite` on the gateway)".into()
        }
        Decline::Replaced => "another key has taken the place of this one at the gateway: the join line was used by \
                              another host, or a later line was made for the same name; ask for another one (`lasthop \
                              invite`), and have that name revoked if no host of yours has used the line"
            .into(),
        Decline::GatewayKeyEnded => {
            "the gateway's key was replaced, and the one that this host knows has ended; ask its operator for a join \
             line (`lasthop invite`), or write the present key into the configuration"
                .into()
        }
        Decline::Other(number) => format!(
            "the gateway declines this host's key, for reason {number}, which this version does not know; update \
             lasthop"
        ),
    }
}

#[cfg(test)]
#[path = "trouble_tests.rs"]
mod tests;
