//! Tests of the answers to the attachment of an export.

use nfs::attach::{AttachError, abilities, handle_of};
use nfs::mount::{self, Flavors, MountAnswer, Mounted};
use nfs::{Answer, FileHandle, FileSystemInfo, Limits, Outcome, Path, Status, Value};
use proptest::collection::vec;
use proptest::prelude::*;

fn encoded<'a, V: Value<'a>>(value: &V) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.encode(&mut bytes);
    bytes
}

fn attach(results: &[u8]) -> Result<FileHandle, AttachError> {
    let export = Path::new(b"/srv").expect("a path");
    handle_of(export, results, &Limits::USUAL)
}

fn mounted(flavors: &[u32]) -> Vec<u8> {
    encoded::<MountAnswer>(&Outcome::Done(Mounted {
        root: FileHandle::new(b"root").expect("short"),
        flavors: Flavors::new(flavors).expect("few"),
    }))
}

#[test]
fn a_handle_is_given_to_whom_the_server_takes() {
    for flavors in [&[][..], &[1], &[390_003, 1]] {
        let root = attach(&mounted(flavors)).expect("mounted");
        assert_eq!(root.bytes(), b"root");
    }
    assert_eq!(
        attach(&mounted(&[390_003])).unwrap_err().to_string(),
        "the server takes only the authentication flavors [390003], and we have only AUTH_SYS (1): \
         export with `sec=sys`"
    );
}

#[test]
fn a_refusal_is_said_with_what_was_refused() {
    let refused = encoded::<MountAnswer>(&Outcome::Failed {
        status: mount::Status::AccessDenied,
        rest: (),
    });
    assert_eq!(
        attach(&refused).unwrap_err().to_string(),
        "cannot mount `/srv`: permission denied: not exported to this host or port (MNT3ERR_ACCES); \
         its exports are what `showmount -e` lists"
    );
    assert_eq!(
        attach(&[0, 0, 0, 0, 0xff]).unwrap_err().to_string(),
        "the server's answer to MNT makes no sense: `root` at byte 4: 1 bytes where it needs 4"
    );
    let refused = encoded::<Answer<FileSystemInfo>>(&Outcome::Failed {
        status: Status::Stale,
        rest: None,
    });
    let error = abilities(&refused, &Limits::USUAL).unwrap_err();
    assert!(error.to_string().starts_with("FSINFO: "), "{error}");
}

proptest! {
    #[test]
    fn no_answers_panic(words in vec(prop_oneof![4 => 0..4_u32, 1 => any::<u32>()], 0..60)) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let _ = (attach(&bytes), abilities(&bytes, &Limits::USUAL));
    }
}
