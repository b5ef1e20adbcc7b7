use std::ops::Range;

use proptest::prelude::*;

use super::Content;
use crate::storage::chunks::{CHUNK, Chunks};

/// An operation on a file.
#[derive(Debug, Clone)]
enum Step {
    Write(u64, Vec<u8>, bool),
    Commit(Range<u64>),
    Resize(u64),
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let place = 0..3 * CHUNK;
    let length = prop_oneof![1..20_usize, 1..CHUNK as usize * 2];
    let data = (length, 1..=u8::MAX).prop_map(|(length, byte)| vec![byte; length]);
    let range = (place.clone(), 0..2 * CHUNK).prop_map(|(start, length)| start..start + length);
    prop_oneof![
        4 => (place.clone(), data, any::<bool>())
            .prop_map(|(offset, data, stable)| Step::Write(offset, data, stable)),
        2 => range.prop_map(Step::Commit),
        1 => place.prop_map(Step::Resize),
        1 => Just(Step::Crash),
    ]
}

/// The content in plain vectors; in the stored content, `None` is an unstable byte.
#[derive(Default)]
struct Model {
    seen: Vec<u8>,
    stored: Vec<u8>,
    unstable: Vec<bool>,
}

impl Model {
    fn apply(&mut self, step: &Step) {
        match step {
            Step::Write(offset, data, stable) => {
                let range = *offset as usize..*offset as usize + data.len();
                self.seen.resize(self.seen.len().max(range.end), 0);
                self.unstable.resize(self.seen.len(), false);
                self.seen[range.clone()].copy_from_slice(data);
                self.unstable[range.clone()].fill(true);
                if *stable {
                    self.commit(range);
                }
            }
            Step::Commit(range) => self.commit(range.start as usize..range.end as usize),
            Step::Resize(size) => {
                self.seen.resize(*size as usize, 0);
                self.stored.resize(*size as usize, 0);
                self.unstable.resize(*size as usize, false);
            }
            Step::Crash => {
                self.seen.clone_from(&self.stored);
                self.unstable = vec![false; self.seen.len()];
            }
        }
    }

    fn commit(&mut self, range: Range<usize>) {
        for place in range.start..range.end.min(self.seen.len()) {
            if std::mem::take(&mut self.unstable[place]) {
                self.stored.resize(self.stored.len().max(place + 1), 0);
                self.stored[place] = self.seen[place];
            }
        }
    }
}

fn bytes(chunks: &Chunks) -> Vec<u8> {
    let mut bytes = Vec::new();
    chunks.read(&(0..chunks.size()), &mut bytes);
    bytes
}

proptest! {
    #[test]
    fn what_is_seen_and_what_a_crash_leaves_are_as_in_plain_vectors(steps in prop::collection::vec(step(), 1..30)) {
        let (mut content, mut model) = (Content::default(), Model::default());
        for step in &steps {
            match step {
                Step::Write(offset, data, stable) => content.write(*offset, data, *stable),
                Step::Commit(range) => content.commit(range),
                Step::Resize(size) => content.resize(*size),
                Step::Crash => {
                    let lost = model.unstable.iter().filter(|unstable| **unstable).count();
                    prop_assert_eq!(content.crash(), lost as u64);
                }
            }
            model.apply(step);
            prop_assert_eq!(bytes(content.seen()), &model.seen[..], "seen, {:?}", step);
            prop_assert_eq!(bytes(content.stored()), &model.stored[..], "stored, {:?}", step);
        }
    }
}

#[test]
fn stable_data_take_their_room_once() {
    let mut content = Content::default();
    content.write(0, &[7; 3 * CHUNK as usize], false);
    assert_eq!(content.stored().count(), 0);
    content.commit(&(0..u64::MAX));
    for index in 0..3 {
        assert!(content.seen().shares(index, content.stored()));
    }
}

#[test]
fn scattered_data_become_stable_before_there_are_too_many_pieces() {
    let mut content = Content::default();
    for place in 0..=super::PIECES_MAX as u64 {
        content.write(2 * place, &[1], false);
    }
    assert_eq!(content.crash(), 0);
    assert_eq!(content.seen().size(), 2 * super::PIECES_MAX as u64 + 1);
}

#[test]
fn zeros_that_nobody_wrote_take_no_room() {
    let mut content = Content::default();
    content.resize(1 << 62);
    content.write(1 << 40, b"here", true);
    assert_eq!(content.seen().count(), 1);
    let mut bytes = Vec::new();
    let near = (1 << 40) - 2..(1 << 40) + 6;
    content.seen().read(&near, &mut bytes);
    assert_eq!(bytes, b"\0\0here\0\0");
}
