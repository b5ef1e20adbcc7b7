//! Records in pieces of any size, and streams that are none.

use proptest::prelude::*;

use super::{LAST, RecordError, RecordReader, write_record};

fn fragment(last: bool, content: &[u8]) -> Vec<u8> {
    let mark = if last { LAST } else { 0 } | content.len() as u32;
    [&mark.to_be_bytes(), content].concat()
}

fn read(reader: &mut RecordReader, bytes: &[u8]) -> Result<Vec<Vec<u8>>, RecordError> {
    let mut records = Vec::new();
    reader.read(bytes, |record| records.push(record.to_vec()))?;
    Ok(records)
}

#[test]
fn fragments_are_joined() {
    let stream = [
        fragment(false, b"ab"),
        fragment(true, b"c"),
        fragment(true, b""),
    ]
    .concat();
    let records = read(&mut RecordReader::new(3), &stream);
    assert_eq!(records, Ok(vec![b"abc".to_vec(), Vec::new()]));
}

#[test]
fn a_record_beyond_the_limit_ends_the_stream() {
    let stream = [fragment(false, b"ab"), fragment(true, b"cd")].concat();
    let error = read(&mut RecordReader::new(3), &stream).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a record of at least 4 bytes, at most 3 are allowed"
    );
    let error = read(&mut RecordReader::new(3), &[0; 4]).unwrap_err();
    assert_eq!(error, RecordError::EmptyFragment);
}

proptest! {
    #[test]
    fn any_cut_gives_the_same_records(
        messages in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..6),
        fragments in 1..20usize,
        pieces in 1..30usize,
    ) {
        let mut stream = Vec::new();
        for (place, message) in messages.iter().enumerate() {
            if place % 2 == 0 {
                write_record(&mut stream, |out| out.extend(message));
                continue;
            }
            let mut rest = &message[..];
            while rest.len() > fragments {
                stream.extend(fragment(false, &rest[..fragments]));
                rest = &rest[fragments..];
            }
            stream.extend(fragment(true, rest));
        }
        let mut reader = RecordReader::new(50);
        let mut records = Vec::new();
        for piece in stream.chunks(pieces) {
            records.extend(read(&mut reader, piece).unwrap());
        }
        prop_assert_eq!(records, messages);
    }

    #[test]
    fn no_stream_panics(pieces in proptest::collection::vec(proptest::collection::vec(0..9u8, 0..40), 0..8)) {
        let mut reader = RecordReader::new(1_000);
        for piece in pieces {
            if read(&mut reader, &piece).is_err() {
                break;
            }
        }
    }
}
