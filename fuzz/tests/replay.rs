//! Feeds every target with the committed corpus and with bytes from a seed, so that no nightly is needed.

use std::path::Path;

use machine::RandomStream;

/// Random inputs for each target.
const ROUNDS: u64 = 3_000;

/// Files in `corpus/TARGET/`.
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
