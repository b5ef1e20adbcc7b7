//! Inputs that a seed draws, for runs without a fuzzer.

use std::path::Path;

use machine::RandomStream;

/// Bytes of a tape of the mount.
const MOUNT_BYTES: usize = 600;

/// Returns the input of a target for a seed: a tape of steps for `split_tape` and `mount_tape`, and otherwise a file of
/// the corpus with changes.
///
/// # Panics
/// If the target's corpus cannot be read: its files lie in the repository.
pub fn draw(target: &str, seed: u64) -> Vec<u8> {
    match target {
        "split_tape" => split_tape(seed),
        "mount_tape" => {
            let mut tape = vec![0; MOUNT_BYTES];
            RandomStream::named(seed, "mount").fill(&mut tape);
            tape
        }
        _ => {
            let mut corpus = corpus(target);
            let file = corpus.swap_remove(seed as usize % corpus.len());
            mutate(file, &mut RandomStream::named(seed, target))
        }
    }
}

/// Returns the files in `corpus/TARGET/`, of which there is at least one.
///
/// # Panics
/// If they cannot be read.
pub fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target);
    let files =
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files = files.map(|file| std::fs::read(file.expect("a file").path()).expect("its content"));
    let mut files: Vec<_> = files.collect();
    files.sort();
    assert!(!files.is_empty(), "corpus/{target} is empty");
    files
}

/// Changes `bytes` in a few places, cuts them, or makes new ones.
pub fn mutate(mut bytes: Vec<u8>, stream: &mut RandomStream) -> Vec<u8> {
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

/// Returns a tape with steps of applications and faults.
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
