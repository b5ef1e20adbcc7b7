//! The cost of a packet: `cargo bench -p mtcp`.

#[path = "../tests/suite/pair.rs"]
mod pair;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use mtcp::packet::{Cid, Data, Flags, Holes};
use mtcp::{Config, Limits, Packet, Profile};
use pair::{Pair, Source};
use redirector::{Chunks, Content, Count};
use units::Bytes;

#[global_allocator]
static ALLOCATIONS: divan::AllocProfiler = divan::AllocProfiler::system();

const PACKETS: u64 = 10_000;

fn main() {
    divan::main();
}

fn config(profile: Profile) -> Config {
    match profile {
        Profile::Paper => Config::paper(),
        Profile::Wide => Config::wide(),
    }
}

/// Ten thousand packets with data and their acknowledgements, at both ends.
fn bench<C: Source>(bencher: Bencher<'_, '_>, mut pair: Pair<C>, lost: Option<u64>) {
    pair.exchange(PACKETS, lost);
    bencher
        .counter(ItemsCount::new(PACKETS))
        .bench_local(|| pair.exchange(PACKETS, lost));
}

/// Bytes are counted.
#[divan::bench(args = [Profile::Paper, Profile::Wide])]
fn steady(bencher: Bencher, profile: Profile) {
    let pair = Pair::<Count>::connected(&config(profile), 1, None);
    bench(bencher, pair, None);
}

/// Bytes are shared chunks.
#[divan::bench(args = [Profile::Paper, Profile::Wide])]
fn steady_chunks(bencher: Bencher, profile: Profile) {
    let pair = Pair::<Chunks>::connected(&config(profile), 1, None);
    bench(bencher, pair, None);
}

/// With each hundredth lost.
#[divan::bench(args = [Profile::Paper, Profile::Wide])]
fn losing(bencher: Bencher, profile: Profile) {
    let pair = Pair::<Count>::connected(&config(profile), 1, None);
    bench(bencher, pair, Some(100));
}

/// Each of `connections` connections has data to send, and the hop takes 16 KiB at a time.
#[divan::bench(args = [1, 100, 1_000])]
fn granted(bencher: Bencher, connections: u64) {
    let config = Config {
        send_buffer: Bytes::kibi(128),
        receive_buffer: Bytes::kibi(64),
        limits: Limits {
            half_open: 1_000,
            ..Limits::default()
        },
        ..Config::wide()
    };
    let pair = Pair::<Chunks>::connected(&config, connections, Some(16 << 10));
    bench(bencher, pair, None);
}

/// A packet of 1,460 bytes of data written, and read again.
#[divan::bench]
fn write_and_parse(bencher: Bencher) {
    let data = Packet::Data(Data {
        profile: Profile::Paper,
        flags: Flags::default(),
        connection: Cid(1),
        sequence: 2,
        acknowledgment: 3,
        window: 16_384,
        negative: 0,
        further: Holes::default(),
        cycle: 0,
        reply: 0,
        content: Chunks::chunk().take_front(1_460),
    });
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
