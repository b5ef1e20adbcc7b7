//! Lists of unknown length: a flag before each element shows that one more follows.

use std::iter::FusedIterator;
use std::marker::PhantomData;

use rpc::xdr::{Reader, Writer};

use crate::{Limits, Malformed, Value};

/// End of a list: the flag that nothing more follows.
const END: &[u8; 4] = &[0; 4];

/// A list as its bytes: read to its end once to validate it, and element by element on each iteration. Lists are
/// equal if their bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List<'a, T> {
    bytes: &'a [u8],
    element: PhantomData<T>,
}

impl<'a, T: Value<'a>> List<'a, T> {
    /// Returns a list without elements.
    pub fn empty() -> Self {
        Self::checked(END)
    }

    fn checked(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            element: PhantomData,
        }
    }

    /// Returns the list in `bytes`, as [`write_list`] writes it.
    ///
    /// # Errors
    /// [`Malformed`] if they are no list.
    pub fn encoded(bytes: &'a [u8]) -> Result<Self, Malformed> {
        Self::decode(bytes, &Limits::CHECKED)
    }

    /// Returns true if there is no element.
    pub fn is_empty(&self) -> bool {
        self.bytes == END
    }

    /// Returns the elements in order.
    pub fn iter(&self) -> Elements<'a, T> {
        Elements {
            reader: Reader::new(self.bytes),
            element: PhantomData,
        }
    }
}

impl<'a, T: Value<'a>> Value<'a> for List<'a, T> {
    fn read(
        what: &'static str,
        reader: &mut Reader<'a>,
        limits: &Limits,
    ) -> Result<Self, Malformed> {
        let (from, rest) = (reader.at(), reader.rest());
        while reader.bool(what)? {
            T::read(what, reader, limits)?;
        }
        Ok(Self::checked(&rest[..reader.at() - from]))
    }

    fn write(&self, out: &mut Writer<'_>) {
        out.fixed(self.bytes);
    }
}

impl<'a, T: Value<'a>> IntoIterator for &List<'a, T> {
    type Item = T;
    type IntoIter = Elements<'a, T>;

    fn into_iter(self) -> Elements<'a, T> {
        self.iter()
    }
}

/// Iterator over the elements of a [`List`].
#[derive(Debug, Clone)]
pub struct Elements<'a, T> {
    reader: Reader<'a>,
    element: PhantomData<T>,
}

impl<'a, T: Value<'a>> Iterator for Elements<'a, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        if self.reader.rest().len() <= END.len() {
            return None;
        }
        self.reader.bool("more").ok()?;
        let element = T::read("element", &mut self.reader, &Limits::CHECKED);
        Some(element.expect("a list was read to its end before anybody saw it"))
    }
}

impl<'a, T: Value<'a>> FusedIterator for Elements<'a, T> {}

/// Appends a list to `bytes` with as many of `elements` as make it at most `limit` bytes long, and returns true if
/// all fit. No list is shorter than its end, four bytes.
pub fn write_list<'a, T: Value<'a>>(
    elements: impl IntoIterator<Item = T>,
    limit: usize,
    bytes: &mut Vec<u8>,
) -> bool {
    let start = bytes.len();
    let mut complete = true;
    for element in elements {
        let before = bytes.len();
        element.write(Writer::new(bytes).bool(true));
        if bytes.len() - start + END.len() > limit {
            bytes.truncate(before);
            complete = false;
            break;
        }
    }
    bytes.extend(END);
    complete
}
