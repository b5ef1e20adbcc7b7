//! The agent of the gateway.

use std::net::SocketAddr;

use machine::Machine;
use units::Instant;
use wire::tcp::TcpFlags;

use crate::effects::{Context, Effects};
use crate::flow::Flow;
use crate::table::Table;
use crate::{Config, Counters, FlowName, Header, Input, Output, Segment};

/// Watches the TCP connections between mobile hosts and fixed hosts; see the crate's documentation.
#[derive(Debug)]
pub struct Agent<P> {
    config: Config,
    flows: Table<Flow<P>>,
    /// Cost of all caches, in bytes.
    bytes: u64,
    effects: Effects<P>,
}

/// Side from which a packet came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Fixed,
    Mobile,
}

impl<P: Segment> Agent<P> {
    /// Returns an agent without connections.
    pub fn new(config: Config) -> Self {
        Self {
            flows: Table::new(config.limits.flows, config.limits.idle),
            config,
            bytes: 0,
            effects: Effects::new(),
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.effects.counters
    }

    /// Returns the number of tracked connections.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Returns the cost of all caches, in bytes: never more than [`Limits::bytes`](crate::Limits::bytes).
    pub fn cached_bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns true if the segment in a packet from the wired side is cached; notes that its connection lives.
    pub fn keeps(&mut self, now: Instant, packet: &P) -> bool {
        let Some(header) = packet.header() else {
            return false;
        };
        let name = FlowName {
            mobile: header.destination,
            fixed: header.source,
        };
        self.flows.touch(now, &name);
        let flow = self.flows.get_mut(&name);
        flow.is_some_and(|flow| flow.keeps(header.range()))
    }

    /// Sends all cached segments of a connection again: a fade is over, in which they were lost.
    pub fn resume(&mut self, now: Instant, mobile: SocketAddr, fixed: SocketAddr) {
        let name = FlowName { mobile, fixed };
        self.with(now, &name, |flow, context, effects| {
            flow.resume(context, effects);
        });
    }

    /// Repeats the last cached segment of each connection: the mobile host has another address, and what was on the way
    /// to the former one may be lost. Its selective acknowledgement shows that; without it nothing might, as the
    /// sender's window may be full.
    pub fn path_changed(&mut self, now: Instant) {
        for name in self.flows.names() {
            self.with(now, &name, |flow, context, effects| {
                flow.probe(context, effects);
            });
        }
    }

    fn packet(&mut self, now: Instant, origin: Origin, packet: P) {
        let Some(header) = packet.header() else {
            self.effects.counters.ignored.foreign += 1;
            self.forward(origin, packet);
            return;
        };
        let name = match origin {
            Origin::Fixed => FlowName {
                mobile: header.destination,
                fixed: header.source,
            },
            Origin::Mobile => FlowName {
                mobile: header.source,
                fixed: header.destination,
            },
        };
        if !self.admit(now, &name, &header) {
            return self.forward(origin, packet);
        }
        self.flows.touch(now, &name);
        self.with(now, &name, |flow, context, effects| match origin {
            Origin::Fixed => flow.take_from_fixed(context, packet, &header, effects),
            Origin::Mobile => flow.take_from_mobile(context, packet, &header, effects),
        });
    }

    fn forward(&mut self, origin: Origin, packet: P) {
        match origin {
            Origin::Fixed => self.effects.send_to_mobile(packet, false),
            Origin::Mobile => self.effects.send_to_fixed(packet),
        }
    }

    /// Returns true if the segment belongs to a tracked connection, or starts tracking one. Tracking may start in the
    /// middle of a connection, after a restart or a hand-off; a segment that carries nothing starts none.
    fn admit(&mut self, now: Instant, name: &FlowName, header: &Header) -> bool {
        if header.flags.contains(TcpFlags::RST) {
            self.forget(name);
            return false;
        }
        let opens = header.flags.contains(TcpFlags::SYN) && !header.flags.contains(TcpFlags::ACK);
        if !opens && self.flows.contains(name) {
            return true;
        }
        if !opens && header.payload == 0 {
            return false;
        }
        let admitted = self.flows.insert(now, *name, Flow::new());
        match &admitted {
            Ok(gone) => self.bytes -= gone.as_ref().map_or(0, Flow::bytes),
            Err(_) => self.effects.counters.ignored.refused += 1,
        }
        admitted.is_ok()
    }

    fn forget(&mut self, name: &FlowName) {
        if let Some(flow) = self.flows.remove(name) {
            self.bytes -= flow.bytes();
        }
    }

    /// Applies `act` to a connection, and updates the byte count and the deadline.
    fn with(
        &mut self,
        now: Instant,
        name: &FlowName,
        act: impl FnOnce(&mut Flow<P>, &Context<'_>, &mut Effects<P>),
    ) {
        let Some(flow) = self.flows.get_mut(name) else {
            return;
        };
        let context = Context {
            now,
            config: &self.config,
            room: self.config.limits.bytes.get().saturating_sub(self.bytes),
        };
        let before = flow.bytes();
        act(flow, &context, &mut self.effects);
        self.bytes = self.bytes - before + flow.bytes();
        if flow.is_closed() {
            self.forget(name);
        } else {
            let deadline = flow.deadline(&context);
            self.flows.set_deadline(name, deadline);
        }
    }
}

impl<P: Segment> Machine for Agent<P> {
    type Input = Input<P>;
    type Output = Output<P>;

    fn handle_input(&mut self, now: Instant, input: Input<P>) {
        match input {
            Input::FromFixed(packet) => self.packet(now, Origin::Fixed, packet),
            Input::FromMobile(packet) => self.packet(now, Origin::Mobile, packet),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        let mut freed = 0;
        while let Some(name) = self.flows.expire(now, &mut |flow| freed += flow.bytes()) {
            self.with(now, &name, |flow, context, effects| {
                flow.timeout(context, effects);
            });
        }
        self.bytes -= freed;
    }

    fn poll_output(&mut self) -> Option<Output<P>> {
        self.effects.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.flows.next_deadline()
    }
}
