//! Reloading of the configuration of a running daemon, in a thread of its own: files are read and programs run for it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use edges::diversion::Destinations;
use edges::wait::Notifier;
use hosts::Input;
use session::PublicKey;

/// Result of a reload that succeeded.
#[derive(Debug, Default)]
pub struct Reloaded {
    /// Inputs for the host, in their order.
    pub inputs: Vec<Input>,
    /// Destinations of split connections from now on, if they are limited.
    pub destinations: Option<Destinations>,
    /// What has changed, for the user.
    pub report: String,
}

/// The end of a reload.
#[derive(Debug)]
pub struct Ended {
    /// Refusals of claims, for the host; they are valid also if the reload has failed.
    pub refusals: Vec<Input>,
    /// Its result, or a message for the user.
    pub result: Result<Reloaded, String>,
}

/// A claim of a mobile host: another key in the place of the present one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyClaim {
    /// The present public key.
    pub of: PublicKey,
    /// The claimed one.
    pub key: PublicKey,
}

/// Most claims that wait; the senders of others claim again.
const CLAIMS: usize = 256;

/// A thread that reloads the configuration. Requests that come while it does are answered by one more reload.
pub struct Reloader {
    ask: SyncSender<Vec<KeyClaim>>,
    /// Claims for the next reload.
    claims: Vec<KeyClaim>,
    done: Receiver<Ended>,
    bell: Notifier,
    /// Number of reloads that have ended.
    ended: u64,
    is_running: bool,
    is_wanted: bool,
}

impl Reloader {
    /// Starts a thread that reloads with `reload`, which first stores the claims that it gets. It may block, and
    /// changes nothing else if it fails. The thread ends with the reloader.
    ///
    /// # Errors
    /// If no thread or descriptor is available.
    pub fn start(
        mut reload: impl FnMut(&[KeyClaim]) -> Ended + Send + 'static,
    ) -> io::Result<Self> {
        let (ask, asked) = sync_channel(1);
        let (tell, done) = sync_channel(1);
        let bell = Notifier::new()?;
        let ringer = bell.clone();
        let work = move || {
            // The requester takes each result, unless it is gone.
            while let Ok(claims) = asked.recv() {
                let claims: Vec<_> = claims;
                if tell.send(reload(&claims)).is_err() {
                    return;
                }
                let _ = ringer.ring();
            }
        };
        thread::Builder::new().name("reloader".into()).spawn(work)?;
        Ok(Self {
            ask,
            claims: Vec::new(),
            done,
            bell,
            ended: 0,
            is_running: false,
            is_wanted: false,
        })
    }

    /// Requests a reload of the configuration as it is now; returns the number of the reload that does it.
    pub(crate) fn ask(&mut self) -> u64 {
        if self.is_running {
            self.is_wanted = true;
            return self.ended + 2;
        }
        self.begin();
        self.ended + 1
    }

    /// Requests a reload that stores this claim first.
    pub(crate) fn claim(&mut self, claim: KeyClaim) {
        if self.claims.len() < CLAIMS {
            self.claims.push(claim);
            self.ask();
        }
    }

    fn begin(&mut self) {
        self.is_wanted = false;
        // One request at a time, so there is room.
        let claims = std::mem::take(&mut self.claims);
        self.is_running = self.ask.try_send(claims).is_ok();
    }

    /// Returns the result of the reload that has ended, with its number.
    pub(crate) fn poll_done(&mut self) -> Option<(u64, Ended)> {
        // A bell that cannot be reset rings again.
        let _ = self.bell.hear();
        let done = self.done.try_recv().ok()?;
        self.ended += 1;
        self.is_running = false;
        if self.is_wanted {
            self.begin();
        }
        Some((self.ended, done))
    }
}

impl AsFd for Reloader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use edges::wait::{Interest, Waiter};

    use super::*;

    /// A request that comes while the files are read must see what was written before it.
    #[test]
    fn requests_during_a_reload_are_answered_by_one_more() {
        let (go_on, goes_on) = channel();
        let mut count = 0;
        let mut reloader = Reloader::start(move |_| {
            goes_on.recv().expect("the test goes on");
            count += 1;
            Ended {
                refusals: Vec::new(),
                result: Err(format!("number {count}")),
            }
        })
        .unwrap();
        let mut waiter = Waiter::new().unwrap();
        waiter.add(&reloader, 1, Interest::Readable).unwrap();
        assert_eq!(reloader.ask(), 1);
        assert_eq!((reloader.ask(), reloader.ask()), (2, 2));
        assert!(reloader.poll_done().is_none());
        for number in [1, 2] {
            go_on.send(()).unwrap();
            let limit = Some(Duration::from_mins(1).into());
            assert_eq!(waiter.wait(limit).unwrap().count(), 1);
            let (done, ended) = reloader.poll_done().unwrap();
            assert_eq!(done, number);
            assert_eq!(ended.result.unwrap_err(), format!("number {number}"));
        }
        assert_eq!(reloader.ask(), 3);
    }
}
