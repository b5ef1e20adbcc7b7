//! Runs of the world: old failures, and new seeds.

use std::fs;
use std::path::Path;

use units::Duration;
use world::{Tape, run};

/// Number of seeds that each test run has, and number of new ones.
const SEEDS: u64 = 60;
const NEW_SEEDS: usize = 40;
const HOUR: Duration = Duration::from_secs(3_600);

/// Runs a tape; a failure is printed in words.
fn try_tape(name: &str, tape: &Tape) {
    if let Err(violation) = run(tape) {
        panic!(
            "{name}: {violation}\n\n{}\n\nto repeat it, shorter: cargo xtask soak world --tape {tape}",
            tape.describe()
        );
    }
}

/// The tapes in `tapes/` once broke a promise; the name of each says what happened.
#[test]
fn what_broke_once_holds_now() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tapes");
    let files = fs::read_dir(&folder).expect("the folder of the tapes");
    for file in files {
        let file = file.expect("a file").path();
        let text = fs::read_to_string(&file).expect("a text");
        let name = file.display().to_string();
        let tape = text
            .parse()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        try_tape(&name, &tape);
    }
}

#[test]
fn every_promise_holds_in_the_worlds_of_some_seeds() {
    for seed in 0..SEEDS {
        try_tape(&format!("seed {seed}"), &Tape::from_seed(seed));
    }
}

/// `WORLD_SEED` is the first seed, which `cargo xtask check` takes from the commit. Worlds of more than an hour are
/// left to `cargo xtask soak world`: most of the time would go to them.
#[test]
fn every_promise_holds_in_the_worlds_of_new_seeds() {
    let first = std::env::var("WORLD_SEED").map_or(SEEDS, |seed| seed.parse().expect("a number"));
    let tapes = (first..).map(|seed| (seed, Tape::from_seed(seed)));
    let short = tapes.filter(|(_, tape)| tape.span() <= HOUR);
    for (seed, tape) in short.take(NEW_SEEDS) {
        try_tape(&format!("seed {seed}"), &tape);
    }
}

#[test]
fn a_run_has_the_same_outputs_each_time() {
    for seed in 0..4 {
        let tape = Tape::from_seed(seed);
        assert_eq!(run(&tape), run(&tape), "seed {seed}");
    }
}

#[test]
fn a_tape_is_read_from_its_text() {
    let tape = Tape::from_seed(3);
    assert_eq!(tape.to_string().parse(), Ok(tape.clone()));
    assert_eq!(Tape::from_bytes(&tape.to_bytes()), tape);
    let error = "0g".parse::<Tape>().expect_err("no digit");
    assert!(error.to_string().contains("character 2"));
    assert!("012".parse::<Tape>().is_err());
}
