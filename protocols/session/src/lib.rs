//! Keys, handshakes and sealed datagrams between a mobile host and its gateway.
//!
//! An [`Endpoint`] is one host with all its peers. The initiator (the mobile host) runs
//! `Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s` as `WireGuard` does (Donenfeld, NDSS 2017), renews its keys every two
//! minutes and retries without limit if a fade loses the answer; data is sealed in place when it leaves, under a
//! number of its own. A datagram from an unknown sender gets no answer. `docs/session.md` has the formats and the
//! reasons.
//!
//! The crate reads no clock and draws no random numbers of its own: time is an argument, and every secret comes from
//! the [`Entropy`] of the owner. The owner also keeps the addresses of peers.

mod admission;
mod coded_text;
mod cookie;
mod deadlines;
mod endpoint;
mod entropy;
mod farewell;
mod former;
mod handshake;
mod identity;
mod invitation;
mod key_text;
mod keys;
mod limits;
mod lineage;
mod message;
mod noise;
mod number;
mod output;
mod peer;
mod proof;
mod replay;
mod site_invitation;
mod token;
mod transport;
mod version;

pub use endpoint::{Config, Endpoint, PeerConfig};
pub use entropy::Entropy;
pub use former::{Decline, FORMER_KEYS};
pub use identity::OwnKeys;
pub use invitation::{Invitation, InvitationError};
pub use key_text::{KEY_BYTES, KeyKind, ParseKeyError};
pub use keys::{PresharedKey, PrivateKey, PublicKey};
pub use limits::Limits;
pub use message::{
    COOKIE_REPLY_BYTES, DATA_HEADER_BYTES, DATA_OVERHEAD_BYTES, DATA_TYPE, INITIATION_BYTES,
    RESPONSE_BYTES, VERSION_REPLY_BYTES,
};
pub use output::{
    Counters, DropCause, Event, Output, PeerError, PeerId, Received, Route, SealError,
};
pub use peer::Role;
pub use proof::PROOF_BYTES;
pub use site_invitation::{SiteInvitation, SiteInvitationError};
