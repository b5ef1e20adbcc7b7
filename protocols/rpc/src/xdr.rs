//! External data representation (RFC 4506): values in big-endian units of four bytes.
//!
//! A [`Reader`] borrows the bytes that it reads and never allocates by a length that the peer claims: the caller
//! gives a limit for every length. A [`Writer`] appends to bytes that the caller owns.

#[cfg(test)]
mod tests;

/// Unit to which every value is padded, in bytes.
const UNIT: usize = 4;

/// Reason why bytes are not the expected value. Places are in bytes from where reading began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The bytes end before the value does.
    #[error("`{what}` at byte {at}: {available} bytes where it needs {needed}")]
    TooShort {
        /// Name of the value.
        what: &'static str,
        /// Start of the value.
        at: usize,
        /// Required bytes.
        needed: usize,
        /// Available bytes.
        available: usize,
    },
    /// A length exceeds its limit.
    #[error("`{what}` at byte {at}: a length of {length}, at most {limit} allowed")]
    TooLong {
        /// Name of the value.
        what: &'static str,
        /// Start of the value.
        at: usize,
        /// Length in the message.
        length: usize,
        /// Limit.
        limit: usize,
    },
    /// A number without a meaning.
    #[error("`{what}` at byte {at}: {value} means nothing")]
    Unknown {
        /// Name of the value.
        what: &'static str,
        /// Start of the value.
        at: usize,
        /// Number that was read.
        value: u32,
    },
    /// Bytes follow the last value.
    #[error("{left} bytes follow the end at byte {at}")]
    Trailing {
        /// End of the last value.
        at: usize,
        /// Number of bytes after it.
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
    /// Returns a reader at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the number of bytes read so far.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns the bytes not read yet.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Reads `length` bytes and their padding, whose content is ignored.
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

    /// Reads an unsigned 32-bit integer.
    ///
    /// # Errors
    /// [`Malformed::TooShort`].
    pub fn u32(&mut self, what: &'static str) -> Result<u32, Malformed> {
        let bytes = self.take(what, 4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Reads an unsigned 64-bit integer.
    ///
    /// # Errors
    /// [`Malformed::TooShort`].
    pub fn u64(&mut self, what: &'static str) -> Result<u64, Malformed> {
        let high = self.u32(what)?;
        let low = self.u32(what)?;
        Ok(u64::from(high) << 32 | u64::from(low))
    }

    /// Reads a boolean.
    ///
    /// # Errors
    /// [`Malformed::TooShort`]; [`Malformed::Unknown`] for values other than 0 and 1.
    pub fn bool(&mut self, what: &'static str) -> Result<bool, Malformed> {
        let at = self.at;
        match self.u32(what)? {
            0 => Ok(false),
            1 => Ok(true),
            value => Err(Malformed::Unknown { what, at, value }),
        }
    }

    /// Reads opaque bytes of fixed length.
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

    /// Reads a length of at most `limit`.
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

    /// Reads opaque bytes of variable length, at most `limit`.
    ///
    /// # Errors
    /// [`Malformed::TooShort`]; [`Malformed::TooLong`] beyond the limit.
    pub fn opaque(&mut self, what: &'static str, limit: usize) -> Result<&'a [u8], Malformed> {
        let length = self.length(what, limit)?;
        self.take(what, length)
    }

    /// Reads a value that may be absent.
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

    /// Returns the error for a number without a meaning at byte `at`.
    pub fn unknown(what: &'static str, at: usize, value: u32) -> Malformed {
        Malformed::Unknown { what, at, value }
    }

    /// Ends reading.
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

/// Appends values to bytes.
#[derive(Debug)]
pub struct Writer<'a> {
    bytes: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    /// Returns a writer at the end of `bytes`.
    pub fn new(bytes: &'a mut Vec<u8>) -> Self {
        Self { bytes }
    }

    /// Writes an unsigned 32-bit integer.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes.extend(value.to_be_bytes());
        self
    }

    /// Writes an unsigned 64-bit integer.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes.extend(value.to_be_bytes());
        self
    }

    /// Writes a boolean.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.u32(value.into())
    }

    /// Writes opaque bytes of fixed length.
    pub fn fixed(&mut self, value: &[u8]) -> &mut Self {
        self.bytes.extend(value);
        let padding = value.len().next_multiple_of(UNIT) - value.len();
        self.bytes.extend(&[0; UNIT][..padding]);
        self
    }

    /// Writes opaque bytes of variable length.
    ///
    /// # Panics
    /// If there are 4 GiB or more.
    pub fn opaque(&mut self, value: &[u8]) -> &mut Self {
        let length = u32::try_from(value.len()).expect("what is sent is shorter than 4 GiB");
        self.u32(length).fixed(value)
    }

    /// Writes a value that may be absent.
    pub fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) -> &mut Self {
        self.bool(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
        self
    }
}
