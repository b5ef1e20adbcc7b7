//! What a packet costs: `cargo bench -p mtcp`.

use std::collections::VecDeque;
use std::fmt::Debug;

use bytes::Bytes;
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use machine::{Machine, RandomStream};
use mtcp::{Addresses, Config, ConnectionId, Endpoint, Input, Output, Packet, Profile};
use redirector::{Chunks, Content, Count};
use units::{Duration, Instant};

#[global_allocator]
static ALLOCATIONS: divan::AllocProfiler = divan::AllocProfiler::system();

const PACKETS: u64 = 10_000;
/// What is written at a time, in bytes.
const CHUNK: usize = 64 << 10;

fn main() {
    divan::main();
}

/// Where streams come from.
trait Source: Content + Clone + Debug {
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
        Self::from(Bytes::from_static(&ZEROS))
    }
}

/// Both ends of a connection, and what is between them.
struct Pair<C> {
    ends: [Endpoint<C>; 2],
    now: Instant,
    between: VecDeque<(usize, Packet<C>)>,
}

impl<C: Source> Pair<C> {
    fn connected(profile: Profile) -> Self {
        let config = match profile {
            Profile::Paper => Config::paper(),
            Profile::Wide => Config::wide(),
        };
        let end = |name| {
            Endpoint::new(config.clone(), RandomStream::named(1, name)).expect("a configuration")
        };
        let mut pair = Self {
            ends: [end("gateway"), end("mobile")],
            now: Instant::ZERO,
            between: VecDeque::new(),
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
        pair.exchange(0, 1_000);
        pair
    }

    fn input(&mut self, end: usize, input: Input<C>) {
        self.ends[end].handle_input(self.now, input);
        while let Some(output) = self.ends[end].poll_output() {
            let answer = match output {
                Output::Packet(packet) => {
                    self.between.push_back((1 - end, packet));
                    continue;
                }
                Output::Arrived(id, _) => Input::Accept(id),
                Output::Readable(id, bytes) => Input::Read(id, bytes),
                Output::Writable(id @ ConnectionId::Opened(_), room)
                    if room >= CHUNK as u64 / 8 =>
                {
                    Input::Write(id, C::chunk())
                }
                _ => continue,
            };
            self.ends[end].handle_input(self.now, answer);
        }
        divan::black_box(self.ends[end].poll_timeout());
    }

    /// Hands so many packets with data over, and the acknowledgements; each `lost`th is lost.
    fn exchange(&mut self, lost: u64, packets: u64) {
        let mut count = 0;
        while count < packets {
            let Some((to, packet)) = self.between.pop_front() else {
                let timers = self.ends.each_ref().map(Endpoint::poll_timeout);
                let next = timers.into_iter().flatten().min().expect("a timer runs");
                self.now = next.max(self.now);
                for end in [0, 1] {
                    self.ends[end].handle_timeout(self.now);
                    self.input(end, Input::Read(ConnectionId::Opened(1), 0));
                }
                continue;
            };
            self.now += Duration::from_micros(100);
            let data = matches!(&packet, Packet::Data(data) if data.content.length() > 0);
            count += u64::from(data);
            if !(data && lost > 0 && count.is_multiple_of(lost)) {
                self.input(to, Input::Packet(packet));
            }
        }
    }
}

/// Ten thousand packets with data and their acknowledgements, at both ends; bytes are counted.
#[divan::bench(args = [Profile::Paper, Profile::Wide])]
fn steady(bencher: Bencher, profile: Profile) {
    let mut pair = Pair::<Count>::connected(profile);
    let counter = ItemsCount::new(PACKETS);
    bencher
        .counter(counter)
        .bench_local(|| pair.exchange(0, PACKETS));
}

/// The same with shared chunks.
#[divan::bench(args = [Profile::Paper, Profile::Wide])]
fn steady_chunks(bencher: Bencher, profile: Profile) {
    let mut pair = Pair::<Chunks>::connected(profile);
    let counter = ItemsCount::new(PACKETS);
    bencher
        .counter(counter)
        .bench_local(|| pair.exchange(0, PACKETS));
}

/// With each hundredth lost.
#[divan::bench(args = [Profile::Paper, Profile::Wide])]
fn losing(bencher: Bencher, profile: Profile) {
    let mut pair = Pair::<Count>::connected(profile);
    let counter = ItemsCount::new(PACKETS);
    bencher
        .counter(counter)
        .bench_local(|| pair.exchange(100, PACKETS));
}

/// A packet of 1,460 bytes of data written, and read again.
#[divan::bench]
fn write_and_parse(bencher: Bencher) {
    let mut pair = Pair::<Chunks>::connected(Profile::Paper);
    let data = loop {
        pair.exchange(0, 1);
        let found = pair.between.iter().find(|(to, _)| *to == 1);
        if let Some((_, packet @ Packet::Data(_))) = found {
            break packet.clone();
        }
    };
    let mut out = vec![0; data.length()];
    bencher
        .counter(BytesCount::new(out.len()))
        .bench_local(move || {
            data.write(&mut out, |content, mut room| {
                for chunk in content.iter() {
                    let (now, rest) = room.split_at_mut(chunk.len());
                    now.copy_from_slice(chunk);
                    room = rest;
                }
            });
            Packet::parse(divan::black_box(&out)).is_ok()
        });
}
