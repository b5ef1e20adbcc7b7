//! The number of blocks in flight at once.

use units::Duration;

use crate::Window;

/// Initial window, and its least value unless replies are late.
const LEAST: u64 = 4;
/// Largest window, which leaves room for calls other than blocks.
const MOST: u64 = 224;
/// Bounds of the number of blocks that wait for others on the path: with fewer the path is not full, and more only
/// wait.
const WAITING_LEAST: u64 = 2;
const WAITING_MOST: u64 = 6;

/// Pace of a block that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Time from the only transmission to the reply.
    AtFirst(Duration),
    /// Time from the last transmission to the reply.
    Repeated(Duration),
}

/// Counts blocks in flight and limits their number. `auto` finds the limit as Vegas does (Brakmo et al. 1994): it
/// compares the time until a reply with the time of a block that waits for no other, and so estimates how many blocks
/// only wait.
///
/// If every block of a round is retransmitted before its reply, that is not known. A reply that comes sooner after the
/// last transmission than any block takes is a late one to an earlier transmission: there are too many blocks.
#[derive(Debug, Clone)]
pub(crate) struct BlockWindow {
    rule: Window,
    in_flight: u64,
    limit: u64,
    /// Least time of a block, in each of two periods, as an estimate of one that waits for no other.
    fastest: [Option<Duration>; 2],
    /// In this round: replies, the least time of those without retransmission, and true if one was late.
    answers: u64,
    of_round: Option<Duration>,
    late: bool,
    rounds: u64,
    starting: bool,
    /// True if the replies of this round are to blocks sent under an earlier limit.
    settling: bool,
}

/// Time up to which a block counts as fast.
const FAST: Duration = Duration::from_millis(20);

/// Rounds after which an old least time is dropped, because the path may have changed.
const PERIOD: u64 = 256;

fn faster(one: Option<Duration>, other: Duration) -> Duration {
    one.map_or(other, |one| one.min(other))
}

impl BlockWindow {
    pub(crate) fn new(rule: Window) -> Self {
        Self {
            rule,
            in_flight: 0,
            limit: match rule {
                Window::Auto => LEAST,
                Window::Fixed(blocks) => blocks as u64,
            },
            fastest: [None; 2],
            answers: 0,
            of_round: None,
            late: false,
            rounds: 0,
            starting: true,
            // The first blocks are sent together, and the first of them waits for no other.
            settling: true,
        }
    }

    /// Returns the limit of blocks in flight.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns true if blocks that take this long wait for others: then larger ones bring no more, and take longer.
    /// Times that are fast for people do not count: there, calls cost more than bytes. A single block in flight waits
    /// for no other.
    pub(crate) fn is_crowded(&self, time: Duration) -> bool {
        let alone = self.alone();
        self.limit > 1 && time > FAST && alone.is_some_and(|alone| time > alone * 2)
    }

    /// Returns the time of a block that waits for no other.
    fn alone(&self) -> Option<Duration> {
        self.fastest.iter().flatten().min().copied()
    }

    /// Returns true if another block may be sent.
    pub(crate) fn has_room(&self) -> bool {
        self.in_flight < self.limit
    }

    /// Records that a block was sent.
    pub(crate) fn sent(&mut self) {
        self.in_flight += 1;
    }

    /// Records that a block is no longer in flight; `pace` if it was answered.
    pub(crate) fn ended(&mut self, pace: Option<Pace>) {
        let was_full = self.in_flight >= self.limit;
        self.in_flight -= 1;
        match pace {
            Some(Pace::AtFirst(span)) => {
                self.fastest[0] = Some(faster(self.fastest[0], span));
                self.of_round = Some(faster(self.of_round, span));
            }
            Some(Pace::Repeated(span)) => {
                self.late |= self.alone().is_some_and(|alone| span < alone);
            }
            None => {}
        }
        self.answers += 1;
        if self.answers >= self.limit {
            self.end_round(was_full);
        }
    }

    /// Ends a round, after as many replies as the limit of blocks.
    fn end_round(&mut self, was_full: bool) {
        self.answers = 0;
        self.rounds += 1;
        let (fastest, late) = (self.of_round.take(), std::mem::take(&mut self.late));
        if self.rule == Window::Auto && !std::mem::take(&mut self.settling) {
            let before = self.limit;
            match fastest {
                Some(fastest) => self.judge(fastest, was_full),
                None if late => self.limit = (self.limit / 2).max(1),
                None => {}
            }
            self.settling = self.limit != before;
        }
        if self.rounds >= PERIOD {
            self.rounds = 0;
            self.fastest = [None, self.fastest[0]];
        }
    }

    /// Sets the window by the least time of a block in the round.
    fn judge(&mut self, fastest: Duration, was_full: bool) {
        let Some(alone) = self.alone() else {
            return;
        };
        let enough = if self.limit < LEAST { 1 } else { WAITING_LEAST };
        let waiting = self.limit - self.limit * alone.as_nanos() / fastest.as_nanos().max(1);
        if waiting > WAITING_MOST {
            self.starting = false;
            self.limit = (self.limit - 1).max(LEAST);
        } else if waiting < enough && was_full {
            self.limit += if self.starting { self.limit } else { 1 };
        } else if was_full {
            self.starting = false;
        }
        self.limit = self.limit.min(MOST);
    }
}
