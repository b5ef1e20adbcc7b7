//! The records of a capture, on their way from the daemon to its client.

use units::Instant;
use wire::capture::CaptureDirection;
use wire::packet::Checksum;

/// Length of a record's header, in bytes: a length of 4, then 4, 8, 8, 8, 4 and 4 bytes, little-endian.
pub(crate) const HEADER: usize = 40;

/// Flags of a packet, as in the option `epb_flags` of pcapng (§4.3.1).
const CHECKSUM_NOT_READY: u32 = 1 << 9;
const CHECKSUM_VALID: u32 = 1 << 10;
const SEGMENTED_LATER: u32 = 1 << 11;

const IS_LAST: u8 = 1;

/// The side of the daemon on which something was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The device: IP packets.
    Inner = 0,
    /// The hop: frames, each behind a [`CaptureHeader`](wire::capture::CaptureHeader).
    Hop = 1,
}

impl Side {
    /// Both sides, by their number.
    pub const ALL: [Self; 2] = [Self::Inner, Self::Hop];
}

/// Counts of one side since the capture's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets or frames that crossed.
    pub seen: u64,
    /// Those of them that were dropped, since the client read too slowly.
    pub dropped: u64,
}

/// One packet or frame, or the last counts of a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The side.
    pub side: Side,
    /// Time, by the daemon's clock.
    pub at: Instant,
    /// Counts of the side, this one included.
    pub counts: Counts,
    /// True if it consists of counts alone, and nothing of this side follows.
    pub is_last: bool,
    /// Direction and state of checksums, as in the option `epb_flags` of pcapng.
    pub flags: u32,
    /// Length of the whole, in bytes.
    pub length: u32,
    /// The beginning of it.
    pub bytes: &'a [u8],
}

impl<'a> Record<'a> {
    /// Returns the header before `bytes`.
    pub(crate) fn header(&self) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        let mut rest = &mut header[..];
        let mut put = |field: &[u8]| {
            let (place, after) = std::mem::take(&mut rest).split_at_mut(field.len());
            place.copy_from_slice(field);
            rest = after;
        };
        put(&(self.bytes.len() as u32).to_le_bytes());
        put(&self.length.to_le_bytes());
        put(&self.at.as_nanos().to_le_bytes());
        put(&self.counts.seen.to_le_bytes());
        put(&self.counts.dropped.to_le_bytes());
        put(&self.flags.to_le_bytes());
        put(&[self.side as u8, u8::from(self.is_last)]);
        header
    }

    /// Takes the first record off `bytes`; `None` if it is not complete yet.
    ///
    /// # Errors
    /// If it is none: its length is more than `longest`, or its side is not known.
    pub(crate) fn parse(bytes: &'a [u8], longest: usize) -> Result<Option<(Self, usize)>, String> {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let short = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| header[at + byte]));
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| header[at + byte]));
        let kept = short(0) as usize;
        if kept > longest {
            return Err(format!("a record of {kept} bytes, which is too long"));
        }
        let Some(side) = Side::ALL.get(usize::from(header[36])) else {
            return Err(format!("a record of side {}, which is unknown", header[36]));
        };
        let Some(content) = rest.get(..kept) else {
            return Ok(None);
        };
        let record = Self {
            side: *side,
            at: Instant::from_nanos(long(8)),
            counts: Counts {
                seen: long(16),
                dropped: long(24),
            },
            is_last: header[37] == IS_LAST,
            flags: short(32),
            length: short(4),
            bytes: content,
        };
        Ok(Some((record, HEADER + kept)))
    }
}

/// Returns the flags of a packet of the device.
pub(crate) fn flags_of(direction: CaptureDirection, checksum: Checksum, is_train: bool) -> u32 {
    let checksum = match checksum {
        Checksum::Unverified => 0,
        Checksum::Verified => CHECKSUM_VALID,
        Checksum::Partial => CHECKSUM_NOT_READY,
    };
    let train = if is_train { SEGMENTED_LATER } else { 0 };
    direction as u32 | checksum | train
}
