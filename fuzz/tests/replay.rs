//! Feeds every target with the committed corpus and with bytes from a seed, so that no instrumented build is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use fuzz::{Pair, TARGETS, Target};
use machine::RandomStream;

/// Percentage of the pairs of outcomes in the floor that a corpus must reach.
const LEAST: usize = 95;
/// First lines of the file with the floor.
const HEAD: &str = "# What each corpus reaches: the number of pairs of outcomes, and all outcomes.\n\
    # OUTCOMES=write cargo test -p fuzz writes this file anew, after `cargo xtask fuzz --minimize`.\n";

/// Returns the path of a file of this crate.
fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Returns the files in `corpus/TARGET/`.
fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let folder = path("corpus").join(target.name);
    let files =
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files.sort();
    let read = |file: PathBuf| std::fs::read(file).expect("its content");
    files.into_iter().map(read).collect()
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
    for target in TARGETS {
        let corpus = corpus(target);
        let mut stream = RandomStream::named(1, target.name);
        for round in 0..target.rounds {
            let seed = corpus[(round as usize) % corpus.len()].clone();
            (target.run)(&mutate(seed, &mut stream));
        }
    }
}

/// Returns the outcomes in these pairs.
fn outcomes(pairs: &BTreeSet<Pair>) -> BTreeSet<&str> {
    let names = pairs.iter().map(|[_, outcome]| outcome.as_str());
    let is_name = |name: &&str| !name.starts_with(|first: char| first.is_ascii_digit());
    names.filter(is_name).collect()
}

/// Returns the text of the floor that these corpora reach.
fn written(reached: &BTreeMap<&str, BTreeSet<Pair>>) -> String {
    let mut text = HEAD.to_owned();
    for (name, pairs) in reached {
        writeln!(text, "{name} {}", pairs.len()).expect("a string takes it");
        for outcome in outcomes(pairs) {
            writeln!(text, "    {outcome}").expect("a string takes it");
        }
    }
    text
}

/// No corpus panics, and each reaches the outcomes of `outcomes.txt`: if a format changes, or inputs are lost, a corpus
/// that is stale shows here.
#[test]
fn each_corpus_reaches_what_it_reached() {
    let reached = TARGETS.iter().map(|target| {
        let runs = corpus(target).into_iter();
        let pairs = runs.flat_map(|bytes| fuzz::traced(|| (target.run)(&bytes)));
        (target.name, pairs.collect::<BTreeSet<_>>())
    });
    let reached: BTreeMap<_, _> = reached.collect();
    let file = path("outcomes.txt");
    if std::env::var("OUTCOMES").is_ok_and(|what| what == "write") {
        std::fs::write(&file, written(&reached)).expect("the floor is written");
    }
    let floor = std::fs::read_to_string(&file).expect("the floor");
    let lines = floor.lines().filter(|line| !line.starts_with('#'));
    let (mut name, mut missing) = ("", Vec::new());
    let mut least = BTreeMap::new();
    for line in lines {
        if let Some(outcome) = line.strip_prefix("    ") {
            let pairs = reached.get(name);
            if !pairs.is_some_and(|pairs| outcomes(pairs).contains(outcome)) {
                missing.push(format!("{name} does not reach {outcome}"));
            }
        } else {
            let (target, pairs) = line.split_once(' ').expect("a name and a number");
            name = target;
            least.insert(target, pairs.parse::<usize>().expect("a number"));
        }
    }
    for (name, pairs) in &reached {
        let least = least.get(name).copied().unwrap_or(usize::MAX);
        if pairs.len().saturating_mul(100) < least.saturating_mul(LEAST) {
            missing.push(format!("{name} reaches {} pairs of {least}", pairs.len()));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
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
