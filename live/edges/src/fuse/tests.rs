//! Messages from and to the kernel, byte by byte.

use std::mem::size_of;

use ::mount::{
    Answer, Attributes, Caller, Changes, Entry, Errno, Found, Handle, KindAndMode, Listed, Listing,
    NewTime, Node, Operation, RequestId,
};
use bytes::Bytes;
use polyfuse_kernel as abi;
use proptest::prelude::*;
use units::Duration;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::answer::Message;
use super::request::Unusable;
use super::*;

/// Returns a message of the kernel, from user 7 about node 5.
fn message(opcode: u32, parts: &[&[u8]]) -> Bytes {
    let body = parts.concat();
    let header = abi::fuse_in_header {
        len: (size_of::<abi::fuse_in_header>() + body.len()) as u32,
        opcode,
        unique: 42,
        nodeid: 5,
        uid: 7,
        gid: 8,
        pid: 9,
        padding: 0,
    };
    [header.as_bytes(), &body].concat().into()
}

fn operation(opcode: u32, parts: &[&[u8]]) -> Operation {
    let request = request::parse(message(opcode, parts)).unwrap();
    assert_eq!(request.id, RequestId(42));
    assert_eq!(request.node, Node(5));
    let (user, group, process) = (7, 8, 9);
    assert_eq!(
        request.caller,
        Caller {
            user,
            group,
            process
        }
    );
    request.operation
}

fn sent(answer: &Answer) -> Vec<u8> {
    let message = Message::answer(RequestId(42), answer);
    let bytes: Vec<u8> = message
        .pieces()
        .iter()
        .flat_map(|piece| piece.to_vec())
        .collect();
    let header = abi::fuse_out_header::read_from_prefix(&bytes).unwrap().0;
    assert_eq!(header.len as usize, bytes.len());
    assert_eq!(header.unique, 42);
    bytes
}

fn body<T: FromBytes + Immutable>(answer: &Answer) -> T {
    let bytes = sent(answer);
    T::read_from_bytes(&bytes[size_of::<abi::fuse_out_header>()..]).unwrap()
}

#[test]
fn names_are_read() {
    assert_eq!(
        operation(abi::FUSE_LOOKUP, &[b"notes\0"]),
        Operation::LookUp("notes".into())
    );
    let rename = abi::fuse_rename_in { newdir: 6 };
    assert_eq!(
        operation(abi::FUSE_RENAME, &[rename.as_bytes(), b"old\0new\0"]),
        Operation::Rename {
            name: "old".into(),
            directory: Node(6),
            new_name: "new".into()
        }
    );
    assert_eq!(
        operation(abi::FUSE_SYMLINK, &[b"name\0", b"../there\0"]),
        Operation::MakeSymbolicLink {
            name: "name".into(),
            target: "../there".into()
        }
    );
}

#[test]
fn a_time_may_be_now_by_another_clock() {
    let wish = abi::fuse_setattr_in {
        valid: abi::FATTR_ATIME | abi::FATTR_ATIME_NOW | abi::FATTR_MTIME | abi::FATTR_MODE,
        mtime: (-5_i64).cast_unsigned(),
        mtimensec: 6,
        mode: 0o100_644,
        ..abi::fuse_setattr_in::default()
    };
    let changes = Changes {
        mode: Some(0o644),
        accessed: Some(NewTime::Now),
        modified: Some(NewTime::At(-5, 6)),
        ..Changes::default()
    };
    assert_eq!(
        operation(abi::FUSE_SETATTR, &[wish.as_bytes()]),
        Operation::SetAttributes(changes)
    );
}

#[test]
fn data_to_write_are_not_longer_than_what_came() {
    let mut write = abi::fuse_write_in {
        fh: 3,
        offset: 1_000,
        size: 4,
        flags: libc::O_APPEND.cast_unsigned(),
        ..abi::fuse_write_in::default()
    };
    assert_eq!(
        operation(abi::FUSE_WRITE, &[write.as_bytes(), b"data"]),
        Operation::Write {
            handle: Handle(3),
            offset: 1_000,
            data: "data".into(),
            append: true
        }
    );
    write.size = 5;
    let longer = message(abi::FUSE_WRITE, &[write.as_bytes(), b"data"]);
    assert_eq!(
        request::parse(longer),
        Err(Unusable::Malformed(RequestId(42)))
    );
}

#[test]
fn what_is_not_done_here_is_refused_by_its_number() {
    let unknown = message(4_711, &[]);
    assert_eq!(
        request::parse(unknown),
        Err(Unusable::Unsupported(RequestId(42)))
    );
    let bytes = sent(&Answer::Error(Errno::NOSYS));
    let header = abi::fuse_out_header::read_from_bytes(&bytes).unwrap();
    assert_eq!(header.error, -libc::ENOSYS);
}

#[test]
fn forgetting_many_claims_no_more_than_came() {
    let one = abi::fuse_forget_one {
        nodeid: 11,
        nlookup: 2,
    };
    let batch = |count| abi::fuse_batch_forget_in { count, dummy: 0 };
    let two = operation(
        abi::FUSE_BATCH_FORGET,
        &[batch(2).as_bytes(), one.as_bytes(), one.as_bytes()],
    );
    assert_eq!(two, Operation::Forget(vec![(Node(11), 2); 2]));
    let lie = message(
        abi::FUSE_BATCH_FORGET,
        &[batch(u32::MAX).as_bytes(), one.as_bytes()],
    );
    assert_eq!(request::parse(lie), Err(Unusable::Malformed(RequestId(42))));
}

#[test]
fn an_entry_has_a_node_and_a_number() {
    let attributes = Attributes {
        number: 1 << 60,
        mode: KindAndMode(0o100_640),
        size: 1_025,
        used: 1_025,
        device: (300, 70_000),
        ..Attributes::default()
    };
    let node = Node(12);
    let entry = Entry {
        found: Some(Found { node, attributes }),
        name_valid: Duration::ZERO,
        attributes_valid: Duration::from_millis(1_500),
    };
    let told: abi::fuse_entry_out = body(&Answer::Entry(entry));
    assert_eq!((told.nodeid, told.attr.ino), (12, 1 << 60));
    assert_eq!((told.attr.size, told.attr.blocks), (1_025, 3));
    assert_eq!(told.attr.rdev, libc::makedev(300, 70_000) as u32);
    assert_eq!((told.entry_valid, told.entry_valid_nsec), (0, 0));
    assert_eq!((told.attr_valid, told.attr_valid_nsec), (1, 500_000_000));
    let nothing = Entry {
        found: None,
        ..entry
    };
    assert_eq!(
        body::<abi::fuse_entry_out>(&Answer::Entry(nothing)).nodeid,
        0
    );
}

#[test]
fn a_listing_stays_within_its_room() {
    let entry = Entry {
        found: None,
        name_valid: Duration::ZERO,
        attributes_valid: Duration::ZERO,
    };
    // An entry of 24 bytes and a name of 1 to 8 takes 32 bytes.
    let mut listing = Listing::new(70, false);
    let listed = |name: &'static str, next, number| Listed {
        name: name.into(),
        next,
        number,
        entry,
    };
    assert!(listing.push(listed("a", 1, 100)));
    assert!(listing.push(listed("eight888", 2, 101)));
    assert!(!listing.push(listed("c", 3, 102)));
    let bytes = sent(&Answer::Listing(listing));
    let sent = &bytes[size_of::<abi::fuse_out_header>()..];
    assert_eq!(sent.len(), 64);
    let second = abi::fuse_dirent::read_from_prefix(&sent[32..]).unwrap().0;
    assert_eq!((second.ino, second.off, second.namelen), (101, 2, 8));
    assert_eq!(&sent[56..], b"eight888");
    assert!(
        !Listing::new(100, true).push(listed("a", 1, 100)),
        "152 bytes have no room"
    );
}

#[test]
fn many_pieces_of_data_go_out_in_one_message() {
    let pieces = vec![Bytes::from_static(b"0123456789"); 2_000];
    let answer = Answer::Data(pieces.clone());
    assert!(Message::answer(RequestId(1), &answer).pieces().len() <= 1_024);
    let bytes = sent(&answer);
    assert_eq!(&bytes[size_of::<abi::fuse_out_header>()..], pieces.concat());
}

#[test]
fn our_mounts_are_found_in_the_kernels_list() {
    let line =
        b"36 35 0:98 / /mnt/a\\040b rw,nosuid - fuse.lasthop nfs://host/e\\134x rw,user_id=0";
    let mounted = Mounted::parse(line).unwrap();
    assert_eq!(mounted.point, std::path::Path::new("/mnt/a b"));
    assert_eq!(mounted.source, "nfs://host/e\\x");
    assert_eq!(mounted.device, 98);
    let others = b"36 35 98:0 / /mnt rw shared:1 - ext4 /dev/root rw";
    assert_eq!(Mounted::parse(others), None);
    assert_eq!(Mounted::parse(b""), None);
}

#[test]
fn a_process_that_nobody_asked_to_end_does_not_want_to() {
    assert!(!wants_to_end(std::process::id()));
    assert!(wants_to_end(0), "nothing is known of it");
}

proptest! {
    #[test]
    fn no_message_does_harm(opcode in 0_u32..64, body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = request::parse(message(opcode, &[&body]));
    }

    #[test]
    fn device_numbers_survive(major in 0_u32..4_096, minor in 0_u32..(1 << 20)) {
        let node = abi::fuse_mknod_in { rdev: request::device_to_wire(major, minor), ..Default::default() };
        match operation(abi::FUSE_MKNOD, &[node.as_bytes(), b"null\0"]) {
            Operation::MakeNode { device, .. } => prop_assert_eq!(device, (major, minor)),
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
