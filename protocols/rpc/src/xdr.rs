//! External data representation (RFC 4506): values in big-endian units of four bytes.
//!
//! A [`Reader`] borrows what it reads and never asks for memory on a peer's word: every length has a
//! limit that the caller states. A [`Writer`] appends to bytes that the caller owns.

#[cfg(test)]
mod tests;

/// The unit to which everything is padded, in bytes.
const UNIT: usize = 4;

/// Why bytes are not the value that they should be. Places count bytes from where reading began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The bytes end before the value does.
    #[error("`{what}` at byte {at}: {available} bytes where it needs {needed}")]
    TooShort {
        /// The value.
        what: &'static str,
        /// Where it begins.
        at: usize,
        /// What it needs.
        needed: usize,
        /// What is there.
        available: usize,
    },
    /// A length exceeds its limit.
    #[error("`{what}` at byte {at}: a length of {length}, at most {limit} allowed")]
    TooLong {
        /// The value.
        what: &'static str,
        /// Where it begins.
        at: usize,
        /// The length that it claims.
        length: usize,
        /// What is allowed.
        limit: usize,
    },
    /// A number that names nothing.
    #[error("`{what}` at byte {at}: {value} means nothing")]
    Unknown {
        /// The value.
        what: &'static str,
        /// Where it begins.
        at: usize,
        /// What is there.
        value: u32,
    },
    /// Bytes follow the last value.
    #[error("{left} bytes follow the end at byte {at}")]
    Trailing {
        /// Where the last value ends.
        at: usize,
        /// What follows.
        left: usize,
    },
}

/// Reads values one after another.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes were read.
    pub fn at(&self) -> usize {
        self.at
    }

    /// What was not read yet.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// `length` bytes and their padding, whose content nobody looks at.
    fn take(&mut self, what: &'static str, length: usize) -> Result<&'a [u8], Malformed> {
        let rest = self.rest();
        let needed = length.next_multiple_of(UNIT);
        if rest.len() < needed {
            return Err(Malformed::TooShort {
                what,
                at: self.at,
                needed,
                available: rest.len(),
            });
        }
        self.at += needed;
        Ok(&rest[..length])
    }

    /// An unsigned number of 32 bits.
    ///
    /// # Errors
    /// [`Malformed::TooShort`].
    pub fn u32(&mut self, what: &'static str) -> Result<u32, Malformed> {
        let bytes = self.take(what, 4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// An unsigned number of 64 bits.
    ///
    /// # Errors
    /// [`Malformed::TooShort`].
    pub fn u64(&mut self, what: &'static str) -> Result<u64, Malformed> {
        let high = self.u32(what)?;
        let low = self.u32(what)?;
        Ok(u64::from(high) << 32 | u64::from(low))
    }

    /// Yes or no.
    ///
    /// # Errors
    /// [`Malformed::TooShort`]; [`Malformed::Unknown`] for all but 0 and 1.
    pub fn bool(&mut self, what: &'static str) -> Result<bool, Malformed> {
        let at = self.at;
        match self.u32(what)? {
            0 => Ok(false),
            1 => Ok(true),
            value => Err(Malformed::Unknown { what, at, value }),
        }
    }

    /// As many bytes as both ends know.
    ///
    /// # Errors
    /// [`Malformed::TooShort`].
    pub fn fixed<const LENGTH: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; LENGTH], Malformed> {
        let mut value = [0; LENGTH];
        value.copy_from_slice(self.take(what, LENGTH)?);
        Ok(value)
    }

    /// The length of what follows, at most `limit`.
    ///
    /// # Errors
    /// [`Malformed::TooShort`]; [`Malformed::TooLong`] beyond the limit.
    pub fn length(&mut self, what: &'static str, limit: usize) -> Result<usize, Malformed> {
        let at = self.at;
        let length = self.u32(what)? as usize;
        if length > limit {
            return Err(Malformed::TooLong {
                what,
                at,
                length,
                limit,
            });
        }
        Ok(length)
    }

    /// Bytes with their length before them, at most `limit` of them.
    ///
    /// # Errors
    /// [`Malformed::TooShort`]; [`Malformed::TooLong`] beyond the limit.
    pub fn opaque(&mut self, what: &'static str, limit: usize) -> Result<&'a [u8], Malformed> {
        let length = self.length(what, limit)?;
        self.take(what, length)
    }

    /// A value that may be absent.
    ///
    /// # Errors
    /// As [`bool`](Self::bool), and those of `read`.
    pub fn optional<T>(
        &mut self,
        what: &'static str,
        read: impl FnOnce(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        self.bool(what)?.then(|| read(self)).transpose()
    }

    /// That a number at byte `at` names nothing.
    pub fn unknown(what: &'static str, at: usize, value: u32) -> Malformed {
        Malformed::Unknown { what, at, value }
    }

    /// The end.
    ///
    /// # Errors
    /// [`Malformed::Trailing`] if bytes are left.
    pub fn finish(self) -> Result<(), Malformed> {
        match self.rest().len() {
            0 => Ok(()),
            left => Err(Malformed::Trailing { at: self.at, left }),
        }
    }
}

/// Appends values.
#[derive(Debug)]
pub struct Writer<'a> {
    bytes: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    /// A writer behind what `bytes` has.
    pub fn new(bytes: &'a mut Vec<u8>) -> Self {
        Self { bytes }
    }

    /// An unsigned number of 32 bits.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes.extend(value.to_be_bytes());
        self
    }

    /// An unsigned number of 64 bits.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes.extend(value.to_be_bytes());
        self
    }

    /// Yes or no.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.u32(value.into())
    }

    /// As many bytes as both ends know.
    pub fn fixed(&mut self, value: &[u8]) -> &mut Self {
        self.bytes.extend(value);
        let padding = value.len().next_multiple_of(UNIT) - value.len();
        self.bytes.extend(&[0; UNIT][..padding]);
        self
    }

    /// Bytes with their length before them.
    ///
    /// # Panics
    /// If there are 4 GiB of them or more.
    pub fn opaque(&mut self, value: &[u8]) -> &mut Self {
        let length = u32::try_from(value.len()).expect("what is sent is shorter than 4 GiB");
        self.u32(length).fixed(value)
    }

    /// A value that may be absent.
    pub fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) -> &mut Self {
        self.bool(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
        self
    }
}
