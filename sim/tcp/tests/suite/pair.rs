//! Two endpoints, and segments handed over in their order.

use std::collections::VecDeque;
use std::net::SocketAddrV4;

use machine::Machine;
use tcp::{Config, Connection, Endpoint, Input, Output, Policy};
use units::{Duration, Instant, SeqNumber};
use wire::TcpSegment;

/// Segments on their way at one time, at most.
const BETWEEN: usize = 64;

/// A client that sends without end, a server, and what is between them.
pub(crate) struct Pair {
    pub(crate) ends: [Endpoint; 2],
    now: Instant,
    between: VecDeque<(usize, TcpSegment)>,
    data: u64,
}

impl Pair {
    pub(crate) fn connected(policy: Policy) -> Self {
        let address = |end: u8| SocketAddrV4::new([10, 0, 0, end].into(), 4_000);
        let connection = |end: u8| Connection {
            local: address(end),
            remote: address(1 - end),
            initial_sequence: SeqNumber(1),
        };
        let config = Config::bsd().with_policy(policy);
        let client = Endpoint::new(connection(0), config.clone()).expect("a configuration");
        let server = Endpoint::listening(connection(1), config).expect("a configuration");
        let mut pair = Self {
            ends: [client, server],
            now: Instant::ZERO,
            between: VecDeque::with_capacity(BETWEEN),
            data: 0,
        };
        pair.input(0, Input::Connect);
        pair.input(0, Input::Write(1 << 50));
        pair
    }

    fn input(&mut self, end: usize, input: Input) {
        self.ends[end].handle_input(self.now, input);
        while let Some(output) = self.ends[end].poll_output() {
            match output {
                Output::Segment(segment) => self.between.push_back((1 - end, segment)),
                Output::Readable(bytes) => {
                    self.ends[end].handle_input(self.now, Input::Read(bytes));
                }
                _ => {}
            }
        }
        std::hint::black_box(self.ends[end].poll_timeout());
    }

    /// Hands segments over until so many with data have crossed; every `lost`th of them does not arrive.
    pub(crate) fn exchange(&mut self, count: u64, lost: u64) {
        let end = self.data + count;
        while self.data < end {
            self.now += Duration::from_micros(100);
            let Some((to, segment)) = self.between.pop_front() else {
                let timers = self.ends.each_ref().map(Endpoint::poll_timeout);
                let next = timers.into_iter().flatten().min().expect("a timer runs");
                self.now = next.max(self.now);
                for end in [0, 1] {
                    self.ends[end].handle_timeout(self.now);
                    self.input(end, Input::Read(0));
                }
                continue;
            };
            self.data += u64::from(segment.payload > 0);
            if segment.payload == 0 || !self.data.is_multiple_of(lost) {
                self.input(to, Input::Segment(segment));
            }
        }
    }
}
