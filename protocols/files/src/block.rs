//! The number of bytes that one READ or WRITE moves.
//!
//! A block crosses as one datagram, which is lost if any of its fragments is lost. A larger block is lost more often
//! and costs more to retransmit, but needs fewer replies. Dube, Rais and Tripathi found 4,096 bytes best on their hop,
//! where 8,192 overran a receiver. `auto` uses measurements: the bytes of a block divided by the time until its reply,
//! retransmissions included. Now and then it tries the next larger size, and the next smaller one if many blocks are
//! lost. It changes to a size that moves more. For a size with few measurements it estimates from the present size.

use rpc::Transport;
use units::Duration;

use crate::BlockSize;
use crate::config::{BLOCK_MAX, BLOCK_MIN};

/// Initial size of `auto` over datagrams: the papers' best.
const BEGIN: u32 = 4_096;
/// Number of sizes to choose from: 1,024 and its doubles.
const SIZES: usize = (BLOCK_MAX / BLOCK_MIN).ilog2() as usize + 1;
/// Blocks after which a size is judged.
const ROUND: u32 = 16;
/// Number of blocks of a size at which its counters are halved.
const MEMORY: u32 = 512;
/// Weight of the expected losses, in blocks.
const EXPECTED: u64 = 24;
/// Least gain for which another size is chosen, in percent.
const GAIN: u64 = 3;
/// Replies needed before another size is chosen: a larger one, and a smaller one.
const TRIALS: u32 = 4;
const TRIALS_OF_SMALLER: u32 = 16;
/// Trials after which a larger size is tried further only if it seems better.
const FIRST_TRIALS: u32 = 2;
/// Trials of a size that seemed worse, perhaps by chance, go on until it has a share of 1 in this number of blocks.
const TRIED_ON: u32 = 8;
/// Interval of trials of a larger size, in blocks.
const EVERY: u32 = 2;
/// Retransmissions of a block, in a million. Below the first, hardly any are lost. Above the second, a smaller size may
/// be better. If the third is expected, a larger size is not tried.
const FEW: u64 = 20_000;
const MANY: u64 = 50_000;
const MOST: u64 = 500_000;
/// Rounds after which the measurements of other sizes count half.
const FORGETTING: u32 = 64;

/// Cost of a block that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Number of transmissions.
    pub(crate) copies: u32,
    /// Time from the first transmission to the reply.
    pub(crate) elapsed: Duration,
    /// Time from the last transmission to the reply.
    pub(crate) since_last: Duration,
}

/// Measurements of blocks of one size.
#[derive(Debug, Clone, Copy, Default)]
struct SizeStatistics {
    blocks: u32,
    losses: u32,
    /// Time until the reply to a block that is not lost.
    time: Option<Duration>,
}

impl SizeStatistics {
    fn halve(&mut self) {
        self.blocks /= 2;
        self.losses /= 2;
    }
}

/// Chooses the size of blocks in one direction.
#[derive(Debug, Clone)]
pub(crate) struct BlockChoice {
    rule: BlockSize,
    /// The present size, as an index: the number of times that 1,024 is doubled.
    size: usize,
    known: [SizeStatistics; SIZES],
    /// Delay of a block by one loss.
    wait: Option<Duration>,
    answers: u32,
    rounds: u32,
    /// Larger blocks on trial at present, and blocks since the last of them was sent.
    trials: u32,
    since: u32,
}

/// Returns `old` moved towards `new` by `share` thousandths.
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
            // A stream repairs its own losses, so a smaller block has no advantage.
            Transport::Stream => BLOCK_MAX,
        };
        Self {
            rule,
            size: (begin / BLOCK_MIN).ilog2() as usize,
            known: [SizeStatistics::default(); SIZES],
            wait: None,
            answers: 0,
            rounds: 0,
            trials: 0,
            since: 0,
        }
    }

    /// Returns the present size, in bytes.
    pub(crate) fn bytes(&self) -> u32 {
        match self.rule {
            BlockSize::Fixed(size) => size,
            BlockSize::Auto => bytes(self.size),
        }
    }

    /// Returns the present time until the reply to a block that is not lost.
    pub(crate) fn time(&self) -> Option<Duration> {
        self.known[self.size].time
    }

    /// Returns the size of the next block in bytes, at most `limit` (of the server), and at most the present size
    /// unless it `may_grow`.
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

    /// Returns the replies needed before another size is chosen.
    fn trials(&self, size: usize) -> u32 {
        if size < self.size {
            TRIALS_OF_SMALLER
        } else {
            TRIALS
        }
    }

    /// Returns true if a size should be tried with the next block.
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
        // If some are lost, larger ones are tried one at a time, so that little waits for one that is never answered.
        let at_once = if lost < FEW { TRIALS } else { 1 };
        let is_due = self.trials < at_once && self.since >= EVERY;
        let is_promising = there.blocks < FIRST_TRIALS || self.is_better(size);
        let is_open = there.blocks < TRIALS && is_promising || is_rare;
        is_due && is_open && self.expected(size) < MOST
    }

    /// Records that a block of `length` bytes was sent.
    pub(crate) fn sent(&mut self, length: u32) {
        self.since = self.since.saturating_add(1);
        if length > bytes(self.size) {
            self.trials += 1;
            self.since = 0;
        }
    }

    /// Records that a block of `length` bytes is no longer in flight; `cost` if it was answered.
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
        // A larger block takes longer than the timeout of calls allows for, and is then sent twice in vain.
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

    /// Returns true if the reply came so soon after the last transmission that it belongs to an earlier one.
    fn is_late(&self, size: usize, cost: Cost) -> bool {
        let smaller = self.known[size.min(self.size)].time;
        let usual = self.known[size].time.or(smaller);
        cost.copies > 1 && usual.is_some_and(|usual| cost.since_last < usual.scaled(3, 4))
    }

    /// Compares the neighbouring sizes by their measurements, and lets old measurements fade.
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

    /// Returns true if another size promises more than this one.
    fn is_better(&self, other: usize) -> bool {
        let here = self.promise(self.size).unwrap_or_default();
        let there = self.promise(other).unwrap_or_default();
        there * 100 > here * (100 + GAIN)
    }

    /// Returns the measured retransmissions of a block, in a million.
    fn seen(&self, size: usize) -> Option<u64> {
        let known = self.known.get(size).filter(|known| known.blocks > 0)?;
        Some(u64::from(known.losses) * 1_000_000 / u64::from(known.blocks))
    }

    /// Returns the expected retransmissions of a block of another size, in a million: half as many more for blocks
    /// twice as long. A fade takes those in flight when it begins, of which there are twice as many bytes, and those
    /// sent into it, which are as many as ever.
    fn expected(&self, size: usize) -> u64 {
        let here = self.seen(self.size).unwrap_or_default();
        let smaller = (size..self.size).fold(here, |lost, _| lost * 2 / 3);
        (self.size..size).fold(smaller, |lost, _| lost * 3 / 2)
    }

    /// Returns the retransmissions of a block, in a million: the measured ones, mixed with the expected ones until
    /// there are many measurements.
    fn repeats(&self, size: usize) -> u64 {
        let known = self.known[size];
        let seen = u64::from(known.losses) * 1_000_000;
        (seen + self.expected(size) * EXPECTED) / (u64::from(known.blocks) + EXPECTED)
    }

    /// Returns the estimated bytes per second of blocks of this size, from measurements and expectations.
    fn promise(&self, size: usize) -> Option<u64> {
        let time = self.known[size].time.or_else(|| self.expected_time(size))?;
        let wait = self.wait.unwrap_or(time * 2);
        let takes = time + wait.scaled(self.repeats(size), 1_000_000);
        Some(u64::from(bytes(size)) * 1_000_000_000 / takes.as_nanos().max(1))
    }

    /// Returns the expected time of a block of a size without measurements: a part of the time is the same for all.
    fn expected_time(&self, size: usize) -> Option<Duration> {
        let time = self.known[self.size].time?;
        let (here, there) = (u64::from(bytes(self.size)), u64::from(bytes(size)));
        Some(time.scaled(here + 3 * there, 4 * here))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records a block of the first size, lost once if `is_lost`.
    fn answer(choice: &mut BlockChoice, is_lost: bool) {
        let time = Duration::from_millis(10);
        let cost = Cost {
            copies: 1 + u32::from(is_lost),
            elapsed: if is_lost { time * 100 } else { time },
            since_last: time,
        };
        choice.sent(BEGIN);
        choice.ended(BEGIN, Some(cost));
    }

    fn choice() -> BlockChoice {
        BlockChoice::new(BlockSize::Auto, Transport::Datagrams)
    }

    #[test]
    fn no_other_size_is_tried_before_a_few_blocks_are_answered() {
        let mut choice = choice();
        for _ in 0..EVERY {
            choice.sent(BEGIN);
        }
        for _ in 0..TRIALS {
            assert_eq!(choice.next(BLOCK_MAX, true), BEGIN);
            answer(&mut choice, false);
        }
        assert_eq!(choice.next(BLOCK_MAX, true), BEGIN * 2);
    }

    #[test]
    fn a_larger_size_is_not_tried_where_most_of_its_blocks_would_be_lost() {
        for (lost, next) in [(3, BEGIN * 2), (4, BEGIN / 2)] {
            let mut choice = choice();
            for block in 0..10 {
                answer(&mut choice, block < lost);
            }
            assert_eq!(choice.next(BLOCK_MAX, true), next, "{lost} of 10");
        }
    }
}
