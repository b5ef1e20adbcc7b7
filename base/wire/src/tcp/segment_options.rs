//! The options of a segment as a value.

use units::SeqNumber;

use super::{SackRanges, SeqRange, TcpOption, TcpView};
use crate::malformed::Malformed;

/// Room for options in a header, in bytes.
pub(super) const ROOM: usize = 40;
/// Length of a range in an option, in bytes.
pub(super) const RANGE: usize = 8;

/// The kind of experimental options (RFC 6994).
pub(super) const EXPERIMENT: u8 = 253;
/// Identifier of SMART's cause: four bytes of a sequence number follow.
pub(super) const CAUSE: [u8; 2] = *b"Sm";
/// Identifier of losses on the air: nothing follows if the expected segment was lost; otherwise the ranges that were
/// lost, eight bytes each.
pub(super) const AIR_LOSS: [u8; 2] = *b"El";

/// The timestamps of RFC 7323.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamps {
    /// The sender's clock.
    pub value: u32,
    /// The peer's clock, echoed.
    pub echo: u32,
}

/// Explicit loss notification: the segments that were lost on the air (Balakrishnan et al. 1997).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AirLoss {
    /// No loss is reported.
    #[default]
    None,
    /// The segment that the acknowledgement expects next.
    Next,
    /// These ranges, at most three if other options stand beside them.
    Ranges(SackRanges),
}

/// The content of the options. SMART's cause and the losses on the air are experimental options (kind 253) with
/// identifiers of our own (RFC 6994).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpSegmentOptions {
    /// The largest payload that the sender accepts in one segment, in bytes, on a SYN.
    pub maximum_segment_size: Option<u16>,
    /// Shift of the windows, on a SYN.
    pub window_scale: Option<u8>,
    /// The sender understands selective acknowledgements, on a SYN.
    pub sack_permitted: bool,
    /// The timestamps.
    pub timestamps: Option<Timestamps>,
    /// Selective acknowledgements, the newest first (RFC 2018).
    pub sack: SackRanges,
    /// SMART: the sequence number of the segment that caused this acknowledgement.
    pub cause: Option<SeqNumber>,
    /// Losses on the air (ELN).
    pub air_loss: AirLoss,
}

impl TcpSegmentOptions {
    /// Returns the options of a segment, and true if it has others that this value cannot hold.
    pub fn read(tcp: &TcpView<'_>) -> Result<(Self, bool), Malformed> {
        let mut options = Self::default();
        let mut others = false;
        for option in tcp.options() {
            match option? {
                TcpOption::MaximumSegmentSize(size) => options.maximum_segment_size = Some(size),
                TcpOption::WindowScale(shift) => options.window_scale = Some(shift),
                TcpOption::SackPermitted => options.sack_permitted = true,
                TcpOption::Timestamps { value, echo } => {
                    options.timestamps = Some(Timestamps { value, echo });
                }
                TcpOption::Sack(blocks) => {
                    let range = |block: super::SackBlock| SeqRange {
                        start: block.left,
                        end: block.right,
                    };
                    options.sack = blocks.iter().map(range).collect();
                }
                TcpOption::Unknown { kind, data } => {
                    others |= kind != EXPERIMENT || !options.read_experiment(data);
                }
            }
        }
        Ok((options, others))
    }

    /// Reads one of our own options; returns false if it is not one.
    fn read_experiment(&mut self, data: &[u8]) -> bool {
        let Some((identifier, rest)) = data.split_first_chunk::<2>() else {
            return false;
        };
        let (words, odd) = rest.as_chunks::<4>();
        let number = |word: &[u8; 4]| SeqNumber(u32::from_be_bytes(*word));
        match (*identifier, words, odd) {
            (CAUSE, [word], []) => self.cause = Some(number(word)),
            (AIR_LOSS, [], []) => self.air_loss = AirLoss::Next,
            (AIR_LOSS, words, []) if words.len().is_multiple_of(2) => {
                let range = |pair: &[[u8; 4]]| SeqRange {
                    start: number(&pair[0]),
                    end: number(&pair[1]),
                };
                self.air_loss = AirLoss::Ranges(words.chunks_exact(2).map(range).collect());
            }
            _ => return false,
        }
        true
    }

    /// Returns the length of the options in a header, in bytes: a multiple of four, at most 40. Options without room
    /// are left out (see [`OptionBytes::of`](super::OptionBytes::of)).
    pub fn length(&self) -> usize {
        let room_after = |taken: usize, length: usize| {
            let fits = taken + length <= ROOM;
            taken + if fits { length } else { 0 }
        };
        let ranges_after = |taken: usize, fixed: usize, ranges: &SackRanges| {
            let count = ranges.len().min(ROOM.saturating_sub(taken + fixed) / RANGE);
            taken + if count > 0 { fixed + count * RANGE } else { 0 }
        };
        let syn = usize::from(self.maximum_segment_size.is_some()) * 4
            + usize::from(self.sack_permitted) * 2
            + usize::from(self.timestamps.is_some()) * 10
            + usize::from(self.window_scale.is_some()) * 3;
        if self.sack.is_empty() && self.cause.is_none() && self.air_loss == AirLoss::None {
            return syn.next_multiple_of(4);
        }
        let mut length = ranges_after(syn, 2, &self.sack);
        if self.cause.is_some() {
            length = room_after(length, 8);
        }
        length = match &self.air_loss {
            AirLoss::None => length,
            AirLoss::Next => room_after(length, 4),
            AirLoss::Ranges(ranges) => ranges_after(length, 4, ranges),
        };
        length.next_multiple_of(4)
    }
}
