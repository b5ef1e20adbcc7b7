//! How many bytes one READ or WRITE moves.
//!
//! A block crosses as one datagram, which is lost with any of its fragments; a larger one is lost more often, and costs
//! more to send again, but asks for fewer answers. Dube, Rais and Tripathi found 4,096 bytes best on their hop, where
//! 8,192 overran a receiver. `auto` goes by what is measured: the bytes of a block over the time that it takes until it
//! is answered, repeats included. It tries the next larger size now and then, and the next smaller one where many
//! blocks are lost, and takes one that moves more; what it has not seen much of it expects from the size at present.

use rpc::Transport;
use units::Duration;

use crate::BlockSize;
use crate::config::{BLOCK_MAX, BLOCK_MIN};

/// What `auto` begins with over datagrams: the papers' best.
const BEGIN: u32 = 4_096;
/// The sizes that it chooses from: 1,024 doubled.
const SIZES: usize = (BLOCK_MAX / BLOCK_MIN).ilog2() as usize + 1;
/// Blocks after which a size is judged.
const ROUND: u32 = 16;
/// What is known of a size counts half when so many blocks are known.
const MEMORY: u32 = 512;
/// The losses that are to be expected count as much as so many blocks.
const EXPECTED: u64 = 24;
/// Another size must promise so much more to be taken, in percent.
const GAIN: u64 = 3;
/// Answers that another size must have had to be taken: a larger one, and a smaller one.
const TRIALS: u32 = 4;
const TRIALS_OF_SMALLER: u32 = 16;
/// After so many, a larger size is tried on only if it seems better.
const FIRST_TRIALS: u32 = 2;
/// That another size seemed worse may have been chance: it is tried on until it has had one of so many blocks.
const TRIED_ON: u32 = 8;
/// A larger size is tried by a block in so many.
const EVERY: u32 = 2;
/// Repeats of a block, in a million: below the first, hardly any are lost; beyond the second, a smaller size may be
/// better; and a larger one is not tried if the third is to be expected.
const FEW: u64 = 20_000;
const MANY: u64 = 50_000;
const MOST: u64 = 500_000;
/// Rounds after which what is known of other sizes counts half.
const FORGETTING: u32 = 64;

/// What a block took that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cost {
    /// How often it was sent.
    pub(crate) copies: u32,
    /// From sending it first to the answer.
    pub(crate) elapsed: Duration,
    /// From sending it last to the answer.
    pub(crate) since_last: Duration,
}

/// What is known of blocks of one size.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    blocks: u32,
    losses: u32,
    /// How long one takes that is not lost.
    time: Option<Duration>,
}

impl Known {
    fn halve(&mut self) {
        self.blocks /= 2;
        self.losses /= 2;
    }
}

/// Chooses the size of blocks in one direction.
#[derive(Debug, Clone)]
pub(crate) struct BlockChoice {
    rule: BlockSize,
    /// The size at present, as an index: 1,024 doubled so often.
    size: usize,
    known: [Known; SIZES],
    /// How long a loss holds a block up.
    wait: Option<Duration>,
    answers: u32,
    rounds: u32,
    /// Larger blocks that are tried at present, and blocks since the last was sent.
    trials: u32,
    since: u32,
}

/// A part `share` of a thousand nearer to what is new.
fn nearer(old: Option<Duration>, new: Duration, share: u64) -> Duration {
    let old = old.unwrap_or(new);
    old.scaled(1_000 - share, 1_000) + new.scaled(share, 1_000)
}

fn bytes(size: usize) -> u32 {
    BLOCK_MIN << size
}

impl BlockChoice {
    pub(crate) fn new(rule: BlockSize, transport: Transport) -> Self {
        let begin = match transport {
            Transport::Datagrams => BEGIN,
            // A stream repairs its own losses: there is no reason for less.
            Transport::Stream => BLOCK_MAX,
        };
        Self {
            rule,
            size: (begin / BLOCK_MIN).ilog2() as usize,
            known: [Known::default(); SIZES],
            wait: None,
            answers: 0,
            rounds: 0,
            trials: 0,
            since: 0,
        }
    }

    /// The size at present, in bytes.
    pub(crate) fn bytes(&self) -> u32 {
        match self.rule {
            BlockSize::Fixed(size) => size,
            BlockSize::Auto => bytes(self.size),
        }
    }

    /// How long a block takes at present that is not lost.
    pub(crate) fn time(&self) -> Option<Duration> {
        self.known[self.size].time
    }

    /// The size that the next block is to have, in bytes, where the server takes blocks of so many; no larger one than
    /// at present if it is not to grow.
    pub(crate) fn next(&self, limit: u32, may_grow: bool) -> u32 {
        let larger = if may_grow { self.size + 1 } else { SIZES };
        let neighbours = [larger, self.size.wrapping_sub(1)];
        let worth = |size: &usize| *size < SIZES && bytes(*size) <= limit && self.is_worth(*size);
        let trial = match self.rule {
            BlockSize::Auto => neighbours.into_iter().find(worth),
            BlockSize::Fixed(_) => None,
        };
        trial.map_or(self.bytes().min(limit), bytes)
    }

    /// Answers that another size must have had to be taken.
    fn trials(&self, size: usize) -> u32 {
        if size < self.size {
            TRIALS_OF_SMALLER
        } else {
            TRIALS
        }
    }

    /// Whether a size is to be tried with the next block.
    fn is_worth(&self, size: usize) -> bool {
        let (here, there) = (self.known[self.size], self.known[size]);
        if here.blocks < TRIALS {
            return false;
        }
        let lost = self.repeats(self.size);
        let is_rare = there.blocks <= here.blocks / TRIED_ON;
        if size < self.size {
            return lost > MANY && (there.blocks < TRIALS_OF_SMALLER || is_rare);
        }
        // Where some are lost, larger ones are tried one at a time: little waits for one that is never answered.
        let at_once = if lost < FEW { TRIALS } else { 1 };
        let is_due = self.trials < at_once && self.since >= EVERY;
        let is_promising = there.blocks < FIRST_TRIALS || self.is_better(size);
        let is_open = there.blocks < TRIALS && is_promising || is_rare;
        is_due && is_open && self.expected(size) < MOST
    }

    /// A block of so many bytes was sent.
    pub(crate) fn sent(&mut self, length: u32) {
        self.since = self.since.saturating_add(1);
        if length > bytes(self.size) {
            self.trials += 1;
            self.since = 0;
        }
    }

    /// A block of so many bytes is no longer on its way; if it was answered, what that took.
    pub(crate) fn ended(&mut self, length: u32, cost: Option<Cost>) {
        if length > bytes(self.size) {
            self.trials = self.trials.saturating_sub(1);
        }
        let Some(cost) = cost else {
            return;
        };
        if self.rule != BlockSize::Auto || !length.is_power_of_two() || length < BLOCK_MIN {
            return;
        }
        let size = ((length / BLOCK_MIN).ilog2() as usize).min(SIZES - 1);
        self.learn(size, cost);
        if size != self.size {
            if self.known[size].blocks >= self.trials(size) && self.is_better(size) {
                self.size = size;
                self.trials = 0;
            }
            return;
        }
        self.answers += 1;
        if self.answers >= ROUND {
            self.answers = 0;
            self.end_round();
        }
    }

    fn learn(&mut self, size: usize, cost: Cost) {
        let Cost {
            copies, elapsed, ..
        } = cost;
        // A larger block takes longer than those by which calls are waited for, and is then asked for twice, in vain.
        let losses = if !self.is_late(size, cost) {
            copies.saturating_sub(1)
        } else if copies == 2 {
            0
        } else {
            return;
        };
        let known = &mut self.known[size];
        known.blocks += 1;
        known.losses += losses;
        if losses == 0 {
            known.time = Some(nearer(known.time, elapsed, 100));
        } else {
            let time = known.time.or(self.known[self.size].time);
            let wait = elapsed.saturating_sub(time.unwrap_or(elapsed));
            let wait = wait.scaled(1, u64::from(losses));
            self.wait = Some(nearer(self.wait, wait, 100));
        }
        if self.known[size].blocks >= MEMORY {
            self.known[size].halve();
        }
    }

    /// Whether the answer came so soon after the last copy that it is one to an earlier copy.
    fn is_late(&self, size: usize, cost: Cost) -> bool {
        let smaller = self.known[size.min(self.size)].time;
        let usual = self.known[size].time.or(smaller);
        cost.copies > 1 && usual.is_some_and(|usual| cost.since_last < usual.scaled(3, 4))
    }

    /// Time to judge the neighbours by what is known of them, and to forget.
    fn end_round(&mut self) {
        self.rounds += 1;
        if self.rounds.is_multiple_of(FORGETTING) {
            for (size, known) in self.known.iter_mut().enumerate() {
                if size != self.size {
                    known.halve();
                }
            }
        }
        let neighbours = [self.size + 1, self.size.wrapping_sub(1)];
        let tried = |size: &usize| {
            let known = self.known.get(*size);
            known.is_some_and(|known| known.blocks >= self.trials(*size))
        };
        if let Some(size) = neighbours
            .into_iter()
            .filter(tried)
            .find(|size| self.is_better(*size))
        {
            self.size = size;
        }
    }

    /// Whether another size promises more than this one.
    fn is_better(&self, other: usize) -> bool {
        let here = self.promise(self.size).unwrap_or_default();
        let there = self.promise(other).unwrap_or_default();
        there * 100 > here * (100 + GAIN)
    }

    /// Repeats of a block, in a million, that were seen.
    fn seen(&self, size: usize) -> Option<u64> {
        let known = self.known.get(size).filter(|known| known.blocks > 0)?;
        Some(u64::from(known.losses) * 1_000_000 / u64::from(known.blocks))
    }

    /// Repeats of a block, in a million, that are to be expected at another size: half as many more for blocks twice as
    /// long. A fade takes those that are on their way when it begins, twice as many then, and those that are sent into
    /// it, as many as ever.
    fn expected(&self, size: usize) -> u64 {
        let here = self.seen(self.size).unwrap_or_default();
        let smaller = (size..self.size).fold(here, |lost, _| lost * 2 / 3);
        (self.size..size).fold(smaller, |lost, _| lost * 3 / 2)
    }

    /// Repeats of a block, in a million: those that were seen, and until these are many, those to be expected.
    fn repeats(&self, size: usize) -> u64 {
        let known = self.known[size];
        let seen = u64::from(known.losses) * 1_000_000;
        (seen + self.expected(size) * EXPECTED) / (u64::from(known.blocks) + EXPECTED)
    }

    /// How many bytes of such blocks are moved in a second, by what is known and what is to be expected.
    fn promise(&self, size: usize) -> Option<u64> {
        let time = self.known[size].time.or_else(|| self.expected_time(size))?;
        let wait = self.wait.unwrap_or(time * 2);
        let takes = time + wait.scaled(self.repeats(size), 1_000_000);
        Some(u64::from(bytes(size)) * 1_000_000_000 / takes.as_nanos().max(1))
    }

    /// How long a block of a size takes of which none was seen: a part of the time is the same for all.
    fn expected_time(&self, size: usize) -> Option<Duration> {
        let time = self.known[self.size].time?;
        let (here, there) = (u64::from(bytes(self.size)), u64::from(bytes(size)));
        Some(time.scaled(here + 3 * there, 4 * here))
    }
}
