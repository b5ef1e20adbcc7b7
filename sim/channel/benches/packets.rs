//! Cost of a packet: `cargo bench -p channel`.

use channel::{Channel, Direction, Input, Link};
use divan::Bencher;
use divan::counter::ItemsCount;
use machine::Machine;
use units::{Bytes, Duration, Instant};

#[global_allocator]
static ALLOCATIONS: divan::AllocProfiler = divan::AllocProfiler::system();

const PACKETS: u64 = 10_000;

fn main() {
    divan::main();
}

/// Ten thousand packets at 95 % of a 500 Mbit/s link with each error model.
#[divan::bench(args = [
    r#"model = "none""#,
    r#"model = "independent", p = "1 %""#,
    "model = 'temporal', good = { distribution = 'exponential', mean = '1 s' }, \
     bad = { distribution = 'exponential', mean = '80 ms' }",
    r#"model = "distance", mean = "64 KiB""#,
    r#"model = "burst", packets = 4, spacing = "64 KiB""#,
    r#"model = "markov", p_b = 1e-6, p_g = 1e-4"#,
])]
fn steady(bencher: Bencher, errors: &str) {
    let text = format!(
        "errors = {{ {errors} }}\n[each]\nrate = '500 Mbit/s'\ndelay = '5 ms'\nqueue = '1000 packets'"
    );
    let link = Link::from_toml(&text, "bench").expect("a link");
    let mut channel = Channel::new(&link, 1);
    let mut now = Instant::ZERO;
    bencher.counter(ItemsCount::new(PACKETS)).bench_local(|| {
        for number in 0..PACKETS {
            now += Duration::from_nanos(25_500);
            while channel.poll_timeout().is_some_and(|due| due <= now) {
                channel.handle_timeout(now);
                while let Some(output) = channel.poll_output() {
                    divan::black_box(output);
                }
            }
            let (direction, size) = (Direction::Down, Bytes::new(1514));
            let send = Input::Send {
                direction,
                size,
                payload: number,
            };
            channel.handle_input(now, send);
        }
    });
}
