//! The MOUNT protocol and the port mapper.

use std::num::NonZeroU16;

use nfs::mount::{self, Export, ExportList, Flavors, Mount, MountAnswer, MountList, Mounted};
use nfs::portmap::{GetPort, Port, Transport};
use nfs::{Limits, List, Numbered, Outcome, Value, write_list};
use nfs3_types::mount as theirs;
use nfs3_types::portmap::mapping;
use nfs3_types::xdr_codec::{List as TheirList, Opaque};
use proptest::collection::vec;
use proptest::prelude::*;

use super::agreement::agree;
use super::samples::{handle, host, numbered, path};
use super::theirs::by_number;

#[test]
fn procedures_and_statuses_have_the_numbers_and_names_of_the_other_implementation() {
    for &procedure in mount::Procedure::ALL {
        let theirs: theirs::MOUNT_PROGRAM = by_number(procedure.number());
        assert_eq!(format!("MOUNTPROC3_{procedure}"), theirs.to_string());
    }
    for &status in mount::Status::ALL {
        let theirs: theirs::mountstat3 = by_number(status.number());
        assert!(
            status.to_string().contains(&format!("({theirs})")),
            "{status}"
        );
    }
    assert_eq!(
        (mount::PROGRAM, mount::VERSION),
        (theirs::PROGRAM, theirs::VERSION)
    );
}

fn exports(exports: &[(nfs::Path<'static>, Vec<nfs::HostName<'static>>)]) -> ExportList<'static> {
    let exports = exports.iter().map(|(directory, groups)| {
        let mut bytes = Vec::new();
        write_list(groups.iter().copied(), usize::MAX, &mut bytes);
        Export {
            directory: *directory,
            groups: List::encoded(bytes.leak()).expect("a list"),
        }
    });
    let mut bytes = Vec::new();
    write_list(exports, usize::MAX, &mut bytes);
    List::encoded(bytes.leak()).expect("a list")
}

proptest! {
    #[test]
    fn handles_are_given(
        path in path(),
        root in handle(),
        flavors in vec(any::<u32>(), 0..=64),
        status in numbered::<mount::Status>(),
    ) {
        agree(&path, &theirs::dirpath(Opaque::borrowed(path.bytes())));
        let ours: MountAnswer = Outcome::Done(Mounted {
            root,
            flavors: Flavors::new(&flavors).expect("at most 64"),
        });
        agree(&ours, &theirs::mountres3::Ok(theirs::mountres3_ok {
            fhandle: theirs::fhandle3(Opaque::owned(root.bytes().to_vec())),
            auth_flavors: flavors,
        }));
        let ours: MountAnswer = Outcome::Failed { status, rest: () };
        agree(&ours, &theirs::mountres3::Err(by_number(status.number())));
    }

    #[test]
    fn mounts_and_exports_are_listed(
        mounts in vec((host(), path()), 0..5),
        exported in vec((path(), vec(host(), 0..4)), 0..5),
    ) {
        let mut bytes = Vec::new();
        let ours = mounts.iter().map(|&(host, directory)| Mount { host, directory });
        write_list(ours, usize::MAX, &mut bytes);
        let ours: MountList = List::encoded(bytes.leak()).expect("a list");
        let names = mounts.iter().map(|(host, directory)| theirs::mountbody {
            ml_hostname: theirs::name(Opaque::borrowed(host.0)),
            ml_directory: theirs::dirpath(Opaque::borrowed(directory.bytes())),
        });
        agree::<_, theirs::mountlist<'static, 'static>>(&ours, &TheirList(names.collect()));
        let ours = exports(&exported);
        let nodes = exported.iter().map(|(directory, groups)| theirs::export_node {
            ex_dir: theirs::dirpath(Opaque::borrowed(directory.bytes())),
            ex_groups: TheirList(groups.iter().map(|group| theirs::name(Opaque::borrowed(group.0))).collect()),
        });
        agree::<_, theirs::exports<'static, 'static>>(&ours, &TheirList(nodes.collect()));
        for (export, (directory, groups)) in ours.iter().zip(&exported) {
            prop_assert_eq!(export.directory, *directory);
            prop_assert!(export.groups.iter().eq(groups.iter().copied()));
        }
    }

    #[test]
    fn ports_are_found(
        program in any::<u32>(),
        version in any::<u32>(),
        transport in numbered::<Transport>(),
        port in any::<u16>(),
    ) {
        let ours = GetPort::new(program, version, transport);
        agree(&ours, &mapping { prog: program, vers: version, prot: transport.number(), port: 0 });
        agree(&Port(NonZeroU16::new(port)), &u32::from(port));
    }
}

#[test]
fn what_is_no_port_or_too_many_flavors_is_refused() {
    let error = Port::decode(&65_536_u32.to_be_bytes(), &Limits::USUAL).expect_err("no port");
    assert_eq!(error.to_string(), "`port` at byte 0: 65536 means nothing");
    assert_eq!(Flavors::new(&[1; 65]), None);
    let bytes = [0_u32, 4, 7, 65].map(u32::to_be_bytes).concat();
    let error = MountAnswer::decode(&bytes, &Limits::USUAL).expect_err("too many");
    assert_eq!(
        error.to_string(),
        "`flavors` at byte 12: a length of 65, at most 64 allowed"
    );
}
