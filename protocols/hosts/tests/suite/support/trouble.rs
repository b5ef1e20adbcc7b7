//! The troubles of two hosts beside their channel: a host that gets no processor, and a hop that reorders.

use std::collections::{BTreeMap, VecDeque};

use channel::Direction;
use hosts::Input;
use machine::{Machine, RandomStream};
use units::{BitRate, Bytes, Duration, Instant};
use wire::packet::PacketBuffer;

use super::{Cargo, Pair};

/// Inputs that a host's sockets hold for it; the kernel drops more.
const HELD: usize = 20_000;

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

/// Packets of others on the way to the mobile host, in bursts that fill the queue and let it empty again.
pub(crate) struct Others {
    gap: Duration,
    pub(crate) next: Instant,
}

/// Their size on the wire.
pub(crate) const OTHERS_SIZE: u64 = 1_500;
/// They send for so long of each period.
const OTHERS_RUN: Share = Share {
    runs: Duration::from_millis(700),
    period: Duration::from_millis(1_000),
    from: Instant::ZERO,
    until: Instant::from_millis(3_600_000),
};

impl Others {
    /// Returns other hosts that send at this rate.
    pub(crate) fn of(rate: BitRate) -> Self {
        Self {
            gap: rate.time_for(Bytes::new(OTHERS_SIZE)),
            next: Instant::ZERO,
        }
    }

    /// Returns true if a datagram leaves now.
    pub(crate) fn leaves(&mut self, now: Instant) -> bool {
        let leaves = self.next <= now;
        if leaves {
            self.next = OTHERS_RUN.runs_at(now + self.gap);
        }
        leaves
    }
}

/// All of it.
pub(crate) struct Trouble {
    pub(crate) shares: [Option<Share>; 2],
    /// Inputs that wait for each host to run.
    pub(crate) waiting: [VecDeque<Input>; 2],
    /// Each datagram takes up to so much longer, whatever the others do.
    pub(crate) jitter: Duration,
    pub(crate) others: Option<Others>,
    /// Number of those that found the queue full.
    pub(crate) others_dropped: u64,
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
            others: None,
            others_dropped: 0,
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

    /// The input, if the host can act on it at once; else it waits.
    pub(crate) fn pass(&mut self, host: usize, now: Instant, input: Input) -> Option<Input> {
        if self.runs(host, now) && self.waiting[host].is_empty() {
            return Some(input);
        }
        if self.waiting[host].len() < HELD {
            self.waiting[host].push_back(input);
        }
        None
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

impl Pair {
    /// A host gets the processor only for the first `runs` of each `period`: what comes meanwhile waits, with the
    /// times of its arrival, and so do its deadlines. Nothing of it from `end` on.
    pub(crate) fn stall(
        &mut self,
        host: usize,
        (runs, period): (Duration, Duration),
        end: Instant,
    ) {
        assert!(runs < period && !runs.is_zero(), "a part of the period");
        self.trouble.shares[host] = Some(Share {
            runs,
            period,
            from: self.now,
            until: end,
        });
    }

    /// Others use the hop too.
    pub(super) fn send_others(&mut self) {
        let now = self.now;
        if self
            .trouble
            .others
            .as_mut()
            .is_some_and(|others| others.leaves(now))
        {
            let input = channel::Input::Send {
                direction: Direction::Down,
                size: Bytes::new(OTHERS_SIZE),
                payload: Cargo::Other,
            };
            self.channel.handle_input(now, input);
            self.drain_channel();
        }
    }

    pub(super) fn host_deadline(&self, host: usize) -> Option<Instant> {
        let deadline = self.hosts[host].poll_timeout();
        self.trouble.deadline(host, self.now, deadline)
    }

    /// A host does what is due.
    pub(super) fn run_host(&mut self, host: usize) {
        let now = self.now;
        if !self.trouble.runs(host, now) {
            return;
        }
        // As in the daemons, arrived frames are handed in before a missed deadline.
        while let Some(input) = self.trouble.waiting[host].pop_front() {
            self.act(host, |machine| machine.handle_input(now, input));
        }
        let due = self.hosts[host].poll_timeout();
        if due.is_some_and(|due| due <= now) {
            self.wakes[host] += 1;
            self.act(host, |machine| machine.handle_timeout(now));
        } else {
            self.hand_in_events();
        }
    }
}
