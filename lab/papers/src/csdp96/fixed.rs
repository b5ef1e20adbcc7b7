//! The fixed hosts: each has one TCP, and an application that writes all its data at once.

use std::collections::VecDeque;

use machine::{Machine, earlier};
use simulator::{Input, Output};
use tcp::Endpoint;
use units::{Duration, Instant};

use super::flow::FlowSender;
use super::interface::{Event, WIRED};
use super::packet::{Content, Packet};

/// The fixed hosts, which share a wire.
#[derive(Debug)]
pub(crate) struct FixedHosts {
    hosts: Vec<Host>,
    /// Senders of flows; the numbers of their mobile hosts follow those of the connections.
    talkers: Vec<FlowSender>,
    /// Time at which all hosts connect, and the bytes that each then writes; `None` once they did.
    begin: Option<(Instant, u64)>,
    /// Datagrams to send.
    spoken: VecDeque<Packet>,
    /// Index of the host whose outputs are taken next.
    next: usize,
}

/// A fixed host.
#[derive(Debug)]
pub(crate) struct Host {
    endpoint: Endpoint,
    longest_timeout: Duration,
}

impl Host {
    /// Returns its TCP.
    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns the longest retransmission timeout since it has measured its round-trip time.
    pub(crate) fn longest_timeout(&self) -> Duration {
        self.longest_timeout
    }

    fn look(&mut self) {
        if self.endpoint.smoothed_round_trip().is_some() {
            let timeout = self.endpoint.retransmission_timeout();
            self.longest_timeout = self.longest_timeout.max(timeout);
        }
    }
}

impl FixedHosts {
    /// Creates hosts that each connect at `begin` and send `transfer` bytes, and the senders of flows.
    pub(crate) fn new(
        endpoints: Vec<Endpoint>,
        (begin, transfer): (Instant, u64),
        talkers: Vec<FlowSender>,
    ) -> Self {
        let hosts = endpoints.into_iter().map(|endpoint| Host {
            endpoint,
            longest_timeout: Duration::ZERO,
        });
        Self {
            hosts: hosts.collect(),
            talkers,
            spoken: VecDeque::new(),
            begin: Some((begin, transfer)),
            next: 0,
        }
    }

    /// Returns the hosts, by the number of the mobile host that they send to.
    pub(crate) fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Returns the senders of flows.
    pub(crate) fn talkers(&self) -> &[FlowSender] {
        &self.talkers
    }

    fn talk(&mut self, now: Instant) {
        for (number, talker) in (self.hosts.len()..).zip(&mut self.talkers) {
            let mobile = u16::try_from(number).unwrap_or(u16::MAX);
            while let Some(length) = talker.talk(now) {
                let content = Content::Datagram { length, sent: now };
                self.spoken.push_back(Packet { mobile, content });
            }
        }
    }
}

impl Machine for FixedHosts {
    type Input = Input<Packet>;
    type Output = Output<Packet, Event>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        if let Input::Packet { packet, .. } = input
            && let Content::Segment(segment) = packet.content
        {
            self.next = usize::from(packet.mobile);
            if let Some(host) = self.hosts.get_mut(self.next) {
                host.endpoint
                    .handle_input(now, tcp::Input::Segment(segment));
                host.look();
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.talk(now);
        self.next = 0;
        let begins = self.begin.take_if(|(begin, _)| *begin <= now);
        for host in &mut self.hosts {
            if let Some((_, transfer)) = begins {
                host.endpoint.handle_input(now, tcp::Input::Connect);
                host.endpoint.handle_input(now, tcp::Input::Write(transfer));
                host.endpoint.handle_input(now, tcp::Input::Close);
            } else if host.endpoint.poll_timeout().is_some_and(|due| due <= now) {
                host.endpoint.handle_timeout(now);
                host.look();
            }
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        if let Some(packet) = self.spoken.pop_front() {
            let port = WIRED;
            return Some(Output::Send { port, packet });
        }
        while let Some(host) = self.hosts.get_mut(self.next) {
            let mobile = u16::try_from(self.next).unwrap_or(u16::MAX);
            while let Some(output) = host.endpoint.poll_output() {
                match output {
                    tcp::Output::Segment(segment) => {
                        let content = Content::Segment(segment);
                        let (port, packet) = (WIRED, Packet { mobile, content });
                        return Some(Output::Send { port, packet });
                    }
                    tcp::Output::Reset => return Some(Output::Event(Event::Broken(mobile))),
                    _ => {}
                }
            }
            self.next += 1;
        }
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let hosts = self.hosts.iter();
        let hosts = hosts.filter_map(|host| host.endpoint.poll_timeout()).min();
        let begin = self.begin.map(|(begin, _)| begin);
        let talks = self.talkers.iter().map(FlowSender::next).min();
        earlier(earlier(hosts, begin), talks)
    }
}
