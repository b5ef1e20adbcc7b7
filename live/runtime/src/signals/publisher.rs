//! The socket on which signals are published.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use edges::wait::{Interest, Waiter};
use signals::Signal;

use crate::socket_file::SocketFile;

/// Largest number of subscribers at the same time.
const SUBSCRIBERS: usize = 32;

/// Users who may subscribe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Every user of this machine.
    Everyone,
    /// The user of the publisher, and root.
    Owner,
}

/// A connected subscriber.
struct Subscriber {
    stream: UnixStream,
    user: u32,
    token: u64,
}

/// A publisher of signals to all subscribers. The socket is removed when this is dropped.
///
/// Nothing is read, and nothing is kept for subscribers that do not read: if one has so much unread data that the
/// kernel accepts no more, it is disconnected. If there are too many, the user with the most connections loses the
/// oldest of them, so that no user can keep others out.
pub struct Publisher {
    socket: SocketFile,
    subscribers: Vec<Subscriber>,
    /// Last signal of each peer.
    present: Vec<Signal>,
    next_token: u64,
}

impl Publisher {
    /// Publishes at `path`, and replaces a socket that a dead process left.
    ///
    /// # Errors
    /// An error names the path; `AddrInUse` if a living process answers there.
    pub fn bind(path: &Path, audience: Audience) -> io::Result<Self> {
        let mode = match audience {
            Audience::Everyone => 0o666,
            Audience::Owner => 0o600,
        };
        Ok(Self {
            socket: SocketFile::bind(path, mode, "signals")?,
            subscribers: Vec::new(),
            present: Vec::new(),
            next_token: 0,
        })
    }

    /// Sends a signal to all subscribers, and to each new one from now on.
    pub fn publish(&mut self, signal: Signal) {
        let line = signal.to_line();
        self.subscribers.retain_mut(|subscriber| {
            let told = subscriber.stream.write_all(line.as_bytes());
            told.inspect_err(|error| tracing::debug!("a listener is sent away: {error}"))
                .is_ok()
        });
        let signal = Signal {
            past: true,
            ..signal
        };
        match self.present.iter_mut().find(|of| of.peer == signal.peer) {
            Some(place) => *place = signal,
            None => self.present.push(signal),
        }
    }

    /// Sends no signal of this peer to new subscribers any more.
    pub fn forget(&mut self, peer: &str) {
        self.present.retain(|signal| signal.peer != peer);
    }

    /// Returns the number of subscribers.
    pub fn subscribers(&self) -> usize {
        self.subscribers.len()
    }

    /// Accepts waiting subscribers, when the publisher's descriptor is readable. They get tokens from `first_token` on,
    /// with which `waiter` reports that one has gone.
    ///
    /// # Errors
    /// If the system cannot wait for another descriptor.
    pub fn accept(&mut self, waiter: &Waiter, first_token: u64) -> io::Result<()> {
        while let Some(mut stream) = self.socket.accept() {
            let Ok(peer) = rustix::net::sockopt::socket_peercred(&stream) else {
                continue;
            };
            let present = self.present.iter().map(Signal::to_line);
            let lines: String = std::iter::once(Signal::greeting()).chain(present).collect();
            if stream.write_all(lines.as_bytes()).is_err() {
                continue;
            }
            let token = first_token + self.next_token;
            self.next_token += 1;
            waiter.add(&stream, token, Interest::Gone)?;
            let user = peer.uid.as_raw();
            self.subscribers.push(Subscriber {
                stream,
                user,
                token,
            });
            self.keep_within_limit();
        }
        Ok(())
    }

    /// Removes the subscriber with this token, which has gone.
    pub fn gone(&mut self, token: u64) {
        self.subscribers
            .retain(|subscriber| subscriber.token != token);
    }

    fn keep_within_limit(&mut self) {
        if self.subscribers.len() <= SUBSCRIBERS {
            return;
        }
        let users = || self.subscribers.iter().map(|subscriber| subscriber.user);
        let connections = |user: &u32| users().filter(|other| other == user).count();
        let busiest = users().max_by_key(connections);
        let oldest = users().position(|user| Some(user) == busiest);
        if let Some(oldest) = oldest {
            self.subscribers.remove(oldest);
        }
    }
}

impl AsFd for Publisher {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
