//! Names: made, found, moved, removed, listed.

use bytes::Bytes;
use files::{Config, Error, ListPlace, Operation, Reply, Validity};
use nfs::{FileType, NewAttributes, Status};

use crate::drive::{Pair, Way, attributes, percent};

fn status(result: Result<impl std::fmt::Debug, Error>) -> Option<Status> {
    result.expect_err("it must fail").status()
}

/// A server that forgets what it has done, behind a way that loses half of everything.
fn forgetful() -> Pair {
    let server = fileserver::Config {
        reply_cache: 0,
        ..fileserver::Config::default()
    };
    let way = Way {
        loss: percent(40),
        ..Way::default()
    };
    Pair::new(Config::default(), server, way)
}

fn list(pair: &mut Pair) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    let mut from = ListPlace::START;
    let directory = pair.root();
    loop {
        match pair.call(Operation::List { directory, from })? {
            Reply::Page { entries, next } => {
                let shown = entries
                    .iter()
                    .map(|entry| String::from_utf8_lossy(&entry.name));
                names.extend(shown.map(std::borrow::Cow::into_owned));
                match next {
                    Some(next) => from = next,
                    None => break,
                }
            }
            other => panic!("{other:?}"),
        }
    }
    names.sort();
    Ok(names)
}

#[test]
fn names_are_remembered_found_or_not() {
    let mut pair = Pair::usual();
    assert_eq!(status(pair.look_up("a")), Some(Status::NoEntry));
    assert_eq!(status(pair.look_up("a")), Some(Status::NoEntry));
    let asked = |pair: &Pair| pair.server.counters().executed(nfs::Procedure::LookUp);
    let (_, made) = pair.create("a");
    assert_eq!(pair.look_up("a").unwrap().file, made.file);
    assert_eq!(asked(&pair), 1);
}

#[test]
fn an_exclusive_file_is_made_once_and_has_its_attributes() {
    let mut pair = Pair::usual();
    let create = |pair: &Pair| Operation::Create {
        entry: pair.entry("a"),
        attributes: attributes(),
        exclusive: true,
    };
    let operation = create(&pair);
    match pair.call(operation).unwrap() {
        Reply::Opened(_, found) => assert_eq!(found.attributes.mode & 0o777, 0o644),
        other => panic!("{other:?}"),
    }
    let operation = create(&pair);
    assert_eq!(status(pair.call(operation)), Some(Status::Exists));
}

#[test]
fn changed_attributes_are_reported_where_none_are_cached() {
    let config = Config {
        validity: Validity::NONE,
        ..Config::default()
    };
    let mut pair = Pair::new(config, fileserver::Config::default(), Way::default());
    let (_, found) = pair.create("a");
    let reply = pair.call(Operation::SetAttributes {
        file: found.file,
        attributes: NewAttributes {
            mode: Some(0o600),
            ..NewAttributes::default()
        },
    });
    match reply {
        Ok(Reply::Attributes(attributes)) => assert_eq!(attributes.mode, 0o600),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_that_is_there_is_opened_and_cut() {
    let mut pair = Pair::usual();
    pair.server.add_file("a", b"content").unwrap();
    let (_, found) = pair.create("a");
    assert_eq!(found.attributes.size, 7);
    let mut empty = attributes();
    empty.size = Some(0);
    let entry = pair.entry("a");
    let reply = pair.call(Operation::Create {
        entry,
        attributes: empty,
        exclusive: false,
    });
    assert!(matches!(reply, Ok(Reply::Opened(_, found)) if found.attributes.size == 0));
    assert_eq!(pair.server.content("a").as_deref(), Some(&b""[..]));
}

#[test]
fn every_name_is_made_moved_and_removed_once_whatever_gets_lost() {
    let mut pair = forgetful();
    for index in 0..30 {
        let (one, other) = (format!("one{index}"), format!("other{index}"));
        let directory = Operation::MakeDirectory {
            entry: pair.entry(&one),
            attributes: attributes(),
        };
        pair.call(directory).unwrap();
        let from = pair.entry(&one);
        let to = pair.entry(&other);
        pair.call(Operation::Rename { from, to }).unwrap();
        let link = Operation::MakeSymbolicLink {
            entry: pair.entry(&one),
            target: Bytes::from_static(b"where/it/leads"),
            attributes: attributes(),
        };
        pair.call(link).unwrap();
        let entry = pair.entry(&one);
        pair.call(Operation::Remove(entry)).unwrap();
        let entry = pair.entry(&other);
        pair.call(Operation::RemoveDirectory(entry)).unwrap();
        let (open, found) = pair.create(&one);
        pair.close(open);
        let entry = pair.entry(&other);
        let link = Operation::Link {
            file: found.file,
            entry,
        };
        pair.call(link).unwrap();
    }
    assert!(pair.client.calls().repeated.total() > 50);
    assert_eq!(pair.server.tree().len(), 60);
}

#[test]
fn what_another_made_is_not_ours() {
    let mut pair = Pair::usual();
    pair.server.add_directory("a").unwrap();
    let directory = Operation::MakeDirectory {
        entry: pair.entry("a"),
        attributes: attributes(),
    };
    assert_eq!(status(pair.call(directory)), Some(Status::Exists));
}

#[test]
fn an_open_file_that_is_removed_goes_when_it_is_closed() {
    let mut pair = Pair::usual();
    let (open, _) = pair.create("a");
    pair.write(open, 0, b"still here").unwrap();
    let entry = pair.entry("a");
    pair.call(Operation::Remove(entry)).unwrap();
    assert_eq!(status(pair.look_up("a")), Some(Status::NoEntry));
    pair.flush(open).unwrap();
    assert_eq!(pair.read(open, 0, 100).unwrap(), b"still here");
    assert_eq!(pair.server.tree().len(), 1);
    pair.close(open);
    pair.wait(units::Duration::from_secs(1));
    assert_eq!(pair.server.tree().len(), 0);
}

#[test]
fn an_open_file_survives_another_that_takes_its_name() {
    let mut pair = Pair::usual();
    let (old, _) = pair.create("a");
    pair.write(old, 0, b"old").unwrap();
    pair.flush(old).unwrap();
    let (new, _) = pair.create("b");
    pair.write(new, 0, b"new").unwrap();
    let (from, to) = (pair.entry("b"), pair.entry("a"));
    pair.call(Operation::Rename { from, to }).unwrap();
    assert_eq!(pair.read(old, 0, 10).unwrap(), b"old");
    // What replaces a file is safe before it does.
    assert_eq!(pair.server.stored("a").as_deref(), Some(&b"new"[..]));
}

#[test]
fn directories_are_listed_with_and_without_attributes() {
    let least = fileserver::Config::least();
    for server in [fileserver::Config::default(), least] {
        let mut pair = Pair::new(Config::default(), server, Way::default());
        for index in 0..300 {
            pair.server
                .add_file(&format!("file{index:03}"), b"")
                .unwrap();
        }
        let names = list(&mut pair).unwrap();
        let files: Vec<_> = names
            .iter()
            .filter(|name| name.starts_with("file"))
            .collect();
        assert_eq!(files.len(), 300);
        assert_eq!(
            pair.look_up("file007").unwrap().attributes.kind,
            FileType::Regular
        );
    }
}

#[test]
fn a_hostile_listing_does_no_harm() {
    use fileserver::{FalseAnswer, Fault, Input};
    for lie in [
        FalseAnswer::SlashNames,
        FalseAnswer::LongNames,
        FalseAnswer::CookieLoop,
        FalseAnswer::EmptyPages,
    ] {
        let mut pair = Pair::usual();
        pair.server.add_file("a", b"").unwrap();
        pair.server.add_file("b", b"").unwrap();
        pair.tell_server(Input::Fault(Fault::FalseAnswer(Some(lie))));
        let mut from = ListPlace::START;
        let directory = pair.root();
        for _ in 0..10 {
            match pair.call(Operation::List { directory, from }) {
                Ok(Reply::Page { entries, next }) => {
                    let harmful = entries.iter().find(|entry| entry.name.contains(&b'/'));
                    assert!(harmful.is_none(), "{lie:?}: {harmful:?}");
                    match next {
                        Some(next) => from = next,
                        None => break,
                    }
                }
                Ok(other) => panic!("{other:?}"),
                Err(_) => break,
            }
        }
    }
}
