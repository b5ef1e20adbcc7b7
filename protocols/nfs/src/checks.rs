//! What a server's answer must not say although its bytes are right.

use crate::{Attributes, BlockSizes, Page, PagePlus, ReadData, Stability, Times, Written};

/// The largest size of a file that the usual systems can name, in bytes.
const SIZE_MAX: u64 = i64::MAX as u64;

/// Why an answer cannot be believed. Nothing of it may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Implausible {
    /// A file that no system could have.
    #[error("the server says that a file has {size} bytes, more than any file can have")]
    FileSize {
        /// What the server says, in bytes.
        size: u64,
    },
    /// A READ brought more than was asked for.
    #[error("READ asked for {asked} bytes and got {got}")]
    TooMuchData {
        /// What was asked for, in bytes.
        asked: u32,
        /// What came, in bytes.
        got: usize,
    },
    /// A READ brought nothing, and the file does not end there.
    #[error("READ got no data before the end of the file")]
    NoData,
    /// A WRITE wrote nothing, or more than it was given.
    #[error("WRITE was given {given} bytes and the server says that it wrote {wrote}")]
    WriteCount {
        /// What it was given, in bytes.
        given: usize,
        /// What the server says, in bytes.
        wrote: u32,
    },
    /// A WRITE is less safe than was asked for.
    #[error("WRITE asked for {asked:?} data and the server left them {left:?}")]
    LessStable {
        /// What was asked for.
        asked: Stability,
        /// What the server says.
        left: Stability,
    },
    /// A page of a directory without entries that is not the last.
    #[error("the server says that a directory goes on, and lists nothing")]
    EmptyPage,
    /// A directory that would never end.
    #[error("the server lists a directory in a circle: the cookie {cookie} comes again")]
    CookieLoop {
        /// The cookie.
        cookie: u64,
    },
}

impl Attributes {
    /// The attributes, with times that are times.
    ///
    /// # Errors
    /// [`Implausible::FileSize`] beyond 2⁶³ - 1 bytes.
    pub fn checked(self) -> Result<Self, Implausible> {
        if self.size > SIZE_MAX {
            return Err(Implausible::FileSize { size: self.size });
        }
        let times = Times {
            accessed: self.times.accessed.clamped(),
            modified: self.times.modified.clamped(),
            changed: self.times.changed.clamped(),
        };
        Ok(Self { times, ..self })
    }
}

impl ReadData<'_> {
    /// Whether the data can be the answer to a READ of `asked` bytes. Fewer are allowed, and none at the
    /// end of the file.
    ///
    /// # Errors
    /// [`Implausible::TooMuchData`]; [`Implausible::NoData`].
    pub fn check(&self, asked: u32) -> Result<(), Implausible> {
        let got = self.data.len();
        if got > asked as usize {
            return Err(Implausible::TooMuchData { asked, got });
        }
        if got == 0 && asked > 0 && !self.end_of_file {
            return Err(Implausible::NoData);
        }
        Ok(())
    }
}

impl Written {
    /// Whether this can be the answer to a WRITE of `given` bytes that asked for stability `asked`. Fewer
    /// may have been written, and safer.
    ///
    /// # Errors
    /// [`Implausible::WriteCount`]; [`Implausible::LessStable`].
    pub fn check(&self, given: usize, asked: Stability) -> Result<(), Implausible> {
        let wrote = self.count;
        if wrote as usize > given || (wrote == 0 && given > 0) {
            return Err(Implausible::WriteCount { given, wrote });
        }
        if self.stability < asked {
            let left = self.stability;
            return Err(Implausible::LessStable { asked, left });
        }
        Ok(())
    }
}

fn next_cookie(last: Option<u64>, end_of_directory: bool) -> Result<Option<u64>, Implausible> {
    match last {
        _ if end_of_directory => Ok(None),
        None => Err(Implausible::EmptyPage),
        cookie => Ok(cookie),
    }
}

impl Page<'_> {
    /// The cookie to go on with; nothing at the end of the directory.
    ///
    /// # Errors
    /// [`Implausible::EmptyPage`].
    pub fn next_cookie(&self) -> Result<Option<u64>, Implausible> {
        let last = self.entries.iter().last().map(|entry| entry.cookie);
        next_cookie(last, self.end_of_directory)
    }
}

impl PagePlus<'_> {
    /// The cookie to go on with; nothing at the end of the directory.
    ///
    /// # Errors
    /// [`Implausible::EmptyPage`].
    pub fn next_cookie(&self) -> Result<Option<u64>, Implausible> {
        let last = self.entries.iter().last().map(|entry| entry.cookie);
        next_cookie(last, self.end_of_directory)
    }
}

/// Finds out in constant memory that a server lists a directory in a circle: of the cookies that the
/// listing went on with, now and then one is remembered and compared with those behind it, after twice
/// as many each time (Brent's algorithm). Where only n cookies are different, that is seen after at most
/// 3 n + 1 of them.
#[derive(Debug, Clone)]
pub struct CookieWatch {
    remembered: u64,
    since: u64,
    until: u64,
}

impl Default for CookieWatch {
    fn default() -> Self {
        // A listing starts at cookie 0, so no entry can have it.
        Self {
            remembered: 0,
            since: 0,
            until: 1,
        }
    }
}

impl CookieWatch {
    /// Notes that the listing goes on with `cookie`.
    ///
    /// # Errors
    /// [`Implausible::CookieLoop`] if it went on with it before.
    pub fn go_on(&mut self, cookie: u64) -> Result<(), Implausible> {
        if cookie == self.remembered {
            return Err(Implausible::CookieLoop { cookie });
        }
        self.since += 1;
        if self.since == self.until {
            self.remembered = cookie;
            self.since = 0;
            self.until *= 2;
        }
        Ok(())
    }
}

impl BlockSizes {
    /// The size of blocks to use where `wanted` bytes are wanted: at most what the server takes, and a
    /// multiple of what it wants multiples of, if that is possible. A server that says 0 says nothing.
    pub fn fitting(&self, wanted: u32) -> u32 {
        let size = match self.maximum {
            0 => wanted,
            maximum => wanted.min(maximum),
        };
        match size.checked_rem(self.multiple) {
            Some(rest) if rest < size => size - rest,
            _ => size,
        }
    }
}
