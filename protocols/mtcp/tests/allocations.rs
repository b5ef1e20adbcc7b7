//! A packet of counted bytes in steady state costs no allocation, at either end.

use machine::{Machine, RandomStream};
use mtcp::packet::{Addresses, Packet};
use mtcp::{Config, ConnectionId, Endpoint, Input, Output};
use redirector::{Content, Count};
use units::{Bytes, Duration, Instant};

/// Packets on their way at one time, at most.
const BETWEEN: usize = 256;

struct Pair {
    ends: [Endpoint<Count>; 2],
    now: Instant,
    between: Vec<(usize, Packet<Count>)>,
    data: u64,
}

impl Pair {
    fn connected(config: &Config) -> Self {
        let end = |name| {
            Endpoint::new(config.clone(), RandomStream::named(1, name)).expect("a configuration")
        };
        let mut pair = Self {
            ends: [end("gateway"), end("mobile")],
            now: Instant::ZERO,
            between: Vec::with_capacity(BETWEEN),
            data: 0,
        };
        let ends = [([10, 0, 0, 1], 80).into(), ([10, 0, 0, 2], 4_000).into()];
        let addresses = Addresses::new(ends[0], ends[1]).expect("one family");
        pair.input(
            0,
            Input::Open {
                number: 1,
                addresses,
            },
        );
        pair.input(0, Input::Write(ConnectionId::Opened(1), Count(1 << 40)));
        pair
    }

    fn input(&mut self, end: usize, input: Input<Count>) {
        self.ends[end].handle_input(self.now, input);
        while let Some(output) = self.ends[end].poll_output() {
            let answer = match output {
                Output::Packet(packet) => {
                    self.between.push((1 - end, packet));
                    continue;
                }
                Output::Arrived(id, _) => Input::Accept(id),
                Output::Readable(id, bytes) => Input::Read(id, bytes),
                _ => continue,
            };
            self.ends[end].handle_input(self.now, answer);
        }
    }

    /// Hands packets over in their order until so many with data have crossed; every `lost`th of them does not arrive.
    fn exchange(&mut self, count: u64, lost: u64) {
        let end = self.data + count;
        while self.data < end {
            self.now += Duration::from_micros(100);
            if self.between.is_empty() {
                let timers = self.ends.each_ref().map(Endpoint::poll_timeout);
                let next = timers.into_iter().flatten().min().expect("a timer runs");
                self.now = next.max(self.now);
                for end in [0, 1] {
                    self.ends[end].handle_timeout(self.now);
                    self.input(end, Input::Damaged);
                }
                continue;
            }
            let (to, packet) = self.between.remove(0);
            let data = matches!(&packet, Packet::Data(data) if data.content.length() > 0);
            self.data += u64::from(data);
            if !data || !self.data.is_multiple_of(lost) {
                self.input(to, Input::Packet(packet));
            }
        }
    }
}

#[test]
fn packets_cost_no_allocation_once_the_tables_have_grown() {
    let wide = Config {
        receive_buffer: Bytes::kibi(64),
        ..Config::wide()
    };
    for config in [Config::paper(), wide] {
        let mut pair = Pair::connected(&config);
        // Losses too: the lists of what was lost keep their room.
        pair.exchange(20_000, 50);
        let steady = allocation_counter::measure(|| pair.exchange(5_000, u64::MAX));
        // A deadline that moves is a node of a tree, which may come and go.
        assert!(
            steady.count_total <= 100,
            "{:?}: {}",
            config.profile,
            steady.count_total
        );
        let losing = allocation_counter::measure(|| pair.exchange(5_000, 50));
        // A hundred losses, each the beginning of a run that waits.
        assert!(
            losing.count_total <= 400,
            "{:?}: {}",
            config.profile,
            losing.count_total
        );
    }
}
