//! READDIR and READDIRPLUS.

use std::collections::BTreeSet;

use fileserver::{Config, Fault};
use nfs::checks::CookieCheck;
use nfs::{
    CookieVerifier, Create, CreateHow, LookUp, NewAttributes, ReadDirectory, ReadDirectoryPlus,
    Remove, Status,
};

use crate::rig::Rig;

fn filled(files: usize) -> Rig {
    let mut rig = Rig::default();
    for file in 0..files {
        rig.create(&format!("file {file}"));
    }
    rig
}

fn first(rig: &Rig, count: u32) -> ReadDirectory {
    ReadDirectory {
        directory: rig.root(),
        cookie: 0,
        verifier: CookieVerifier::default(),
        count,
    }
}

/// Returns the names of a page, and the call for the next page.
fn page(rig: &mut Rig, call: ReadDirectory) -> (Vec<String>, Option<ReadDirectory>) {
    let page = rig.done(call);
    let names = page.entries.iter().map(|entry| entry.name.to_string());
    let names = names.collect();
    let next = page.next_cookie().expect("a page");
    let verifier = page.verifier;
    (
        names,
        next.map(|cookie| ReadDirectory {
            cookie,
            verifier,
            ..call
        }),
    )
}

#[test]
fn a_directory_is_listed_page_by_page() {
    let mut rig = filled(100);
    let mut names = Vec::new();
    let mut pages = 0;
    let mut next = Some(first(&rig, 512));
    while let Some(call) = next {
        let (more, behind) = page(&mut rig, call);
        names.extend(more);
        next = behind;
        pages += 1;
    }
    assert!(pages > 5, "{pages} pages");
    let mut expected = vec![".".to_owned(), "..".into()];
    expected.extend((0..100).map(|file| format!("file {file}")));
    assert_eq!(names, expected);
}

#[test]
fn a_page_is_never_longer_than_asked() {
    let mut rig = filled(100);
    for count in (200..2_000).step_by(37) {
        let mut arguments = Vec::new();
        nfs::Call::from(first(&rig, count)).encode(&mut arguments);
        let results = rig.results(nfs::Procedure::ReadDirectory.into(), &arguments);
        assert!(results.expect("results").len() <= count as usize);
    }
}

#[test]
fn changes_meanwhile_do_not_disturb() {
    let mut rig = filled(40);
    let start = first(&rig, 512);
    let (mut names, mut next) = page(&mut rig, start);
    rig.done(Remove {
        place: rig.place("file 0"),
    });
    rig.done(Remove {
        place: rig.place("file 30"),
    });
    rig.create("new");
    while let Some(call) = next {
        let (more, behind) = page(&mut rig, call);
        names.extend(more);
        next = behind;
    }
    let unique: BTreeSet<_> = names.iter().collect();
    assert_eq!(unique.len(), names.len());
    assert_eq!(names.len(), 2 + 40 - 1 + 1);
    assert!(!names.contains(&"file 30".into()) && names.contains(&"new".into()));
}

#[test]
fn entries_come_with_attributes_and_handles() {
    let mut rig = filled(3);
    let call = ReadDirectoryPlus {
        directory: rig.root(),
        cookie: 0,
        verifier: CookieVerifier::default(),
        directory_count: 4_096,
        maximum_count: 8_192,
    };
    let page = rig.done(call);
    assert!(page.end_of_directory);
    let entry = page.entries.iter().last().expect("entries");
    let (handle, attributes) = (entry.object, entry.attributes);
    assert_eq!(
        attributes.map(|attributes| attributes.file_id),
        Some(entry.file_id)
    );
    let found = rig.done(LookUp {
        place: rig.place("file 2"),
    });
    assert_eq!((Some(found.object), found.attributes), (handle, attributes));

    let few = ReadDirectoryPlus {
        directory_count: 60,
        ..call
    };
    assert_eq!(rig.done(few).entries.iter().count(), 2);
    let none = ReadDirectoryPlus {
        maximum_count: 100,
        ..call
    };
    assert_eq!(rig.status(none), Status::TooSmall);
}

#[test]
fn a_server_without_readdirplus_says_so() {
    let mut rig = Rig::new(Config::least());
    let call = ReadDirectoryPlus {
        directory: rig.root(),
        cookie: 0,
        verifier: CookieVerifier::default(),
        directory_count: 4_096,
        maximum_count: 8_192,
    };
    assert_eq!(rig.status(call), Status::NotSupported);
    let start = first(&rig, 512);
    assert_eq!(page(&mut rig, start).0.len(), 2);
}

#[test]
fn cookies_are_checked() {
    let mut rig = filled(40);
    let start = first(&rig, 512);
    let (_, next) = page(&mut rig, start);
    let next = next.expect("more");
    rig.done(next);
    rig.fault(Fault::ForgetCookies);
    assert_eq!(rig.status(next), Status::BadCookie);
    assert_eq!(rig.status(first(&rig, 100)), Status::TooSmall);
    let file = rig.create("a file");
    let call = ReadDirectory {
        directory: file,
        ..first(&rig, 512)
    };
    assert_eq!(rig.status(call), Status::NotDirectory);
}

#[test]
fn a_large_directory_is_listed_without_a_circle() {
    let mut rig = Rig::default();
    let how = CreateHow::Guarded(NewAttributes::default());
    for file in 0..3_000 {
        let text = format!("{file}");
        rig.done(Create {
            place: rig.place(&text),
            how,
        });
    }
    let mut watch = CookieCheck::default();
    let (mut listed, mut next) = (0, Some(first(&rig, 4_096)));
    while let Some(call) = next {
        let (names, behind) = page(&mut rig, call);
        listed += names.len();
        next = behind;
        if let Some(call) = next {
            watch.go_on(call.cookie).expect("no circle");
        }
    }
    assert_eq!(listed, 3_002);
}
