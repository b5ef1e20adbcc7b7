//! Repair of losses on one hop.
//!
//! One [`Arq`] stands at each end of a hop. It takes packets, puts them into frames when the air is
//! granted, numbers each transmission, learns from acknowledgements which arrived, and sends again
//! what did not, so that losses never reach the transport above. Packets of a held flow leave the other end in order;
//! a loss in one flow never holds another. The frame is that of `docs/hop-frame.md`.
//!
//! A transmission is known to be lost when a later one is acknowledged, and the time is over by which this hop is
//! known to reorder, none on most; or presumed lost when no acknowledgement came within a round trip and some.
//! Where silences lose what was sent before them (fades), what is outstanding is sent again and again while nothing
//! comes through, oldest first and without back-off: the data itself probes the fade, and the first frame after it
//! is of use. After [`Config::feed`] of silence small probes take its place. Where the last silence lost nothing,
//! all that is outstanding waits in the hop, and copies leave rarer the longer a silence lasts; in the first one
//! too, if not as rare.
//!
//! What TCP sends again although this end still has to deliver it does not cross a second time.

mod acknowledge;
mod arq;
mod brief;
mod cause;
mod controlled_delay;
mod fair;
mod filter;
mod flow;
mod held;
mod inbox;
mod ledger;
mod limits;
mod loss_share;
mod outbox;
mod pace;
mod path;
mod received_marks;
mod receiver;
mod reorder;
mod round_trip;
mod seen;
mod sent_marks;
mod stall;
mod stats;
mod stream;
mod table;
mod watch;

pub use arq::Arq;
pub use brief::Tries;
pub use cause::{Causes, Departure, LossCause, LossCounts};
pub use flow::COMMON_FLOW;
pub use limits::MEMORY_LEAST;
pub use path::{Path, PathNews, PathSearch};
pub use sent_marks::EcnAbility;
pub use stall::Grace;
pub use stats::{BURST_CLASSES, EcnStats, ReceivedStats, SentStats, Stats};
use units::{BitRate, Bytes, Duration, Instant};
use wire::flow::{Class, FlowKey};
use wire::ip::Ecn;
use wire::packet::{Packet, PacketBuffer};

/// How one end behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Bytes that a frame may have; where the path is searched, at most.
    pub frame: usize,
    /// Bytes that each frame costs on the wire beyond its own: seal, bearer and link.
    pub overhead: usize,
    /// By how many transmissions the hop may always reorder, beside what is learned of its order.
    pub reorder: u64,
    /// The tries of brief packets.
    pub tries: Tries,
    /// Every flow is brief: what is not delivered within the tries is lost, fades included, as in the
    /// link layers of the papers. For the lab.
    pub limit_all: bool,
    /// For how long of a fade the data itself probes it.
    pub feed: Duration,
    /// What this end may hold for the other in all; at least [`MEMORY_LEAST`] is taken.
    pub memory: Bytes,
    /// What may wait for its first transmission, over all flows.
    pub queue: Bytes,
    /// How the length of frames is found; without it they have [`Config::frame`] bytes.
    pub path: Option<PathSearch>,
}

impl Config {
    /// The usual behaviour, for frames of `frame` bytes that cost `overhead` more on the wire.
    pub fn new(frame: usize, overhead: usize) -> Self {
        Self {
            frame,
            overhead,
            reorder: 0,
            tries: Tries {
                most: 3,
                age: Duration::from_secs(1),
                count_fades: false,
            },
            limit_all: false,
            feed: Duration::from_secs(3),
            memory: Bytes::mebi(96),
            queue: Bytes::mebi(16),
            path: None,
        }
    }
}

/// What can happen to an [`Arq`].
#[derive(Debug, Clone)]
pub enum Input {
    /// The layer above wants a packet sent across the hop.
    Packet {
        /// The packet.
        packet: Packet,
        /// Its flow.
        key: FlowKey,
        /// The repair that the flow wants.
        class: Class,
    },
    /// A packet for the plain lane: it crosses once, and its loss is for others to repair.
    Plain {
        /// The packet.
        packet: Packet,
        /// Its flow.
        key: FlowKey,
        /// Whether it goes before those of its flow that wait; not before other flows.
        ahead: bool,
    },
    /// A packet of the split transport, for the plain lane: it crosses once, in a chunk of its own, behind the others
    /// of its kind. One that fits no frame is dropped and counted.
    Transport(PacketBuffer),
    /// A frame came from the other end, whole and authentic.
    Frame {
        /// When it arrived.
        arrived: Instant,
        /// The frame.
        frame: PacketBuffer,
        /// The field of the outer header that it came in; [`Ecn::NotCapable`] where there is none.
        ecn: Ecn,
    },
    /// The medium can take so many bytes on the wire now; a last frame may exceed them.
    AirFree(Bytes),
    /// The medium can take one frame now that only acknowledges.
    AcknowledgementFree,
    /// Others used the medium for so many bytes: they count where its rate is measured.
    Elsewhere(Bytes),
    /// The rate of the hop, as far as it is known: it sizes the queues.
    Rate(BitRate),
    /// What the hop carries at least, while its rate is not known.
    LeastRate(BitRate),
    /// News of the path that frames take.
    Path(PathNews),
    /// Whether frames can be sent at all, as at first; while they cannot, nothing is granted, and nothing is due again.
    Link(bool),
}

/// What an [`Arq`] asks of its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Put a frame on the air.
    Frame {
        /// The frame.
        frame: PacketBuffer,
        /// The field that its outer header is to have.
        ecn: Ecn,
    },
    /// Hand a packet to the layer above.
    Packet(Packet),
    /// A packet of the split transport has crossed the hop.
    Transport(PacketBuffer),
    /// Something happened on the link.
    Event(LinkEvent),
    /// How a transmission fared, for whoever estimates the rate of the hop.
    Sample(Sample),
    /// Nothing that was sent of late is acknowledged: a fade has begun, or goes on.
    Silence,
}

/// What happens on the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkEvent {
    /// Nothing has come through for longer than a round trip.
    FadeBegan,
    /// Something came through again.
    FadeEnded {
        /// How long nothing had.
        lasted: Duration,
        /// No packet has been given up for it: even a brief one, at either end, is sent again for longer than that.
        kept: bool,
    },
}

/// The latest transmission that an acknowledgement named as arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When it left.
    pub sent_at: Instant,
    /// Bytes sent on the wire in all when it had left, lost ones included.
    pub sent_total: u64,
    /// When it arrived, in microseconds of the other end's clock, modulo 2³².
    pub arrival: u32,
    /// The round trip without the wait at the other end.
    pub round_trip: Duration,
    /// The number of transmissions newly reported as CE-marked: since the last sample, and never more than it reports
    /// as arrived. Zero while marks do not cross the hop, or say nothing.
    pub marked: u64,
    /// Bytes on the wire of all transmissions that are known to be lost.
    pub lost_total: u64,
}
