//! TCP options as they stand in a header.

use super::options::{
    END_OF_LIST, MAXIMUM_SEGMENT_SIZE, NO_OPERATION, SACK, SACK_PERMITTED, TIMESTAMPS, WINDOW_SCALE,
};
use super::segment_options::{AIR_LOSS, CAUSE, EXPERIMENT, RANGE, ROOM};
use super::{AirLoss, HEADER_LENGTH, SackRanges, TcpSegmentOptions, TcpView, Timestamps};

/// Options as they stand in a header, padded to a multiple of four bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionBytes {
    bytes: [u8; ROOM],
    length: usize,
}

impl OptionBytes {
    /// Returns the options as bytes: those of a SYN, timestamps, SACK blocks, SMART's cause, losses on the air. Of
    /// ranges it writes the first that fit; it leaves out an option that has no room at all.
    pub fn of(options: &TcpSegmentOptions) -> Self {
        let mut bytes = Self::empty();
        if let Some(size) = options.maximum_segment_size {
            bytes.push(MAXIMUM_SEGMENT_SIZE, &size.to_be_bytes());
        }
        if options.sack_permitted {
            bytes.push(SACK_PERMITTED, &[]);
        }
        if let Some(timestamps) = options.timestamps {
            bytes.push_timestamps(timestamps);
        }
        if let Some(shift) = options.window_scale {
            bytes.push(WINDOW_SCALE, &[shift]);
        }
        bytes.push_changeable(options);
        bytes.padded()
    }

    /// Returns the options of `tcp`, with those that a gateway may change (timestamps, SACK blocks, cause, losses on
    /// the air) taken from `options`, and all others unchanged.
    pub fn revised(tcp: &TcpView<'_>, options: &TcpSegmentOptions) -> Self {
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
            if let Some(timestamps) = options.timestamps.filter(|_| kind == TIMESTAMPS) {
                bytes.push_timestamps(timestamps);
            } else if kind != NO_OPERATION && kind != SACK && !ours {
                bytes.extend(option);
            }
            rest = behind;
        }
        bytes.push_changeable(options);
        bytes.padded()
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn empty() -> Self {
        Self {
            bytes: [END_OF_LIST; ROOM],
            length: 0,
        }
    }

    fn push_timestamps(&mut self, Timestamps { value, echo }: Timestamps) {
        let both = u64::from(value) << 32 | u64::from(echo);
        self.push(TIMESTAMPS, &both.to_be_bytes());
    }

    fn push_changeable(&mut self, options: &TcpSegmentOptions) {
        self.push_ranges(SACK, &[], &options.sack);
        if let Some(cause) = options.cause {
            let mut data = [0; 6];
            data[..2].copy_from_slice(&CAUSE);
            data[2..].copy_from_slice(&cause.0.to_be_bytes());
            self.push(EXPERIMENT, &data);
        }
        match &options.air_loss {
            AirLoss::None => {}
            AirLoss::Next => self.push(EXPERIMENT, &AIR_LOSS),
            AirLoss::Ranges(ranges) => self.push_ranges(EXPERIMENT, &AIR_LOSS, ranges),
        }
    }

    /// Appends an option with as many of `ranges` as fit, if any does.
    fn push_ranges(&mut self, kind: u8, identifier: &[u8], ranges: &SackRanges) {
        let room = ROOM.saturating_sub(self.length + 2 + identifier.len());
        let mut data = [0; ROOM];
        data[..identifier.len()].copy_from_slice(identifier);
        let mut length = identifier.len();
        for range in ranges.iter().take(room / RANGE) {
            data[length..length + 4].copy_from_slice(&range.start.0.to_be_bytes());
            data[length + 4..length + RANGE].copy_from_slice(&range.end.0.to_be_bytes());
            length += RANGE;
        }
        if length > identifier.len() {
            self.push(kind, &data[..length]);
        }
    }

    /// Appends an option, if it fits.
    fn push(&mut self, kind: u8, data: &[u8]) {
        let length = 2 + data.len();
        if self.length + length <= ROOM {
            self.extend(&[kind, length as u8]);
            self.extend(data);
        }
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
