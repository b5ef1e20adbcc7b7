//! The hop frame, which mobile host and gateway exchange (`docs/hop-frame.md`).

mod binding;
mod claim;
mod ecn;
mod measure;
mod notice;
mod path;
mod read;
mod record;
mod relay;
mod resolver;
mod varint;
mod write;

pub use binding::BindingMessage;
pub use claim::{ClaimMessage, ClaimRefusal};
pub use ecn::EcnCounts;
pub use measure::MeasureMessage;
pub use notice::NoticeMessage;
pub use path::PathMessage;
pub use read::{AckRanges, Chunk, Chunks, Frame, MalformedFrame};
pub use record::{RecordHead, RecordReader, RecordWriter, StreamBroken};
pub use relay::RelayHeader;
pub use resolver::{ResolverMessage, Resolvers};
pub use write::{AckFields, FrameWriter};

/// The frame version that this code implements.
pub const VERSION: u8 = 1;
/// Length of the frame header, in bytes: version and transmission number.
pub const FRAME_HEADER: usize = 5;
/// The largest packet that a stream or a brief packet may carry, in bytes.
pub const PACKET_MAX: usize = 65_535;

const KIND_STREAM: u8 = 1;
const KIND_BRIEF: u8 = 2;
const KIND_ACK: u8 = 3;
const KIND_PROBE: u8 = 4;
const KIND_PADDING: u8 = 5;
const KIND_TRANSPORT: u8 = 7;

const FLAG_LENGTH: u8 = 1;
const FLAG_END: u8 = 2;
/// Probe flag: the transmission before this one may be lost only because of its length.
const FLAG_AFTER_LONG: u8 = 2;
const FLAG_OFFSET: u8 = 4;
const FLAG_REPAIRED: u8 = 8;
/// Acknowledgement flag: it carries counts of congestion marks.
const FLAG_COUNTS: u8 = 1;

/// Returns the 64-bit number nearest to `near` whose low 32 bits are `low`.
///
/// It uses the method of RFC 9000 appendix A.3, for a fixed width.
pub fn expand(low: u32, near: u64) -> u64 {
    const WINDOW: u64 = 1 << 32;
    let candidate = (near & !(WINDOW - 1)) | u64::from(low);
    if candidate + WINDOW / 2 <= near && candidate <= u64::MAX - WINDOW {
        candidate + WINDOW
    } else if candidate > near + WINDOW / 2 && candidate >= WINDOW {
        candidate - WINDOW
    } else {
        candidate
    }
}
