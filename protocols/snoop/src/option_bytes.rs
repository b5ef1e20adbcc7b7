//! TCP options as bytes, read and written as the agent needs them.
//!
//! SMART's cause and explicit loss notification are experimental options (kind 253) with identifiers of
//! our own (RFC 6994): the cause is four bytes behind its identifier; a mark has nothing
//! behind it for the segment that is asked for, or the ranges that were lost, eight bytes each.

use units::SeqNumber;
use wire::tcp::{HEADER_LENGTH, TcpFlags, TcpOption, TcpView};

use crate::{AirLoss, SackRanges, SeqRange, TcpSegmentOptions, Timestamps};

const END_OF_LIST: u8 = 0;
const NO_OPERATION: u8 = 1;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const EXPERIMENT: u8 = 253;
/// SMART's cause ("Sm").
const CAUSE: [u8; 2] = *b"Sm";
/// Losses on the air ("El").
const AIR_LOSS: [u8; 2] = *b"El";
/// The room for options in a header, in bytes.
const ROOM: usize = 40;

/// The options of a segment; nothing where one is malformed, or has a meaning that the agent does not
/// know: what a signature covers (TCP-AO, MD5) must not be changed, and what belongs to another layer
/// (MPTCP) must not be held back. A SYN may carry anything, for it is only looked at.
pub(crate) fn read_options(tcp: &TcpView<'_>) -> Option<TcpSegmentOptions> {
    let mut options = TcpSegmentOptions::default();
    for option in tcp.options() {
        match option.ok()? {
            TcpOption::MaximumSegmentSize(_) | TcpOption::SackPermitted => {}
            TcpOption::WindowScale(shift) => options.window_scale = Some(shift),
            TcpOption::Timestamps { value, echo } => {
                options.timestamps = Some(Timestamps { value, echo });
            }
            TcpOption::Sack(blocks) => {
                for block in blocks.iter() {
                    options.sack.push(SeqRange {
                        start: block.left,
                        end: block.right,
                    });
                }
            }
            TcpOption::Unknown {
                kind: EXPERIMENT,
                data,
            } if read_experiment(data, &mut options) => {}
            TcpOption::Unknown { .. } if tcp.flags().contains(TcpFlags::SYN) => {}
            TcpOption::Unknown { .. } => return None,
        }
    }
    Some(options)
}

/// Reads one of our own options; false if it is none.
fn read_experiment(data: &[u8], options: &mut TcpSegmentOptions) -> bool {
    let Some((identifier, rest)) = data.split_first_chunk::<2>() else {
        return false;
    };
    let (words, odd) = rest.as_chunks::<4>();
    let number = |word: &[u8; 4]| SeqNumber(u32::from_be_bytes(*word));
    match (*identifier, words, odd) {
        (CAUSE, [word], []) => options.cause = Some(number(word)),
        (AIR_LOSS, [], []) => options.air_loss = AirLoss::Next,
        (AIR_LOSS, words, []) if words.len().is_multiple_of(2) => {
            let mut ranges = SackRanges::default();
            for pair in words.chunks_exact(2) {
                ranges.push(SeqRange {
                    start: number(&pair[0]),
                    end: number(&pair[1]),
                });
            }
            options.air_loss = AirLoss::Ranges(ranges);
        }
        _ => return false,
    }
    true
}

/// Options as they stand in a header, padded to a multiple of four bytes.
#[derive(Debug)]
pub(crate) struct OptionBytes {
    bytes: [u8; ROOM],
    length: usize,
}

impl OptionBytes {
    /// The options of a segment without data.
    pub(crate) fn of(options: &TcpSegmentOptions) -> Self {
        let mut bytes = Self::empty();
        if let Some(Timestamps { value, echo }) = options.timestamps {
            bytes.push(TIMESTAMPS, &[value, echo], None);
        }
        bytes.push_changeable(options);
        bytes.padded()
    }

    /// The options of `tcp`, with those that the agent may change as `options` has them.
    pub(crate) fn revised(tcp: &TcpView<'_>, options: &TcpSegmentOptions) -> Self {
        let mut bytes = Self::empty();
        let mut rest = &tcp.bytes()[HEADER_LENGTH..tcp.header_length()];
        while let Some(kind) = rest.first().copied().filter(|kind| *kind != END_OF_LIST) {
            let length = match (kind, rest.get(1)) {
                (NO_OPERATION, _) => 1,
                (_, Some(length)) => usize::from(*length).max(2),
                (_, None) => break,
            };
            let Some((option, behind)) = rest.split_at_checked(length) else {
                break;
            };
            let ours = kind == EXPERIMENT
                && option
                    .get(2..4)
                    .is_some_and(|id| id == CAUSE || id == AIR_LOSS);
            if kind != NO_OPERATION && kind != SACK && !ours {
                bytes.extend(option);
            }
            rest = behind;
        }
        bytes.push_changeable(options);
        bytes.padded()
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn empty() -> Self {
        Self {
            bytes: [END_OF_LIST; ROOM],
            length: 0,
        }
    }

    fn push_changeable(&mut self, options: &TcpSegmentOptions) {
        if options.sack.iter().len() > 0 {
            self.push_ranges(SACK, &options.sack, None);
        }
        if let Some(cause) = options.cause {
            self.push(EXPERIMENT, &[cause.0], Some(CAUSE));
        }
        match &options.air_loss {
            AirLoss::None => {}
            AirLoss::Next => self.push(EXPERIMENT, &[], Some(AIR_LOSS)),
            AirLoss::Ranges(ranges) => self.push_ranges(EXPERIMENT, ranges, Some(AIR_LOSS)),
        }
    }

    fn push_ranges(&mut self, kind: u8, ranges: &SackRanges, identifier: Option<[u8; 2]>) {
        let mut words = [0; 8];
        let mut count = 0;
        for (pair, range) in words.chunks_exact_mut(2).zip(ranges.iter()) {
            pair.copy_from_slice(&[range.start.0, range.end.0]);
            count += 2;
        }
        self.push(kind, &words[..count], identifier);
    }

    /// Appends an option, unless it no longer fits.
    fn push(&mut self, kind: u8, words: &[u32], identifier: Option<[u8; 2]>) {
        let mut option = [0; ROOM];
        let mut length = 2;
        if let Some(identifier) = identifier {
            option[2..4].copy_from_slice(&identifier);
            length += 2;
        }
        for word in words {
            option[length..length + 4].copy_from_slice(&word.to_be_bytes());
            length += 4;
        }
        option[..2].copy_from_slice(&[kind, length as u8]);
        self.extend(&option[..length]);
    }

    fn extend(&mut self, option: &[u8]) {
        let end = self.length + option.len();
        if let Some(room) = self.bytes.get_mut(self.length..end) {
            room.copy_from_slice(option);
            self.length = end;
        }
    }

    fn padded(mut self) -> Self {
        self.length = self.length.next_multiple_of(4);
        self
    }
}
