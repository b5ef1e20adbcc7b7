//! The model on tapes from seeds.

use machine::{RandomStream, Step};
use mount::FileSystem;
use units::{Duration, Instant};

use crate::model::run;

/// Number of seeds in an ordinary run; `MOUNT_SEEDS` sets another number.
const SEEDS: u64 = 1_000;

/// Seeds that have failed: an answer from before a truncation was used, and an append left a hole.
const FAILED: [u64; 1] = [3_860];

fn tape(seed: u64) -> Vec<u8> {
    let mut random = RandomStream::named(seed, "mount");
    let mut tape = vec![0; 600];
    random.fill(&mut tape);
    tape
}

#[test]
fn programs_on_two_hosts_see_the_reference_file_system() {
    let asked = std::env::var("MOUNT_SEEDS");
    let seeds = asked.map_or(SEEDS, |seeds| seeds.parse().unwrap());
    for seed in (0..seeds).chain(FAILED) {
        let outcome = std::panic::catch_unwind(|| run(&tape(seed)));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

#[test]
fn the_core_keeps_the_contract_under_random_requests() {
    for seed in 0..10 {
        let (config, tapes) = run(&tape(seed));
        for tape in tapes {
            let mut before = Instant::ZERO;
            let mut script = Vec::new();
            for step in tape.steps() {
                if let Step::Input(now, input) = step {
                    let delay = now.since(std::mem::replace(&mut before, *now));
                    script.push((delay, input.clone()));
                }
            }
            let build = || FileSystem::new(&config);
            machine::conformance::check(build, &script, Duration::from_secs(1));
        }
    }
}
