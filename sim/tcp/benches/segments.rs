//! Cost of a segment: `cargo bench -p tcp`.

#[path = "../tests/suite/pair.rs"]
mod pair;

use divan::Bencher;
use divan::counter::ItemsCount;
use pair::Pair;
use tcp::Policy;

#[global_allocator]
static ALLOCATIONS: divan::AllocProfiler = divan::AllocProfiler::system();

const SEGMENTS: u64 = 10_000;

fn main() {
    divan::main();
}

/// Ten thousand segments with data and their acknowledgements, at both ends.
#[divan::bench(args = [Policy::Reno, Policy::Smart, Policy::SackNew])]
fn steady(bencher: Bencher, policy: Policy) {
    let mut pair = Pair::connected(policy);
    pair.exchange(1_000, u64::MAX);
    let counter = ItemsCount::new(SEGMENTS);
    bencher
        .counter(counter)
        .bench_local(|| pair.exchange(SEGMENTS, u64::MAX));
}

/// Ten thousand segments with data, one in a hundred lost, and their acknowledgements, at both ends.
#[divan::bench(args = Policy::ALL)]
fn losing(bencher: Bencher, policy: Policy) {
    let mut pair = Pair::connected(policy);
    pair.exchange(1_000, u64::MAX);
    let counter = ItemsCount::new(SEGMENTS);
    bencher
        .counter(counter)
        .bench_local(|| pair.exchange(SEGMENTS, 100));
}
