//! A packet in steady state costs no allocation, at either end.

use machine::{Machine, RandomStream};
use mtcp::packet::{Addresses, Packet};
use mtcp::{Config, ConnectionId, Endpoint, Input, Output};
use redirector::{Chunks, Content, Count};
use units::{Bytes, Duration, Instant};

/// Packets on their way at one time, at most.
const BETWEEN: usize = 256;
/// What is written at a time, in bytes.
const CHUNK: usize = 64 << 10;

/// A stream without end, a chunk at a time.
trait Source: Content + Clone {
    fn chunk() -> Self;
}

impl Source for Count {
    fn chunk() -> Self {
        Self(CHUNK as u64)
    }
}

impl Source for Chunks {
    fn chunk() -> Self {
        static ZEROS: [u8; CHUNK] = [0; CHUNK];
        Self::from(bytes::Bytes::from_static(&ZEROS))
    }
}

struct Pair<C> {
    ends: [Endpoint<C>; 2],
    now: Instant,
    between: Vec<(usize, Packet<C>)>,
    data: u64,
}

impl<C: Source> Pair<C> {
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
        let number = 1;
        pair.input(0, Input::Open { number, addresses });
        pair
    }

    fn input(&mut self, end: usize, input: Input<C>) {
        self.ends[end].handle_input(self.now, input);
        while let Some(output) = self.ends[end].poll_output() {
            let answer = match output {
                Output::Packet(packet) => {
                    self.between.push((1 - end, packet));
                    continue;
                }
                Output::Arrived(id, _) => Input::Accept(id),
                Output::Readable(id, bytes) => Input::Read(id, bytes),
                Output::Writable(id @ ConnectionId::Opened(_), _) => Input::Write(id, C::chunk()),
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

fn assert_free<C: Source>(config: &Config) {
    let mut pair = Pair::<C>::connected(config);
    // Losses too: the lists of what was lost keep their room.
    pair.exchange(20_000, 50);
    let steady = allocation_counter::measure(|| pair.exchange(5_000, u64::MAX));
    // A deadline that moves is a node of a tree, which may come and go; a packet with the end of one write and the
    // start of the next is a list.
    assert!(
        steady.count_total <= 500,
        "{:?}: {}",
        config.profile,
        steady.count_total
    );
    let losing = allocation_counter::measure(|| pair.exchange(5_000, 50));
    // A hundred losses, each the beginning of runs that wait.
    assert!(
        losing.count_total <= 1_500,
        "{:?}: {}",
        config.profile,
        losing.count_total
    );
}

#[test]
fn packets_cost_no_allocation_once_the_tables_have_grown() {
    let wide = Config {
        send_buffer: Bytes::kibi(128),
        receive_buffer: Bytes::kibi(64),
        ..Config::wide()
    };
    for config in [Config::paper(), wide] {
        assert_free::<Count>(&config);
        assert_free::<Chunks>(&config);
    }
}
