//! The arguments of every procedure.

use nfs::{CookieVerifier, CreateHow, CreateVerifier, Device, DeviceData, Node, Numbered, Request};
use nfs3_types::nfs3 as theirs;
use nfs3_types::xdr_codec::{Opaque, Void};
use proptest::prelude::*;

use super::agreement::agree;
use super::samples::{bytes, device, handle, new_attributes, numbered, path, place, time};
use super::theirs::{Theirs, by_number};

fn how() -> impl Strategy<Value = CreateHow> {
    prop_oneof![
        new_attributes().prop_map(CreateHow::Unchecked),
        new_attributes().prop_map(CreateHow::Guarded),
        any::<[u8; 8]>().prop_map(|bytes| CreateHow::Exclusive(CreateVerifier(bytes))),
    ]
}

fn their_how(how: &CreateHow) -> theirs::createhow3 {
    match how {
        CreateHow::Unchecked(attributes) => theirs::createhow3::UNCHECKED(attributes.theirs()),
        CreateHow::Guarded(attributes) => theirs::createhow3::GUARDED(attributes.theirs()),
        CreateHow::Exclusive(verifier) => {
            theirs::createhow3::EXCLUSIVE(theirs::createverf3(verifier.0))
        }
    }
}

fn node() -> impl Strategy<Value = Node> {
    (0..4, new_attributes(), device()).prop_map(|(kind, attributes, device)| match kind {
        0 => Node::CharacterDevice(DeviceData { attributes, device }),
        1 => Node::BlockDevice(DeviceData { attributes, device }),
        2 => Node::Socket(attributes),
        _ => Node::Pipe(attributes),
    })
}

fn their_device(data: &DeviceData) -> theirs::devicedata3 {
    let Device { major, minor } = data.device;
    theirs::devicedata3 {
        dev_attributes: data.attributes.theirs(),
        spec: Device { major, minor }.theirs(),
    }
}

fn their_node(node: &Node) -> theirs::mknoddata3 {
    match node {
        Node::CharacterDevice(data) => theirs::mknoddata3::NF3CHR(their_device(data)),
        Node::BlockDevice(data) => theirs::mknoddata3::NF3BLK(their_device(data)),
        Node::Socket(attributes) => theirs::mknoddata3::NF3SOCK(attributes.theirs()),
        Node::Pipe(attributes) => theirs::mknoddata3::NF3FIFO(attributes.theirs()),
    }
}

#[test]
fn procedures_have_the_numbers_and_names_of_the_other_implementation() {
    for &procedure in nfs::Procedure::ALL {
        let theirs: theirs::NFS_PROGRAM = by_number(procedure.number());
        assert_eq!(format!("NFSPROC3_{procedure}"), format!("{theirs:?}"));
        assert_eq!(nfs::Procedure::of(procedure.number()), Some(procedure));
    }
    assert_eq!(nfs::Procedure::of(22), None);
    assert_eq!(
        (nfs::PROGRAM, nfs::VERSION),
        (theirs::PROGRAM, theirs::VERSION)
    );
    assert_eq!(nfs::Write::PROCEDURE.name(), "WRITE");
    agree(&(), &Void);
}

proptest! {
    #[test]
    fn of_files(
        object in handle(),
        rights in any::<u32>(),
        attributes in new_attributes(),
        guard in proptest::option::of(time()),
    ) {
        agree(&nfs::GetAttributes { object }, &theirs::GETATTR3args { object: object.theirs() });
        let ours = nfs::SetAttributes { object, attributes, guard };
        agree(&ours, &theirs::SETATTR3args {
            object: object.theirs(),
            new_attributes: attributes.theirs(),
            guard: guard.theirs(),
        });
        let ours = nfs::Access { object, rights: nfs::AccessRights { bits: rights } };
        agree(&ours, &theirs::ACCESS3args { object: object.theirs(), access: rights });
        agree(&nfs::ReadLink { link: object }, &theirs::READLINK3args { symlink: object.theirs() });
        agree(&nfs::FileSystemStatus { root: object }, &theirs::FSSTAT3args { fsroot: object.theirs() });
        agree(&nfs::FileSystemInfo { root: object }, &theirs::FSINFO3args { fsroot: object.theirs() });
        agree(&nfs::PathConfiguration { object }, &theirs::PATHCONF3args { object: object.theirs() });
    }

    #[test]
    fn of_names(place in place(), other in place(), file in handle()) {
        agree(&nfs::LookUp { place }, &theirs::LOOKUP3args { what: place.theirs() });
        agree(&nfs::Remove { place }, &theirs::REMOVE3args { object: place.theirs() });
        agree(&nfs::RemoveDirectory { place }, &theirs::RMDIR3args { object: place.theirs() });
        let ours = nfs::Rename { from: place, to: other };
        agree(&ours, &theirs::RENAME3args { from: place.theirs(), to: other.theirs() });
        agree(&nfs::Link { file, place }, &theirs::LINK3args { file: file.theirs(), link: place.theirs() });
    }

    #[test]
    fn of_creation(
        place in place(),
        how in how(),
        attributes in new_attributes(),
        path in path(),
        node in node(),
    ) {
        agree(&nfs::Create { place, how }, &theirs::CREATE3args { where_: place.theirs(), how: their_how(&how) });
        let ours = nfs::MakeDirectory { place, attributes };
        agree(&ours, &theirs::MKDIR3args { where_: place.theirs(), attributes: attributes.theirs() });
        let ours = nfs::MakeSymbolicLink { place, attributes, path };
        agree(&ours, &theirs::SYMLINK3args {
            where_: place.theirs(),
            symlink: theirs::symlinkdata3 {
                symlink_attributes: attributes.theirs(),
                symlink_data: path.theirs(),
            },
        });
        agree(&nfs::MakeNode { place, node }, &theirs::MKNOD3args { where_: place.theirs(), what: their_node(&node) });
    }

    #[test]
    fn of_data(
        file in handle(),
        offset in any::<u64>(),
        count in any::<u32>(),
        stability in numbered::<nfs::Stability>(),
        data in bytes(700),
    ) {
        let ours = nfs::Read { file, offset, count };
        agree(&ours, &theirs::READ3args { file: file.theirs(), offset, count });
        let ours = nfs::Write { file, offset, stability, data };
        agree(&ours, &theirs::WRITE3args {
            file: file.theirs(),
            offset,
            count: data.len() as u32,
            stable: stability.theirs(),
            data: Opaque::borrowed(data),
        });
        let ours = nfs::Commit { file, offset, count };
        agree(&ours, &theirs::COMMIT3args { file: file.theirs(), offset, count });
    }

    #[test]
    fn of_listings(
        directory in handle(),
        cookie in any::<u64>(),
        verifier in any::<[u8; 8]>(),
        counts in any::<(u32, u32)>(),
    ) {
        let ours = nfs::ReadDirectory { directory, cookie, verifier: CookieVerifier(verifier), count: counts.0 };
        agree(&ours, &theirs::READDIR3args {
            dir: directory.theirs(),
            cookie,
            cookieverf: theirs::cookieverf3(verifier),
            count: counts.0,
        });
        let ours = nfs::ReadDirectoryPlus {
            directory,
            cookie,
            verifier: CookieVerifier(verifier),
            directory_count: counts.0,
            maximum_count: counts.1,
        };
        agree(&ours, &theirs::READDIRPLUS3args {
            dir: directory.theirs(),
            cookie,
            cookieverf: theirs::cookieverf3(verifier),
            dircount: counts.0,
            maxcount: counts.1,
        });
    }
}
