//! What a mount's process does while it is used: it answers questions, tells of silences, and ends.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use edges::fuse::{MountError, unmount};
use files::ask;
use rpc::message::Credentials;
use runtime::files::{CallError, Connection, Event};
use runtime::mount::Mounted;
use runtime::mount::control::{Asker, Question};

use super::answer::{Outcome, Status};
use super::daemon::Wanted;
use super::page;
use crate::failure::Failure;

/// How often a silence is told.
const TELL: Duration = Duration::from_mins(1);
/// How long after it is unmounted the kernel may take to say so. Longer it takes where another mount namespace, of a
/// container or a service, has a copy of the mount.
const ENDING: Duration = Duration::from_secs(1);

/// What happens to a mount.
pub(super) enum News {
    /// Somebody asks.
    Asked(Question, Asker),
    /// Somebody wants it to end.
    Signal,
    /// Nothing is mounted any more.
    Ended,
    /// All that was written is safe, or not.
    Synced(Purpose, Result<(), CallError>),
    /// The server has fallen silent, or answers again.
    Server(Event),
}

/// Why everything was to be safe.
pub(super) enum Purpose {
    /// Somebody asked for that.
    Sync(Asker),
    /// Somebody asked to unmount.
    Unmount(Asker),
    /// A signal did.
    Leave,
    /// It is unmounted already.
    End,
}

/// The process of a mount.
pub(super) struct Keeper {
    pub(super) wanted: Wanted,
    pub(super) connection: Connection,
    pub(super) caller: Arc<Credentials>,
    pub(super) mounted: Mounted,
    /// The log, if it is a file.
    pub(super) log: Option<PathBuf>,
    pub(super) begun: Instant,
    pub(super) sender: Sender<News>,
}

/// How far the end is.
#[derive(Default)]
struct Progress {
    /// Who waits for it.
    askers: Vec<Asker>,
    /// A signal has come.
    leaving: bool,
    /// It is not mounted here any more.
    unmounted: bool,
    /// Nothing is mounted any more, anywhere.
    ended: bool,
}

/// What comes after a piece of news; an end has a reason if not all is well.
type Next = Option<Result<(), Failure>>;

impl Keeper {
    /// Goes on until nothing is mounted and all is safe, or somebody does not want to wait for that.
    pub(super) fn run(self, news: &Receiver<News>) -> Result<(), Failure> {
        let mut progress = Progress::default();
        loop {
            let patience = if progress.unmounted { ENDING } else { TELL };
            let next = match news.recv_timeout(patience) {
                Ok(news) => self.hear(news, &mut progress),
                Err(RecvTimeoutError::Timeout) if progress.unmounted => {
                    self.go_on_elsewhere(&mut progress);
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
                // It tells of nothing that anybody has to know any more.
                let _ = std::fs::remove_file(log);
            }
            return outcome;
        }
    }

    fn hear(&self, news: News, progress: &mut Progress) -> Next {
        match news {
            News::Asked(Question::Status, asker) => asker.answer(&self.status()),
            News::Asked(Question::Sync, asker) => self.sync(Purpose::Sync(asker)),
            News::Asked(Question::Unmount, asker) => self.sync(Purpose::Unmount(asker)),
            News::Asked(Question::Discard, asker) => {
                let lost = page::unsafe_data(&self.status());
                match self.discard() {
                    Ok(()) => {
                        asker.answer(&Outcome::Discarded { lost });
                        return Some(Ok(()));
                    }
                    Err(error) => asker.answer(&Outcome::failed(&error)),
                }
            }
            News::Signal if progress.leaving || progress.ended => {
                let lost = page::unsafe_data(&self.status());
                let _ = self.discard();
                return Some(Err(Failure::broken(format!(
                    "not all was safe; lost: {lost}"
                ))));
            }
            News::Signal => {
                progress.leaving = true;
                let left = page::unsafe_data(&self.status());
                tracing::info!("unmounting; not safe yet: {left} (a second signal does not wait)");
                self.sync(Purpose::Leave);
            }
            News::Ended => {
                progress.ended = true;
                self.sync(Purpose::End);
            }
            News::Synced(purpose, result) => return self.synced(purpose, result, progress),
            News::Server(event) => self.tell(event),
        }
        None
    }

    /// Makes all that was written safe.
    fn sync(&self, purpose: Purpose) {
        let sender = self.sender.clone();
        self.connection
            .submit(&self.caller, ask::Sync, move |result| {
                // Nobody hears it once the process ends.
                let _ = sender.send(News::Synced(purpose, result));
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

    /// A signal wants it to end: also what is busy, which then goes when this process does.
    fn leave(&self, progress: &mut Progress) -> Next {
        match unmount(&self.wanted.point, false) {
            Ok(()) => {
                progress.unmounted = true;
                None
            }
            Err(MountError::Busy { point }) => {
                tracing::warn!("{} is busy: what is open in it fails", point.display());
                if let Err(error) = self.discard() {
                    return Some(Err(Failure::broken(error)));
                }
                self.sync(Purpose::End);
                None
            }
            Err(error) => Some(Err(Failure::broken(error))),
        }
    }

    /// It is unmounted, but other mount namespaces have it still: they keep it, unless this process is to end.
    fn go_on_elsewhere(&self, progress: &mut Progress) {
        progress.unmounted = false;
        let point = self.wanted.point.display();
        for asker in progress.askers.drain(..) {
            asker.answer(&Outcome::Elsewhere { elsewhere: true });
        }
        if progress.leaving {
            tracing::warn!("other mount namespaces lose {point}, which they have still");
            self.sync(Purpose::End);
        } else {
            tracing::info!("{point} is unmounted here; other mount namespaces have it still");
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
