//! Strategies for random values. Borrowed parts of values are leaked: tests are short.

use nfs::{
    Attributes, AttributesBefore, Device, FileHandle, FileType, HostName, ListedName, Name,
    NewAttributes, Numbered, Outcome, Path, Place, SetTime, Status, Time, Times, WeakCacheData,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

pub(crate) fn bytes(most: usize) -> impl Strategy<Value = &'static [u8]> {
    vec(any::<u8>(), 0..=most).prop_map(|bytes| &*bytes.leak())
}

/// Returns a strategy for the numbers of an enumeration.
pub(crate) fn numbered<T: Numbered + std::fmt::Debug>() -> impl Strategy<Value = T> {
    select(T::ALL)
}

pub(crate) fn handle() -> impl Strategy<Value = FileHandle> {
    bytes(64).prop_map(|bytes| FileHandle::new(bytes).expect("short enough"))
}

pub(crate) fn name() -> impl Strategy<Value = Name<'static>> {
    vec(1..=255_u8, 1..=255)
        .prop_map(|mut bytes| {
            for byte in &mut bytes {
                if *byte == b'/' {
                    *byte = b'x';
                }
            }
            &*bytes.leak()
        })
        .prop_filter_map("dots", |bytes| Name::new(bytes).ok())
}

pub(crate) fn listed() -> impl Strategy<Value = ListedName<'static>> {
    bytes(255).prop_map(ListedName::new)
}

pub(crate) fn host() -> impl Strategy<Value = HostName<'static>> {
    bytes(255).prop_map(HostName)
}

pub(crate) fn path() -> impl Strategy<Value = Path<'static>> {
    vec(1..=255_u8, 1..=1_024)
        .prop_map(|bytes| Path::new(bytes.leak()).expect("without zeros, and short enough"))
}

pub(crate) fn place() -> impl Strategy<Value = Place<'static>> {
    (handle(), name()).prop_map(|(directory, name)| Place { directory, name })
}

pub(crate) fn time() -> impl Strategy<Value = Time> {
    any::<(u32, u32)>().prop_map(|(seconds, nanoseconds)| Time {
        seconds,
        nanoseconds,
    })
}

pub(crate) fn device() -> impl Strategy<Value = Device> {
    any::<(u32, u32)>().prop_map(|(major, minor)| Device { major, minor })
}

pub(crate) fn times() -> impl Strategy<Value = Times> {
    (time(), time(), time()).prop_map(|(accessed, modified, changed)| Times {
        accessed,
        modified,
        changed,
    })
}

pub(crate) fn attributes() -> impl Strategy<Value = Attributes> {
    let numbers = any::<([u32; 4], [u64; 4])>();
    let parts = (numbered::<FileType>(), numbers, device(), times());
    parts.prop_map(|(kind, (small, large), device, times)| Attributes {
        kind,
        mode: small[0],
        links: small[1],
        user: small[2],
        group: small[3],
        size: large[0],
        used: large[1],
        device,
        file_system: large[2],
        file_id: large[3],
        times,
    })
}

pub(crate) fn some_attributes() -> impl Strategy<Value = Option<Attributes>> {
    option::of(attributes())
}

pub(crate) fn weak_cache_data() -> impl Strategy<Value = WeakCacheData> {
    let before =
        (any::<u64>(), time(), time()).prop_map(|(size, modified, changed)| AttributesBefore {
            size,
            modified,
            changed,
        });
    (option::of(before), some_attributes())
        .prop_map(|(before, after)| WeakCacheData { before, after })
}

fn set_time() -> impl Strategy<Value = SetTime> {
    prop_oneof![
        Just(SetTime::Keep),
        Just(SetTime::ServerTime),
        time().prop_map(SetTime::To)
    ]
}

pub(crate) fn new_attributes() -> impl Strategy<Value = NewAttributes> {
    let numbers = any::<(Option<u32>, Option<u32>, Option<u32>, Option<u64>)>();
    (numbers, set_time(), set_time()).prop_map(|((mode, user, group, size), accessed, modified)| {
        NewAttributes {
            mode,
            user,
            group,
            size,
            accessed,
            modified,
        }
    })
}

/// Done or failed, with any status.
pub(crate) fn outcome<D, F>(
    done: impl Strategy<Value = D>,
    rest: impl Strategy<Value = F>,
) -> impl Strategy<Value = Outcome<D, F>>
where
    D: Clone + std::fmt::Debug,
    F: Clone + std::fmt::Debug,
{
    let failed =
        (numbered::<Status>(), rest).prop_map(|(status, rest)| Outcome::Failed { status, rest });
    prop_oneof![done.prop_map(Outcome::Done), failed]
}
