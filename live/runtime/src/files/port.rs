//! The local port of a socket.

use std::io;

use machine::RandomStream;

/// Ports that servers accept as privileged, without those of well-known services (bindresvport(3)).
const RESERVED: std::ops::RangeInclusive<u16> = 600..=1_023;

/// Choice of the local port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SourcePort {
    /// A privileged port (600 to 1,023) if permitted, since many servers accept calls from no other; otherwise any.
    #[default]
    Reserved,
    /// Any port.
    Any,
    /// This port, if it is free.
    Fixed(u16),
}

impl SourcePort {
    /// Calls `open` with such a port.
    ///
    /// # Errors
    /// The errors of `open`, except for ports in use or not permitted if another port is possible.
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

/// Returns true if a port is in use, or its last connection to the same peer still lingers.
fn is_taken(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable
    )
}
