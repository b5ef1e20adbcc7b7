//! Service times of calls, and waiting.

use fileserver::{Config, Input, Service};
use nfs::{GetAttributes, Read};
use units::{Bytes, Duration, Instant};

use crate::rig::{PEER, Rig, nfs_message};

fn slow(per_call: u64, per_byte: u64) -> Service {
    Service {
        per_call: Duration::from_millis(per_call),
        per_byte: Duration::from_nanos(per_byte),
        ..Service::default()
    }
}

fn rig(service: Service) -> Rig {
    Rig::new(Config {
        service,
        ..Config::default()
    })
}

#[test]
fn calls_are_served_one_after_the_other() {
    let mut rig = rig(slow(10, 0));
    let start = rig.now;
    let object = rig.root();
    for xid in 0..3 {
        rig.send(PEER, &nfs_message(xid, GetAttributes { object }));
    }
    for place in 1..=3 {
        rig.receive().expect("a reply");
        assert_eq!(rig.now, start + Duration::from_millis(10) * place);
    }
    // The disk was idle: the next call begins when it arrives.
    rig.wait(Duration::from_millis(100));
    rig.send(PEER, &nfs_message(4, GetAttributes { object }));
    rig.receive().expect("a reply");
    assert_eq!(rig.now, start + Duration::from_millis(140));
}

#[test]
fn a_driver_that_comes_late_does_not_slow_the_disk() {
    let mut rig = rig(slow(10, 0));
    let object = rig.root();
    for xid in 0..3 {
        rig.send(PEER, &nfs_message(xid, GetAttributes { object }));
    }
    rig.wait(Duration::from_millis(30));
    let replies: Vec<_> = std::iter::from_fn(|| rig.receive()).collect();
    assert_eq!(replies.len(), 3);
    assert_eq!(rig.now, Instant::from_millis(31));
}

#[test]
fn long_calls_and_long_replies_take_longer() {
    let mut rig = rig(slow(1, 1_000));
    let file = rig.server.add_file("file", &[1; 10_000]).expect("room");
    let start = rig.now;
    rig.send(
        PEER,
        &nfs_message(
            1,
            Read {
                file,
                offset: 0,
                count: 8_192,
            },
        ),
    );
    let (_, reply) = rig.receive().expect("a reply");
    let expected = Duration::from_millis(1) + Duration::from_micros(1) * reply.len() as u64;
    assert_eq!(rig.now.since(start), expected);
}

#[test]
fn what_finds_no_room_is_lost() {
    let service = Service {
        receive_buffer: Bytes::kibi(64),
        ..slow(10, 0)
    };
    let mut rig = rig(service);
    let object = rig.root();
    for xid in 0..1_000 {
        rig.send(PEER, &nfs_message(xid, GetAttributes { object }));
    }
    let replies = std::iter::from_fn(|| rig.receive()).count();
    let overflowed = rig.server.counters().overflowed;
    assert!(overflowed > 500, "{overflowed}");
    assert_eq!(replies as u64 + overflowed, 1_000);
}

#[test]
fn a_crash_ends_what_waits() {
    let mut rig = rig(slow(10, 0));
    let object = rig.root();
    for xid in 0..3 {
        rig.send(PEER, &nfs_message(xid, GetAttributes { object }));
    }
    rig.wait(Duration::from_millis(10));
    rig.input(Input::Restart);
    assert!(rig.receive().is_some());
    assert_eq!(rig.receive(), None);
    rig.send(PEER, &nfs_message(1, GetAttributes { object }));
    assert!(rig.receive().is_some());
}
