//! Time passes for a pair, and for what else crosses its channel.

use std::ops::Range;

use channel::Direction;
use machine::{Machine, earlier};
use rivals::Kind;
use units::{Duration, Instant};

use super::stalls::Stalls;
use super::{Cargo, GATEWAY, MOBILE, Pair, ends};

impl Pair {
    /// Somebody else downloads across the same channel all that he can while `span` lasts; returns his number.
    pub(crate) fn add_rival(&mut self, kind: Kind, span: Range<Instant>) -> usize {
        self.rivals.add(kind, Direction::Down, span)
    }

    /// Bytes that a rival has got so far.
    pub(crate) fn rival_delivered(&self, number: usize) -> u64 {
        self.rivals.delivered(number)
    }

    /// Lets the rivals act, and puts what they send on the channel.
    fn compete(&mut self) {
        self.rivals.handle_timeout(self.now);
        while let Some(crossing) = self.rivals.poll_crossing() {
            let input = channel::Input::Send {
                direction: crossing.direction(),
                size: crossing.size(),
                payload: Cargo::Rival(crossing),
            };
            self.channel.handle_input(self.now, input);
            self.drain_channel();
        }
    }

    /// A host gets the processor only for the first `runs` of each `period`: what comes meanwhile waits, with the
    /// times of its arrival, and so do its deadlines. Nothing of it from `end` on.
    pub(crate) fn stall(
        &mut self,
        host: usize,
        (runs, period): (Duration, Duration),
        end: Instant,
    ) {
        self.stalls[host] = Stalls::new((runs, period), self.now..end);
    }

    pub(crate) fn run_until(&mut self, end: Instant) {
        while self.now < end {
            self.feed();
            self.request();
            self.exchange();
            self.run_rivals(end);
            let next = earlier(self.next_own(), self.channel.poll_timeout());
            let next = earlier(next, self.rivals.poll_timeout());
            self.now = self.now.max(next.unwrap_or(end).min(end));
            if let Some(ends) = &mut self.ends {
                ends.handle_timeout(self.now);
            }
            self.channel.handle_timeout(self.now);
            self.drain_channel();
            self.compete();
            for host in [MOBILE, GATEWAY] {
                self.wake(host);
            }
        }
    }

    /// What has waited for a host that has the processor again, and what is due.
    fn wake(&mut self, host: usize) {
        let now = self.now;
        while let Some(input) = self.stalls[host].release(now) {
            self.act(host, |machine| machine.handle_input(now, input));
        }
        if self.stalls[host].runs(now) {
            self.act(host, |machine| machine.handle_timeout(now));
        }
    }

    /// When a host acts next by itself.
    fn next_of(&self, host: usize) -> Option<Instant> {
        let stalls = &self.stalls[host];
        if stalls.runs(self.now) {
            return self.hosts[host].poll_timeout();
        }
        let resumes = stalls.resumes(self.now);
        let due = self.hosts[host].poll_timeout();
        earlier(
            stalls.holds().then_some(resumes),
            due.map(|due| due.max(resumes)),
        )
    }

    /// When a host, or what stands behind one, has something to do.
    fn next_own(&self) -> Option<Instant> {
        let deadlines = [
            self.next_of(MOBILE),
            self.next_of(GATEWAY),
            self.requests.as_ref().map(|(_, _, next)| *next),
            self.ends.as_ref().and_then(ends::Ends::poll_timeout),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// While nothing happens but to rivals, time passes without a look at the hosts.
    fn run_rivals(&mut self, end: Instant) {
        if self.rivals.is_empty() {
            return;
        }
        let until = self.next_own().unwrap_or(end).min(end);
        loop {
            let mine = self.datagrams;
            let next = earlier(self.channel.poll_timeout(), self.rivals.poll_timeout());
            let Some(next) = next.filter(|next| *next < until) else {
                break;
            };
            self.now = self.now.max(next);
            self.channel.handle_timeout(self.now);
            self.drain_channel();
            self.compete();
            if self.datagrams != mine {
                break;
            }
        }
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        self.run_until(self.now + span);
    }
}
