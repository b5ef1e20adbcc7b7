//! A whole world: gateways, mobile hosts, applications and attackers (`sim/world`).

use world::Tape;

use crate::outcome::note;

/// Most steps of a tape, so that one run stays short.
const STEPS: usize = 32;
/// Bytes of the setting, and of a step.
const PIECE: usize = 8;
/// Number of methods for TCP that a setting chooses from, and the number of split TCP in the paper's profile.
const METHODS: u8 = 5;
const PAPER: u8 = 4;
/// Limit of the high byte of each step's time: what comes to less than five minutes.
const TIME_MAX: u8 = 157;
/// Longest input that is read.
pub(crate) const WORLD_TAPE_MAX: usize = PIECE * (STEPS + 1);

/// Runs a tape of bytes: the setting and the steps of a run, which must keep every promise.
pub fn world_tape(bytes: &[u8]) {
    let mut bytes = bytes[..bytes.len().min(WORLD_TAPE_MAX)].to_vec();
    // The paper's profile of split TCP needs a hop that keeps the order (decision 8).
    if let Some(method) = bytes
        .get_mut(1)
        .filter(|method| **method % METHODS == PAPER)
    {
        *method -= 1;
    }
    for step in bytes.chunks_exact_mut(PIECE).skip(1) {
        step[3] %= TIME_MAX;
    }
    let tape = Tape::from_bytes(&bytes);
    tape.steps().for_each(|step| note(&step));
    let broken = world::run(&tape).err();
    assert_eq!(broken, None, "{}", tape.describe());
}
