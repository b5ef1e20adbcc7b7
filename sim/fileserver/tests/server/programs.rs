//! MOUNT, the port mapper, and calls that cannot be served.

use std::num::NonZeroU16;

use fileserver::{Config, Peer, RecordStream};
use nfs::mount::{self, ExportList, MountAnswer, MountList};
use nfs::portmap::{self, GetPort, Port, Transport};
use nfs::{Limits, Path, Value};
use rpc::Procedure;
use rpc::message::Refusal;

use crate::rig::Rig;

fn mount(rig: &mut Rig, path: &[u8]) -> MountAnswer {
    let mut arguments = Vec::new();
    Path::new(path).expect("a path").encode(&mut arguments);
    let results = rig.results(mount::Procedure::Mount.into(), &arguments);
    MountAnswer::decode(results.expect("results"), &Limits::USUAL).expect("an answer")
}

#[test]
fn the_export_and_what_lies_below_can_be_mounted() {
    let mut rig = Rig::default();
    let below = rig.server.add_directory("a/b").expect("room");
    rig.server.add_file("file", b"").expect("room");
    for path in [&b"/export"[..], b"/export/", b"/export//"] {
        let mounted = mount(&mut rig, path).done().expect("a handle");
        assert_eq!(mounted.root, rig.root());
        assert_eq!(mounted.flavors.numbers(), [1, 0]);
    }
    let mounted = mount(&mut rig, b"/export/a/b").done();
    assert_eq!(mounted.expect("a handle").root, below);
    for (path, status) in [
        (&b"/"[..], mount::Status::NoEntry),
        (b"/exports", mount::Status::NoEntry),
        (b"/export/none", mount::Status::NoEntry),
        (b"/export/file", mount::Status::NotDirectory),
    ] {
        assert_eq!(mount(&mut rig, path).done(), Err(status));
    }
}

#[test]
fn exports_are_listed() {
    let mut rig = Rig::default();
    let results = rig
        .results(mount::Procedure::Export.into(), &[])
        .expect("results");
    let list = ExportList::decode(results, &Limits::USUAL).expect("a list");
    let exports: Vec<_> = list.iter().collect();
    assert_eq!(exports.len(), 1);
    assert_eq!(exports[0].directory.bytes(), b"/export");
    assert!(exports[0].groups.is_empty());
    let results = rig
        .results(mount::Procedure::Dump.into(), &[])
        .expect("results");
    assert!(
        MountList::decode(results, &Limits::USUAL)
            .expect("a list")
            .is_empty()
    );
    assert_eq!(
        rig.results(mount::Procedure::UnmountAll.into(), &[]),
        Ok(&[][..])
    );
}

#[test]
fn the_port_mapper_knows_where_programs_listen() {
    let mut rig = Rig::new(Config {
        port: 3_049,
        ..Config::default()
    });
    let mut port = |program, version| {
        let mut arguments = Vec::new();
        GetPort::new(program, version, Transport::Udp).encode(&mut arguments);
        let results = rig.results(portmap::GET_PORT, &arguments).expect("results");
        Port::decode(results, &Limits::USUAL)
            .expect("a port")
            .0
            .map(NonZeroU16::get)
    };
    assert_eq!(port(nfs::PROGRAM, 3), Some(3_049));
    assert_eq!(port(mount::PROGRAM, 3), Some(3_049));
    assert_eq!(port(portmap::PROGRAM, 2), Some(111));
    assert_eq!(port(nfs::PROGRAM, 2), None);
    assert_eq!(port(7, 3), None);
}

#[test]
fn calls_that_nobody_can_serve_are_refused() {
    let mut rig = Rig::default();
    let mut refused = |program, version, number, arguments: &[u8]| {
        let procedure = Procedure {
            program,
            version,
            number,
        };
        rig.results(procedure, arguments).err()
    };
    let (low, high) = (3, 3);
    assert_eq!(refused(7, 1, 0, &[]), Some(Refusal::ProgramUnavailable));
    assert_eq!(
        refused(nfs::PROGRAM, 2, 0, &[]),
        Some(Refusal::ProgramMismatch { low, high })
    );
    assert_eq!(
        refused(nfs::PROGRAM, 3, 22, &[]),
        Some(Refusal::ProcedureUnavailable)
    );
    assert_eq!(
        refused(mount::PROGRAM, 3, 6, &[]),
        Some(Refusal::ProcedureUnavailable)
    );
    assert_eq!(
        refused(portmap::PROGRAM, 2, 4, &[]),
        Some(Refusal::ProcedureUnavailable)
    );
    assert_eq!(
        refused(nfs::PROGRAM, 3, 1, &[0; 3]),
        Some(Refusal::GarbageArguments)
    );
    assert_eq!(
        refused(nfs::PROGRAM, 3, 0, &[0; 4]),
        Some(Refusal::GarbageArguments)
    );
    assert_eq!(
        refused(mount::PROGRAM, 3, 1, &[0; 4]),
        Some(Refusal::GarbageArguments)
    );
    for program in [nfs::PROGRAM, mount::PROGRAM] {
        assert_eq!(refused(program, 3, 0, &[]), None);
    }
    assert_eq!(refused(portmap::PROGRAM, 2, 0, &[]), None);
    let counters = rig.server.counters();
    assert_eq!((counters.refused, counters.others), (8, 2));
}

#[test]
fn what_is_no_call_is_not_answered() {
    let mut rig = Rig::default();
    for bytes in [
        &b""[..],
        b"xxx",
        &[0; 7],
        &[0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0],
    ] {
        rig.send(crate::rig::PEER, &bytes::Bytes::copy_from_slice(bytes));
        assert_eq!(rig.receive(), None);
    }
    assert_eq!(rig.server.counters().malformed, 4);
}

#[test]
fn a_stream_brings_calls_in_any_pieces() {
    let mut rig = Rig::default();
    let calls = [1, 2].map(|xid| crate::rig::nfs_message(xid, nfs::Call::Null(())));
    let bytes: Vec<_> = calls
        .iter()
        .flat_map(|call| RecordStream::write(call))
        .collect();
    let peer = Peer(4);
    let mut stream = RecordStream::new(peer, 1_000);
    let mut replies = Vec::new();
    for piece in bytes.chunks(7) {
        for input in stream.read(piece).expect("records") {
            rig.input(input);
            replies.extend(rig.receive());
        }
    }
    let xids: Vec<_> = replies
        .iter()
        .map(|(_, reply)| rpc::message::transaction(reply))
        .collect();
    assert_eq!(xids, [Some(1), Some(2)]);
    assert!(replies.iter().all(|(to, _)| *to == peer));
    assert!(stream.read(&[0xff; 4]).is_err());
}

#[test]
fn configurations_are_text_and_are_checked() {
    let text = "export = '/srv'\nlongest_message = '8800 B'\nservice = { per_call = '3 ms' }\n\
                faults = { lost_replies = '2 %', delay = '1 s' }\n";
    let config: Config = toml::from_str(text).expect("a configuration");
    assert_eq!(config.check(), Ok(()));
    let again = toml::from_str(&toml::to_string(&config).expect("text"));
    assert_eq!(again, Ok(config));
    for wrong in [
        "export = 'srv'",
        "disk = '1 KiB'",
        "transfer = 100",
        "longest_message = '100 B'",
        "service = { receive_buffer = '2 KiB' }",
        "reply_cache = 10000000",
    ] {
        let config: Config = toml::from_str(wrong).expect("a configuration");
        let said = config.check().expect_err(wrong).to_string();
        let key = wrong
            .split([' ', '=', '{'])
            .find(|part| said.contains(&format!("`{part}`")));
        assert!(key.is_some(), "{wrong}: {said}");
    }
}
