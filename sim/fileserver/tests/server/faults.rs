//! Faults by chance or on demand.

use fileserver::{Config, Fault, Faults, Server};
use nfs::{Answer, GetAttributes, Limits, Procedure, Read, Stability, Status, Value, Write};
use rpc::message::Reply;
use units::{Duration, Probability};

use crate::rig::{PEER, Rig, nfs_message};

const CALLS: u32 = 400;

/// Returns the replies to many calls, in the order in which they arrive.
fn replies(faults: Faults) -> (Server, Vec<bytes::Bytes>) {
    let mut rig = Rig::new(Config {
        faults,
        ..Config::default()
    });
    let object = rig.root();
    for xid in 0..CALLS {
        rig.send(PEER, &nfs_message(xid, GetAttributes { object }));
    }
    let replies = std::iter::from_fn(|| rig.receive().map(|(_, reply)| reply)).collect();
    (rig.server, replies)
}

fn half() -> Probability {
    Probability::ratio(1, 2)
}

#[test]
fn calls_and_replies_get_lost() {
    let (server, got) = replies(Faults {
        lost_requests: half(),
        ..Faults::default()
    });
    let lost = server.counters().injected.lost_requests;
    assert!((150..250).contains(&lost));
    assert_eq!(server.counters().executed_in_all() + lost, u64::from(CALLS));
    assert_eq!(got.len() as u64 + lost, u64::from(CALLS));

    let (server, got) = replies(Faults {
        lost_replies: half(),
        ..Faults::default()
    });
    let lost = server.counters().injected.lost_replies;
    assert!((150..250).contains(&lost));
    assert_eq!(server.counters().executed_in_all(), u64::from(CALLS));
    assert_eq!(got.len() as u64 + lost, u64::from(CALLS));
}

#[test]
fn calls_come_twice() {
    let (server, got) = replies(Faults {
        repeated_requests: half(),
        ..Faults::default()
    });
    let twice = server.counters().injected.repeated_requests;
    assert_eq!(got.len() as u64, u64::from(CALLS) + twice);
    assert_eq!(server.counters().received, u64::from(CALLS) + twice);
}

#[test]
fn replies_are_late_and_overtaken() {
    let delay = Duration::from_millis(50);
    let (server, got) = replies(Faults {
        delayed_replies: half(),
        delay,
        ..Faults::default()
    });
    assert!((150..250).contains(&server.counters().injected.delayed_replies));
    let order: Vec<_> = got
        .iter()
        .map(|reply| Reply::parse(reply).expect("a reply").xid)
        .collect();
    assert!(!order.is_sorted());
    let mut sorted = order;
    sorted.sort_unstable();
    assert_eq!(sorted, (0..CALLS).collect::<Vec<_>>());
}

#[test]
fn replies_are_of_others_or_broken() {
    let (server, got) = replies(Faults {
        wrong_transactions: half(),
        ..Faults::default()
    });
    let wrong = got.iter().zip(0..).filter(|(reply, xid)| {
        let reply = Reply::parse(reply).expect("a reply");
        reply.xid != *xid
    });
    assert_eq!(
        wrong.count() as u64,
        server.counters().injected.wrong_transactions
    );

    let (server, got) = replies(Faults {
        broken_replies: half(),
        ..Faults::default()
    });
    let whole = got.iter().filter(|reply| {
        let results = Reply::parse(reply)
            .ok()
            .and_then(|reply| reply.outcome.ok());
        results
            .is_some_and(|results| Answer::<GetAttributes>::decode(results, &Limits::USUAL).is_ok())
    });
    let broken = server.counters().injected.broken_replies;
    assert!((150..250).contains(&broken));
    assert_eq!(whole.count() as u64 + broken, u64::from(CALLS));
}

#[test]
fn one_chance_does_not_change_another() {
    let lost = |faults| replies(faults).0.counters().injected.lost_requests;
    let alone = lost(Faults {
        lost_requests: half(),
        ..Faults::default()
    });
    let among = lost(Faults {
        lost_requests: half(),
        lost_replies: half(),
        broken_replies: half(),
        ..Faults::default()
    });
    assert_eq!(alone, among);
}

#[test]
fn calls_are_put_off_and_move_less() {
    let mut rig = Rig::default();
    let file = rig.server.add_file("file", &[7; 1_000]).expect("room");
    let always = Probability::ALWAYS;
    rig.fault(Fault::Chances(Faults {
        try_later: always,
        ..Faults::default()
    }));
    assert_eq!(rig.status(GetAttributes { object: file }), Status::TryLater);
    rig.fault(Fault::Chances(Faults {
        short_transfers: always,
        ..Faults::default()
    }));
    let mut short = 0;
    for _ in 0..20 {
        let read = rig.done(Read {
            file,
            offset: 0,
            count: 900,
        });
        assert!((1..=900).contains(&read.data.len()) && !read.end_of_file);
        assert_eq!(read.check(900), Ok(()));
        short += u32::from(read.data.len() < 900);
        let data = [8; 500];
        let stability = Stability::FileStable;
        let written = rig.done(Write {
            file,
            offset: 0,
            stability,
            data: &data,
        });
        assert_eq!(written.check(500, stability), Ok(()));
        let content = rig.server.content("file").expect("content");
        assert!(
            content[..written.count as usize]
                .iter()
                .all(|byte| *byte == 8)
        );
    }
    assert!(short > 15);
}

#[test]
fn calls_of_one_procedure_fail_on_demand() {
    let mut rig = Rig::default();
    let file = rig.create("file");
    let (procedure, status) = (Procedure::Write, Status::NoSpace);
    rig.fault(Fault::Refuse {
        procedure,
        status,
        calls: 2,
    });
    rig.done(GetAttributes { object: file });
    let write = Write {
        file,
        offset: 0,
        stability: Stability::Unstable,
        data: b"x",
    };
    assert_eq!([rig.status(write), rig.status(write)], [Status::NoSpace; 2]);
    rig.done(write);
    for &procedure in <Procedure as nfs::Numbered>::ALL {
        rig.fault(Fault::Refuse {
            procedure,
            status: Status::InputOutput,
            calls: 1,
        });
        let results = rig.results(procedure.into(), &[]).expect("results");
        if procedure != Procedure::Null {
            assert_eq!(results[..4], [0, 0, 0, 5], "{procedure}");
        }
    }
}

#[test]
fn a_handle_becomes_stale_and_its_file_gets_another() {
    let mut rig = Rig::default();
    let file = rig.create("file");
    rig.fault(Fault::Stale(file));
    assert_eq!(rig.status(GetAttributes { object: file }), Status::Stale);
    let again = rig.look_up("file").expect("a file");
    assert_ne!(again, file);
    rig.done(GetAttributes { object: again });
}

#[test]
fn a_silent_server_hears_nothing() {
    let mut rig = Rig::default();
    rig.fault(Fault::Silent(true));
    let call = nfs_message(1, GetAttributes { object: rig.root() });
    rig.send(PEER, &call);
    assert_eq!(rig.receive(), None);
    rig.fault(Fault::Silent(false));
    rig.send(PEER, &call);
    assert!(rig.receive().is_some());
    assert_eq!(rig.server.counters().received, 1);
}
