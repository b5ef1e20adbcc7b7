//! False answers of a hostile server, which the client must detect.

use fileserver::{FalseAnswer, Fault};
use nfs::checks::{CookieCheck, Implausible};
use nfs::{
    Answer, BadName, CookieVerifier, GetAttributes, Limits, Procedure, Read, ReadDirectory,
    Stability, Value,
};

use crate::rig::Rig;

fn rig(lie: FalseAnswer) -> Rig {
    let mut rig = Rig::default();
    rig.server.add_file("file", &[7; 100]).expect("room");
    rig.fault(Fault::FalseAnswer(Some(lie)));
    rig
}

fn listing(rig: &Rig) -> ReadDirectory {
    ReadDirectory {
        directory: rig.root(),
        cookie: 0,
        verifier: CookieVerifier::default(),
        count: 32_768,
    }
}

#[test]
fn names_lead_elsewhere_or_are_too_long() {
    let mut slashes = rig(FalseAnswer::SlashNames);
    let page = slashes.done(listing(&slashes));
    let last = page.entries.iter().last().expect("entries");
    assert_eq!(last.name.to_string(), "../file");
    assert_eq!(last.name.check(), Err(BadName::Slash { at: 2 }));

    let mut long = rig(FalseAnswer::LongNames);
    let page = long.done(listing(&long));
    let last = page.entries.iter().last().expect("entries");
    let (length, limit) = (4_095, 255);
    assert_eq!(last.name.check(), Err(BadName::TooLong { length, limit }));
}

#[test]
fn directories_go_in_circles_or_nowhere() {
    let mut circle = rig(FalseAnswer::CookieLoop);
    let mut watch = CookieCheck::default();
    let mut call = listing(&circle);
    let found = (0..10).find_map(|_| {
        let page = circle.done(call);
        let cookie = page.next_cookie().expect("entries").expect("no end");
        call = ReadDirectory {
            cookie,
            verifier: page.verifier,
            ..call
        };
        watch.go_on(cookie).err()
    });
    assert!(matches!(found, Some(Implausible::CookieLoop { .. })));

    let mut empty = rig(FalseAnswer::EmptyPages);
    let page = empty.done(listing(&empty));
    assert_eq!(page.next_cookie(), Err(Implausible::EmptyPage));
}

#[test]
fn sizes_and_counts_are_impossible() {
    let mut huge = rig(FalseAnswer::HugeFiles);
    let object = huge.look_up("file").expect("a file");
    let attributes = huge.done(GetAttributes { object });
    assert!(matches!(
        attributes.checked(),
        Err(Implausible::FileSize { .. })
    ));

    let mut counts = rig(FalseAnswer::HugeCounts);
    let file = counts.look_up("file").expect("a file");
    let written = counts.write(file, 0, b"data", Stability::Unstable);
    assert!(matches!(
        written.check(4, Stability::Unstable),
        Err(Implausible::WriteCount { .. })
    ));
    let mut arguments = Vec::new();
    nfs::Call::from(Read {
        file,
        offset: 0,
        count: 61,
    })
    .encode(&mut arguments);
    let results = counts
        .results(Procedure::Read.into(), &arguments)
        .expect("results");
    let answer = Answer::<Read>::decode(results, &Limits::USUAL);
    let said = answer.expect_err("nonsense").to_string();
    assert!(said.contains("a length of 4294967295"), "{said}");
}

#[test]
fn reads_bring_too_much_or_nothing_and_writes_are_less_safe() {
    let mut more = rig(FalseAnswer::TooMuchData);
    let file = more.look_up("file").expect("a file");
    let read = more.done(Read {
        file,
        offset: 0,
        count: 50,
    });
    let (asked, got) = (50, 51);
    assert_eq!(read.check(50), Err(Implausible::TooMuchData { asked, got }));

    let mut nothing = rig(FalseAnswer::NoData);
    for count in [50, 100] {
        let offset = 0;
        let read = nothing.done(Read {
            file,
            offset,
            count,
        });
        assert_eq!(read.check(count), Err(Implausible::NoData));
    }

    let mut less = rig(FalseAnswer::LessStable);
    let written = less.write(file, 0, b"data", Stability::FileStable);
    let checked = written.check(4, Stability::FileStable);
    assert!(matches!(checked, Err(Implausible::LessStable { .. })));
    less.fault(Fault::FalseAnswer(None));
    let written = less.write(file, 0, b"data", Stability::FileStable);
    assert_eq!(written.check(4, Stability::FileStable), Ok(()));
}
