//! The fades that the monitor of a base station detects, and the cost of fades and probes.

use units::{Duration, Instant};

/// A recorder of fades, marks and turns.
#[derive(Debug, Clone)]
pub(crate) struct FadeObserver {
    each: Vec<Seen>,
    account: Account,
}

/// Counters of fades and turns.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Account {
    /// Fades that have ended.
    pub(crate) fades: u64,
    /// Fades that ended before their mobile host was marked.
    pub(crate) unnoticed: u64,
    /// Time from the beginning of the other fades to the mark, summed.
    pub(crate) noticing: Duration,
    /// Time during which mobile hosts with good channels were marked, summed.
    pub(crate) stale: Duration,
    /// Turns that followed another one of the same mobile host.
    pub(crate) turns: u64,
    /// Time from each of these to the next, summed.
    pub(crate) between: Duration,
    /// Airtime of packets.
    pub(crate) used: Duration,
    /// Part of that airtime for packets that were lost, or whose acknowledgements were.
    pub(crate) lost: Duration,
    /// Airtime of probes.
    pub(crate) probed: Duration,
}

/// The observed state of a mobile host.
#[derive(Debug, Clone, Copy)]
struct Seen {
    is_good: bool,
    is_marked: bool,
    /// Time of the last change of its channel.
    changed: Instant,
    /// Time since which it is marked although good.
    stale: Option<Instant>,
    /// True if its fade was noticed.
    noticed: bool,
    /// Time at which its last turn ended.
    turn: Option<Instant>,
}

impl FadeObserver {
    /// Creates `count` mobile hosts with good channels, unmarked.
    pub(crate) fn new(count: u16) -> Self {
        let seen = Seen {
            is_good: true,
            is_marked: false,
            changed: Instant::ZERO,
            stale: None,
            noticed: false,
            turn: None,
        };
        Self {
            each: vec![seen; usize::from(count)],
            account: Account::default(),
        }
    }

    /// Returns the counters.
    pub(crate) fn account(&self) -> &Account {
        &self.account
    }

    /// Notes that a channel changed.
    pub(crate) fn changed(&mut self, now: Instant, mobile: u16, is_good: bool) {
        self.update(now, mobile, |seen, account| {
            if is_good && !seen.is_good {
                account.fades += 1;
                account.unnoticed += u64::from(!seen.noticed);
            }
            seen.is_good = is_good;
            seen.changed = now;
            seen.noticed = false;
        });
        self.notice(now, mobile);
    }

    /// Notes that a mobile host was marked or unmarked.
    pub(crate) fn marked(&mut self, now: Instant, mobile: u16, is_marked: bool) {
        self.update(now, mobile, |seen, _| seen.is_marked = is_marked);
        self.notice(now, mobile);
    }

    fn notice(&mut self, now: Instant, mobile: u16) {
        self.update(now, mobile, |seen, account| {
            if seen.is_marked && !seen.is_good && !seen.noticed {
                seen.noticed = true;
                account.noticing += now.since(seen.changed);
            }
        });
    }

    /// Notes that a turn ended, with the airtime used.
    pub(crate) fn ended(
        &mut self,
        now: Instant,
        (mobile, airtime): (u16, Duration),
        (is_packet, is_lost): (bool, bool),
    ) {
        self.update(now, mobile, |seen, account| {
            if !is_packet {
                account.probed += airtime;
                return;
            }
            account.used += airtime;
            if is_lost {
                account.lost += airtime;
            }
            if let Some(before) = seen.turn.replace(now) {
                account.turns += 1;
                account.between += now.since(before);
            }
        });
    }

    fn update(&mut self, now: Instant, mobile: u16, change: impl FnOnce(&mut Seen, &mut Account)) {
        let Some(seen) = self.each.get_mut(usize::from(mobile)) else {
            return;
        };
        change(seen, &mut self.account);
        match (seen.stale, seen.is_good && seen.is_marked) {
            (None, true) => seen.stale = Some(now),
            (Some(since), false) => {
                self.account.stale += now.since(since);
                seen.stale = None;
            }
            _ => {}
        }
    }
}
