//! The reply cache.

use bytes::Bytes;
use fileserver::{Config, Input, Peer, Service};
use nfs::{GetAttributes, Limits, MakeDirectory, NewAttributes, Procedure, Status, Value};
use rpc::message::Reply;
use units::Duration;

use crate::rig::{PEER, Rig, nfs_message};

fn make(rig: &Rig, xid: u32) -> Bytes {
    let attributes = NewAttributes::default();
    let place = rig.place("directory");
    nfs_message(xid, MakeDirectory { place, attributes })
}

/// Returns the answer to MKDIR.
fn status(rig: &mut Rig) -> Result<(), Status> {
    let (_, reply) = rig.receive().expect("a reply");
    let results = Reply::parse(&reply)
        .expect("a reply")
        .outcome
        .expect("results");
    let answer = nfs::Answer::<MakeDirectory<'_>>::decode(results, &Limits::USUAL);
    answer.expect("an answer").done().map(|_| ())
}

fn sends(rig: &mut Rig, from: Peer, message: &Bytes) -> Result<(), Status> {
    rig.send(from, message);
    status(rig)
}

#[test]
fn a_copy_of_a_call_is_answered_and_not_executed() {
    let mut rig = Rig::default();
    let call = make(&rig, 9);
    assert_eq!(sends(&mut rig, PEER, &call), Ok(()));
    rig.wait(Duration::from_secs(20));
    assert_eq!(sends(&mut rig, PEER, &call), Ok(()));
    let counters = rig.server.counters();
    assert_eq!(counters.executed(Procedure::MakeDirectory), 1);
    assert_eq!(counters.replayed, 1);
}

#[test]
fn a_copy_from_elsewhere_or_with_other_bytes_is_another_call() {
    let mut rig = Rig::default();
    let call = make(&rig, 9);
    assert_eq!(sends(&mut rig, PEER, &call), Ok(()));
    assert_eq!(sends(&mut rig, Peer(2), &call), Err(Status::Exists));
    let other = make(&rig, 10);
    assert_eq!(sends(&mut rig, PEER, &other), Err(Status::Exists));
    let mut changed = call.to_vec();
    // The stamp of the credentials, after six words and the length of their body.
    changed[32..36].copy_from_slice(&[1, 2, 3, 4]);
    assert_eq!(sends(&mut rig, PEER, &changed.into()), Err(Status::Exists));
    assert_eq!(rig.server.counters().replayed, 0);
}

#[test]
fn a_server_without_a_cache_executes_copies() {
    let mut rig = Rig::new(Config::least());
    let call = make(&rig, 9);
    assert_eq!(sends(&mut rig, PEER, &call), Ok(()));
    assert_eq!(sends(&mut rig, PEER, &call), Err(Status::Exists));
}

#[test]
fn copies_of_what_only_reads_are_executed() {
    let mut rig = Rig::default();
    let call = nfs_message(3, GetAttributes { object: rig.root() });
    for _ in 0..2 {
        rig.send(PEER, &call);
        assert!(rig.receive().is_some());
    }
    let counters = rig.server.counters();
    assert_eq!(
        (
            counters.executed(Procedure::GetAttributes),
            counters.replayed
        ),
        (2, 0)
    );
}

#[test]
fn a_copy_of_a_call_that_is_under_way_is_dropped() {
    let service = Service {
        per_call: Duration::from_millis(10),
        ..Service::default()
    };
    let mut rig = Rig::new(Config {
        service,
        ..Config::default()
    });
    let calls = [make(&rig, 9), make(&rig, 10)];
    // The first is being executed, the second waits.
    for call in &calls {
        rig.send(PEER, call);
        rig.send(PEER, call);
    }
    assert_eq!(status(&mut rig), Ok(()));
    assert_eq!(status(&mut rig), Err(Status::Exists));
    assert_eq!(rig.receive(), None);
    assert_eq!(rig.server.counters().dropped, 2);
}

#[test]
fn the_cache_forgets_the_oldest_and_all_in_a_crash() {
    let mut rig = Rig::new(Config {
        reply_cache: 2,
        ..Config::default()
    });
    let calls = [1, 2, 3].map(|xid| make(&rig, xid));
    let sent = calls.each_ref().map(|call| sends(&mut rig, PEER, call));
    assert_eq!(sent, [Ok(()), Err(Status::Exists), Err(Status::Exists)]);
    assert_eq!(sends(&mut rig, PEER, &calls[2]), Err(Status::Exists));
    assert_eq!(rig.server.counters().replayed, 1);
    assert_eq!(sends(&mut rig, PEER, &calls[0]), Err(Status::Exists));
    assert_eq!(rig.server.counters().replayed, 1);
    rig.input(Input::Restart);
    assert_eq!(sends(&mut rig, PEER, &calls[2]), Err(Status::Exists));
    assert_eq!(rig.server.counters().replayed, 1);
}
