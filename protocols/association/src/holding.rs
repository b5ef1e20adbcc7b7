//! Senders of TCP that are held while the hop is silent, and connections that are kept beyond an association.

use machine::Machine;
use planted::Bug;
use units::Instant;
use wire::flow::FlowKey;
use wire::ip::Protocol;
use wire::packet::Packet;

use crate::connections::Reached;
use crate::{Association, Input, Output, TcpMethod};

impl Association {
    /// Returns the association with senders of TCP held while the hop is silent: no fade ends a connection whose next
    /// segment waits at this end. [`TcpMethod::Plain`] holds none.
    #[must_use]
    pub fn holding_senders(self) -> Self {
        let tcp = self.tcp.holding();
        Self { tcp, ..self }
    }

    /// Sends an acknowledgement for each TCP connection of this mobile host: its gateway may have lost the state of
    /// their address translation. Does nothing at a gateway.
    pub fn revive_connections(&mut self, now: Instant) {
        let flows: Vec<_> = self.tcp.connections.own().collect();
        for key in &flows {
            if let Some(packet) = self.tcp.connections.acknowledgment(key) {
                self.handle_input(now, Input::Packet(packet));
            }
        }
        self.tcp.revive(now, flows);
    }

    /// Answers a packet of TCP for the other end, which cannot; returns true if it did, and the packet need not cross.
    pub(crate) fn hold(&mut self, now: Instant, key: FlowKey, packet: &Packet) -> bool {
        let is_held = self.tcp.holds() && self.is_silent();
        if !is_held || planted::is(Bug::SendersAreNotHeld) {
            return false;
        }
        let is_kept = match self.tcp.method() {
            TcpMethod::Arq => self.arq.keeps(&key, packet),
            TcpMethod::Snoop => self.tcp.keeps(now, packet),
            TcpMethod::Plain => false,
        };
        let connections = &mut self.tcp.connections;
        let answer = connections.answer(now, &key, packet, is_kept);
        let is_answered = answer.is_some();
        self.outputs.extend(answer.map(Output::Packet));
        is_answered
    }

    /// Lets held senders go on once the hop is back.
    pub(crate) fn let_go(&mut self, now: Instant) {
        if !self.tcp.connections.are_held() || self.is_silent() {
            return;
        }
        self.let_senders_go(now);
        self.carry_tcp(now);
    }

    /// Lets held senders go on, whether the hop is back or not: another association is to carry what they send.
    pub fn let_senders_go(&mut self, now: Instant) {
        for (key, packet) in self.tcp.connections.let_go() {
            self.outputs.push_back(Output::Packet(packet));
            self.tcp.resume(now, &key);
        }
    }

    /// Returns the flows of TCP from the other end in which packets have been passed on since this time, and how far
    /// each has come.
    pub fn received_since(&self, since: Instant) -> impl Iterator<Item = (FlowKey, Reached)> + '_ {
        self.tcp.connections.received_since(since)
    }

    /// Passes on a packet that has crossed the hop.
    pub(crate) fn release(&mut self, now: Instant, packet: Packet) {
        if self.tcp.wants_received()
            && let Some(ip) = packet.ip()
            && ip.protocol() == Protocol::TCP
        {
            let key = FlowKey::of(&ip).reversed();
            self.tcp.received(now, key, &packet);
        }
        self.outputs.push_back(Output::Packet(packet));
    }

    fn is_silent(&self) -> bool {
        !self.link.is_up || self.arq.fade_since().is_some()
    }
}
