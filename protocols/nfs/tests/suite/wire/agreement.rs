//! The check that two implementations encode a value as the same bytes.

use std::fmt::Debug;

use nfs::{Limits, Value};
use nfs3_types::xdr_codec::{Pack, Unpack};

/// Checks that our value is decoded again, that its bytes are those of the other implementation, and that each
/// decodes the other's.
pub(crate) fn agree<V, T>(ours: &V, theirs: &T)
where
    V: Value<'static> + PartialEq + Debug,
    T: Pack + Unpack,
{
    let mut bytes = Vec::new();
    ours.encode(&mut bytes);
    let mut expected = Vec::new();
    theirs.pack(&mut expected).expect("they can write it");
    assert_eq!(bytes, expected, "{ours:?}");
    let (read, length) = T::unpack(&mut &bytes[..]).expect("they can read it");
    let mut again = Vec::new();
    read.pack(&mut again)
        .expect("they can write what they read");
    assert_eq!((length, again), (bytes.len(), bytes), "{ours:?}");
    let back = V::decode(expected.leak(), &Limits::USUAL);
    assert_eq!(back.as_ref(), Ok(ours));
}
