//! The poller: a thread that asks the daemon for its status once a second, and what is known from its answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hosts::PeerStatus;
use runtime::Status;
use tokio::sync::watch;

use super::history::History;
use super::relay::Relay;
use crate::failure::Failure;

/// Time between two queries.
const PERIOD: Duration = Duration::from_secs(1);
/// Largest share of the time that a daemon may spend on answers, as a divisor: the status of thousands of peers takes
/// long. And the longest time between two queries.
const SHARE: u32 = 50;
const LONGEST_PERIOD: Duration = Duration::from_secs(10);

/// One answer of the daemon.
#[derive(Debug)]
pub(super) struct Answer {
    /// The status, or the reason in words why there is none.
    outcome: Result<Status, String>,
    /// Time that the query took.
    pub(super) took: Duration,
    /// Time of the last status, which may be of an earlier answer.
    last: Option<Instant>,
}

impl Answer {
    /// Returns the answer of a daemon that was not asked yet.
    fn none() -> Self {
        Self {
            outcome: Err("the daemon was not asked yet".into()),
            took: Duration::ZERO,
            last: None,
        }
    }

    /// Reads an answer as the relay returns it.
    pub(super) fn read(
        text: Result<String, String>,
        took: Duration,
        last: Option<Instant>,
    ) -> Self {
        let outcome = text.and_then(|text| {
            serde_json::from_str(&text).map_err(|error| {
                let version = env!("CARGO_PKG_VERSION");
                format!(
                    "the daemon does not answer as version {version} of this command expects: {error}; run the same \
                     version of both"
                )
            })
        });
        let last = outcome.as_ref().map_or(last, |_| Some(Instant::now()));
        Self {
            outcome,
            took,
            last,
        }
    }

    /// Returns the status, if there is one.
    pub(super) fn status(&self) -> Option<&Status> {
        self.outcome.as_ref().ok()
    }

    /// Returns the reason why there is no status.
    pub(super) fn reason(&self) -> Option<&str> {
        self.outcome.as_ref().err().map(String::as_str)
    }

    /// Returns the time since the last status.
    pub(super) fn age(&self) -> Option<Duration> {
        self.last.map(|last| last.elapsed())
    }

    /// Returns the peers.
    pub(super) fn peers(&self) -> &[PeerStatus] {
        self.status().map_or(&[], |status| &status.host.peers)
    }
}

/// What is known of the daemon.
#[derive(Debug)]
pub(super) struct Known {
    /// The last answer.
    pub(super) answer: Arc<Answer>,
    /// The answers of the last minutes.
    pub(super) history: History,
}

/// What is known of the daemon, for all connections, and the news that it has changed.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    known: Arc<Mutex<Known>>,
    /// Number of the last answer. It is closed when no more will come.
    pub(super) news: watch::Receiver<u64>,
}

impl Shared {
    /// Returns what is known now. The caller does not keep it while it waits for something.
    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the last answer.
    pub(super) fn answer(&self) -> Arc<Answer> {
        Arc::clone(&self.known().answer)
    }
}

/// The place where answers are recorded.
#[derive(Debug)]
pub(super) struct Recorder {
    shared: Shared,
    news: watch::Sender<u64>,
}

impl Recorder {
    /// Creates an empty one.
    pub(super) fn new() -> Self {
        let known = Known {
            answer: Arc::new(Answer::none()),
            history: History::new(Instant::now()),
        };
        let (news, receiver) = watch::channel(0);
        let shared = Shared {
            known: Arc::new(Mutex::new(known)),
            news: receiver,
        };
        Self { shared, news }
    }

    /// Returns what the connections share.
    pub(super) fn shared(&self) -> Shared {
        self.shared.clone()
    }

    /// Records an answer.
    pub(super) fn record(&self, answer: Answer) {
        let mut known = self.shared.known();
        known.history.add(Instant::now(), answer.peers());
        known.answer = Arc::new(answer);
        let number = known.history.answers();
        drop(known);
        self.news.send_replace(number);
    }
}

/// Starts the thread. When the relay has ended, the thread ends too, and the news with it.
pub(super) fn start(mut relay: Relay, recorder: Recorder) -> Result<(), Failure> {
    let poll = move || {
        loop {
            let began = Instant::now();
            let Ok(text) = relay.ask() else {
                return;
            };
            let took = began.elapsed();
            let last = recorder.shared.answer().last;
            recorder.record(Answer::read(text, took, last));
            let period = (took * SHARE).clamp(PERIOD, LONGEST_PERIOD);
            std::thread::sleep(period.saturating_sub(began.elapsed()));
        }
    };
    let builder = std::thread::Builder::new().name("poll".into());
    let failed = |error| Failure::setting(format!("cannot start the thread that asks: {error}"));
    builder.spawn(poll).map(drop).map_err(failed)
}
