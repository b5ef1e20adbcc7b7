//! One agent, a clock, and segments of 1,000 bytes that are identified by their place in the stream.

use std::net::SocketAddr;

use machine::Machine;
use snoop::{Agent, Config, Header, Input, Output, Revision, Segment};
use snoop::{AirLoss, SackRanges, SeqRange, TcpSegmentOptions};
use units::{Duration, Instant, SeqNumber};
use wire::tcp::{TcpFlags, Timestamps};

/// Bytes of a segment.
pub(crate) const SIZE: u32 = 1_000;
/// The window of both hosts, unscaled.
pub(crate) const WINDOW: u16 = 32_000;

/// A segment of only its header, and a number that distinguishes copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) header: Header,
    pub(crate) copy: u32,
}

impl Segment for Probe {
    fn header(&self) -> Option<Header> {
        Some(self.header)
    }

    fn cost(&self) -> u64 {
        u64::from(self.header.payload) + 40
    }

    fn revise(&mut self, revision: &Revision) {
        self.header.options = revision.applied_to_options(&self.header.options);
    }

    fn acknowledgment(header: &Header) -> Self {
        let header = *header;
        Self { header, copy: 0 }
    }
}

pub(crate) fn fixed() -> SocketAddr {
    SocketAddr::from(([10, 1, 0, 1], 80))
}

pub(crate) fn mobile() -> SocketAddr {
    SocketAddr::from(([10, 2, 0, 2], 4_000))
}

/// Returns the sequence number at which a place starts; the stream wraps in its fourth segment.
pub(crate) fn number(place: u32) -> SeqNumber {
    SeqNumber(0xffff_f000) + place * SIZE
}

/// Returns the places `from` to `to − 1`.
pub(crate) fn places(from: u32, to: u32) -> SeqRange {
    SeqRange {
        start: number(from),
        end: number(to),
    }
}

/// Returns ranges of places, in this order.
pub(crate) fn ranges(blocks: &[(u32, u32)]) -> SackRanges {
    let mut ranges = SackRanges::default();
    for (from, to) in blocks {
        ranges.push(places(*from, *to));
    }
    ranges
}

fn header(source: SocketAddr, destination: SocketAddr) -> Header {
    Header {
        source,
        destination,
        sequence: number(0),
        acknowledgment: number(0),
        flags: TcpFlags::ACK,
        window: WINDOW,
        payload: 0,
        options: TcpSegmentOptions::default(),
    }
}

/// Returns a segment of data at `place`, from the fixed host.
pub(crate) fn data(place: u32) -> Probe {
    let mut header = header(fixed(), mobile());
    header.sequence = number(place);
    header.payload = SIZE;
    Probe { header, copy: 1 }
}

/// Returns an acknowledgement of everything before `place`, from the mobile host.
pub(crate) fn ack(place: u32) -> Probe {
    let mut header = header(mobile(), fixed());
    header.acknowledgment = number(place);
    Probe { header, copy: 0 }
}

/// Returns the same, with SACK blocks.
pub(crate) fn sack(place: u32, blocks: &[(u32, u32)]) -> Probe {
    let mut probe = ack(place);
    probe.header.options.sack = ranges(blocks);
    probe
}

/// Returns the same, with SMART's cause.
pub(crate) fn smart(place: u32, cause: u32) -> Probe {
    let mut probe = ack(place);
    probe.header.options.cause = Some(number(cause));
    probe
}

/// Returns the segment with a timestamp, and the echo of another one.
pub(crate) fn stamped(mut probe: Probe, value: u32, echo: u32) -> Probe {
    probe.header.options.timestamps = Some(Timestamps { value, echo });
    probe
}

/// Returns the segment from the other end.
pub(crate) fn turned(mut probe: Probe) -> Probe {
    let header = &mut probe.header;
    std::mem::swap(&mut header.source, &mut header.destination);
    probe
}

/// Returns the segment with a loss on the air marked.
pub(crate) fn marked(mut probe: Probe, air_loss: AirLoss) -> Probe {
    probe.header.options.air_loss = air_loss;
    probe
}

/// Returns the output towards the mobile host, in turn.
pub(crate) fn down(probe: Probe) -> Output<Probe> {
    Output::ToMobile {
        packet: probe,
        priority: false,
    }
}

/// Returns a repair: the copy of that place from the cache, ahead of others.
pub(crate) fn repair(place: u32) -> Output<Probe> {
    Output::ToMobile {
        packet: data(place),
        priority: true,
    }
}

/// Returns the output towards the fixed host.
pub(crate) fn up(probe: Probe) -> Output<Probe> {
    Output::ToFixed(probe)
}

/// The agent under test.
pub(crate) struct Script {
    pub(crate) agent: Agent<Probe>,
    pub(crate) now: Instant,
}

impl Script {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            agent: Agent::new(config),
            now: Instant::from_millis(1),
        }
    }

    /// An agent that has forwarded and cached the places `0` to `count − 1`, 1 ms apart, after the
    /// mobile host acknowledged everything before.
    pub(crate) fn with_data(config: Config, count: u32) -> Self {
        let mut script = Self::new(config);
        let first = data(0);
        assert_eq!(script.fixed_sends(first.clone()), [down(first)]);
        assert_eq!(script.mobile_sends(ack(0)), [up(ack(0))]);
        for place in 1..count {
            script.pause(1);
            assert_eq!(script.fixed_sends(data(place)), [down(data(place))]);
        }
        script
    }

    pub(crate) fn fixed_sends(&mut self, probe: Probe) -> Vec<Output<Probe>> {
        self.input(Input::FromFixed(probe))
    }

    pub(crate) fn path_changes(&mut self) -> Vec<Output<Probe>> {
        self.agent.path_changed(self.now);
        self.drain()
    }

    pub(crate) fn mobile_sends(&mut self, probe: Probe) -> Vec<Output<Probe>> {
        self.input(Input::FromMobile(probe))
    }

    fn input(&mut self, input: Input<Probe>) -> Vec<Output<Probe>> {
        self.agent.handle_input(self.now, input);
        self.drain()
    }

    fn drain(&mut self) -> Vec<Output<Probe>> {
        std::iter::from_fn(|| self.agent.poll_output()).collect()
    }

    /// Lets time pass in which nothing may happen.
    pub(crate) fn pause(&mut self, millis: u64) {
        assert_eq!(self.wait(millis), [], "a timer went off");
    }

    /// Lets time pass. Returns the outputs of all timers.
    pub(crate) fn wait(&mut self, millis: u64) -> Vec<Output<Probe>> {
        let end = self.now + Duration::from_millis(millis);
        let mut outputs = Vec::new();
        while let Some(due) = self.agent.poll_timeout().filter(|due| *due <= end) {
            self.now = due.max(self.now);
            self.agent.handle_timeout(self.now);
            outputs.append(&mut self.drain());
        }
        self.now = end;
        outputs
    }
}
