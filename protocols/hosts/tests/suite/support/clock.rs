//! Time passes for a pair, and for what else crosses its channel.

use std::ops::Range;

use channel::Direction;
use hosts::Input;
use machine::{Machine, earlier};
use rivals::Kind;
use units::{BitRate, Bytes, Duration, Instant};

use super::{Cargo, GATEWAY, MOBILE, Pair, ends};

impl Pair {
    /// Sends the next request of the mobile host, if it is due.
    fn request(&mut self) {
        if let Some((up, _, next)) = &mut self.requests
            && *next <= self.now
        {
            *next += Duration::from_millis(100);
            let packet = up.packet(200);
            self.waiting.push_back(self.now);
            self.input(MOBILE, Input::Packet(packet));
        }
    }

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

    /// Lets so much time pass; returns the longest wait for a download meanwhile, on a hop of this rate, and whether
    /// it is as on a hop that has always had it to itself.
    pub(crate) fn watch_queue(&mut self, span: Duration, rate: BitRate) -> (Duration, bool) {
        let end = self.now + span;
        let mut most = Bytes::ZERO;
        while self.now < end {
            most = most.max(self.channel.waiting(Direction::Down).bytes);
            self.run_for(Duration::from_millis(10));
        }
        let frames = rate.time_for(Bytes::new(1_514)) * 4;
        let waits = rate.time_for(most);
        (waits, waits < Duration::from_millis(15) + frames)
    }

    /// Lets so much time pass; returns the payload that comes to `port` meanwhile, of what `rate` carries.
    pub(crate) fn used(&mut self, port: u16, rate: BitRate, span: Duration) -> f64 {
        let before = self.received(port).payload;
        self.run_for(span);
        let received = self.received(port);
        assert!(received.in_order);
        (received.payload - before) as f64 / rate.bytes_in(span).get() as f64
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
            self.deliver_by_tls();
            self.compete();
            self.send_others();
            for host in [MOBILE, GATEWAY] {
                self.run_host(host);
            }
            self.tell_of_paths();
        }
    }

    /// When a host, what stands behind one, or what troubles them has something to do.
    fn next_own(&self) -> Option<Instant> {
        let deadlines = [
            self.host_deadline(MOBILE),
            self.host_deadline(GATEWAY),
            self.trouble.next_late(),
            self.place.tls.next(),
            self.trouble.others.as_ref().map(|others| others.next),
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
