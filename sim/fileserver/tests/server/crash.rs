//! Data that a crash loses, and data that it leaves.

use fileserver::Input;
use nfs::{Commit, GetAttributes, NewAttributes, SetAttributes, Stability};

use crate::rig::Rig;

const UNSTABLE: Stability = Stability::Unstable;

#[test]
fn a_crash_loses_exactly_what_was_not_committed() {
    let mut rig = Rig::default();
    let file = rig.create("file");
    rig.write(file, 0, &[1; 10_000], UNSTABLE);
    rig.done(Commit {
        file,
        offset: 2_000,
        count: 3_000,
    });
    rig.write(file, 9_000, &[2; 2_000], Stability::FileStable);
    rig.write(file, 9_500, &[3; 100], UNSTABLE);

    let mut seen = vec![1; 9_000];
    seen.extend([2; 2_000]);
    seen[9_500..9_600].fill(3);
    assert_eq!(rig.server.content("file").as_ref(), Some(&seen));

    let mut left = vec![0; 9_000];
    left[2_000..5_000].fill(1);
    left.extend([2; 2_000]);
    assert_eq!(rig.server.stored("file").as_ref(), Some(&left));

    rig.input(Input::Restart);
    assert_eq!(rig.server.content("file").as_ref(), Some(&left));
    assert_eq!(
        rig.server.counters().bytes_lost,
        10_000 - 3_000 - 1_000 + 100
    );
}

#[test]
fn a_commit_of_no_bytes_is_one_of_all_behind() {
    let mut rig = Rig::default();
    let file = rig.create("file");
    rig.write(file, 0, b"0123456789", UNSTABLE);
    rig.done(Commit {
        file,
        offset: 4,
        count: 0,
    });
    rig.input(Input::Restart);
    assert_eq!(
        rig.server.content("file").as_deref(),
        Some(&b"\0\0\0\x00456789"[..])
    );
}

#[test]
fn names_sizes_and_handles_survive_and_the_verifier_does_not() {
    let mut rig = Rig::default();
    let file = rig.create("file");
    let verifier = rig
        .write(file, 0, b"stable", Stability::DataStable)
        .verifier;
    let again = rig
        .done(Commit {
            file,
            offset: 0,
            count: 0,
        })
        .verifier;
    assert_eq!(again, verifier);
    let size = Some(3);
    rig.done(SetAttributes {
        object: file,
        attributes: NewAttributes {
            size,
            ..NewAttributes::default()
        },
        guard: None,
    });
    let before = rig.done(GetAttributes { object: file });
    rig.input(Input::Restart);
    assert_eq!(rig.look_up("file"), Ok(file));
    assert_eq!(rig.done(GetAttributes { object: file }), before);
    assert_eq!(rig.server.content("file").as_deref(), Some(&b"sta"[..]));
    let after = rig
        .done(Commit {
            file,
            offset: 0,
            count: 0,
        })
        .verifier;
    assert_ne!(after, verifier);
}

#[test]
fn a_file_that_lost_data_shows_it_in_its_times() {
    let mut rig = Rig::default();
    let (whole, torn) = (rig.create("whole"), rig.create("torn"));
    rig.write(whole, 0, b"safe", Stability::FileStable);
    rig.write(torn, 0, b"not", UNSTABLE);
    let times = |rig: &mut Rig, object| rig.done(GetAttributes { object }).times;
    let before = [whole, torn].map(|file| times(&mut rig, file));
    rig.input(Input::Restart);
    let after = [whole, torn].map(|file| times(&mut rig, file));
    assert_eq!(before[0], after[0]);
    assert!(before[1].modified < after[1].modified);
}

#[test]
fn what_a_crash_takes_is_free_again() {
    let mut rig = Rig::default();
    let file = rig.create("file");
    let free = rig.server.free();
    rig.write(file, 0, &[1; 15_000], UNSTABLE);
    assert_eq!(rig.server.free(), free - 4 * 4_096);
    rig.input(Input::Restart);
    assert_eq!(rig.server.free(), free);
}
