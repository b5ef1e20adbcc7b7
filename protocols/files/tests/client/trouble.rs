//! Servers that fail, forget, refuse and lie.

use files::{Config, Error, ListPlace, Operation, Reply};
use fileserver::{FalseAnswer, Fault, Input};
use nfs::{Procedure, Status};
use units::Duration;

use crate::drive::{Pair, Way, attributes, pattern, percent};

fn status(result: Result<impl std::fmt::Debug, Error>) -> Option<Status> {
    result.expect_err("it must fail").status()
}

fn refuse(procedure: Procedure, status: Status, calls: u32) -> Input {
    Input::Fault(Fault::Refuse {
        procedure,
        status,
        calls,
    })
}

#[test]
fn a_server_that_starts_again_gets_what_it_lost() {
    for restart_after in [10, 200, 1_000, 3_000] {
        let mut pair = Pair::usual();
        let (open, _) = pair.create("a");
        let data = pattern(2_000_000);
        for (index, part) in data.chunks(100_000).enumerate() {
            pair.write(open, index as u64 * 100_000, part).unwrap();
        }
        pair.wait(Duration::from_millis(restart_after));
        pair.tell_server(Input::Restart);
        pair.flush(open).unwrap();
        assert_eq!(pair.server.stored("a").as_deref(), Some(&data[..]));
    }
}

#[test]
fn a_server_that_never_stays_gets_data_that_are_stable_at_once() {
    let mut pair = Pair::usual();
    let (open, _) = pair.create("a");
    let data = pattern(500_000);
    pair.write(open, 0, &data).unwrap();
    let ticket = pair.start(Operation::Flush(open));
    for _ in 0..1_000 {
        pair.wait(Duration::from_millis(7));
        pair.tell_server(Input::Restart);
        if pair.has_ended(ticket) {
            break;
        }
    }
    pair.end(ticket).unwrap();
    assert_eq!(pair.server.stored("a").as_deref(), Some(&data[..]));
}

#[test]
fn a_full_disk_is_told_at_the_flush_and_success_only_when_all_is_safe() {
    let mut pair = Pair::usual();
    let (open, _) = pair.create("a");
    let data = pattern(100_000);
    pair.write(open, 0, &data).unwrap();
    pair.tell_server(refuse(Procedure::Write, Status::NoSpace, 4));
    assert_eq!(status(pair.flush(open)), Some(Status::NoSpace));
    // There is room again: what failed once is written now, or the next flush fails too.
    while pair.flush(open).is_err() {}
    assert_eq!(pair.server.stored("a").as_deref(), Some(&data[..]));
}

#[test]
fn each_opening_is_told_of_an_error_once() {
    let mut pair = Pair::usual();
    let (one, found) = pair.create("a");
    let (other, _) = pair.open(found.file);
    pair.write(one, 0, b"refused").unwrap();
    pair.tell_server(refuse(Procedure::Write, Status::AccessDenied, 1));
    assert_eq!(status(pair.flush(one)), Some(Status::AccessDenied));
    assert_eq!(status(pair.flush(other)), Some(Status::AccessDenied));
    pair.flush(one).unwrap();
    pair.flush(other).unwrap();
    assert_eq!(pair.server.stored("a").as_deref(), Some(&b"refused"[..]));
}

#[test]
fn a_write_that_waited_is_told_of_the_refusal_of_an_earlier_one() {
    let mut pair = Pair::usual();
    let (open, found) = pair.create("a");
    let (other, _) = pair.open(found.file);
    pair.write(open, 0, b"refused").unwrap();
    pair.tell_server(refuse(Procedure::Write, Status::NoSpace, 1));
    let flush = pair.start(Operation::Flush(other));
    // The first is in flight, and the second would change the same bytes.
    let data = "waits".into();
    let offset = 0;
    let write = pair.start(Operation::Write { open, offset, data });
    assert!(!pair.has_ended(write));
    assert_eq!(status(pair.end(write)), Some(Status::NoSpace));
    assert_eq!(status(pair.end(flush)), Some(Status::NoSpace));
    pair.flush(open).unwrap();
    assert_eq!(pair.server.stored("a").as_deref(), Some(&b"refused"[..]));
}

#[test]
fn a_file_that_is_closed_after_an_error_is_made_safe() {
    let mut pair = Pair::usual();
    let (open, _) = pair.create("a");
    pair.write(open, 0, b"refused once").unwrap();
    pair.tell_server(refuse(Procedure::Write, Status::NoSpace, 1));
    // It is written again, and the server takes it, but not to its disk.
    pair.wait(Duration::from_secs(20));
    assert_eq!(status(pair.flush(open)), Some(Status::NoSpace));
    pair.close(open);
    pair.wait(Duration::from_secs(20));
    assert_eq!(pair.client.unsafe_bytes(), 0);
    assert_eq!(
        pair.server.stored("a").as_deref(),
        Some(&b"refused once"[..])
    );
}

#[test]
fn a_cut_is_allowed_where_the_disk_is_full() {
    let mut pair = Pair::usual();
    let (open, found) = pair.create("a");
    pair.write(open, 0, &pattern(50_000)).unwrap();
    pair.tell_server(refuse(Procedure::Write, Status::NoSpace, 1_000));
    assert!(pair.flush(open).is_err());
    let mut empty = attributes();
    empty.size = Some(0);
    let cut = Operation::SetAttributes {
        file: found.file,
        attributes: empty,
    };
    pair.call(cut).unwrap();
    // It was tried once more, and this is the first to be told.
    assert_eq!(status(pair.flush(open)), Some(Status::NoSpace));
    pair.flush(open).unwrap();
    assert_eq!(pair.server.content("a").as_deref(), Some(&b""[..]));
}

#[test]
fn a_server_that_needs_time_gets_it() {
    let mut pair = Pair::usual();
    for procedure in [
        Procedure::Create,
        Procedure::Write,
        Procedure::Read,
        Procedure::Commit,
        Procedure::LookUp,
        Procedure::GetAttributes,
    ] {
        pair.tell_server(refuse(procedure, Status::TryLater, 2));
    }
    let (open, _) = pair.create("a");
    let data = pattern(100_000);
    pair.write(open, 0, &data).unwrap();
    pair.flush(open).unwrap();
    pair.close(open);
    let file = pair.look_up("a").unwrap().file;
    let (open, _) = pair.open(file);
    assert_eq!(pair.read(open, 0, 200_000).unwrap(), data);
    assert!(pair.client.counters().postponed >= 8);
}

#[test]
fn a_server_that_takes_less_than_it_says_gets_less() {
    let mut pair = Pair::new(
        Config::default(),
        fileserver::Config::least(),
        Way::default(),
    );
    let (open, _) = pair.create("a");
    let data = pattern(200_000);
    pair.write(open, 0, &data).unwrap();
    pair.flush(open).unwrap();
    pair.close(open);
    let file = pair.look_up("a").unwrap().file;
    let (open, _) = pair.open(file);
    assert_eq!(pair.read(open, 0, 300_000).unwrap(), data);
}

#[test]
fn a_stale_file_is_an_error_and_holds_nothing_up() {
    let mut pair = Pair::usual();
    let (open, found) = pair.create("a");
    pair.write(open, 0, b"for nobody").unwrap();
    pair.tell_server(Input::Fault(Fault::Stale(found.file)));
    assert_eq!(status(pair.flush(open)), Some(Status::Stale));
    assert_eq!(pair.client.unsafe_bytes(), 0);
    assert_eq!(
        status(pair.call(Operation::Open(found.file))),
        Some(Status::Stale)
    );
    // It has another handle: a new look finds it.
    assert_ne!(pair.look_up("a").unwrap().file, found.file);
}

#[test]
fn lies_about_data_are_errors() {
    for lie in [
        FalseAnswer::HugeFiles,
        FalseAnswer::HugeCounts,
        FalseAnswer::TooMuchData,
        FalseAnswer::NoData,
    ] {
        let mut pair = Pair::usual();
        pair.server.add_file("a", &pattern(100_000)).unwrap();
        let file = pair.look_up("a").unwrap().file;
        let (open, _) = pair.open(file);
        pair.tell_server(Input::Fault(Fault::FalseAnswer(Some(lie))));
        assert!(pair.read(open, 0, 50_000).is_err(), "{lie:?}");
    }
}

#[test]
fn a_cancelled_request_is_never_answered_and_frees_what_it_held() {
    let mut pair = Pair::usual();
    let (open, found) = pair.create("a");
    pair.write(open, 0, &pattern(100_000)).unwrap();
    pair.dark = true;
    let mut cut = attributes();
    cut.size = Some(0);
    let operations = [
        Operation::Read {
            open,
            offset: 200_000,
            count: 10,
        },
        Operation::Flush(open),
        Operation::SetAttributes {
            file: found.file,
            attributes: cut,
        },
        Operation::Sync,
        Operation::Open(found.file),
        Operation::Space(found.file),
    ];
    let tickets: Vec<_> = operations
        .into_iter()
        .map(|operation| pair.start(operation))
        .collect();
    let waiting: Vec<_> = tickets
        .into_iter()
        .filter(|ticket| !pair.has_ended(*ticket))
        .collect();
    assert!(waiting.len() >= 5);
    for ticket in &waiting {
        pair.cancel(*ticket);
    }
    assert_eq!(pair.client.waiting(), 0);
    pair.dark = false;
    pair.write(open, 100_000, b"goes on").unwrap();
    pair.flush(open).unwrap();
    assert!(waiting.iter().all(|ticket| !pair.has_ended(*ticket)));
    assert_eq!(
        pair.server.stored("a").map(|content| content.len()),
        Some(100_007)
    );
}

#[test]
fn a_soft_client_gives_up_calls_and_keeps_data() {
    let config = Config {
        patience: Some(Duration::from_secs(2)),
        ..Config::default()
    };
    let mut pair = Pair::new(config, fileserver::Config::default(), Way::default());
    let (open, found) = pair.create("a");
    pair.write(open, 0, b"kept").unwrap();
    pair.dark = true;
    assert!(pair.flush(open).unwrap_err().is_expired());
    assert!(
        pair.call(Operation::Open(found.file))
            .unwrap_err()
            .is_expired()
    );
    pair.close(open);
    pair.dark = false;
    pair.wait(Duration::from_secs(30));
    assert_eq!(pair.server.content("a").as_deref(), Some(&b"kept"[..]));
}

#[test]
fn a_soft_client_waits_for_room_no_longer_than_for_a_server() {
    let config = Config {
        patience: Some(Duration::from_secs(2)),
        dirty_limit: units::Bytes::kibi(64),
        ..Config::default()
    };
    let mut pair = Pair::new(config, fileserver::Config::default(), Way::default());
    let (open, _) = pair.create("a");
    pair.dark = true;
    let data = pattern(90_000);
    pair.write(open, 0, &data).unwrap();
    assert!(pair.write(open, 90_000, &data).unwrap_err().is_expired());
    pair.dark = false;
    pair.wait(Duration::from_secs(30));
    assert_eq!(pair.server.content("a"), Some(data));
}

#[test]
fn files_cross_a_way_that_loses_and_a_server_that_stumbles() {
    let chance = percent;
    let server = fileserver::Config {
        faults: fileserver::Faults {
            repeated_requests: chance(5),
            delayed_replies: chance(5),
            delay: Duration::from_millis(300),
            wrong_transactions: chance(2),
            short_transfers: chance(10),
            ..fileserver::Faults::default()
        },
        ..fileserver::Config::default()
    };
    let way = Way {
        loss: chance(10),
        ..Way::default()
    };
    let mut pair = Pair::new(Config::default(), server, way);
    let data = pattern(1_500_000);
    let (open, _) = pair.create("a");
    for (index, part) in data.chunks(70_000).enumerate() {
        pair.write(open, index as u64 * 70_000, part).unwrap();
    }
    pair.flush(open).unwrap();
    assert_eq!(pair.server.stored("a").as_deref(), Some(&data[..]));
    let file = pair.look_up("a").unwrap().file;
    let (again, _) = pair.open(file);
    assert_eq!(pair.read(again, 0, 1_600_000).unwrap(), data);
}

/// Through which what a server says is cut, or longer than it was, so often.
fn damaging(percentage: u64) -> Pair {
    let faults = fileserver::Faults {
        broken_replies: percent(percentage),
        ..fileserver::Faults::default()
    };
    let server = fileserver::Config {
        faults,
        ..fileserver::Config::default()
    };
    Pair::new(Config::default(), server, Way::default())
}

#[test]
fn answers_that_are_damaged_on_their_way_are_asked_for_again() {
    let mut pair = damaging(3);
    let data = pattern(300_000);
    for number in 0..20 {
        let name = format!("file-{number}");
        let (open, _) = pair.create(&name);
        pair.write(open, 0, &data[..15_000 * number]).unwrap();
        pair.flush(open).unwrap();
        let moved = Operation::Rename {
            from: pair.entry(&name),
            to: pair.entry(&format!("moved-{number}")),
        };
        pair.call(moved).unwrap();
        assert_eq!(
            pair.read(open, 0, 400_000).unwrap(),
            data[..15_000 * number]
        );
        pair.close(open);
    }
    let from = ListPlace::START;
    let directory = pair.root();
    let listed = pair.call(Operation::List { directory, from }).unwrap();
    assert!(matches!(listed, Reply::Page { entries, .. } if entries.len() == 22));
    let calls = pair.client.calls();
    assert!(calls.received.malformed > 10, "{calls:?}");
}

#[test]
fn a_server_that_never_says_anything_whole_is_no_silent_one() {
    let mut pair = damaging(0);
    let (open, found) = pair.create("a");
    pair.write(open, 0, b"for nobody").unwrap();
    let faults = fileserver::Faults {
        broken_replies: percent(100),
        ..fileserver::Faults::default()
    };
    pair.tell_server(Input::Fault(Fault::Chances(faults)));
    assert!(pair.flush(open).is_err());
    let before = pair.client.calls().sent.messages;
    let error = pair.call(Operation::Open(found.file)).unwrap_err();
    assert!(error.to_string().contains("GETATTR"), "{error}");
    assert!(error.status().is_none() && !error.is_expired());
    assert!(pair.client.calls().sent.messages - before <= 8);
}
