//! The repair of losses on one hop.
//!
//! One [`Arq`] stands at each end of a hop. It takes packets, puts them into frames when it gets a grant, numbers
//! each transmission, learns from acknowledgements which ones arrived, and retransmits the content of the others, so
//! that losses never reach the transport above. Packets of a held flow leave the other end in order; a loss in one
//! flow never delays another flow. The frame is that of `docs/hop-frame.md`.
//!
//! A transmission is lost when a later one is acknowledged and the reordering window of this hop is over (zero on
//! most hops). It is presumed lost when no acknowledgement came within the retransmission timeout. If silences lose
//! what was sent before them (fades), unacknowledged content is retransmitted again and again while nothing comes
//! through, oldest first and without back-off: the data itself probes the fade, and the first frame after the fade is
//! useful. After [`Config::feed`] of silence small probes take its place. If the last silence lost nothing,
//! unacknowledged frames wait in the hop, and the copies become rarer the longer a silence lasts. The same holds in
//! the first silence, but the copies are less rare.
//!
//! A TCP retransmission of data that this end still has to deliver does not cross a second time.

mod acknowledge;
mod arq;
mod brief;
mod cause;
mod controlled_delay;
mod copies;
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
mod queue;
mod received_marks;
mod receiver;
mod reorder;
mod repetition;
mod report;
mod round_trip;
mod seen;
mod sent_marks;
mod stall;
mod stats;
mod stream;
mod table;
mod turn;
mod watch;

pub use arq::{Arq, Withdrawn};
pub use brief::Tries;
pub use cause::{Departure, LossCause, LossClassifier, LossCounts};
pub use flow::COMMON_FLOW;
pub use limits::MEMORY_LEAST;
pub use path::{Path, PathNews, PathSearch};
pub use report::Report;
pub use sent_marks::EcnAbility;
pub use stall::StallGuard;
pub use stats::{BURST_CLASSES, EcnStats, ReceivedStats, SentStats, Stats};
use units::{BitRate, Bytes, Duration, Instant};
use wire::flow::{Class, FlowKey};
use wire::ip::Ecn;
use wire::packet::{Packet, PacketBuffer};

/// Configuration of one end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Length of a full frame in bytes; the largest length if the path is searched.
    pub frame: usize,
    /// Bytes that each frame costs on the wire beyond its own: seal, bearer and link headers.
    pub overhead: usize,
    /// Number of transmissions by which the hop may always reorder, in addition to the reordering that is measured.
    pub reorder: u64,
    /// Limits on the retransmission of brief packets.
    pub tries: Tries,
    /// True if every flow is brief: content that is not delivered within the tries is lost, fades included, as in the
    /// link layers of the papers. For the lab.
    pub limit_all: bool,
    /// Time for which the data itself probes a fade.
    pub feed: Duration,
    /// Most memory for the state of the peer; values below [`MEMORY_LEAST`] are raised to it.
    pub memory: Bytes,
    /// Part of it that may be used until [`Input::Memory`] sets another; `None` for all of it.
    pub lease: Option<Bytes>,
    /// Most bytes that wait for their first transmission, over all flows.
    pub queue: Bytes,
    /// Most packets of usual length released per second in the long run; a longer one counts more. Further ones wait
    /// here, and what is beyond the limit on memory is refused, so that the other end keeps it.
    pub packets: Option<u32>,
    /// True if data cross again that still wait to be delivered, when their sender repeats them: the layer above counts
    /// at the other end what it has handed in here.
    pub carries_repetitions: bool,
    /// Search for the length of frames; without it frames have [`Config::frame`] bytes.
    pub path: Option<PathSearch>,
}

impl Config {
    /// Returns the usual configuration, for frames of `frame` bytes that cost `overhead` bytes more on the wire.
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
            lease: None,
            queue: Bytes::mebi(16),
            packets: None,
            carries_repetitions: false,
            path: None,
        }
    }
}

/// Place of a packet of the plain lane among the waiting packets of its flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueOrder {
    /// Behind the others.
    Last,
    /// Behind the others, but a TCP segment goes before those with later data, and what only repeats data that wait is
    /// dropped.
    Sequence,
    /// Before the others, but behind TCP segments with earlier data.
    First,
}

/// Inputs of an [`Arq`].
#[derive(Debug, Clone)]
pub enum Input {
    /// The layer above sends a packet across the hop.
    Packet {
        /// The packet.
        packet: Packet,
        /// Its flow.
        key: FlowKey,
        /// The repair class of the flow.
        class: Class,
    },
    /// Others began the flow of this key: all such flows together get no more than half of the air while flows wait
    /// that the other end began.
    Guest(FlowKey),
    /// A packet for the plain lane: it crosses once, and other layers repair its loss.
    Plain {
        /// The packet.
        packet: Packet,
        /// Its flow.
        key: FlowKey,
        /// Its place among the waiting packets of its flow; it never goes before other flows.
        order: QueueOrder,
    },
    /// A packet of the split transport, for the plain lane: it crosses once, in a chunk of its own, behind the others
    /// of its kind. A packet that fits no frame is dropped and counted.
    Transport(PacketBuffer),
    /// A frame arrived from the other end, whole and authentic.
    Frame {
        /// Time of its arrival.
        arrived: Instant,
        /// The frame.
        frame: PacketBuffer,
        /// ECN field of the outer header; [`Ecn::NotCapable`] if there is none.
        ecn: Ecn,
    },
    /// The medium can take this many bytes on the wire now; the last frame may exceed them.
    AirFree(Bytes),
    /// The medium can take one frame now that carries only an acknowledgement.
    AcknowledgementFree,
    /// Other hosts used the medium for this many bytes: they count where its rate is measured.
    Elsewhere(Bytes),
    /// The rate of the hop, as far as it is known. It sizes the queues.
    Rate(BitRate),
    /// Until this time, or a later one that was given before, no queue is too long for its sender, up to
    /// [`Config::queue`]: the packets come from a queue that was not, or go to one with limits of its own.
    ExcuseQueues(Instant),
    /// The least rate of the hop, while its rate is not known.
    LeastRate(BitRate),
    /// News of the path that frames take.
    Path(PathNews),
    /// The part of [`Config::memory`] that may be used from now on. What is held already stays.
    Memory(Bytes),
    /// True if frames can be sent at all, as at the start. While it is false, nothing is granted and no
    /// retransmission falls due.
    Link(bool),
}

/// Outputs of an [`Arq`], for its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// A frame to put on the air.
    Frame {
        /// The frame.
        frame: PacketBuffer,
        /// ECN field that the outer header must have.
        ecn: Ecn,
    },
    /// A packet to hand to the layer above.
    Packet(Packet),
    /// A packet of the split transport has crossed the hop, in the frame with this number. Frames are numbered in the
    /// order in which they are sent.
    Transport(u64, PacketBuffer),
    /// An event on the link.
    Event(LinkEvent),
    /// Delay and losses of a transmission, for the part that estimates the rate of the hop.
    Sample(Sample),
    /// No recent transmission is acknowledged: a fade has begun, or goes on.
    Silence,
}

/// Events on the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkEvent {
    /// A fade began: nothing has come through for longer than the retransmission timeout.
    FadeBegan,
    /// A fade ended: something came through again.
    FadeEnded {
        /// Length of the fade.
        lasted: Duration,
        /// True if no packet was given up because of it: even brief packets are retransmitted, at either end, for
        /// longer than it lasted.
        kept: bool,
    },
}

/// The latest transmission that an acknowledgement reported as received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Time when it left.
    pub sent_at: Instant,
    /// Total bytes sent on the wire when it had left, lost ones included.
    pub sent_total: u64,
    /// Arrival time in microseconds of the other end's clock, modulo 2³².
    pub arrival: u32,
    /// Round-trip time without the delay at the other end.
    pub round_trip: Duration,
    /// Number of transmissions newly reported as CE-marked since the last sample, at most the number newly
    /// acknowledged. Zero while marks do not cross the hop or carry no information.
    pub marked: u64,
    /// Bytes on the wire of all transmissions that were declared lost.
    pub lost_total: u64,
}
