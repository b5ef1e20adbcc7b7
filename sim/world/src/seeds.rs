//! Tapes from seeds, by swarm testing: each seed has its own kinds of faults, and its own scale of time.

use machine::RandomStream;

use crate::step::KINDS;
use crate::tape::PIECE;

/// Kinds of steps that are no faults: waits, and actions of applications.
const USUAL: [u8; 12] = [0, 0, 0, 1, 1, 2, 3, 3, 3, 4, 5, 6];
/// First kind of step that is a fault.
const FIRST_FAULT: u8 = 7;

/// Returns the setting and the steps of a seed.
pub(crate) fn draw(seed: u64) -> ([u8; PIECE], Vec<[u8; PIECE]>) {
    let mut stream = RandomStream::named(seed, "tape");
    let mut setting = [0; PIECE];
    stream.fill(&mut setting);
    let faults: Vec<u8> = (FIRST_FAULT..KINDS)
        .filter(|_| stream.below(3) == 0)
        .collect();
    let fault_share = 1 + stream.below(5);
    // The longest waits, fades and pauses: seconds, minutes, hours or days.
    let longest = [26_000, 36_000, 48_000, 65_535][stream.below(4) as usize];
    let steps = (0..8 + stream.below(56)).map(|_| {
        let mut step = [0; PIECE];
        stream.fill(&mut step);
        step[0] = if !faults.is_empty() && stream.below(10) < fault_share {
            faults[stream.below(faults.len() as u64) as usize]
        } else {
            USUAL[stream.below(USUAL.len() as u64) as usize]
        };
        step[1] %= 8;
        let time = stream.below(longest) as u16;
        // The times of waits, fades, kills, pauses, clones and stops.
        if matches!(step[0], 0 | 8 | 17 | 18 | 20 | 27) {
            step[2..4].copy_from_slice(&time.to_le_bytes());
        }
        step
    });
    let steps = steps.collect();
    (setting, steps)
}
