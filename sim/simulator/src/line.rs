//! What stands between two ports.

use channel::{Channel, DirectionConfig, Link, LinkConfig, LinkError, PerDirection};
use machine::Machine;
use units::{Bytes, Instant};

use crate::node::{NodeId, Port};
use crate::schedule::Slot;

/// A link of one simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub(crate) u32);

impl LinkId {
    /// Its number, in the order in which links were connected, from zero.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An end of a link: a port of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    /// Whose port.
    pub node: NodeId,
    /// Which one.
    pub port: Port,
}

/// A link that is to be laid: rate, delay, queue and losses of each direction, and what the ends see.
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
    /// A hop with the losses that `seed` draws; the gateway's end is the first.
    ///
    /// Equal seeds give equal losses, as the emulator's do. So two hops of one simulation want seeds
    /// of their own, and two schemes that are compared want the same.
    pub fn hop(link: &Link, seed: u64) -> Self {
        Self {
            link: link.clone(),
            seed,
            framing: Bytes::ZERO,
            corruption_heard: false,
            state_notes: false,
        }
    }

    /// A wire whose two directions are alike; its rate and delay may have a schedule.
    pub fn wire(each: DirectionConfig) -> Result<Self, LinkError> {
        let config = LinkConfig {
            each: Some(each),
            ..LinkConfig::default()
        };
        Self::from_config(config)
    }

    /// A wire with directions of their own: `down` leads from its first end to its second.
    pub fn wire_each_way(ways: PerDirection<DirectionConfig>) -> Result<Self, LinkError> {
        let config = LinkConfig {
            down: Some(ways.down),
            up: Some(ways.up),
            ..LinkConfig::default()
        };
        Self::from_config(config)
    }

    fn from_config(config: LinkConfig) -> Result<Self, LinkError> {
        let refuse = |_: &str| Err("a wire of the simulator has no files".to_owned());
        Ok(Self::hop(&Link::from_config(config, "wire", &refuse)?, 0))
    }

    /// Adds so many bytes to each packet while it is on the link.
    pub fn with_framing(self, framing: Bytes) -> Self {
        Self { framing, ..self }
    }

    /// Hands packets that the air lost to their receiver, as [`Input::Corrupted`](crate::Input), in
    /// place of letting them vanish: for errors that leave the header readable.
    pub fn with_corruption_heard(self) -> Self {
        Self {
            corruption_heard: true,
            ..self
        }
    }

    /// Tells observers of each change of the channel's state. These changes go on for ever, so a
    /// simulation with such a line is never idle.
    pub fn with_state_notes(self) -> Self {
        Self {
            state_notes: true,
            ..self
        }
    }
}

/// A link that is laid.
#[derive(Debug, Clone)]
pub(crate) struct Laid<P> {
    pub(crate) channel: Channel<P>,
    pub(crate) framing: Bytes,
    pub(crate) corruption_heard: bool,
    /// Where packets of each direction arrive.
    pub(crate) arrives: PerDirection<End>,
    pub(crate) slot: Slot,
    /// How often it has acted.
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
