//! The events of a host for its log.

use std::fmt;
use std::net::SocketAddr;

use association::TcpMethod;
use session::PublicKey;
use signals::Change;
use units::Duration;
use wire::address::HopAddress;
use wire::hop::ClaimRefusal;

use crate::{AdmitError, Trouble};

const KEY_SHARED: &str = "another host uses its key, or this host's, or one of them runs from an old snapshot; each \
                          takes the hop from the other: give each host a key of its own";

const STREAMS_REFUSED: &str = "it does not take streams by MTCP (its version does not know them, or it has no `nft`); \
                               TCP is split with the kernel's on the hop, or by \"auto\" repaired there";

/// An event of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The peer's name.
    pub peer: String,
    /// Kind of the event.
    pub kind: EventKind,
}

/// Kind of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// There are new keys.
    Established {
        /// True if both ends begin anew, so that all earlier state is void.
        fresh: bool,
    },
    /// Two hosts use one key, this host's or the peer's, and take the hop from each other.
    KeyShared,
    /// A handshake was refused for its time stamp, and is repeated with a later one.
    StampRefused {
        /// Time from this stamp to the newest one before it.
        behind: Duration,
    },
    /// The peer, a gateway, has another key, for which it has vouched.
    KeyReplaced {
        /// The key from now on.
        key: PublicKey,
    },
    /// This host, a mobile one, has another key from now on: the gateway has taken what it claimed.
    OwnKeyReplaced {
        /// The key from now on.
        key: PublicKey,
    },
    /// The gateway has refused the key that this host claimed.
    ClaimRefused {
        /// The reason.
        reason: ClaimRefusal,
    },
    /// The peer knows only the former key of this host, and was told the present one.
    FormerKeyUsed,
    /// The peer reported that it leaves.
    Left,
    /// The keys are too old, and the peer is out of reach.
    Expired,
    /// Nothing comes through.
    FadeBegan,
    /// Something came through again.
    FadeEnded {
        /// Length of the fade.
        lasted: Duration,
        /// True if no packet was given up because of it.
        kept: bool,
    },
    /// This mobile host is changing its place in the network, or is said to do so soon, and has not reached the peer
    /// from the new one yet.
    HandoffBegan {
        /// Time until it begins.
        within: Duration,
    },
    /// The peer was reached from the new place.
    HandoffEnded {
        /// Time that the hand-off took.
        lasted: Duration,
    },
    /// The peer, a gateway of the site, serves this mobile host from now on.
    Attached {
        /// Time that the attachment took.
        lasted: Duration,
        /// True if all that the former gateway had to deliver goes on.
        kept: bool,
    },
    /// The peer, a mobile host, is reached through another gateway of the site, which relays.
    Relayed {
        /// Name of that gateway.
        by: String,
    },
    /// From now on this gateway relays between this mobile host and its home.
    Relays {
        /// Time since the move began.
        lasted: Duration,
    },
    /// The peer, a gateway of the site, is asked to serve this mobile host in place of another one.
    MoveBegan,
    /// The peer, a gateway of the site, did not answer in time, and the former one goes on to serve this mobile host.
    NotAttached,
    /// The peer, a gateway of the site, was better than the present one in a comparison, and is asked to serve this
    /// mobile host.
    Better {
        /// Mean round trip to the home through it.
        round_trip: Duration,
        /// The same through the present one; `None` if no echo came.
        present: Option<Duration>,
        /// Probes without an echo: through the present gateway, and through it.
        lost: [u32; 2],
        /// Probes through each of the two.
        probes: u32,
    },
    /// The peer, the gateway that serves this mobile host, is about to end: another one is asked to serve it.
    Drained,
    /// The peer, the home of mobile hosts that this gateway serves, is silent: new connections of theirs leave here.
    StandsIn,
    /// The peer, a home that was silent, answers: new connections of its mobile hosts leave there again.
    HomeAnswers,
    /// The peer, a gateway of the site, has claimed a mobile host that has not asked it to serve. This is announced
    /// once.
    ClaimedWithoutProof {
        /// Name of the mobile host.
        mobile: String,
    },
    /// The peer, a mobile host, has a new address.
    Moved {
        /// The new address.
        to: HopAddress,
    },
    /// UDP is not answered, but TLS is: the hop goes on by that.
    FellBack {
        /// Address for TLS.
        to: HopAddress,
        /// Time without an answer by UDP.
        silent: Duration,
    },
    /// UDP is answered again, and the hop returns to it.
    Returned {
        /// Address for UDP.
        to: HopAddress,
        /// Time for which TLS was in use.
        lasted: Duration,
    },
    /// The peer does not support the chosen method for TCP, so the link layer repairs it.
    TcpRefused {
        /// The chosen method.
        chosen: TcpMethod,
    },
    /// The gateway has requested a connection to an address that is not an inner address of this host.
    ForeignRequest {
        /// The requested destination.
        to: SocketAddr,
    },
    /// This host has a new peer.
    Admitted,
    /// The peer has other settings.
    Changed {
        /// True if both ends begin anew for that.
        anew: bool,
    },
    /// The peer is no peer of this host any more.
    Revoked,
    /// The peer cannot be added, or cannot have its new settings.
    NotAdmitted(AdmitError),
    /// The hop is down: new flows should go around it.
    DetourBegan {
        /// Time for which it has been down.
        down_for: Duration,
    },
    /// The hop works again: new flows should cross it.
    DetourEnded {
        /// Time for which flows have gone around it.
        lasted: Duration,
    },
    /// The peer does not support the chosen profile of streams, so split TCP uses the kernel's TCP on the hop.
    StreamsRefused,
    /// Something keeps this host from the peer. It comes once for each cause, until the peer is reached.
    Trouble(Box<Trouble>),
}

impl EventKind {
    /// Returns its name in structured logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Established { .. } => "established",
            Self::KeyShared => "key-shared",
            Self::KeyReplaced { .. } => "key-replaced",
            Self::OwnKeyReplaced { .. } => "own-key-replaced",
            Self::ClaimRefused { .. } => "claim-refused",
            Self::FormerKeyUsed => "former-key-used",
            Self::StampRefused { .. } => "stamp-refused",
            Self::Left => "left",
            Self::Expired => "expired",
            Self::FadeBegan => "fade-began",
            Self::FadeEnded { .. } => "fade-ended",
            Self::HandoffBegan { .. } => "handoff-began",
            Self::HandoffEnded { .. } => "handoff-ended",
            Self::Attached { .. } => "attached",
            Self::Relays { .. } => "relays",
            Self::Relayed { .. } => "relayed",
            Self::MoveBegan => "move-began",
            Self::NotAttached => "not-attached",
            Self::Better { .. } => "better",
            Self::Drained => "drained",
            Self::StandsIn => "stands-in",
            Self::HomeAnswers => "home-answers",
            Self::ClaimedWithoutProof { .. } => "claimed-without-proof",
            Self::Moved { .. } => "moved",
            Self::FellBack { .. } => "fell-back",
            Self::Returned { .. } => "returned",
            Self::TcpRefused { .. } => "tcp-refused",
            Self::ForeignRequest { .. } => "foreign-request",
            Self::Admitted => "admitted",
            Self::Changed { .. } => "changed",
            Self::Revoked => "revoked",
            Self::NotAdmitted(_) => "not-admitted",
            Self::DetourBegan { .. } => "detour-began",
            Self::DetourEnded { .. } => "detour-ended",
            Self::StreamsRefused => "streams-refused",
            Self::Trouble(_) => "trouble",
        }
    }

    /// Returns the change that it means for applications, if any.
    pub fn change(&self) -> Option<Change> {
        match *self {
            Self::Established { fresh } => Some(Change::Connected { fresh }),
            Self::Left | Self::Expired | Self::Revoked | Self::Changed { anew: true } => {
                Some(Change::Expired)
            }
            Self::FadeBegan => Some(Change::FadeBegan),
            Self::FadeEnded { lasted, kept } => Some(Change::FadeEnded { lasted, kept }),
            Self::HandoffBegan { within } => Some(Change::HandoffBegan { within }),
            Self::HandoffEnded { .. } => Some(Change::HandoffEnded),
            Self::KeyShared
            | Self::KeyReplaced { .. }
            | Self::OwnKeyReplaced { .. }
            | Self::ClaimRefused { .. }
            | Self::FormerKeyUsed
            | Self::StampRefused { .. }
            | Self::Attached { .. }
            | Self::Relays { .. }
            | Self::Relayed { .. }
            | Self::MoveBegan
            | Self::NotAttached
            | Self::Better { .. }
            | Self::Drained
            | Self::StandsIn
            | Self::HomeAnswers
            | Self::ClaimedWithoutProof { .. }
            | Self::Moved { .. }
            | Self::FellBack { .. }
            | Self::Returned { .. }
            | Self::TcpRefused { .. }
            | Self::ForeignRequest { .. }
            | Self::Admitted
            | Self::Changed { anew: false }
            | Self::NotAdmitted(_)
            | Self::DetourBegan { .. }
            | Self::DetourEnded { .. }
            | Self::StreamsRefused
            | Self::Trouble(_) => None,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: ", self.peer)?;
        match &self.kind {
            EventKind::Trouble(trouble) => write!(formatter, "{trouble}"),
            EventKind::Established { fresh: true } => write!(formatter, "connected"),
            EventKind::Established { fresh: false } => write!(formatter, "keys renewed"),
            EventKind::KeyShared => write!(formatter, "{KEY_SHARED}"),
            EventKind::StampRefused { behind } => formatter.write_str(&stamp_refused(*behind)),
            EventKind::KeyReplaced { key } => write!(formatter, "its key is {key} now"),
            EventKind::OwnKeyReplaced { key } => {
                write!(formatter, "the key of this host is {key} now")
            }
            EventKind::ClaimRefused { reason } => write!(
                formatter,
                "refused the next key of this host: {}",
                refusal_in_words(*reason)
            ),
            EventKind::FormerKeyUsed => write!(
                formatter,
                "it knows only the former key of this gateway, and was told the present one"
            ),
            EventKind::Left => write!(formatter, "left"),
            EventKind::Expired => write!(formatter, "out of reach"),
            EventKind::FadeBegan => write!(formatter, "a fade began"),
            EventKind::FadeEnded { lasted, .. } => write!(formatter, "a fade of {lasted} ended"),
            EventKind::HandoffBegan { within } => formatter.write_str(&handoff_began(*within)),
            EventKind::HandoffEnded { lasted } => {
                write!(formatter, "in reach after a change that took {lasted}")
            }
            EventKind::Attached { .. }
            | EventKind::Relays { .. }
            | EventKind::Relayed { .. }
            | EventKind::MoveBegan
            | EventKind::NotAttached
            | EventKind::Better { .. }
            | EventKind::Drained
            | EventKind::StandsIn
            | EventKind::HomeAnswers
            | EventKind::ClaimedWithoutProof { .. } => formatter.write_str(&of_site(&self.kind)),
            EventKind::Moved { to } => write!(formatter, "moved to {to}"),
            EventKind::FellBack { to, silent } => formatter.write_str(&fell_back(*to, *silent)),
            EventKind::Returned { to, lasted } => formatter.write_str(&returned(*to, *lasted)),
            EventKind::ForeignRequest { to } => formatter.write_str(&foreign_request(to)),
            EventKind::Admitted => write!(formatter, "may connect from now on"),
            EventKind::Changed { anew: false } => write!(formatter, "has new settings"),
            EventKind::Changed { anew: true } => {
                write!(formatter, "has new settings, and connects anew with them")
            }
            EventKind::Revoked => write!(formatter, "revoked"),
            EventKind::NotAdmitted(error) => write!(formatter, "not admitted: {error}"),
            EventKind::DetourBegan { down_for } => write!(
                formatter,
                "not reached for {down_for}; new flows go around the hop until it works again"
            ),
            EventKind::DetourEnded { lasted } => write!(
                formatter,
                "reached again; new flows cross the hop, after {lasted} around it"
            ),
            EventKind::StreamsRefused => write!(formatter, "{STREAMS_REFUSED}"),
            EventKind::TcpRefused { chosen } => {
                let chosen = chosen.name();
                write!(
                    formatter,
                    "its version does not know tcp = \"{chosen}\"; TCP goes as by \"arq\""
                )
            }
        }
    }
}

/// Returns an event of a site with several gateways in words.
fn of_site(kind: &EventKind) -> String {
    match kind {
        EventKind::Attached { lasted, .. } => format!("serves this host, after {lasted}"),
        EventKind::Relayed { by } => format!("is reached through {by}"),
        EventKind::Relays { lasted } => format!("relays to the home, after {lasted}"),
        EventKind::MoveBegan => "is asked to serve this host".into(),
        EventKind::NotAttached => "does not answer; the former gateway stays".into(),
        EventKind::Better {
            round_trip,
            present,
            lost: [present_lost, lost],
            probes,
        } => {
            let present = present.map_or("no answer".into(), |present| present.to_string());
            format!(
                "is better: {round_trip} to the home and back, {lost} of {probes} probes lost; \
                 through the present gateway {present}, {present_lost} lost"
            )
        }
        EventKind::Drained => "is about to end, and asks this host to leave".into(),
        EventKind::StandsIn => {
            "does not answer: new connections of its mobile hosts that are here leave here".into()
        }
        EventKind::HomeAnswers => {
            "answers again: new connections of its mobile hosts that are here leave there".into()
        }
        EventKind::ClaimedWithoutProof { mobile } => format!(
            "it claimed to serve '{mobile}', which has not asked it to, and was refused; no gateway of ours does that, \
             so check who runs it"
        ),
        other => other.name().into(),
    }
}

fn foreign_request(to: &impl fmt::Display) -> String {
    format!(
        "it requested a connection to {to}, which is no inner address of this host, and was refused; no gateway of \
         ours does that, so check whose this one is"
    )
}

/// Returns why a gateway has refused the next key of a mobile host.
pub(crate) fn refusal_in_words(reason: ClaimRefusal) -> &'static str {
    match reason {
        ClaimRefusal::Fixed => {
            "the present one stands in the gateway's configuration, where its operator changes it"
        }
        ClaimRefusal::Expired => "its invitation has expired",
        ClaimRefusal::Failed => "the gateway cannot store it, as its log says",
    }
}

fn handoff_began(within: Duration) -> String {
    if within.is_zero() {
        return "the network of this host is changing".into();
    }
    format!("a hand-off is announced, in {within}")
}

fn stamp_refused(behind: Duration) -> String {
    format!(
        "a handshake was refused, as its time stamp is {behind} before the newest one: the mobile host's clock went \
         back, or another host uses its key, or an old datagram came again; the mobile host goes on from the newest \
         stamp"
    )
}

fn fell_back(to: HopAddress, silent: Duration) -> String {
    format!(
        "no answer by UDP for {silent}, but one by TLS: goes on at {to}; UDP is tried again from time to time"
    )
}

fn returned(to: HopAddress, lasted: Duration) -> String {
    format!("UDP works again after {lasted} by TLS: goes on at {to}")
}
