//! Feeds every target with the committed corpus and with bytes from a seed, so that no nightly is needed.

use fuzz::{corpus, draw, mutate};
use machine::RandomStream;

/// Number of random inputs for each target.
const ROUNDS: u64 = 3_000;

#[test]
fn nothing_panics() {
    for (name, target) in fuzz::TARGETS {
        let corpus = corpus(name);
        for bytes in &corpus {
            target(bytes);
        }
        let mut stream = RandomStream::named(1, name);
        // Handshakes take time.
        let rounds = if *name == "session_tape" {
            ROUNDS / 100
        } else {
            ROUNDS
        };
        for round in 0..rounds {
            let seed = corpus[(round as usize) % corpus.len()].clone();
            target(&mutate(seed, &mut stream));
        }
    }
}

fn try_split_tapes(seeds: impl Iterator<Item = u64>) {
    for seed in seeds {
        let outcome = std::panic::catch_unwind(|| fuzz::split_tape(&draw("split_tape", seed)));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

/// No stream ends short, and each ends (`fuzz::split_tape`).
#[test]
fn split_connections_are_whole_or_reset() {
    try_split_tapes(0..1_000);
}

/// Runs the test above with the number of seeds in `SEEDS`; to be started by hand.
#[test]
#[ignore = "minutes; SEEDS=30000 cargo test --release -p fuzz -- --ignored"]
fn many_split_connections_are_whole_or_reset() {
    let seeds = std::env::var("SEEDS").map_or(20_000, |seeds| seeds.parse().expect("a number"));
    try_split_tapes(1_000..1_000 + seeds);
}
