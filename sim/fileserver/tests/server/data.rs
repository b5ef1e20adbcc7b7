//! READ, WRITE, COMMIT, GETATTR, SETATTR, ACCESS and the disk.

use fileserver::{Config, Item};
use nfs::{
    Access, AccessRights, Commit, FileHandle, FileSystemInfo, FileSystemStatus, GetAttributes,
    NewAttributes, Outcome, PathConfiguration, Read, SetAttributes, SetTime, Stability, Status,
    Time, Write,
};
use rpc::message::Refusal;
use units::Bytes;

use crate::rig::Rig;

const STABLE: Stability = Stability::FileStable;

fn resized(object: FileHandle, size: u64) -> SetAttributes {
    let attributes = NewAttributes {
        size: Some(size),
        ..NewAttributes::default()
    };
    SetAttributes {
        object,
        attributes,
        guard: None,
    }
}

#[test]
fn what_was_written_is_read() {
    let mut rig = Rig::default();
    let file = rig.create("file");
    let written = rig.write(file, 5, b"content", Stability::Unstable);
    assert_eq!((written.count, written.stability), (7, Stability::Unstable));
    assert_eq!(written.file.before.map(|before| before.size), Some(0));
    assert_eq!(written.file.after.map(|after| after.size), Some(12));

    let read = rig.done(Read {
        file,
        offset: 3,
        count: 4,
    });
    assert_eq!((read.data, read.end_of_file), (&b"\0\0co"[..], false));
    let read = rig.done(Read {
        file,
        offset: 8,
        count: 100,
    });
    assert_eq!((read.data, read.end_of_file), (&b"tent"[..], true));
    assert_eq!(read.attributes.map(|attributes| attributes.size), Some(12));
    let read = rig.done(Read {
        file,
        offset: 12,
        count: 1,
    });
    assert_eq!((read.data, read.end_of_file), (&b""[..], true));
    let read = rig.done(Read {
        file,
        offset: u64::MAX,
        count: u32::MAX,
    });
    assert_eq!((read.data, read.end_of_file), (&b""[..], true));
}

#[test]
fn only_files_have_content() {
    let mut rig = Rig::default();
    let directory = rig.root();
    assert_eq!(
        rig.status(Read {
            file: directory,
            offset: 0,
            count: 1
        }),
        Status::IsDirectory
    );
    let write = Write {
        file: directory,
        offset: 0,
        stability: STABLE,
        data: b"x",
    };
    assert_eq!(rig.status(write), Status::IsDirectory);
    let commit = Commit {
        file: directory,
        offset: 0,
        count: 0,
    };
    assert_eq!(rig.status(commit), Status::IsDirectory);
    assert_eq!(rig.status(resized(directory, 0)), Status::IsDirectory);
}

#[test]
fn sizes_are_set_and_have_an_end() {
    let mut rig = Rig::default();
    let file = rig.create("file");
    rig.write(file, 0, b"0123456789", STABLE);
    rig.done(resized(file, 4));
    rig.done(resized(file, 6));
    assert_eq!(
        rig.server.content("file").as_deref(),
        Some(&b"0123\0\0"[..])
    );
    let most = i64::MAX as u64;
    assert_eq!(rig.status(resized(file, most + 1)), Status::FileTooLarge);
    let write = Write {
        file,
        offset: most,
        stability: STABLE,
        data: b"x",
    };
    assert_eq!(rig.status(write), Status::FileTooLarge);
    let write = Write {
        offset: u64::MAX,
        ..write
    };
    assert_eq!(rig.status(write), Status::FileTooLarge);
    rig.done(resized(file, most));
    assert_eq!(rig.done(GetAttributes { object: file }).size, most);
    assert_eq!(rig.server.content("file"), None);
    assert_eq!(
        rig.server.tree().get(&b"file"[..]),
        Some(&Item::Sparse(most))
    );
}

#[test]
fn attributes_are_set_if_the_guard_matches() {
    let mut rig = Rig::default();
    let file = rig.create("file");
    let before = rig.done(GetAttributes { object: file });
    assert_eq!(
        (before.user, before.group, before.mode),
        (1_000, 100, 0o644)
    );
    let modified = Time {
        seconds: 77,
        nanoseconds: 5,
    };
    let attributes = NewAttributes {
        mode: Some(0o177_750),
        user: Some(7),
        modified: SetTime::To(modified),
        accessed: SetTime::ServerTime,
        ..NewAttributes::default()
    };
    let stale = Time {
        seconds: 1,
        nanoseconds: 1,
    };
    let guarded = |guard| SetAttributes {
        object: file,
        attributes,
        guard: Some(guard),
    };
    assert_eq!(rig.status(guarded(stale)), Status::NotSynchronized);
    assert_eq!(rig.done(GetAttributes { object: file }), before);

    let change = rig.done(guarded(before.times.changed));
    let after = change.after.expect("attributes");
    assert_eq!((after.user, after.group, after.mode), (7, 100, 0o7750));
    assert_eq!(after.times.modified, modified);
    assert!(after.times.accessed > before.times.accessed);
    assert!(after.times.changed > before.times.changed);
    assert_eq!(
        change.before.map(|before| before.changed),
        Some(before.times.changed)
    );
}

#[test]
fn every_change_shows_in_the_times() {
    let mut rig = Rig::default();
    let file = rig.create("file");
    let mut last = rig.done(GetAttributes { object: file }).times.modified;
    for round in 0..5 {
        // No time passes for the server's driver.
        let written = rig.write(file, round, b"x", STABLE);
        let now = written.file.after.expect("attributes").times.modified;
        assert!(now > last);
        last = now;
    }
}

#[test]
fn a_full_disk_writes_nothing() {
    let mut rig = Rig::new(Config {
        disk: Bytes::kibi(64),
        ..Config::default()
    });
    let file = rig.create("file");
    let space = rig.done(FileSystemStatus { root: file });
    assert_eq!(space.total_bytes, 65_536);
    assert_eq!(space.free_bytes, rig.server.free());
    let fits = space.free_bytes / 4_096 * 4_096;
    let data = vec![1; fits as usize + 1];
    let write = Write {
        file,
        offset: 0,
        stability: STABLE,
        data: &data,
    };
    assert_eq!(rig.status(write), Status::NoSpace);
    assert_eq!(rig.server.content("file").as_deref(), Some(&b""[..]));
    rig.write(file, 0, &data[..fits as usize], STABLE);
    rig.write(file, 100, &[2; 5_000], STABLE);
    assert!(rig.server.free() < 4_096);
    rig.done(resized(file, 0));
    assert_eq!(rig.server.free(), space.free_bytes);
}

#[test]
fn what_the_server_takes_is_not_what_it_says() {
    let mut rig = Rig::new(Config::least());
    let file = rig.create("file");
    let abilities = rig.done(FileSystemInfo { root: file });
    assert_eq!(abilities.write.maximum, 32_768);
    rig.write(file, 0, &[1; 8_192], STABLE);
    let mut arguments = Vec::new();
    let write = Write {
        file,
        offset: 0,
        stability: STABLE,
        data: &[1; 9_000],
    };
    nfs::Call::from(write).encode(&mut arguments);
    let refused = rig.results(nfs::Procedure::Write.into(), &arguments);
    assert_eq!(refused, Err(Refusal::GarbageArguments));

    rig.write(file, 8_192, &[1; 8_192], STABLE);
    assert_eq!(
        rig.done(Read {
            file,
            offset: 0,
            count: 8_192
        })
        .data
        .len(),
        8_192
    );
    for count in [8_700, 9_000, 32_768, u32::MAX] {
        arguments.clear();
        nfs::Call::from(Read {
            file,
            offset: 0,
            count,
        })
        .encode(&mut arguments);
        let refused = rig.results(nfs::Procedure::Read.into(), &arguments);
        assert_eq!(refused, Err(Refusal::SystemError), "{count}");
    }
    assert_eq!(rig.server.counters().executed(nfs::Procedure::Write), 2);
}

#[test]
fn rights_are_those_of_root() {
    let mut rig = Rig::default();
    let file = rig.create("file");
    let all = AccessRights { bits: 0b11_1111 };
    let rights = rig
        .done(Access {
            object: file,
            rights: all,
        })
        .rights;
    assert!(rights.contain(AccessRights::READ.with(AccessRights::MODIFY)));
    assert!(!rights.contain(AccessRights::EXECUTE));
    let root = rig.root();
    let rights = rig
        .done(Access {
            object: root,
            rights: AccessRights::LOOK_UP,
        })
        .rights;
    assert_eq!(rights, AccessRights::LOOK_UP);
}

#[test]
fn handles_are_told_from_others() {
    let mut rig = Rig::default();
    let none = FileHandle::new(b"short").expect("a handle");
    assert_eq!(
        rig.status(GetAttributes { object: none }),
        Status::BadHandle
    );
    let other = Rig::new(Config {
        seed: 2,
        ..Config::default()
    })
    .root();
    assert_eq!(rig.status(GetAttributes { object: other }), Status::Stale);
    let rules = rig.done(PathConfiguration {
        object: rig.server.root(),
    });
    assert_eq!(rules.name_maximum, 255);
    let failed = rig.ask(Commit {
        file: other,
        offset: 0,
        count: 0,
    });
    assert!(
        matches!(failed, Outcome::Failed { status: Status::Stale, rest } if rest.after.is_none())
    );
}
