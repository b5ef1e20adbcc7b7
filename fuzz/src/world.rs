//! A whole world: gateways, mobile hosts, applications and attackers (`sim/world`).

use world::{Setting, Tape, Violation};

use crate::outcome::note;

/// Most steps of a tape, so that one run stays short.
const STEPS: usize = 32;
/// Bytes of the setting, and of a step.
const PIECE: usize = 8;
/// Limit of the high byte of each step's time: what comes to less than five minutes.
const TIME_MAX: u8 = 157;
/// Longest input that is read.
pub(crate) const WORLD_TAPE_MAX: usize = PIECE * (STEPS + 1);

/// Runs a tape of bytes: the setting and the steps of a run, which must keep every promise.
pub fn world_tape(bytes: &[u8]) {
    let mut bytes = bytes[..bytes.len().min(WORLD_TAPE_MAX)].to_vec();
    for step in bytes.chunks_exact_mut(PIECE).skip(1) {
        step[3] %= TIME_MAX;
    }
    let tape = Tape::from_bytes(&bytes);
    tape.steps().for_each(|step| note(&step));
    if let Err(violation) = world::run(&tape) {
        assert!(
            is_known(&tape.setting(), &violation),
            "{violation}\n{}",
            tape.describe()
        );
    }
}

/// Returns true for what docs/promises.md names as open.
fn is_known(setting: &Setting, violation: &Violation) -> bool {
    let is_slow = setting.rate.bits_per_second() < 100_000 && violation.promise == "R11";
    is_slow || violation.text.contains("wakes up for nothing")
}
