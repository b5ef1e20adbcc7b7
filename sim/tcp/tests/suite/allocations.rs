//! A segment in steady state costs no allocation.

use std::net::SocketAddrV4;

use machine::Machine;
use tcp::{Config, Connection, Endpoint, Input, Output, Policy};
use units::{Duration, Instant, SeqNumber};
use wire::TcpSegment;

/// Largest number of segments on their way at one time.
const BETWEEN: usize = 64;

struct Pair {
    ends: [Endpoint; 2],
    now: Instant,
    between: Vec<(usize, TcpSegment)>,
    data: u64,
}

impl Pair {
    fn connected(policy: Policy) -> Self {
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
            between: Vec::with_capacity(BETWEEN),
            data: 0,
        };
        pair.input(0, Input::Connect);
        pair.input(0, Input::Write(1 << 40));
        pair
    }

    fn input(&mut self, end: usize, input: Input) {
        self.ends[end].handle_input(self.now, input);
        while let Some(output) = self.ends[end].poll_output() {
            match output {
                Output::Segment(segment) => self.between.push((1 - end, segment)),
                Output::Readable(bytes) => {
                    self.ends[end].handle_input(self.now, Input::Read(bytes));
                }
                _ => {}
            }
        }
    }

    /// Passes segments in order until `count` with data have crossed; one of each `lost` of them does not arrive.
    fn exchange(&mut self, count: u64, lost: u64) {
        let end = self.data + count;
        while self.data < end {
            self.now += Duration::from_micros(100);
            if self.between.is_empty() {
                let timers = self.ends.each_ref().map(Endpoint::poll_timeout);
                self.now = timers
                    .into_iter()
                    .flatten()
                    .min()
                    .expect("a timer runs")
                    .max(self.now);
                for end in [0, 1] {
                    self.ends[end].handle_timeout(self.now);
                    self.input(end, Input::Read(0));
                }
                continue;
            }
            let (to, segment) = self.between.remove(0);
            self.data += u64::from(segment.payload > 0);
            if segment.payload == 0 || !self.data.is_multiple_of(lost) {
                self.input(to, Input::Segment(segment));
            }
        }
    }
}

#[test]
fn segments_cost_no_allocation_once_the_window_has_opened() {
    for policy in Policy::ALL {
        let mut pair = Pair::connected(policy);
        // With losses too: the lists of lost ranges keep their storage.
        pair.exchange(20_000, 50);
        let steady = allocation_counter::measure(|| pair.exchange(5_000, u64::MAX));
        assert_eq!(steady.count_total, 0, "{policy:?}");
        let losing = allocation_counter::measure(|| pair.exchange(5_000, 50));
        assert!(
            losing.count_total <= 5,
            "{policy:?}: {}",
            losing.count_total
        );
        assert!(pair.ends[0].counters().recovered.fast_retransmissions > 100);
    }
}
