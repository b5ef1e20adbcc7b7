//! The base station: the work of each scheme between wire and air.

use std::collections::VecDeque;

use machine::Machine;
use simulator::{Input, Output, Port};
use snoop::Agent;
use units::Instant;
use wire::TcpSegment;

use super::driver::Waiting;
use super::interface::{AIR, Event, WIRED};
use super::packet::Packet;
use super::repair::{Repair, Repaired};
use super::split::{Leaves, Split};

/// The work of the base station.
#[derive(Debug)]
pub(crate) enum Work {
    /// It only forwards.
    Forward,
    /// A snoop agent retransmits.
    Snoop(Box<Agent<TcpSegment>>),
    /// It splits connections.
    Split(Box<Split>),
    /// Our own link layer retransmits.
    Arq(Box<Repair>),
}

/// The base station.
#[derive(Debug)]
pub(crate) struct Station {
    work: Work,
    /// True if retransmissions overtake the packets that wait for the air.
    repairs_ahead: bool,
    forwards: VecDeque<(Port, Packet)>,
    /// Bytes of data handed to the air, every transmission counted.
    to_air: u64,
    /// Bytes of data handed to the wire, every transmission counted.
    to_wire: u64,
    now: Instant,
}

impl Station {
    /// Creates an idle station; `repairs_ahead` is true if its retransmissions overtake the packets that wait for the
    /// air.
    pub(crate) fn new(work: Work, repairs_ahead: bool) -> Self {
        Self {
            work,
            repairs_ahead,
            forwards: VecDeque::new(),
            to_air: 0,
            to_wire: 0,
            now: Instant::ZERO,
        }
    }

    /// Returns the counter for the packets that wait for the air, if it needs their number.
    pub(crate) fn waiting(&self) -> Option<Waiting> {
        match &self.work {
            Work::Split(split) => split.hop().waiting(),
            Work::Forward | Work::Snoop(_) | Work::Arq(_) => None,
        }
    }

    /// Returns its work.
    pub(crate) fn work(&self) -> &Work {
        &self.work
    }

    /// Returns the bytes of data handed to the air so far, every transmission counted.
    pub(crate) fn to_air(&self) -> u64 {
        self.to_air
    }

    /// Returns the bytes of data handed to the wire so far, every transmission counted.
    pub(crate) fn to_wire(&self) -> u64 {
        self.to_wire
    }

    fn take(&mut self, port: Port, packet: Packet) {
        let now = self.now;
        match (&mut self.work, packet) {
            (Work::Forward, packet) => {
                let other = if port == WIRED { AIR } else { WIRED };
                self.forwards.push_back((other, packet));
            }
            (Work::Snoop(agent), Packet::Segment { segment, .. }) => {
                let input = match port {
                    WIRED => snoop::Input::FromFixed(segment),
                    _ => snoop::Input::FromMobile(segment),
                };
                agent.handle_input(now, input);
            }
            (Work::Split(split), packet) => split.packet(now, packet),
            (Work::Arq(repair), Packet::Segment { segment, .. }) => repair.cross(now, &segment),
            (Work::Arq(repair), Packet::Frame(frame)) => repair.frame(now, frame),
            (Work::Snoop(_), Packet::Frame(_))
            | (Work::Snoop(_) | Work::Arq(_), Packet::Mtcp(_)) => {}
        }
    }

    fn next(&mut self) -> Option<Output<Packet, Event>> {
        let (port, packet) = match &mut self.work {
            Work::Forward => self.forwards.pop_front()?,
            Work::Snoop(agent) => match agent.poll_output()? {
                snoop::Output::ToMobile { packet, priority } => {
                    let (segment, ahead) = (packet, priority && self.repairs_ahead);
                    (AIR, Packet::Segment { segment, ahead })
                }
                snoop::Output::ToFixed(segment) => (WIRED, segment.into()),
            },
            Work::Split(split) => match split.poll_output()? {
                Leaves::ToFixed(segment) => (WIRED, segment.into()),
                Leaves::ToMobile(packet) => (AIR, packet),
                Leaves::Broken => return Some(Output::Event(Event::Broken)),
            },
            Work::Arq(repair) => match repair.poll_output()? {
                Repaired::Frame(frame) => (AIR, Packet::Frame(frame)),
                Repaired::Segment(segment) => (WIRED, segment.into()),
            },
        };
        let carried = if port == AIR {
            &mut self.to_air
        } else {
            &mut self.to_wire
        };
        *carried += packet.data();
        Some(Output::Send { port, packet })
    }
}

impl Machine for Station {
    type Input = Input<Packet>;
    type Output = Output<Packet, Event>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        self.now = now;
        // A packet that the air has corrupted is dropped: its checksum is wrong.
        if let Input::Packet { port, packet } = input {
            self.take(port, packet);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        match &mut self.work {
            Work::Forward => {}
            Work::Snoop(agent) => agent.handle_timeout(now),
            Work::Split(split) => split.handle_timeout(now),
            Work::Arq(repair) => repair.handle_timeout(now),
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        self.next()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match &self.work {
            Work::Forward => None,
            Work::Snoop(agent) => agent.poll_timeout(),
            Work::Split(split) => split.poll_timeout(),
            Work::Arq(repair) => repair.poll_timeout(),
        }
    }
}
