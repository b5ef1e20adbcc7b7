//! Feeds every target with the committed corpus and with bytes from a seed, so that no nightly is needed.

use std::path::Path;

use machine::RandomStream;

/// Number of random inputs for each target.
const ROUNDS: u64 = 3_000;

/// Returns the files in `corpus/TARGET/`.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target);
    let files =
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    files
        .map(|file| std::fs::read(file.expect("a file").path()).expect("its content"))
        .collect()
}

/// Changes `bytes` in a few places, cuts them, or makes new ones.
fn mutate(mut bytes: Vec<u8>, stream: &mut RandomStream) -> Vec<u8> {
    if bytes.is_empty() || stream.below(4) == 0 {
        bytes = vec![0; stream.below(600) as usize];
        stream.fill(&mut bytes);
        return bytes;
    }
    for _ in 0..stream.below(6) {
        let place = stream.below(bytes.len() as u64) as usize;
        bytes[place] = stream.next_u64() as u8;
    }
    if stream.below(3) == 0 {
        bytes.truncate(stream.below(bytes.len() as u64 + 1) as usize);
    }
    bytes
}

#[test]
fn nothing_panics() {
    for (name, target) in fuzz::TARGETS {
        let corpus = corpus(name);
        assert!(!corpus.is_empty(), "corpus/{name} is empty");
        for bytes in &corpus {
            target(bytes);
        }
        let mut stream = RandomStream::named(1, name);
        for round in 0..ROUNDS {
            let seed = corpus[(round as usize) % corpus.len()].clone();
            target(&mutate(seed, &mut stream));
        }
    }
}

/// Returns a tape with steps of applications and faults, from a seed.
fn split_tape(seed: u64) -> Vec<u8> {
    let mut stream = RandomStream::named(seed, "applications");
    let mut tape = vec![stream.next_u64() as u8];
    // Faults that end many connections are rarer in most tapes than in some.
    let calm = stream.below(4) > 0;
    for _ in 0..20 + stream.below(180) {
        let kind = match stream.below(if calm { 14 } else { 16 }) {
            13 if calm && stream.below(8) > 0 => 0,
            kind => kind,
        };
        tape.extend([
            0,
            3,
            kind as u8,
            stream.next_u64() as u8,
            stream.next_u64() as u8,
        ]);
    }
    tape
}

fn try_split_tapes(seeds: impl Iterator<Item = u64>) {
    for seed in seeds {
        let outcome = std::panic::catch_unwind(|| fuzz::split_tape(&split_tape(seed)));
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
