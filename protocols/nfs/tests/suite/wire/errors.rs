//! Tests of malformed bytes: the reported errors, and no worse effect.

use nfs::{
    Answer, BadName, Call, Commit, Create, GetAttributes, Limits, LookUp, NAME_MAX, Name, Numbered,
    PATH_MAX, Path, Procedure, Read, ReadLink, Value, Write,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Words as bytes, with `more` behind them.
fn words(words: &[u32], more: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    bytes.extend(more);
    bytes
}

fn refusal<'a, V: Value<'a>>(bytes: &'a [u8]) -> String {
    match V::decode(bytes, &Limits::USUAL) {
        Ok(_) => "nothing".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_unknown_status_is_named() {
    let bytes = words(&[10_009], &[]);
    assert_eq!(
        refusal::<Answer<GetAttributes>>(&bytes),
        "`status` at byte 0: 10009 means nothing"
    );
}

#[test]
fn counts_that_contradict_their_data_are_refused() {
    let answer = words(&[0, 0, 8, 1, 4], b"data");
    assert_eq!(
        refusal::<Answer<Read>>(&answer),
        "`count` at byte 8: says 8 bytes where 4 follow"
    );
    let call = words(&[0, 0, 0, 5, 2, 4], b"data");
    assert_eq!(
        refusal::<Write>(&call),
        "`count` at byte 12: says 5 bytes where 4 follow"
    );
}

#[test]
fn a_huge_count_is_refused_before_anything_is_read() {
    let answer = words(&[0, 0, u32::MAX, 1, u32::MAX], &[]);
    assert_eq!(
        refusal::<Answer<Read>>(&answer),
        "`data` at byte 16: a length of 4294967295, at most 32768 allowed"
    );
    let call = words(&[65], &[0; 80]);
    assert_eq!(
        refusal::<GetAttributes>(&call),
        "`object` at byte 0: a length of 65, at most 64 allowed"
    );
}

#[test]
fn names_that_could_do_harm_are_refused_with_their_place() {
    let place = |name: &[u8]| words(&[0, name.len() as u32], name);
    assert_eq!(
        refusal::<LookUp>(&place(b"a/bc")),
        "`name` at byte 4: a `/` at its byte 1, which no name may have"
    );
    assert_eq!(
        refusal::<LookUp>(&place(b"..\0\0")),
        "`name` at byte 4: a zero byte at its byte 2"
    );
    assert_eq!(
        refusal::<LookUp>(&words(&[0, 2], b"..\0\0")),
        "`name` at byte 4: `.` and `..` name no entry of a directory"
    );
    assert_eq!(
        refusal::<LookUp>(&place(b"")),
        "`name` at byte 4: it is empty"
    );
    assert_eq!(
        refusal::<Answer<ReadLink>>(&words(&[0, 0, 4], b"a\0bc")),
        "`path` at byte 8: a zero byte at its byte 1"
    );
}

#[test]
fn names_and_paths_that_are_sent_keep_the_limits() {
    assert!(Name::new(&[b'x'; NAME_MAX]).is_ok());
    assert_eq!(
        Name::new(&[b'x'; NAME_MAX + 1]),
        Err(BadName::TooLong {
            length: 256,
            limit: 255
        })
    );
    assert!(Path::new(&[b'/'; PATH_MAX]).is_ok());
    assert_eq!(
        Path::new(&[b'/'; PATH_MAX + 1]),
        Err(BadName::TooLong {
            length: 4_096,
            limit: 4_095
        })
    );
    assert_eq!(Name::new(b"."), Err(BadName::Dots));
    assert_eq!(Path::new(b""), Err(BadName::Empty));
    let shown = Name::new(b"r\xc3\xa9sum\xc3\xa9\n").expect("a name");
    assert_eq!(shown.to_string(), "r\\xc3\\xa9sum\\xc3\\xa9\\n");
}

#[test]
fn choices_that_mean_nothing_are_named() {
    let create = words(&[0, 1], b"x\0\0\0\0\0\0\x03");
    assert_eq!(
        refusal::<Create>(&create),
        "`how` at byte 12: 3 means nothing"
    );
    assert_eq!(
        refusal::<Commit>(&words(&[0, 0, 0, 0, 9], &[])),
        "4 bytes follow the end at byte 16"
    );
    assert_eq!(
        refusal::<nfs::MakeNode>(&words(&[0, 1], b"x\0\0\0\0\0\0\x01")),
        "`node` at byte 12: 1 means nothing"
    );
    assert_eq!(
        refusal::<Answer<nfs::Remove>>(&words(&[0, 2], &[])),
        "`before` at byte 4: 2 means nothing"
    );
    let attributes = words(&[0, 9], &[]);
    assert_eq!(
        refusal::<Answer<GetAttributes>>(&attributes),
        "`kind` at byte 4: 9 means nothing"
    );
}

/// Decodes the bytes as every call, and as an answer of every form.
fn decode_all(bytes: &[u8]) {
    for &procedure in Procedure::ALL {
        if let Err(error) = Call::read(procedure, bytes, &Limits::USUAL) {
            assert!(!error.to_string().is_empty());
        }
    }
    let answers = [
        refusal::<Answer<GetAttributes>>(bytes),
        refusal::<Answer<LookUp>>(bytes),
        refusal::<Answer<nfs::Access>>(bytes),
        refusal::<Answer<ReadLink>>(bytes),
        refusal::<Answer<Read>>(bytes),
        refusal::<Answer<Write>>(bytes),
        refusal::<Answer<Create>>(bytes),
        refusal::<Answer<nfs::Remove>>(bytes),
        refusal::<Answer<nfs::Rename>>(bytes),
        refusal::<Answer<nfs::Link>>(bytes),
        refusal::<Answer<nfs::ReadDirectory>>(bytes),
        refusal::<Answer<nfs::ReadDirectoryPlus>>(bytes),
        refusal::<Answer<nfs::FileSystemStatus>>(bytes),
        refusal::<Answer<nfs::FileSystemInfo>>(bytes),
        refusal::<Answer<nfs::PathConfiguration>>(bytes),
        refusal::<Answer<Commit>>(bytes),
        refusal::<nfs::mount::MountAnswer>(bytes),
        refusal::<nfs::mount::MountList>(bytes),
        refusal::<nfs::mount::ExportList>(bytes),
        refusal::<nfs::portmap::Port>(bytes),
    ];
    assert!(answers.iter().all(|text| !text.is_empty()));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..300)) {
        decode_all(&bytes);
    }

    /// Small words are valid lengths and choices, so these get further.
    #[test]
    fn no_words_panic(
        sample in vec(prop_oneof![0..8_u32, any::<u32>()], 0..80),
        cut in 0..4_usize,
    ) {
        let bytes = words(&sample, &[]);
        decode_all(&bytes[..bytes.len().saturating_sub(cut)]);
    }
}
