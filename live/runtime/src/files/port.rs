//! Which local port a socket has.

use std::io;

use machine::RandomStream;

/// The ports that servers take for privileged, without those that well-known services have (bindresvport(3)).
const RESERVED: std::ops::RangeInclusive<u16> = 600..=1_023;

/// Which local port is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SourcePort {
    /// A privileged one (600 to 1,023) where we may, since many servers take calls from no other; else any.
    #[default]
    Reserved,
    /// Any.
    Any,
    /// This one, as long as it is free.
    Fixed(u16),
}

impl SourcePort {
    /// Opens something at such a port.
    ///
    /// # Errors
    /// Those of `open`, but that a port is taken or not permitted where another would do.
    pub(super) fn open<T>(self, seed: u64, open: impl Fn(u16) -> io::Result<T>) -> io::Result<T> {
        match self {
            Self::Any => open(0),
            Self::Fixed(port) => open(port),
            Self::Reserved => {
                let count = RESERVED.end() - RESERVED.start() + 1;
                let first = RandomStream::named(seed, "source port").next_u64() as u16 % count;
                for step in 0..count {
                    match open(RESERVED.start() + (first + step) % count) {
                        Err(error) if is_taken(&error) => {}
                        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break,
                        result => return result,
                    }
                }
                open(0)
            }
        }
    }
}

/// Whether a port is another's, or its last connection to the same peer lingers.
fn is_taken(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable
    )
}
