//! The split TCP of a host: the splitter, and the streams that it uses, which belong to a peer.

use association::{Association, StreamConfig, StreamRequest, SuspendedStreams};
use machine::{ConfigError, RandomStream};
use redirector::Chunks;
use serde::{Deserialize, Serialize};
use session::Entropy;
use units::Bytes;

use crate::Profile;

/// Limits on the streams of a peer, if TCP is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// Size of a connection's receive buffer and send buffer; `None` if it grows as needed.
    pub receive_buffer: Option<Bytes>,
    /// Most connections of one peer at one time.
    pub connections: usize,
    /// True if this host keeps no timers for established connections: its peers do, and must not be lean too.
    pub lean: bool,
}

impl StreamLimits {
    /// Returns the limit on the memory of a peer's streams.
    pub fn memory_most(self) -> Bytes {
        let maker = StreamMaker {
            limits: self,
            seed: 0,
        };
        maker.memory_most()
    }
}

/// Streams that wait for the next association with their peer, and what is requested of them meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Suspended {
    pub(crate) streams: SuspendedStreams,
    pub(crate) requests: Vec<StreamRequest<Chunks>>,
}

/// The split connections of a gateway, with which its successor goes on ([`Input::TakeOver`](crate::Input::TakeOver)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handover {
    pub(crate) mobiles: Vec<MobileHandover>,
}

/// The split connections of one mobile host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MobileHandover {
    /// Its public key.
    pub(crate) key: [u8; 32],
    /// Tag of its streams, and these, if it has any.
    pub(crate) tag: u32,
    pub(crate) streams: Option<Suspended>,
    pub(crate) connections: Vec<split::ConnectionState<Chunks>>,
}

impl Handover {
    /// Returns the sockets that belong to it.
    pub fn sockets(&self) -> impl Iterator<Item = split::SocketId> + '_ {
        let connections = self.mobiles.iter().flat_map(|mobile| &mobile.connections);
        connections.flat_map(|connection| {
            let binding = connection.id;
            let sides = connection.sockets();
            sides.map(move |side| split::SocketId { binding, side })
        })
    }
}

/// Maker of the streams of all peers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamMaker {
    limits: StreamLimits,
    seed: u64,
}

impl StreamMaker {
    /// Returns a maker with connection names that others cannot know.
    ///
    /// # Errors
    /// [`ConfigError`] if the limits are not valid.
    pub(crate) fn new(
        limits: StreamLimits,
        entropy: &mut dyn Entropy,
    ) -> Result<Self, ConfigError> {
        let mut seed = [0; 8];
        entropy.fill(&mut seed);
        let maker = Self {
            limits,
            seed: u64::from_le_bytes(seed),
        };
        maker.config(Profile::Wide, "").check().map(|()| maker)
    }

    /// Returns the limit on the memory of a peer's streams.
    pub(crate) fn memory_most(&self) -> Bytes {
        self.config(Profile::Wide, "").memory_most()
    }

    fn config(&self, profile: Profile, name: &str) -> StreamConfig {
        StreamConfig {
            profile,
            receive_buffer: self.limits.receive_buffer,
            connections: self.limits.connections,
            lean: self.limits.lean,
            random: RandomStream::named(self.seed, name),
        }
    }

    /// Returns `association` with streams of its own.
    pub(crate) fn equip(
        &self,
        association: Association,
        profile: Profile,
        name: &str,
    ) -> Association {
        let equipped = association.with_streams(self.config(profile, name));
        equipped.expect("the limits were checked")
    }
}
