//! What a segment costs: `cargo bench -p tcp`.

use std::net::SocketAddrV4;

use divan::Bencher;
use divan::counter::ItemsCount;
use machine::Machine;
use tcp::{Config, Connection, Endpoint, Input, Output, Policy};
use units::{Duration, Instant, SeqNumber};

#[global_allocator]
static ALLOCATIONS: divan::AllocProfiler = divan::AllocProfiler::system();

const SEGMENTS: u64 = 10_000;

fn main() {
    divan::main();
}

/// Both ends of a connection.
struct Pair {
    ends: [Endpoint; 2],
    now: Instant,
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
        };
        pair.ends[0].handle_input(pair.now, Input::Connect);
        pair.exchange(0, u64::MAX);
        pair
    }

    /// Hands segments over until none is left, or so many with data have arrived at the server; the data count from
    /// `lost` on loses each hundredth.
    fn exchange(&mut self, lost: u64, most: u64) -> u64 {
        let mut data = 0;
        let mut quiet = false;
        while !quiet && data < most {
            quiet = true;
            for from in [0, 1] {
                while let Some(output) = self.ends[from].poll_output() {
                    quiet = false;
                    let input = match output {
                        Output::Segment(segment) => {
                            data += u64::from(segment.payload > 0);
                            self.now += Duration::from_micros(50);
                            if lost > 0 && segment.payload > 0 && data % lost == 0 {
                                continue;
                            }
                            Input::Segment(segment)
                        }
                        Output::Readable(bytes) => {
                            self.ends[from].handle_input(self.now, Input::Read(bytes));
                            continue;
                        }
                        _ => continue,
                    };
                    self.ends[1 - from].handle_input(self.now, input);
                    divan::black_box(self.ends[1 - from].poll_timeout());
                }
            }
            for end in &mut self.ends {
                if let Some(due) = end.poll_timeout().filter(|_| quiet) {
                    self.now = due.max(self.now);
                    end.handle_timeout(self.now);
                    quiet = false;
                }
            }
        }
        data
    }
}

/// Ten thousand segments with data and their acknowledgements, at both ends.
#[divan::bench(args = [Policy::Reno, Policy::Smart, Policy::SackNew])]
fn steady(bencher: Bencher, policy: Policy) {
    let mut pair = Pair::connected(&Config::bsd().with_policy(policy));
    pair.ends[0].handle_input(pair.now, Input::Write(1 << 50));
    bencher
        .counter(ItemsCount::new(SEGMENTS))
        .bench_local(|| pair.exchange(0, SEGMENTS));
}

/// The same with each hundredth lost.
#[divan::bench(args = Policy::ALL)]
fn losing(bencher: Bencher, policy: Policy) {
    let mut pair = Pair::connected(&Config::bsd().with_policy(policy));
    pair.ends[0].handle_input(pair.now, Input::Write(1 << 50));
    bencher
        .counter(ItemsCount::new(SEGMENTS))
        .bench_local(|| pair.exchange(100, SEGMENTS));
}
