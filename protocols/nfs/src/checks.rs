//! Plausibility checks of a server's answers whose bytes are well-formed.

use planted::Bug;

use crate::{Attributes, BlockSizes, Page, PagePlus, ReadData, Stability, Times, Written};

/// Maximum size of a file on the usual systems, in bytes.
const SIZE_MAX: u64 = i64::MAX as u64;

/// Reason why an answer is implausible. No part of it may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Implausible {
    /// A file is larger than any system allows.
    #[error("the server says that a file has {size} bytes, more than any file can have")]
    FileSize {
        /// Size in the answer, in bytes.
        size: u64,
    },
    /// A READ returned more than was requested.
    #[error("READ asked for {asked} bytes and got {got}")]
    TooMuchData {
        /// Requested number of bytes.
        asked: u32,
        /// Received number of bytes.
        got: usize,
    },
    /// A READ returned no data before the end of the file.
    #[error("READ got no data before the end of the file")]
    NoData,
    /// A WRITE wrote nothing, or more than was sent.
    #[error("WRITE was given {given} bytes and the server says that it wrote {wrote}")]
    WriteCount {
        /// Number of bytes sent.
        given: usize,
        /// Number of bytes written according to the answer.
        wrote: u32,
    },
    /// A WRITE is less stable than was requested.
    #[error("WRITE asked for {asked:?} data and the server left them {left:?}")]
    LessStable {
        /// Requested stability.
        asked: Stability,
        /// Stability in the answer.
        left: Stability,
    },
    /// A page of a directory has no entries, and is not the last.
    #[error("the server says that a directory goes on, and lists nothing")]
    EmptyPage,
    /// A listing of a directory would never end.
    #[error("the server lists a directory in a circle: the cookie {cookie} comes again")]
    CookieLoop {
        /// Repeated cookie.
        cookie: u64,
    },
}

impl Attributes {
    /// Checks the size, and returns the attributes with valid times.
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
    /// Checks that the data can be the answer to a READ of `asked` bytes. Fewer bytes are allowed, and none at the
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
    /// Checks that this can be the answer to a WRITE of `given` bytes with stability `asked`. Fewer bytes and a
    /// higher stability are allowed.
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
    /// Returns the cookie to continue with, or none at the end of the directory.
    ///
    /// # Errors
    /// [`Implausible::EmptyPage`].
    pub fn next_cookie(&self) -> Result<Option<u64>, Implausible> {
        let last = self.entries.iter().last().map(|entry| entry.cookie);
        next_cookie(last, self.end_of_directory)
    }
}

impl PagePlus<'_> {
    /// Returns the cookie to continue with, or none at the end of the directory.
    ///
    /// # Errors
    /// [`Implausible::EmptyPage`].
    pub fn next_cookie(&self) -> Result<Option<u64>, Implausible> {
        let last = self.entries.iter().last().map(|entry| entry.cookie);
        next_cookie(last, self.end_of_directory)
    }
}

/// Detects in constant memory that a server lists a directory in a circle. It keeps one of the cookies that the
/// listing continued with and compares later ones with it; it replaces that cookie after twice as many cookies each
/// time (Brent's algorithm). A circle of n cookies is detected after at most 3 n + 1 of them.
#[derive(Debug, Clone)]
pub struct CookieCheck {
    remembered: u64,
    since: u64,
    until: u64,
}

impl Default for CookieCheck {
    fn default() -> Self {
        // A listing starts at cookie 0, so no entry can have it.
        Self {
            remembered: 0,
            since: 0,
            until: 1,
        }
    }
}

impl CookieCheck {
    /// Notes that the listing continues with `cookie`.
    ///
    /// # Errors
    /// [`Implausible::CookieLoop`] if it continued with it before.
    pub fn go_on(&mut self, cookie: u64) -> Result<(), Implausible> {
        if cookie == self.remembered {
            return Err(Implausible::CookieLoop { cookie });
        }
        self.since += 1;
        if self.since == self.until && !planted::is(Bug::CirclesAreFollowed) {
            self.remembered = cookie;
            self.since = 0;
            self.until *= 2;
        }
        Ok(())
    }
}

impl BlockSizes {
    /// Returns the block size to use if `wanted` bytes are wanted: at most the server's maximum, and if possible a
    /// multiple of its `multiple`. A zero from the server means that it gives no limit.
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
