//! A site: gateways that serve each other's mobile hosts.
//!
//! A mobile host has one home, the gateway to which its inner addresses belong. Another gateway serves it as a guest:
//! packets to it come from the home, and its own go there. Only the home decides who serves it, one at a time, by the
//! numbers that the mobile host gives to its attachments.

mod attachment;
mod comparison;
mod copies;
mod directory;
mod drain;
mod exchange;
mod exits;
mod guest;
mod home;
mod message;
mod overload;
mod parts;
mod stand_in;
mod told;
mod watch;

use machine::Deadlines;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use session::PublicKey;
use units::Instant;

pub(crate) use attachment::{Attachment, Cause, Trial};
pub use comparison::ComparisonStatus;
pub(crate) use comparison::{CompareStep, Comparisons, Tally};
pub(crate) use copies::{Begun, Copies, Gathering, Progress, RECENT, acknowledges, is_copied};
pub(crate) use directory::{Directory, Entry, Mark, Portion, Reader, Replica};
pub(crate) use drain::{Drain, is_avoided};
pub(crate) use exchange::{Exchange, Late};
pub(crate) use exits::{Beginning, Flows};
pub(crate) use guest::{Ceased, Guest, Left, Service};
pub(crate) use home::{Course, Departure, Home, Request, Stage};
pub(crate) use message::{
    Key, Proof, SiteMessage, Step, Yielded, proven_attachment, proven_copies, proven_number,
};
pub(crate) use overload::Requests;
pub(crate) use parts::{Parts, split};
pub(crate) use stand_in::{HomeStep, Homes};
pub use told::Told;
pub(crate) use watch::{Watch, WatchStep};

/// Place of a peer in the site of this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SitePart {
    /// A mobile host with its home here, or the only gateway of this mobile host.
    #[default]
    Alone,
    /// A gateway of the site.
    Gateway,
    /// The gateway of the site to which this mobile host belongs.
    Home,
    /// A mobile host whose home is the gateway with this key.
    Guest(PublicKey),
}

/// State of a peer in a site with several gateways.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SiteStatus {
    /// The gateway that serves this mobile host.
    Serves,
    /// A gateway that could serve this mobile host.
    Reserve,
    /// Another gateway of the site of this one.
    Gateway,
    /// A mobile host that this gateway serves.
    Here,
    /// A gateway that relays between this mobile host and its home, or a mobile host for which this gateway does.
    Relays,
    /// A mobile host that this gateway serves in place of its home, which is silent.
    StandsIn,
    /// A mobile host with its home here, which the gateway with this name serves.
    At(String),
    /// A mobile host with its home elsewhere, which this gateway does not serve.
    Elsewhere,
}

impl SiteStatus {
    /// Returns true if it is a mobile host that this gateway serves, or for which it relays.
    pub fn is_here(&self) -> bool {
        matches!(self, Self::Here | Self::Relays | Self::StandsIn)
    }
}

/// State of a peer's place in the site.
#[derive(Debug)]
pub(crate) enum Member {
    /// A mobile host that belongs here, or the only gateway of this one.
    Home(Home),
    /// A mobile host that belongs to another gateway.
    Guest(Guest),
    /// A gateway of the site.
    Gateway,
}

/// What a gateway tells of its peers.
#[derive(Debug, Default)]
pub(crate) struct Directories {
    /// For the other gateways: its own mobile hosts, and the gateways that its operator has named.
    pub(crate) for_gateways: Directory,
    /// For its mobile hosts: all gateways.
    pub(crate) for_mobiles: Directory,
    /// Time when each reader is told of changes.
    pub(crate) due: Deadlines<usize>,
    /// True if a peer that another gateway has told of was refused, as one with its addresses was there.
    pub(crate) has_refused: bool,
    /// True if a peer was removed since those were tried last.
    pub(crate) has_room: bool,
}

/// State of a peer in the site.
#[derive(Debug)]
pub(crate) struct InSite {
    pub(crate) member: Member,
    /// Copies that this gateway has for it, a mobile host that is about to come.
    pub(crate) copies: Option<Box<Copies>>,
    /// True if its association has ended and others go on: its frames are void until there are new keys.
    pub(crate) is_void: bool,
    /// Parts of its latest message.
    pub(crate) parts: Parts,
    /// Number of the latest message to it.
    pub(crate) messages: u32,
    /// True if it has claimed a mobile host without a proof.
    pub(crate) has_forged: bool,
    /// What was measured through it, a gateway, in the last comparison, which ended then.
    pub(crate) compared: Option<(Instant, Tally)>,
    /// Time when it, a gateway, asked this mobile host to go to another one, or was said to be about to be lost.
    pub(crate) avoided: Option<Instant>,
    /// True if it, the home of this mobile host, remains the other end of the hop, and other gateways relay.
    pub(crate) remains: bool,
    /// Index of the gateway that has told of it, unless this host's configuration has it.
    pub(crate) teller: Option<usize>,
    /// Its directory, if it is a gateway, and what it has of this host's.
    pub(crate) replica: Replica,
    pub(crate) reader: Reader,
}

impl From<SitePart> for InSite {
    fn from(part: SitePart) -> Self {
        Self {
            member: match part {
                SitePart::Alone => Member::Home(Home::default()),
                SitePart::Gateway | SitePart::Home => Member::Gateway,
                SitePart::Guest(home) => Member::Guest(Guest::of(home)),
            },
            copies: None,
            is_void: false,
            parts: Parts::default(),
            messages: 0,
            has_forged: false,
            compared: None,
            avoided: None,
            remains: false,
            teller: None,
            replica: Replica::default(),
            reader: Reader::default(),
        }
    }
}
