//! What troubles two hosts beside their channel: a host that gets no processor, and a hop that reorders.

use std::collections::{BTreeMap, VecDeque};

use hosts::Input;
use machine::RandomStream;
use units::{Duration, Instant};
use wire::packet::PacketBuffer;

/// A host that runs only for the beginning of each period.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    pub(crate) runs: Duration,
    pub(crate) period: Duration,
    /// From when until when it is so.
    pub(crate) from: Instant,
    pub(crate) until: Instant,
}

impl Share {
    /// One that runs so long of each period, always.
    pub(crate) fn of(runs: Duration, period: Duration) -> Self {
        Self {
            runs,
            period,
            from: Instant::ZERO,
            until: Instant::ZERO + Duration::from_secs(3_600),
        }
    }

    /// When the host runs next: `now`, if it does.
    fn runs_at(self, now: Instant) -> Instant {
        if now < self.from || now >= self.until {
            return now;
        }
        let within = Duration::from_nanos(now.since(self.from).as_nanos() % self.period.as_nanos());
        if within < self.runs {
            now
        } else {
            (now + (self.period - within)).min(self.until)
        }
    }
}

/// All of it.
pub(crate) struct Trouble {
    pub(crate) shares: [Option<Share>; 2],
    /// What waits for each host to run.
    pub(crate) waiting: [VecDeque<Input>; 2],
    /// Each datagram takes up to so much longer, whatever the others do.
    pub(crate) jitter: Duration,
    chance: RandomStream,
    late: BTreeMap<(Instant, u64), (usize, PacketBuffer)>,
    count: u64,
}

impl Trouble {
    /// None, until it is asked for.
    pub(crate) fn none(seed: u64) -> Self {
        Self {
            shares: [None; 2],
            waiting: [VecDeque::new(), VecDeque::new()],
            jitter: Duration::ZERO,
            chance: RandomStream::named(seed, "jitter"),
            late: BTreeMap::new(),
            count: 0,
        }
    }

    /// When a host runs next; `now` if it does.
    pub(crate) fn runs_at(&self, host: usize, now: Instant) -> Instant {
        self.shares[host].map_or(now, |share| share.runs_at(now))
    }

    pub(crate) fn runs(&self, host: usize, now: Instant) -> bool {
        self.runs_at(host, now) == now
    }

    /// When a host does what is due at `deadline` or waits already.
    pub(crate) fn deadline(
        &self,
        host: usize,
        now: Instant,
        deadline: Option<Instant>,
    ) -> Option<Instant> {
        let waits = (!self.waiting[host].is_empty()).then_some(now);
        let due = machine::earlier(deadline, waits)?;
        Some(self.runs_at(host, due.max(now)))
    }

    /// A datagram has left the channel.
    pub(crate) fn delay(&mut self, now: Instant, payload: (usize, PacketBuffer)) {
        let at = now + self.chance.uniform(Duration::ZERO, self.jitter);
        self.count += 1;
        self.late.insert((at, self.count), payload);
    }

    /// When the next of them arrives.
    pub(crate) fn next_late(&self) -> Option<Instant> {
        self.late.keys().next().map(|(at, _)| *at)
    }

    /// One that has.
    pub(crate) fn arrived(&mut self, now: Instant) -> Option<(usize, PacketBuffer)> {
        let first = self.late.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}
