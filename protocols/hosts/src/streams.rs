//! Streams of TCP that is split, which belong to a peer.

use association::{Association, StreamConfig};
use machine::{ConfigError, Machine, RandomStream};
use redirector::Chunks;
use session::Entropy;
use units::{Bytes, Instant};

use crate::host::Host;
use crate::{Choice, Output, Profile, Role};

/// What streams may take of a host, where TCP is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// What a connection may hold of what arrived, and have on its way; as much as it needs if nothing is given.
    pub receive_buffer: Option<Bytes>,
    /// Connections of one peer at one time.
    pub connections: usize,
    /// Whether this host keeps no timers for connections that stand: its peers do, and must not be lean too.
    pub lean: bool,
}

/// The streams of a peer, in one of its lives: those of an earlier one are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamLane {
    /// Which peer, in the order of the configuration.
    pub peer: usize,
    /// Counts the times that it began anew.
    pub life: u32,
}

/// Which connections are to cross the hop as streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All.
    Every,
    /// Those for which the hop is such that it pays ([`Choice`]).
    Chosen,
}

/// What is told of the streams of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamNews {
    /// They can be used from now on, in this profile.
    Begun(Profile, Scope),
    /// They are gone, with all that was on its way.
    Over,
    /// What they tell. What is finished has been handed on whole.
    Told(mtcp::Output<Chunks>),
}

/// Makes the streams of all peers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamMaker {
    limits: StreamLimits,
    seed: u64,
}

impl StreamMaker {
    /// One with names for connections that nobody else can know.
    ///
    /// # Errors
    /// What is wrong with the limits.
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

    /// What the streams of a peer may hold.
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

    /// `association` with streams of its own.
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

impl Host {
    /// Something is asked of streams; of those that are gone it means nothing.
    pub(crate) fn ask_streams(
        &mut self,
        now: Instant,
        lane: StreamLane,
        input: mtcp::Input<Chunks>,
    ) {
        let Some(peer) = self.peers.get_mut(lane.peer) else {
            return;
        };
        if peer.life == lane.life && peer.profile.is_some() {
            let input = association::Input::Streams(input);
            peer.association.handle_input(now, input);
            self.forward(now, lane.peer);
        }
    }

    /// A peer has begun anew: the streams of its former life are gone, and those of this one can be used.
    pub(crate) fn renew_streams(&mut self, index: usize, profile: Option<Profile>) {
        let peer = &mut self.peers[index];
        let former = peer.profile.take().map(|_| (peer.life, StreamNews::Over));
        peer.life += 1;
        peer.profile = profile;
        let scope = peer.scope();
        let present = profile.map(|profile| (peer.life, StreamNews::Begun(profile, scope)));
        for (life, news) in former.into_iter().chain(present) {
            let lane = StreamLane { peer: index, life };
            self.outputs.push_back(Output::Streams { lane, news });
        }
    }

    /// By which way connections with a peer cross the hop that begin now, where that is chosen for each.
    pub fn choice(&self, index: usize) -> Option<Choice> {
        let peer = self.peers.get(index)?;
        (peer.profile.is_some() && peer.scope() == Scope::Chosen).then(|| peer.choice())
    }

    /// Hands on what the streams of a peer tell. Connections in addresses that are not the peer's own are refused.
    pub(crate) fn told(&mut self, now: Instant, index: usize, told: mtcp::Output<Chunks>) {
        let lane = StreamLane {
            peer: index,
            life: self.peers[index].life,
        };
        if let mtcp::Output::Arrived(id, addresses) = &told
            && self.role == Role::Gateway
            && self.routes.owner(addresses.source().ip()) != Some(index)
        {
            let peer = &mut self.peers[index];
            peer.packets_refused += 1;
            let refuse = mtcp::Input::Refuse(*id, mtcp::Reason::Unreachable);
            let input = association::Input::Streams(refuse);
            peer.association.handle_input(now, input);
            return;
        }
        let news = StreamNews::Told(told);
        self.outputs.push_back(Output::Streams { lane, news });
    }
}
