//! Tests of implausible answers whose bytes are well-formed, and of the properties of procedures.

use nfs::checks::{CookieCheck, Implausible};
use nfs::{
    Attributes, BlockSizes, Call, Create, CreateHow, CreateVerifier, FileHandle, FileType,
    Idempotency, Name, NewAttributes, Numbered, Place, Procedure, ReadData, SetAttributes,
    Stability, Time, Times, WeakCacheData, WriteVerifier, Written,
};
use proptest::prelude::*;
use rpc::Class;

fn attributes(size: u64, nanoseconds: u32) -> Attributes {
    let time = Time {
        seconds: 1,
        nanoseconds,
    };
    Attributes {
        kind: FileType::Regular,
        mode: 0o644,
        links: 1,
        user: 0,
        group: 0,
        size,
        used: size,
        device: nfs::Device::default(),
        file_system: 1,
        file_id: 2,
        times: Times {
            accessed: time,
            modified: time,
            changed: time,
        },
    }
}

#[test]
fn sizes_that_no_file_has_are_refused_and_times_become_times() {
    let most = i64::MAX as u64;
    assert!(attributes(most, 5).checked().is_ok());
    let error = attributes(most + 1, 5).checked().expect_err("too large");
    assert_eq!(error, Implausible::FileSize { size: most + 1 });
    let checked = attributes(0, u32::MAX).checked().expect("only odd");
    assert_eq!(checked.times.changed.nanoseconds, 999_999_999);
    assert_eq!(checked.times.changed.seconds, 1);
}

#[test]
fn a_read_brings_at_most_what_was_asked_for_and_something_before_the_end() {
    let read = |data: &'static [u8], end_of_file| ReadData {
        attributes: None,
        end_of_file,
        data,
    };
    assert_eq!(read(b"1234", false).check(4), Ok(()));
    assert_eq!(read(b"12", false).check(4), Ok(()));
    assert_eq!(read(b"", true).check(4), Ok(()));
    assert_eq!(read(b"", false).check(0), Ok(()));
    assert_eq!(read(b"", false).check(4), Err(Implausible::NoData));
    let error = read(b"1234", true).check(3).expect_err("too much");
    assert_eq!(error.to_string(), "READ asked for 3 bytes and got 4");
}

#[test]
fn a_write_wrote_something_of_what_it_was_given_and_as_safely_as_asked() {
    let written = |count, stability| Written {
        file: WeakCacheData::default(),
        count,
        stability,
        verifier: WriteVerifier([0; 8]),
    };
    let whole = written(100, Stability::DataStable);
    assert_eq!(whole.check(100, Stability::Unstable), Ok(()));
    assert_eq!(whole.check(200, Stability::DataStable), Ok(()));
    let error = whole.check(99, Stability::Unstable).expect_err("too much");
    assert_eq!(
        error.to_string(),
        "WRITE was given 99 bytes and the server says that it wrote 100"
    );
    let nothing = written(0, Stability::FileStable);
    assert!(nothing.check(1, Stability::Unstable).is_err());
    assert_eq!(nothing.check(0, Stability::FileStable), Ok(()));
    let error = whole.check(100, Stability::FileStable).expect_err("unsafe");
    assert_eq!(
        error.to_string(),
        "WRITE asked for FileStable data and the server left them DataStable"
    );
}

proptest! {
    /// A listing that runs `before` pages and then in a circle of `length` is detected soon.
    #[test]
    fn circles_are_found(before in 0..300_u64, length in 1..300_u64) {
        let mut watch = CookieCheck::default();
        let cookies = (1..).map(|page| {
            if page <= before { page } else { before + 1 + (page - before - 1) % length }
        });
        let found = cookies.take(3_000).position(|cookie| watch.go_on(cookie).is_err());
        let pages = found.expect("a circle is found") as u64;
        prop_assert!(pages <= 3 * (before + length) + 1, "after {} pages", pages);
    }

    #[test]
    fn listings_that_end_are_not_circles(
        cookies in proptest::collection::hash_set(1..u64::MAX, 0..500),
    ) {
        let mut watch = CookieCheck::default();
        for cookie in cookies {
            prop_assert_eq!(watch.go_on(cookie), Ok(()));
        }
    }

    #[test]
    fn blocks_fit(wanted in 1..100_000_u32, maximum in 0..100_000_u32, multiple in 0..5_000_u32) {
        let size = BlockSizes { maximum, preferred: 0, multiple }.fitting(wanted);
        prop_assert!((1..=wanted).contains(&size));
        prop_assert!(maximum == 0 || size <= maximum);
        prop_assert!(multiple == 0 || size < multiple || size.is_multiple_of(multiple));
    }
}

#[test]
fn a_listing_that_starts_again_is_a_circle() {
    assert_eq!(
        CookieCheck::default().go_on(0),
        Err(Implausible::CookieLoop { cookie: 0 })
    );
}

#[test]
fn procedures_know_what_repeating_does_and_whose_timer_they_share() {
    let count = |class| {
        let of_class = |procedure: &&Procedure| procedure.idempotency() == class;
        Procedure::ALL.iter().filter(of_class).count()
    };
    assert_eq!(
        [
            Idempotency::Reads,
            Idempotency::Overwrites,
            Idempotency::Once
        ]
        .map(count),
        [11, 3, 8]
    );
    let timed = |class| {
        let of_class = |procedure: &&Procedure| procedure.class() == class;
        Procedure::ALL.iter().filter(of_class).count()
    };
    // Others, attributes, names, data and names brought, data taken, waits for a disk.
    assert_eq!(Class::ALL.map(timed), [13, 2, 1, 4, 1, 1]);
}

#[test]
fn arguments_can_make_repeating_safe_or_not() {
    let directory = FileHandle::new(b"x").expect("short");
    let name = Name::new(b"x").expect("a name");
    let create = |how| {
        let place = Place { directory, name };
        Call::from(Create { place, how }).idempotency()
    };
    let verifier = CreateVerifier([1; 8]);
    assert_eq!(
        create(CreateHow::Exclusive(verifier)),
        Idempotency::Overwrites
    );
    let attributes = NewAttributes::default();
    assert_eq!(create(CreateHow::Guarded(attributes)), Idempotency::Once);
    assert_eq!(create(CreateHow::Unchecked(attributes)), Idempotency::Once);
    let set = |guard| {
        let call = SetAttributes {
            object: directory,
            attributes,
            guard,
        };
        Call::from(call).idempotency()
    };
    assert_eq!(set(Some(Time::default())), Idempotency::Once);
    assert_eq!(set(None), Idempotency::Overwrites);
    assert_eq!(Call::from(()).idempotency(), Idempotency::Reads);
}
