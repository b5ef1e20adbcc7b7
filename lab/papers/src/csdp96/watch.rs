//! What a base station's monitor sees of fades, and what fades and probes cost.

use units::{Duration, Instant};

/// Keeps account of fades, marks and turns.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    each: Vec<Seen>,
    account: Account,
}

/// What became of fades and turns.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Account {
    /// Fades that have ended.
    pub(crate) fades: u64,
    /// Those that had when their mobile host was marked, if it was.
    pub(crate) unnoticed: u64,
    /// From the beginnings of the others to the marks.
    pub(crate) noticing: Duration,
    /// For how long mobile hosts with good channels were marked, all together.
    pub(crate) stale: Duration,
    /// Turns that followed another one of the same mobile host.
    pub(crate) turns: u64,
    /// From each of these to the next.
    pub(crate) between: Duration,
    /// For how long the air was used for packets.
    pub(crate) used: Duration,
    /// For how long of that, for those that the channel lost, or their acknowledgements.
    pub(crate) lost: Duration,
    /// For how long it was used for probes.
    pub(crate) probed: Duration,
}

/// A mobile host.
#[derive(Debug, Clone, Copy)]
struct Seen {
    is_good: bool,
    is_marked: bool,
    /// When its channel last changed.
    changed: Instant,
    /// When it last became so that it is marked and good.
    stale: Option<Instant>,
    /// Its fade was noticed.
    noticed: bool,
    /// When its last turn ended.
    turn: Option<Instant>,
}

impl Watch {
    /// So many mobile hosts with good channels, unmarked.
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

    /// What was seen so far.
    pub(crate) fn account(&self) -> &Account {
        &self.account
    }

    /// A channel changed.
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

    /// A mobile host was marked, or unmarked.
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

    /// A turn ended in which the air was used so long.
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
