//! Parsing of frames.

use thiserror::Error;

use super::{
    EcnCounts, FLAG_AFTER_LONG, FLAG_COUNTS, FLAG_END, FLAG_LENGTH, FLAG_OFFSET, FLAG_REPAIRED,
    FRAME_HEADER, KIND_ACK, KIND_BRIEF, KIND_PADDING, KIND_PROBE, KIND_STREAM, KIND_TRANSPORT,
    VERSION, varint,
};

/// Reason why a frame, or the rest of it, cannot be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MalformedFrame {
    /// It is shorter than its header.
    #[error("a frame of {0} bytes is shorter than its header")]
    Short(usize),
    /// Its version is not the one that this code implements.
    #[error("frame version {0} is not known; both ends must run the same version of lasthop")]
    Version(u8),
    /// A chunk has an unknown kind.
    #[error("chunk kind {0} is not known")]
    Kind(u8),
    /// A chunk ends before its fields or its content do.
    #[error("a chunk of kind {0} is cut short")]
    Cut(u8),
    /// An acknowledgement reaches below number zero.
    #[error("an acknowledgement reaches below the first transmission")]
    AckBelowZero,
}

/// A frame's header and its chunks.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Low 32 bits of the transmission number; see [`super::expand`].
    pub number: u32,
    chunks: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Parses the header of `bytes`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, MalformedFrame> {
        let Some((header, chunks)) = bytes.split_first_chunk::<FRAME_HEADER>() else {
            return Err(MalformedFrame::Short(bytes.len()));
        };
        let [first, number @ ..] = *header;
        if first >> 4 != VERSION {
            return Err(MalformedFrame::Version(first >> 4));
        }
        Ok(Self {
            number: u32::from_be_bytes(number),
            chunks,
        })
    }

    /// Returns the chunks, in order; there are none after an error.
    pub fn chunks(&self) -> Chunks<'a> {
        Chunks { rest: self.chunks }
    }
}

/// One part of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chunk<'a> {
    /// A range of a held flow's stream.
    Stream {
        /// The flow.
        flow: u64,
        /// Low 32 bits of the offset of the first byte in the stream.
        offset: u32,
        /// True if the stream ends after these bytes.
        end: bool,
        /// The content.
        bytes: &'a [u8],
    },
    /// A packet, or a fragment of one, that waits for no other packet.
    Brief {
        /// Low 32 bits of the packet's number.
        packet: u32,
        /// Offset of the first byte in the packet's record.
        offset: u16,
        /// True if the record ends after these bytes.
        end: bool,
        /// True if the packet is in the repaired lane.
        repaired: bool,
        /// The content.
        bytes: &'a [u8],
    },
    /// The transmissions that the peer has received.
    Ack(AckRanges<'a>),
    /// A request for an acknowledgement.
    Probe {
        /// True if the transmission before this one was a probe of the path MTU: if it is missing, it does not count as
        /// lost.
        after_long: bool,
    },
    /// Bytes without meaning, which bring a frame to the length to be probed.
    Padding(usize),
    /// A packet of the split transport.
    Transport(&'a [u8]),
}

/// The chunks of a frame.
#[derive(Debug, Clone)]
pub struct Chunks<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<Chunk<'a>, MalformedFrame>;

    fn next(&mut self) -> Option<Self::Item> {
        let (first, rest) = self.rest.split_first()?;
        let mut fields = Fields {
            rest,
            kind: first >> 4,
        };
        let chunk = fields.chunk(*first & 0xf);
        self.rest = if chunk.is_ok() { fields.rest } else { &[] };
        Some(chunk)
    }
}

/// The fields at the front of a chunk, which its methods take off.
struct Fields<'a> {
    rest: &'a [u8],
    kind: u8,
}

impl<'a> Fields<'a> {
    fn chunk(&mut self, flags: u8) -> Result<Chunk<'a>, MalformedFrame> {
        let end = flags & FLAG_END != 0;
        match self.kind {
            KIND_STREAM => {
                let (flow, offset) = (self.varint()?, self.number()?);
                Ok(Chunk::Stream {
                    flow,
                    offset,
                    end,
                    bytes: self.content(flags)?,
                })
            }
            KIND_BRIEF => {
                let packet = self.number()?;
                let offset = if flags & FLAG_OFFSET == 0 {
                    0
                } else {
                    self.short()?
                };
                let repaired = flags & FLAG_REPAIRED != 0;
                Ok(Chunk::Brief {
                    packet,
                    offset,
                    end,
                    repaired,
                    bytes: self.content(flags)?,
                })
            }
            KIND_ACK => self.ack(flags).map(Chunk::Ack),
            KIND_PROBE => Ok(Chunk::Probe {
                after_long: flags & FLAG_AFTER_LONG != 0,
            }),
            KIND_PADDING => Ok(Chunk::Padding(self.content(flags)?.len())),
            KIND_TRANSPORT => self.content(flags).map(Chunk::Transport),
            kind => Err(MalformedFrame::Kind(kind)),
        }
    }

    fn ack(&mut self, flags: u8) -> Result<AckRanges<'a>, MalformedFrame> {
        let (largest, arrival) = (self.number()?, self.number()?);
        let (delay, first) = (self.varint()?, self.varint()?);
        let counts = if flags & FLAG_COUNTS == 0 {
            None
        } else {
            let (capable, marked) = (self.varint()?, self.varint()?);
            Some(EcnCounts { capable, marked })
        };
        let count = self.take(1)?[0];
        let before = self.rest;
        for _ in 0..count {
            self.varint()?;
            self.varint()?;
        }
        let ranges = &before[..before.len() - self.rest.len()];
        Ok(AckRanges {
            largest,
            arrival,
            delay,
            counts,
            first,
            ranges,
        })
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], MalformedFrame> {
        let (field, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or(MalformedFrame::Cut(self.kind))?;
        self.rest = rest;
        Ok(field)
    }

    fn varint(&mut self) -> Result<u64, MalformedFrame> {
        let (value, size) = varint::read(self.rest).ok_or(MalformedFrame::Cut(self.kind))?;
        self.rest = &self.rest[size..];
        Ok(value)
    }

    fn number(&mut self) -> Result<u32, MalformedFrame> {
        let field = self.take(4)?;
        Ok(u32::from_be_bytes([field[0], field[1], field[2], field[3]]))
    }

    fn short(&mut self) -> Result<u16, MalformedFrame> {
        let field = self.take(2)?;
        Ok(u16::from_be_bytes([field[0], field[1]]))
    }

    fn content(&mut self, flags: u8) -> Result<&'a [u8], MalformedFrame> {
        let length = match flags & FLAG_LENGTH {
            0 => self.rest.len(),
            _ => usize::from(self.short()?),
        };
        self.take(length)
    }
}

/// An acknowledgement: the transmissions that arrived, and the arrival time of the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckRanges<'a> {
    /// Low 32 bits of the highest number received.
    pub largest: u32,
    /// Arrival time of that transmission, in microseconds of the receiver's clock, modulo 2³².
    pub arrival: u32,
    /// Delay of this acknowledgement since that arrival, in microseconds.
    pub delay: u64,
    /// Counts of congestion marks, if the acknowledgement carries them.
    pub counts: Option<EcnCounts>,
    first: u64,
    ranges: &'a [u8],
}

impl AckRanges<'_> {
    /// Calls `visit` with each range of received numbers, `start..=end`, from the highest down.
    ///
    /// `largest` is the expanded value of [`Self::largest`]. The ranges are disjoint.
    pub fn visit(
        &self,
        largest: u64,
        mut visit: impl FnMut(u64, u64),
    ) -> Result<(), MalformedFrame> {
        let below = |number: u64, count: u64| {
            number
                .checked_sub(count)
                .ok_or(MalformedFrame::AckBelowZero)
        };
        let mut start = below(largest, self.first)?;
        visit(start, largest);
        let mut rest = self.ranges;
        while !rest.is_empty() {
            let mut field = || -> Option<u64> {
                let (value, size) = varint::read(rest)?;
                rest = &rest[size..];
                Some(value)
            };
            let (gap, run) = field().zip(field()).ok_or(MalformedFrame::Cut(KIND_ACK))?;
            let end = below(start, gap + 2)?;
            start = below(end, run)?;
            visit(start, end);
        }
        Ok(())
    }
}
