//! Cost of a segment: `cargo bench -p tcp`.

use std::collections::VecDeque;
use std::net::SocketAddrV4;

use divan::Bencher;
use divan::counter::ItemsCount;
use machine::Machine;
use tcp::{Config, Connection, Endpoint, Input, Output, Policy};
use units::{Duration, Instant, SeqNumber};
use wire::TcpSegment;

#[global_allocator]
static ALLOCATIONS: divan::AllocProfiler = divan::AllocProfiler::system();

const SEGMENTS: u64 = 10_000;

fn main() {
    divan::main();
}

/// Both ends of a connection, and the segments between them.
struct Pair {
    ends: [Endpoint; 2],
    now: Instant,
    between: VecDeque<(usize, TcpSegment)>,
}

impl Pair {
    fn connected(config: &Config) -> Self {
        let address = |end: u8| SocketAddrV4::new([10, 0, 0, end].into(), 4_000);
        let connection = |end: u8| Connection {
            local: address(end),
            remote: address(1 - end),
            initial_sequence: SeqNumber(1),
        };
        let client = Endpoint::new(connection(0), config.clone()).expect("a configuration");
        let server = Endpoint::listening(connection(1), config.clone()).expect("a configuration");
        let mut pair = Self {
            ends: [client, server],
            now: Instant::ZERO,
            between: VecDeque::new(),
        };
        pair.input(0, Input::Connect);
        pair.input(0, Input::Write(1 << 50));
        pair.exchange(0, 1_000);
        pair
    }

    fn input(&mut self, end: usize, input: Input) {
        self.ends[end].handle_input(self.now, input);
        self.drain(end);
    }

    fn drain(&mut self, end: usize) {
        while let Some(output) = self.ends[end].poll_output() {
            match output {
                Output::Segment(segment) => self.between.push_back((1 - end, segment)),
                Output::Readable(bytes) => {
                    self.ends[end].handle_input(self.now, Input::Read(bytes));
                }
                _ => {}
            }
        }
        divan::black_box(self.ends[end].poll_timeout());
    }

    /// Passes segments with data and their acknowledgements between the ends; one of each `lost` is lost.
    fn exchange(&mut self, lost: u64, segments: u64) {
        let mut count = 0;
        while count < segments {
            let Some((to, segment)) = self.between.pop_front() else {
                let timers = self.ends.each_ref().map(Endpoint::poll_timeout);
                let next = timers.into_iter().flatten().min().expect("a timer runs");
                self.now = next.max(self.now);
                for end in [0, 1] {
                    self.ends[end].handle_timeout(self.now);
                    self.drain(end);
                }
                continue;
            };
            self.now += Duration::from_micros(100);
            count += u64::from(segment.payload > 0);
            let is_lost = lost > 0 && segment.payload > 0 && count.is_multiple_of(lost);
            if !is_lost {
                self.input(to, Input::Segment(segment));
            }
        }
    }
}

/// Ten thousand segments with data and their acknowledgements, at both ends.
#[divan::bench(args = [Policy::Reno, Policy::Smart, Policy::SackNew])]
fn steady(bencher: Bencher, policy: Policy) {
    let mut pair = Pair::connected(&Config::bsd().with_policy(policy));
    let counter = ItemsCount::new(SEGMENTS);
    bencher
        .counter(counter)
        .bench_local(|| pair.exchange(0, SEGMENTS));
}

/// Ten thousand segments with data, one in a hundred lost, and their acknowledgements, at both ends.
#[divan::bench(args = Policy::ALL)]
fn losing(bencher: Bencher, policy: Policy) {
    let mut pair = Pair::connected(&Config::bsd().with_policy(policy));
    let counter = ItemsCount::new(SEGMENTS);
    bencher
        .counter(counter)
        .bench_local(|| pair.exchange(100, SEGMENTS));
}
