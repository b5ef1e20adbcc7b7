//! Additional information in acknowledgements: selective acknowledgements, SMART's cause, losses on the air.

use std::ops::Range;

use units::{RangeSet, SeqNumber};
use wire::tcp::{AirLoss, SackRanges, SeqRange, TcpSegmentOptions};

use crate::span::Span;
use crate::{Feedback, Marks};

/// Room for options, and lengths of options, in bytes.
const ROOM: usize = 40;
const TIMESTAMPS: usize = 10;
const CAUSE: usize = 8;
const MARKS_FIXED: usize = 4;
const SACK_FIXED: usize = 2;
const RANGE: usize = 8;

/// Largest number of lost ranges remembered; it bounds the memory that a peer can cause.
const LOST_MAX: usize = 256;
/// Number of blocks whose order is remembered.
const RECENT: usize = 4;

/// State of the additional information.
#[derive(Debug, Clone)]
pub(super) struct Reporter {
    settings: Feedback,
    /// True if the peer reads selective acknowledgements.
    pub(super) sack_permitted: bool,
    /// A position in each block that changed recently, the newest first.
    recent: [u64; RECENT],
    /// The segment that causes the next acknowledgement.
    pub(super) cause: Option<SeqNumber>,
    /// Ranges that were lost on the air and have not arrived.
    lost: RangeSet,
    /// Start of the loss that was reported last.
    latest: u64,
}

impl Reporter {
    pub(super) fn new(settings: &Feedback) -> Self {
        Self {
            settings: settings.clone(),
            sack_permitted: false,
            recent: [0; RECENT],
            cause: None,
            lost: RangeSet::default(),
            latest: 0,
        }
    }

    /// Records that a segment at `position` joined the block `block` beyond a gap.
    pub(super) fn beyond(&mut self, position: u64, block: Span) {
        let mut place = 0;
        let known = self.recent.iter().position(|known| block.contains(*known));
        let last = known.unwrap_or(RECENT - 1);
        let mut carried = position;
        while place <= last {
            std::mem::swap(&mut self.recent[place], &mut carried);
            place += 1;
        }
    }

    /// Records that the link lost `span` on the air.
    pub(super) fn lost(&mut self, span: Span, arrived: &RangeSet) {
        if self.settings.marks == Marks::Off {
            return;
        }
        self.lost.insert_up_to(LOST_MAX, span.range());
        for held in arrived.iter() {
            self.remove_lost(&held);
        }
        if self.lost.contains(span.start) {
            self.latest = span.start;
        }
    }

    /// Records that `span` has arrived.
    pub(super) fn arrived(&mut self, span: Span) {
        self.remove_lost(&span.range());
    }

    fn remove_lost(&mut self, range: &Range<u64>) {
        self.lost.remove(range);
        self.lost.keep_lowest(LOST_MAX);
    }

    /// Records that everything before `position` has arrived.
    pub(super) fn arrived_before(&mut self, position: u64) {
        self.lost.remove(&(0..position));
    }

    /// Fills the options of an acknowledgement without data, as far as there is room. `next` is the position expected
    /// next, `held` lies beyond, and `number` turns positions into numbers.
    pub(super) fn fill(
        &mut self,
        options: &mut TcpSegmentOptions,
        next: u64,
        held: &RangeSet,
        number: impl Fn(u64) -> SeqNumber,
    ) {
        let range = |span: Span| SeqRange {
            start: number(span.start),
            end: number(span.end),
        };
        let mut room = ROOM;
        room -= if options.timestamps.is_some() {
            TIMESTAMPS
        } else {
            0
        };
        if self.settings.cause {
            options.cause = self.cause.take();
            room -= CAUSE;
        }
        options.air_loss = match self.settings.marks {
            Marks::Next if self.lost.contains(next) => AirLoss::Next,
            Marks::Ranges if !self.lost.is_empty() => {
                let marks = self.marks(next).into_iter().flatten();
                AirLoss::Ranges(marks.map(range).collect())
            }
            _ => AirLoss::None,
        };
        room -= match options.air_loss {
            AirLoss::None => 0,
            AirLoss::Next => MARKS_FIXED,
            AirLoss::Ranges(ranges) => MARKS_FIXED + ranges.len() * RANGE,
        };
        if self.sack_permitted && !held.is_empty() {
            let fits = room.saturating_sub(SACK_FIXED) / RANGE;
            options.sack = self.blocks(held, fits.min(self.settings.sack_blocks.into()), range);
        }
    }

    /// Returns the loss that was reported last, and the oldest.
    fn marks(&self, next: u64) -> [Option<Span>; 2] {
        let latest = self.lost.range_at(self.latest).map(Span::from);
        let oldest = self.lost.first_from(next);
        let oldest = oldest
            .and_then(|start| self.lost.range_at(start))
            .map(Span::from);
        [latest, oldest.filter(|oldest| latest != Some(*oldest))]
    }

    /// Returns the newest blocks, at most `most` of them.
    fn blocks(&self, held: &RangeSet, most: usize, range: impl Fn(Span) -> SeqRange) -> SackRanges {
        let mut blocks = SackRanges::default();
        let mut told = [Span::new(0, 0); RECENT];
        for position in self.recent {
            let Some(block) = held.range_at(position).map(Span::from) else {
                continue;
            };
            if blocks.len() < most && !told.contains(&block) {
                told[blocks.len()] = block;
                blocks.push(range(block));
            }
        }
        blocks
    }
}
