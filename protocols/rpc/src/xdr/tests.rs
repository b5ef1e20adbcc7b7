//! Values there and back, and bytes that are none.

use proptest::prelude::*;

use super::{Malformed, Reader, Writer};

type Write = for<'a, 'b> fn(&'a mut Writer<'b>) -> &'a mut Writer<'b>;

fn written(write: Write) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut Writer::new(&mut bytes));
    bytes
}

/// RFC 4506 §4: what the bytes of each kind are.
#[test]
fn values_have_the_bytes_of_the_standard() {
    assert_eq!(written(|out| out.u32(0x0102_0304)), [1, 2, 3, 4]);
    let bytes = written(|out| out.u64(0x0102_0304_0506_0708));
    assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(written(|out| out.bool(true)), [0, 0, 0, 1]);
    let bytes = written(|out| out.opaque(b"sillyprog"));
    assert_eq!(bytes, *b"\0\0\0\x09sillyprog\0\0\0");
    assert_eq!(written(|out| out.fixed(b"lisp!")), *b"lisp!\0\0\0");
    let none = written(|out| {
        out.optional(None::<u32>, |out, value| {
            out.u32(value);
        })
    });
    assert_eq!(none, [0, 0, 0, 0]);
}

#[test]
fn a_length_beyond_its_limit_is_refused_before_anything_is_read() {
    let bytes = written(|out| out.u32(7).opaque(&[9; 100]));
    let mut reader = Reader::new(&bytes);
    reader.u32("number").unwrap();
    let error = reader.opaque("name", 99).unwrap_err();
    let text = error.to_string();
    assert_eq!(
        text,
        "`name` at byte 4: a length of 100, at most 99 allowed"
    );
    let mut reader = Reader::new(&[0xff; 8]);
    assert!(matches!(
        reader.opaque("data", usize::MAX >> 8),
        Err(Malformed::TooLong { .. } | Malformed::TooShort { .. })
    ));
}

#[test]
fn what_is_cut_or_too_much_says_where() {
    let text = |error: Malformed| error.to_string();
    let mut reader = Reader::new(&[0, 0, 0, 5, 1, 2, 3, 4]);
    assert_eq!(
        text(reader.opaque("name", 8).unwrap_err()),
        "`name` at byte 4: 4 bytes where it needs 8"
    );
    let mut reader = Reader::new(&[0, 0, 0, 2]);
    assert_eq!(
        text(reader.bool("more").unwrap_err()),
        "`more` at byte 0: 2 means nothing"
    );
    let mut reader = Reader::new(&[0; 12]);
    reader.u64("offset").unwrap();
    assert_eq!(
        text(reader.finish().unwrap_err()),
        "4 bytes follow the end at byte 8"
    );
}

proptest! {
    #[test]
    fn values_come_back(
        number in any::<u32>(),
        large in any::<u64>(),
        data in proptest::collection::vec(any::<u8>(), 0..64),
        name in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..9)),
    ) {
        let mut bytes = Vec::new();
        let mut out = Writer::new(&mut bytes);
        out.u32(number).opaque(&data).u64(large);
        out.optional(name.as_deref(), |out, name| {
            out.opaque(name);
        });
        prop_assert_eq!(bytes.len() % 4, 0);
        let mut reader = Reader::new(&bytes);
        prop_assert_eq!(reader.u32("number"), Ok(number));
        prop_assert_eq!(reader.opaque("data", 64), Ok(&data[..]));
        prop_assert_eq!(reader.u64("large"), Ok(large));
        let read = reader.optional("name", |reader| reader.opaque("name", 8));
        prop_assert_eq!(read, Ok(name.as_deref()));
        prop_assert_eq!(reader.finish(), Ok(()));
    }

    #[test]
    fn no_bytes_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..40),
        steps in proptest::collection::vec(0..6, 0..12),
    ) {
        let mut reader = Reader::new(&bytes);
        for step in steps {
            let ended = match step {
                0 => reader.u32("a").is_err(),
                1 => reader.u64("b").is_err(),
                2 => reader.bool("c").is_err(),
                3 => reader.opaque("d", 16).is_err(),
                4 => reader.fixed::<5>("e").is_err(),
                _ => reader.length("f", 3).is_err(),
            };
            prop_assert!(reader.at() <= bytes.len());
            if ended {
                break;
            }
        }
    }
}
