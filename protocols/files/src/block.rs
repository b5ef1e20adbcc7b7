//! How many bytes one READ or WRITE moves.
//!
//! A block crosses as one datagram, which is lost with any of its fragments; a larger one is lost more often, and costs
//! more to send again, but asks for fewer answers. Dube, Rais and Tripathi found 4,096 bytes best on their hop, where
//! 8,192 overran a receiver. `auto` goes by what is measured: the bytes of a block over the time that it takes until it
//! is answered, repeats included.

use rpc::Transport;
use units::Duration;

use crate::BlockSize;
use crate::config::{BLOCK_MAX, BLOCK_MIN};

/// What `auto` begins with over datagrams: the papers' best.
const BEGIN: u32 = 4_096;
/// The sizes that it chooses from: 1,024 doubled.
const SIZES: usize = (BLOCK_MAX / BLOCK_MIN).ilog2() as usize + 1;
/// What a packet carries of a datagram where nothing else is known: IP's 20 bytes off the 1,500 of Ethernet.
const FRAGMENT: u32 = 1_480;
/// What a block takes beside its bytes, about.
const HEADERS: u32 = 140;
/// Blocks after which a size is judged.
const ROUND: u32 = 16;
/// What is known of a size counts half when so many blocks are known.
const MEMORY: u32 = 512;
/// The losses that other sizes make expect count as much as so many blocks.
const EXPECTED: u64 = 12;
/// Another size must promise so much more to be taken, in percent, and a larger one so much more to be tried.
const GAIN: u64 = 5;
const GAIN_TO_TRY: u64 = 10;
/// Answers without a loss that a larger size must have had to be taken.
const TRIALS: u32 = 4;
/// Blocks between two trials: as long as none is lost; after a loss, doubled with each one more.
const BETWEEN_TRIALS: u32 = 2;
const AFTER_LOSS: u32 = 64;
const AFTER_LOSSES_MAX: u32 = 4_096;

/// What is known of blocks of one size.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    blocks: u32,
    losses: u32,
    /// How long one takes that is not lost.
    time: Option<Duration>,
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
    round: u32,
    trial: Trial,
}

/// The next larger size is tried with one block at a time: where it is never answered, as few bytes wait for that as
/// can be.
#[derive(Debug, Clone, Copy)]
struct Trial {
    under_way: bool,
    /// Blocks since the last one, and how many there are to be.
    since: u32,
    pause: u32,
}

/// A part `share` of a thousand nearer to what is new.
fn nearer(old: Option<Duration>, new: Duration, share: u64) -> Duration {
    let old = old.unwrap_or(new);
    old.scaled(1_000 - share, 1_000) + new.scaled(share, 1_000)
}

fn bytes(size: usize) -> u32 {
    BLOCK_MIN << size
}

/// Packets that a block takes.
fn fragments(size: usize) -> u64 {
    u64::from((bytes(size) + HEADERS).div_ceil(FRAGMENT))
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
            round: 0,
            trial: Trial {
                under_way: false,
                since: 0,
                pause: BETWEEN_TRIALS,
            },
        }
    }

    /// The size at present, in bytes.
    pub(crate) fn bytes(&self) -> u32 {
        match self.rule {
            BlockSize::Fixed(size) => size,
            BlockSize::Auto => bytes(self.size),
        }
    }

    /// The size that the next block is to have, in bytes, where the server takes blocks of so many.
    pub(crate) fn next(&self, limit: u32) -> u32 {
        let larger = self.size + 1;
        let due = !self.trial.under_way && self.trial.since >= self.trial.pause;
        if self.rule == BlockSize::Auto && due && larger < SIZES && bytes(larger) <= limit {
            let here = self
                .promise(self.size)
                .filter(|_| self.known[self.size].blocks >= TRIALS);
            let there = self.promise(larger).unwrap_or_default();
            if here.is_some_and(|here| there * 100 > here * (100 + GAIN_TO_TRY)) {
                return bytes(larger);
            }
        }
        self.bytes().min(limit)
    }

    /// A block of so many bytes was sent.
    pub(crate) fn sent(&mut self, length: u32) {
        if self.rule == BlockSize::Auto && length > bytes(self.size) {
            self.trial.under_way = true;
            self.trial.since = 0;
        } else {
            self.trial.since = self.trial.since.saturating_add(1);
        }
    }

    /// It will not be answered.
    pub(crate) fn failed(&mut self, length: u32) {
        if length > bytes(self.size) {
            self.trial.under_way = false;
        }
    }

    /// A block of so many bytes was answered, sent so often; it accounts for `elapsed`.
    pub(crate) fn answered(&mut self, length: u32, transmissions: u32, elapsed: Duration) {
        if self.rule != BlockSize::Auto || !length.is_power_of_two() || length < BLOCK_MIN {
            self.failed(length);
            return;
        }
        let size = ((length / BLOCK_MIN).ilog2() as usize).min(SIZES - 1);
        let losses = transmissions.saturating_sub(1);
        self.learn(size, losses, elapsed);
        if size > self.size {
            self.tried(size, losses);
        } else if size == self.size {
            self.round += 1;
            if self.round >= ROUND {
                self.round = 0;
                self.shrink();
            }
        }
    }

    fn learn(&mut self, size: usize, losses: u32, elapsed: Duration) {
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
        let known = &mut self.known[size];
        if known.blocks >= MEMORY {
            known.blocks /= 2;
            known.losses /= 2;
        }
    }

    /// A trial has ended.
    fn tried(&mut self, size: usize, losses: u32) {
        self.trial.under_way = false;
        if losses > 0 {
            let pause = (self.trial.pause * 2).clamp(AFTER_LOSS, AFTER_LOSSES_MAX);
            self.trial.pause = pause;
        } else if self.known[size].blocks >= TRIALS && self.is_better(size) {
            self.size = size;
            self.round = 0;
            self.trial.pause = BETWEEN_TRIALS;
        }
    }

    /// Whether another size promises more than this one.
    fn is_better(&self, other: usize) -> bool {
        let here = self.promise(self.size).unwrap_or_default();
        let there = self.promise(other).unwrap_or_default();
        there * 100 > here * (100 + GAIN)
    }

    /// Takes the next smaller size if it promises more.
    fn shrink(&mut self) {
        if self.size > 0 && self.is_better(self.size - 1) {
            self.size -= 1;
            self.trial.under_way = false;
            self.trial.since = 0;
            self.trial.pause = self.trial.pause.max(AFTER_LOSS);
        }
    }

    /// Losses of a packet, in a million: over all sizes, as if every packet were lost alike.
    fn loss_of_fragment(&self) -> u64 {
        let fragments = self.known.iter().enumerate().map(|(size, known)| {
            let sent = u64::from(known.blocks + known.losses);
            (u64::from(known.losses), sent * fragments(size))
        });
        let (losses, sent) = fragments.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        losses * 1_000_000 / sent.max(1)
    }

    /// How many bytes of such blocks are moved in a second, by what is known and what is to be expected.
    fn promise(&self, size: usize) -> Option<u64> {
        let known = self.known[size];
        let time = known.time.or_else(|| self.expected_time(size))?;
        // Repeats of a block, in a million: those that were seen, and those that other sizes make expect.
        let expected = self.loss_of_fragment() * fragments(size);
        let seen = u64::from(known.losses) * 1_000_000;
        let repeats = (seen + expected * EXPECTED) / (u64::from(known.blocks) + EXPECTED);
        let wait = self.wait.unwrap_or(time * 2);
        let takes = time + wait.scaled(repeats, 1_000_000);
        Some(u64::from(bytes(size)) * 1_000_000_000 / takes.as_nanos().max(1))
    }

    /// How long a block of a size takes of which none was seen: a part of the time is the same for all.
    fn expected_time(&self, size: usize) -> Option<Duration> {
        let time = self.known[self.size].time?;
        let (here, there) = (u64::from(bytes(self.size)), u64::from(bytes(size)));
        Some(time.scaled(here + 3 * there, 4 * here))
    }
}
