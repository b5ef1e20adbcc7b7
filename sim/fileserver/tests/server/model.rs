//! Comparison of the server with a directory of this machine: the same steps have the same results.

mod directory;
mod server;
mod step;

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::rig::Rig;
use directory::Directory;
use step::step;

/// Reason why a step fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    NoEntry,
    Exists,
    NotDirectory,
    IsDirectory,
    NotEmpty,
    Invalid,
}

/// A file at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// A directory.
    Directory,
    /// A regular file: its content, and its number of names.
    File(Vec<u8>, u64),
    /// A symbolic link, with its target.
    Link(Vec<u8>),
}

/// All files, by path.
pub(super) type State = BTreeMap<String, Found>;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_server_does_what_a_real_file_system_does(steps in prop::collection::vec(step(), 1..60)) {
        let (mut rig, directory) = (Rig::default(), Directory::new());
        let free = rig.server.free();
        for (place, step) in steps.iter().enumerate() {
            let (real, ours) = (directory.apply(step), server::apply(&mut rig, step));
            prop_assert_eq!(real, ours, "step {}: {:?}", place, step);
        }
        prop_assert_eq!(directory.state(), server::state(&mut rig));
        server::remove_all(&mut rig);
        prop_assert_eq!(rig.server.free(), free);
    }
}
