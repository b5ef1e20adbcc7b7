//! Signals as a descriptor to wait for, and protection of secrets from core dumps.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

/// A signal that the daemons handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM: end, and undo the changes of the system.
    Terminate,
    /// SIGINT (Ctrl-C): like SIGTERM.
    Interrupt,
    /// SIGHUP: the terminal was closed.
    HangUp,
    /// SIGUSR1: print the counters.
    User1,
}

impl Signal {
    /// Returns true if it requests the end of the program.
    pub fn ends(self) -> bool {
        self != Self::User1
    }
}

/// Pending signals, with a descriptor to wait for.
///
/// Once this exists, the signals no longer end the process, whichever threads exist.
pub struct Signals {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
}

impl Signals {
    /// Catches every [`Signal`].
    pub fn catch() -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        read.set_nonblocking(true)?;
        write.set_nonblocking(true)?;
        let numbers = [SIGTERM, SIGINT, SIGHUP, SIGUSR1];
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, numbers)?;
        Ok(Self { delivery })
    }

    /// Returns the signals since the last call; never blocks. Equal signals count once.
    pub fn pending(&mut self) -> impl Iterator<Item = Signal> {
        self.delivery.pending().filter_map(|number| match number {
            SIGTERM => Some(Signal::Terminate),
            SIGINT => Some(Signal::Interrupt),
            SIGHUP => Some(Signal::HangUp),
            SIGUSR1 => Some(Signal::User1),
            _ => None,
        })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }
}

/// Protects the process's memory, and so its keys, from core dumps and from debuggers of the same user.
///
/// Afterwards `/proc/self` belongs to root: map the users of a new user namespace before.
pub fn protect_memory() -> io::Result<()> {
    setrlimit(
        Resource::Core,
        Rlimit {
            current: Some(0),
            maximum: Some(0),
        },
    )?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}
