//! READDIR and READDIRPLUS: pages, and the entries on them.

use nfs::checks::Implausible;
use nfs::{
    Answer, CookieVerifier, Entry, EntryPlus, Limits, List, Listed, ListedName, Outcome, Page,
    PagePlus, ReadDirectory, ReadDirectoryPlus, Value, write_list,
};
use nfs3_types::nfs3 as theirs;
use nfs3_types::xdr_codec::List as TheirList;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::agreement::agree;
use super::samples::{handle, listed, outcome, some_attributes};
use super::theirs::{Theirs, result};

fn entry() -> impl Strategy<Value = Entry<'static>> {
    (any::<(u64, u64)>(), listed()).prop_map(|((file_id, cookie), name)| Entry {
        file_id,
        name,
        cookie,
    })
}

fn entry_plus() -> impl Strategy<Value = EntryPlus<'static>> {
    let parts = (entry(), some_attributes(), option::of(handle()));
    parts.prop_map(|(entry, attributes, object)| EntryPlus {
        file_id: entry.file_id,
        name: entry.name,
        cookie: entry.cookie,
        attributes,
        object,
    })
}

/// A list of all `elements`.
fn list<T: Value<'static>>(elements: Vec<T>) -> List<'static, T> {
    let mut bytes = Vec::new();
    assert!(write_list(elements, usize::MAX, &mut bytes));
    List::encoded(bytes.leak()).expect("what was written can be read")
}

fn page() -> impl Strategy<Value = Page<'static>> {
    let parts = (
        some_attributes(),
        any::<[u8; 8]>(),
        vec(entry(), 0..9),
        any::<bool>(),
    );
    parts.prop_map(|(attributes, verifier, entries, end_of_directory)| Page {
        attributes,
        verifier: CookieVerifier(verifier),
        entries: list(entries),
        end_of_directory,
    })
}

fn page_plus() -> impl Strategy<Value = PagePlus<'static>> {
    let parts = (
        some_attributes(),
        any::<[u8; 8]>(),
        vec(entry_plus(), 0..9),
        any::<bool>(),
    );
    parts.prop_map(
        |(attributes, verifier, entries, end_of_directory)| PagePlus {
            attributes,
            verifier: CookieVerifier(verifier),
            entries: list(entries),
            end_of_directory,
        },
    )
}

fn their_page(page: &Page<'static>) -> theirs::READDIR3resok<'static> {
    let entries = page.entries.iter().map(|entry| theirs::entry3 {
        fileid: entry.file_id,
        name: entry.name.theirs(),
        cookie: entry.cookie,
    });
    theirs::READDIR3resok {
        dir_attributes: page.attributes.theirs(),
        cookieverf: theirs::cookieverf3(page.verifier.0),
        reply: theirs::dirlist3 {
            entries: TheirList(entries.collect()),
            eof: page.end_of_directory,
        },
    }
}

fn their_page_plus(page: &PagePlus<'static>) -> theirs::READDIRPLUS3resok<'static> {
    let entries = page.entries.iter().map(|entry| theirs::entryplus3 {
        fileid: entry.file_id,
        name: entry.name.theirs(),
        cookie: entry.cookie,
        name_attributes: entry.attributes.theirs(),
        name_handle: entry.object.theirs(),
    });
    theirs::READDIRPLUS3resok {
        dir_attributes: page.attributes.theirs(),
        cookieverf: theirs::cookieverf3(page.verifier.0),
        reply: theirs::dirlistplus3 {
            entries: TheirList(entries.collect()),
            eof: page.end_of_directory,
        },
    }
}

proptest! {
    #[test]
    fn pages_agree(
        plain in outcome(page(), some_attributes()),
        plus in outcome(page_plus(), some_attributes()),
    ) {
        let (plain, plus): (Answer<ReadDirectory>, Answer<ReadDirectoryPlus>) = (plain, plus);
        agree(&plain, &result(&plain, their_page, |rest| theirs::READDIR3resfail {
            dir_attributes: rest.theirs(),
        }));
        agree(&plus, &result(&plus, their_page_plus, |rest| theirs::READDIRPLUS3resfail {
            dir_attributes: rest.theirs(),
        }));
    }

    #[test]
    fn entries_come_back_in_order(
        entries in vec(entry(), 0..20),
        plus in vec(entry_plus(), 0..20),
    ) {
        prop_assert!(list(entries.clone()).iter().eq(entries.iter().copied()));
        prop_assert_eq!(list(entries.clone()).is_empty(), entries.is_empty());
        prop_assert!(list(plus.clone()).iter().eq(plus));
    }

    #[test]
    fn a_list_keeps_its_limit_and_says_what_is_left_out(
        entries in vec(entry(), 0..20),
        limit in 4..3_000_usize,
    ) {
        let mut bytes = vec![7; 3];
        let complete = write_list(entries.iter().copied(), limit, &mut bytes);
        prop_assert!(bytes.len() - 3 <= limit);
        let fitting: List<Entry> = List::encoded(&bytes[3..]).expect("a list");
        let count = fitting.iter().count();
        prop_assert!(fitting.iter().eq(entries[..count].iter().copied()));
        prop_assert_eq!(complete, count == entries.len());
    }
}

/// Returns a page with any names, also ones that no correct server sends.
fn page_with(names: &[&[u8]]) -> Vec<u8> {
    let entries = names.iter().zip(1..).map(|(name, number)| Entry {
        file_id: number,
        name: ListedName::new(name),
        cookie: number,
    });
    let mut list = Vec::new();
    write_list(entries, usize::MAX, &mut list);
    let page: Answer<ReadDirectory> = Outcome::Done(Page {
        attributes: None,
        verifier: CookieVerifier([1; 8]),
        entries: List::encoded(&list).expect("a list"),
        end_of_directory: true,
    });
    let mut bytes = Vec::new();
    page.encode(&mut bytes);
    bytes
}

#[test]
fn one_bad_name_does_not_hide_the_others() {
    let bytes = page_with(&[b".", b"..", b"good", b"../bad", b"a\0b", b"", b"last"]);
    let page = Answer::<ReadDirectory>::decode(&bytes, &Limits::USUAL).expect("well-formed");
    let page = page.done().expect("done");
    let mut seen = Vec::new();
    for entry in &page.entries {
        seen.push(match entry.name.check() {
            Ok(Listed::Itself) => "itself".to_owned(),
            Ok(Listed::Parent) => "parent".to_owned(),
            Ok(Listed::Entry(name)) => name.to_string(),
            Err(fault) => fault.to_string(),
        });
    }
    assert_eq!(
        seen,
        [
            "itself",
            "parent",
            "good",
            "a `/` at its byte 2, which no name may have",
            "a zero byte at its byte 1",
            "it is empty",
            "last",
        ]
    );
}

#[test]
fn a_name_of_4095_bytes_is_refused_with_its_place_or_by_its_check() {
    let bytes = page_with(&[b"good", &[b'x'; 4_095]]);
    let error = Answer::<ReadDirectory>::decode(&bytes, &Limits::USUAL).expect_err("too long");
    // status, no attributes, verifier, and the first entry: 4 + 4 + 8 + (4 + 8 + 8 + 8); then more, file.
    assert_eq!(
        error.to_string(),
        "`name` at byte 56: a length of 4095, at most 255 allowed"
    );
    let wide = Limits {
        name: 4_095,
        ..Limits::USUAL
    };
    let page = Answer::<ReadDirectory>::decode(&bytes, &wide).expect("allowed here");
    let last = page
        .done()
        .expect("done")
        .entries
        .iter()
        .last()
        .expect("two");
    assert_eq!(
        last.name.check().expect_err("too long").to_string(),
        "4095 bytes, at most 255 allowed"
    );
}

#[test]
fn a_listing_goes_on_behind_its_last_entry_unless_it_ends() {
    let page = |cookies: &[u64], end_of_directory| {
        let entry = |&cookie: &u64| Entry {
            file_id: 1,
            name: ListedName::new(b"x"),
            cookie,
        };
        Page {
            attributes: None,
            verifier: CookieVerifier::default(),
            entries: list(cookies.iter().map(entry).collect()),
            end_of_directory,
        }
    };
    assert_eq!(page(&[4, 9, 7], false).next_cookie(), Ok(Some(7)));
    assert_eq!(page(&[4, 9, 7], true).next_cookie(), Ok(None));
    assert_eq!(page(&[], true).next_cookie(), Ok(None));
    assert_eq!(page(&[], false).next_cookie(), Err(Implausible::EmptyPage));
    let plus = PagePlus {
        attributes: None,
        verifier: CookieVerifier::default(),
        entries: List::empty(),
        end_of_directory: false,
    };
    assert_eq!(plus.next_cookie(), Err(Implausible::EmptyPage));
}
