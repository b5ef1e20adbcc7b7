//! Tapes from seeds, by swarm testing: each seed has its own kinds of faults, and its own scale of time.

use std::ops::Range;

use machine::RandomStream;

use crate::step::KINDS;
use crate::tape::PIECE;

/// Kinds of steps that are no faults: waits, and actions of applications.
const USUAL: [u8; 12] = [0, 0, 0, 1, 1, 2, 3, 3, 3, 4, 5, 6];
/// Kind of the actions of programs on mounts.
const ACT: u8 = 29;
/// Kinds of faults: of paths, processes and attackers; of mounts and their server; and of routes.
const FAULTS: Range<u8> = 7..29;
const FILE_FAULTS: Range<u8> = ACT + 1..39;
const ROUTE_FAULTS: Range<u8> = 39..KINDS;
/// Kinds with a time: waits, fades, kills, pauses, clones and stops.
const TIMED: [u8; 8] = [0, 8, 17, 18, 20, 27, 32, 33];

/// Returns the setting and the steps of a seed.
pub(crate) fn draw(seed: u64) -> ([u8; PIECE], Vec<[u8; PIECE]>) {
    let mut stream = RandomStream::named(seed, "tape");
    let mut setting = [0; PIECE];
    stream.fill(&mut setting);
    let mut faults: Vec<u8> = FAULTS.filter(|_| stream.below(3) == 0).collect();
    // A stream of its own, so that the tapes of seeds without files stay the same.
    let mut files = RandomStream::named(seed, "files");
    let file_share = [0, 0, 3, 7][files.below(4) as usize];
    if file_share > 0 {
        faults.extend(FILE_FAULTS.filter(|_| files.below(3) == 0));
    }
    faults.extend(ROUTE_FAULTS.filter(|_| files.below(6) == 0));
    let fault_share = 1 + stream.below(5);
    // The longest waits, fades and pauses: seconds, minutes, hours or days.
    let longest = [26_000, 36_000, 48_000, 65_535][stream.below(4) as usize];
    let steps = (0..8 + stream.below(56)).map(|_| {
        let mut step = [0; PIECE];
        stream.fill(&mut step);
        step[0] = if !faults.is_empty() && stream.below(10) < fault_share {
            faults[stream.below(faults.len() as u64) as usize]
        } else if files.below(10) < file_share {
            ACT
        } else {
            USUAL[stream.below(USUAL.len() as u64) as usize]
        };
        step[1] %= 8;
        let time = stream.below(longest) as u16;
        if TIMED.contains(&step[0]) {
            step[2..4].copy_from_slice(&time.to_le_bytes());
        }
        step
    });
    let steps = steps.collect();
    (setting, steps)
}
