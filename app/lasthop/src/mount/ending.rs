//! The main loop of a mount's process: it answers requests, reports when the server is silent, and ends.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use edges::fuse::{MountError, unmount};
use files::ask;
use rpc::message::Credentials;
use runtime::files::{CallError, Connection, Event};
use runtime::mount::Mounted;
use runtime::mount::control::{Query, Requester};

use super::answer::{Outcome, Status};
use super::page;
use super::request::MountRequest;
use crate::failure::Failure;

/// Time between two reports of a silent server.
const TELL: Duration = Duration::from_mins(1);
/// Time that the kernel gets to report an unmount. It takes longer if another mount namespace, of a container or a
/// service, has a copy of the mount.
const ENDING: Duration = Duration::from_secs(1);

/// An event of a mount.
pub(super) enum MountEvent {
    /// A request on the control socket.
    Asked(Query, Requester),
    /// A signal that requests the end.
    Signal,
    /// The file system is not mounted anywhere any more.
    Ended,
    /// All that was written is safe, or not.
    Synced(Purpose, Result<(), CallError>),
    /// The server has fallen silent, or answers again.
    Server(Event),
}

/// Reason of a synchronisation.
pub(super) enum Purpose {
    /// A request to synchronise.
    Sync(Requester),
    /// A request to unmount.
    Unmount(Requester),
    /// A signal that requests the end.
    Leave,
    /// The file system is unmounted already.
    End,
}

/// The main loop of a mount's process.
pub(super) struct MountProcess {
    pub(super) wanted: MountRequest,
    pub(super) connection: Connection,
    pub(super) caller: Arc<Credentials>,
    pub(super) mounted: Mounted,
    /// Path of the log, if it is a file.
    pub(super) log: Option<PathBuf>,
    pub(super) begun: Instant,
    pub(super) sender: Sender<MountEvent>,
}

/// State of the end.
#[derive(Default)]
struct Progress {
    /// Clients that wait for it.
    askers: Vec<Requester>,
    /// True after a signal.
    leaving: bool,
    /// True if it is not mounted here any more.
    unmounted: bool,
    /// True if it is not mounted anywhere any more.
    ended: bool,
}

/// Result of the process if it ends now; an error has the reason.
type Next = Option<Result<(), Failure>>;

impl MountProcess {
    /// Runs until nothing is mounted and all data are safe, or a request ends it earlier.
    pub(super) fn run(self, news: &Receiver<MountEvent>) -> Result<(), Failure> {
        let mut progress = Progress::default();
        loop {
            let patience = if progress.unmounted { ENDING } else { TELL };
            let next = match news.recv_timeout(patience) {
                Ok(news) => self.hear(news, &mut progress),
                Err(RecvTimeoutError::Timeout) if progress.unmounted => {
                    self.keep_in_other_namespaces(&mut progress);
                    None
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.tell_silence();
                    None
                }
                Err(RecvTimeoutError::Disconnected) => Some(Ok(())),
            };
            let Some(outcome) = next else { continue };
            let answer = match &outcome {
                Ok(()) => Outcome::Done {},
                Err(failure) => Outcome::failed(failure),
            };
            for asker in progress.askers {
                asker.answer(&answer);
            }
            if outcome.is_ok()
                && let Some(log) = &self.log
                && self.wanted.options.log.is_none()
            {
                // It contains nothing that is still of use.
                let _ = std::fs::remove_file(log);
            }
            return outcome;
        }
    }

    fn hear(&self, news: MountEvent, progress: &mut Progress) -> Next {
        match news {
            MountEvent::Asked(Query::Status, asker) => asker.answer(&self.status()),
            MountEvent::Asked(Query::Sync, asker) => self.sync(Purpose::Sync(asker)),
            MountEvent::Asked(Query::Unmount, asker) => self.sync(Purpose::Unmount(asker)),
            MountEvent::Asked(Query::Discard, asker) => {
                let lost = page::unsafe_data(&self.status());
                match self.discard() {
                    Ok(()) => {
                        asker.answer(&Outcome::Discarded { lost });
                        return Some(Ok(()));
                    }
                    Err(error) => asker.answer(&Outcome::failed(&error)),
                }
            }
            MountEvent::Signal if progress.leaving || progress.ended => {
                let lost = page::unsafe_data(&self.status());
                let _ = self.discard();
                return Some(Err(Failure::broken(format!(
                    "not all was safe; lost: {lost}"
                ))));
            }
            MountEvent::Signal => {
                progress.leaving = true;
                let left = page::unsafe_data(&self.status());
                tracing::info!("unmounting; not safe yet: {left} (a second signal does not wait)");
                self.sync(Purpose::Leave);
            }
            MountEvent::Ended => {
                progress.ended = true;
                self.sync(Purpose::End);
            }
            MountEvent::Synced(purpose, result) => return self.synced(purpose, result, progress),
            MountEvent::Server(event) => self.tell(event),
        }
        None
    }

    /// Synchronises all written data to the server's disk.
    fn sync(&self, purpose: Purpose) {
        let sender = self.sender.clone();
        self.connection
            .submit(&self.caller, ask::Sync, move |result| {
                // Nobody receives it once the process ends.
                let _ = sender.send(MountEvent::Synced(purpose, result));
            });
    }

    fn synced(
        &self,
        purpose: Purpose,
        result: Result<(), CallError>,
        progress: &mut Progress,
    ) -> Next {
        let error = result.err().map(|error| error.to_string());
        match (purpose, error) {
            (Purpose::Sync(asker), None) => asker.answer(&Outcome::Done {}),
            (Purpose::Sync(asker), Some(error)) => asker.answer(&Outcome::failed(&error)),
            (Purpose::Unmount(asker), Some(error)) => {
                let point = self.wanted.point.display();
                let error = format!(
                    "not unmounted, since not all is safe: {error}; \
                     `lasthop unmount --discard {point}` gives up what is not"
                );
                asker.answer(&Outcome::failed(&error));
            }
            (Purpose::Unmount(asker), None) if !asker.waits() => {}
            (Purpose::Unmount(asker), None) => match unmount(&self.wanted.point, false) {
                Ok(()) => {
                    progress.unmounted = true;
                    progress.askers.push(asker);
                }
                Err(error) => asker.answer(&Outcome::failed(&error)),
            },
            (Purpose::Leave, error) => {
                if let Some(error) = error {
                    tracing::error!("not all is safe: {error}");
                }
                return self.leave(progress);
            }
            (Purpose::End, None) => return Some(Ok(())),
            (Purpose::End, Some(error)) => {
                let lost = page::unsafe_data(&self.status());
                let error = format!("not all was safe: {error}; lost: {lost}");
                return Some(Err(Failure::broken(error)));
            }
        }
        None
    }

    /// Ends the mount after a signal, even if it is busy: a busy one ends with this process.
    fn leave(&self, progress: &mut Progress) -> Next {
        match unmount(&self.wanted.point, false) {
            Ok(()) => {
                progress.unmounted = true;
                None
            }
            Err(MountError::Busy { point }) => {
                tracing::warn!("{} is busy: open files in it will fail", point.display());
                if let Err(error) = self.discard() {
                    return Some(Err(Failure::broken(error)));
                }
                self.sync(Purpose::End);
                None
            }
            Err(error) => Some(Err(Failure::broken(error))),
        }
    }

    /// Handles an unmounted file system that other mount namespaces still have: they keep it, unless this process is to
    /// end.
    fn keep_in_other_namespaces(&self, progress: &mut Progress) {
        progress.unmounted = false;
        let point = self.wanted.point.display();
        for asker in progress.askers.drain(..) {
            asker.answer(&Outcome::Elsewhere { elsewhere: true });
        }
        if progress.leaving {
            tracing::warn!("{point} is removed from other mount namespaces, which still have it");
            self.sync(Purpose::End);
        } else {
            tracing::info!("{point} is unmounted here; other mount namespaces still have it");
        }
    }

    fn discard(&self) -> Result<(), MountError> {
        unmount(&self.wanted.point, true)
    }

    fn tell(&self, event: Event) {
        match event {
            Event::Silent { since } => self.warn_of(edges::clock::monotonic().since(since)),
            Event::Answering { after } => {
                let host = &self.wanted.url.host;
                tracing::info!("server {host} answers again after {after}");
            }
        }
    }

    fn tell_silence(&self) {
        if let Some(silence) = self.connection.status().silent_for {
            self.warn_of(silence);
        }
    }

    fn warn_of(&self, silence: units::Duration) {
        let host = &self.wanted.url.host;
        let seconds = units::Duration::from_secs(silence.as_nanos() / 1_000_000_000);
        tracing::warn!("server {host} silent for {seconds}, retrying");
    }

    fn status(&self) -> Status {
        let waiting = self.mounted.waiting();
        let oldest = waiting
            .oldest
            .map(|since| edges::clock::monotonic().since(since));
        let log = self.log.as_ref();
        Status {
            source: self.wanted.url.to_string(),
            point: self.wanted.point.to_string_lossy().into(),
            process: std::process::id(),
            uptime_s: self.begun.elapsed().as_secs_f64(),
            connection: self.connection.status(),
            requests: waiting.requests,
            oldest_request_s: oldest.map(units::Duration::as_secs_f64),
            open_files: waiting.open_files,
            nodes: waiting.nodes,
            log: log.map_or("standard error".into(), |log| log.to_string_lossy().into()),
        }
    }
}
