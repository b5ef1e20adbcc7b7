//! The split TCP of a host: the splitter, and the streams that it uses, which belong to a peer.

use association::{Association, StreamConfig};
use machine::{ConfigError, RandomStream};
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
