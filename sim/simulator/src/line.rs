//! Links between two ports.

use channel::{Channel, DirectionConfig, Link, LinkConfig, LinkError, PerDirection};
use machine::Machine;
use units::{Bytes, Instant};

use crate::node::{NodeId, Port};
use crate::schedule::Slot;

/// A link of one simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub(crate) u32);

impl LinkId {
    /// Returns the index of the link, in the order in which links were connected, from zero.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An end of a link: a port of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    /// The node of the port.
    pub node: NodeId,
    /// The port.
    pub port: Port,
}

/// A link before it is connected: rate, delay, queue and losses of each direction, and the information for its ends.
///
/// ```
/// use channel::{DirectionConfig, Link};
/// use simulator::Line;
/// use units::{Bytes, Duration};
///
/// let hop = Line::hop(&Link::named("ton97-lan")?, 7).with_corruption_heard();
/// let each = DirectionConfig::steady(
///     "10 Mbit/s".parse()?,
///     Duration::from_millis(1),
///     "50 packets".parse()?,
/// );
/// let wire = Line::wire(each)?.with_framing(Bytes::new(18));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Line {
    pub(crate) link: Link,
    pub(crate) seed: u64,
    pub(crate) framing: Bytes,
    pub(crate) corruption_heard: bool,
    pub(crate) state_notes: bool,
}

impl Line {
    /// Returns a hop with the losses that `seed` draws; the gateway's end is the first.
    ///
    /// Equal seeds give equal losses, as in the emulator. So use different seeds for two hops of one simulation, and
    /// the same seed for two schemes to be compared.
    pub fn hop(link: &Link, seed: u64) -> Self {
        Self {
            link: link.clone(),
            seed,
            framing: Bytes::ZERO,
            corruption_heard: false,
            state_notes: false,
        }
    }

    /// Returns a wire with equal directions; its rate and delay may have a schedule.
    pub fn wire(each: DirectionConfig) -> Result<Self, LinkError> {
        let config = LinkConfig {
            each: Some(each),
            ..LinkConfig::default()
        };
        Self::from_config(config)
    }

    fn from_config(config: LinkConfig) -> Result<Self, LinkError> {
        let refuse = |_: &str| Err("a wire of the simulator has no files".to_owned());
        Ok(Self::hop(&Link::from_config(config, "wire", &refuse)?, 0))
    }

    /// Adds `framing` bytes to each packet while it is on the link.
    pub fn with_framing(self, framing: Bytes) -> Self {
        Self { framing, ..self }
    }

    /// Delivers packets that the air lost to their receiver, as [`Input::Corrupted`](crate::Input), instead of dropping
    /// them: for errors that leave the header readable.
    pub fn with_corruption_heard(self) -> Self {
        Self {
            corruption_heard: true,
            ..self
        }
    }

    /// Reports each change of the channel's state to observers. These changes go on for ever, so a simulation with such
    /// a line is never idle.
    pub fn with_state_notes(self) -> Self {
        Self {
            state_notes: true,
            ..self
        }
    }
}

/// A connected link.
#[derive(Debug, Clone)]
pub(crate) struct Laid<P> {
    pub(crate) channel: Channel<P>,
    pub(crate) framing: Bytes,
    pub(crate) corruption_heard: bool,
    /// End at which packets of each direction arrive.
    pub(crate) arrives: PerDirection<End>,
    pub(crate) slot: Slot,
    /// Number of its events.
    pub(crate) events: u64,
}

impl<P: Clone> Laid<P> {
    pub(crate) fn new(line: &Line, ends: [End; 2], slot: Slot) -> Self {
        let mut channel = Channel::new(&line.link, line.seed);
        if line.state_notes {
            channel = channel.with_state_notes();
        }
        let [first, second] = ends;
        Self {
            channel,
            framing: line.framing,
            corruption_heard: line.corruption_heard,
            arrives: PerDirection {
                down: second,
                up: first,
            },
            slot,
            events: 0,
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.channel.poll_timeout()
    }
}
