//! Server-sent events: the state of some peers after each answer of the daemon (HTML Living Standard, §9.2).
//!
//! Nothing is queued for a client. When it has read an event, the next one has all that came since.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hosts::{LimitedBy, PeerStatus};
use runtime::Status;
use serde::Serialize;
use tokio::sync::watch;

use crate::status::{role, state};
use crate::web::history::{History, SPAN};
use crate::web::metrics::word;
use crate::web::poll::{Answer, Known, Shared};

/// Media type of a stream of events.
pub(super) const MEDIA_TYPE: &str = "text/event-stream; charset=utf-8";
/// Largest number of peers in an event.
const PEERS: usize = 24;
/// Time after which a browser connects again, in milliseconds.
const RETRY_MS: u32 = 2_000;

/// The peers that a client wants to see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Window {
    /// Number of the first one.
    pub(super) from: usize,
    /// Text in their names.
    pub(super) find: String,
    /// The cause that limits them.
    pub(super) verdict: Option<LimitedBy>,
}

impl Window {
    fn has(&self, peer: &PeerStatus) -> bool {
        let is_found = peer.name.to_lowercase().contains(&self.find.to_lowercase());
        is_found && self.verdict.is_none_or(|verdict| verdict == peer.limit.by)
    }
}

type News = watch::Receiver<u64>;

/// A stream of events.
pub(super) struct Events {
    shared: Shared,
    window: Window,
    /// Number of the answer that was sent last; `None` before the first event.
    sent: Option<u64>,
    /// The wait for the next answer.
    wait: Pin<Box<dyn Future<Output = Option<News>> + Send>>,
}

impl Events {
    /// Creates a stream that begins with all that is known.
    pub(super) fn new(shared: Shared, window: Window) -> Self {
        let news = shared.news.clone();
        Self {
            shared,
            window,
            sent: None,
            wait: Box::pin(std::future::ready(Some(news))),
        }
    }

    /// Returns the next event as text; `None` if no more will come.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<String>> {
        let Some(mut news) = ready!(self.wait.as_mut().poll(context)) else {
            self.wait = Box::pin(std::future::pending());
            return Poll::Ready(None);
        };
        news.mark_unchanged();
        self.wait = Box::pin(async move { news.changed().await.ok().map(|()| news) });
        Poll::Ready(Some(self.event()))
    }

    fn event(&mut self) -> String {
        let known = self.shared.known();
        let event = Event::of(&known, &self.window, self.sent);
        let json = serde_json::to_string(&event).expect("an event has only text and numbers");
        let retry = match self.sent.replace(known.history.answers()) {
            None => format!("retry: {RETRY_MS}\n"),
            Some(_) => String::new(),
        };
        format!("{retry}data: {json}\n\n")
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct("Events");
        fields
            .field("window", &self.window)
            .field("sent", &self.sent);
        fields.finish_non_exhaustive()
    }
}

/// An event: the state of the daemon and of some peers.
#[derive(Debug, Serialize)]
struct Event<'a> {
    /// True if it has all samples that are remembered, false if it has those since the event before.
    is_first: bool,
    /// Time that is remembered, in seconds.
    span_s: u64,
    /// Times of the samples, in seconds since the start of this server.
    times_s: Vec<f64>,
    daemon: Daemon<'a>,
    counts: Counts,
    peers: Vec<Peer<'a>>,
}

/// The daemon.
#[derive(Debug, Serialize)]
struct Daemon<'a> {
    /// Why it gives no status; `None` if it does.
    reason: Option<&'a str>,
    /// Time since its last status, in seconds.
    age_s: Option<f64>,
    version: Option<&'a str>,
    role: Option<&'a str>,
    uptime_s: Option<f64>,
    memory_bytes: Option<u64>,
    memory_limit_bytes: Option<u64>,
}

impl<'a> Daemon<'a> {
    fn of(answer: &'a Answer) -> Self {
        let status = answer.status();
        let bytes = |read: fn(&Status) -> units::Bytes| status.map(|status| read(status).get());
        Self {
            reason: answer.reason(),
            age_s: answer.age().map(|age| age.as_secs_f64()),
            version: status.map(|status| status.version.as_str()),
            role: status.map(|status| role(status.host.role)),
            uptime_s: status.map(|status| status.uptime_s),
            memory_bytes: bytes(|status| status.host.memory),
            memory_limit_bytes: bytes(|status| status.memory_most),
        }
    }
}

/// Numbers of peers.
#[derive(Debug, Default, Serialize)]
struct Counts {
    all: usize,
    connected: usize,
    fading: usize,
    /// Peers that match the search and the verdict.
    matching: usize,
    /// Number of the first one in this event.
    from: usize,
    /// Most peers of an event.
    most: usize,
    /// Peers by the cause that limits them.
    verdicts: BTreeMap<String, usize>,
}

/// The numbers of a sample.
type Numbers = (u32, u32, u16, u8, u8);

/// One peer.
#[derive(Debug, Serialize)]
struct Peer<'a> {
    name: &'a str,
    /// Its state: `connected`, `fading` or `away`.
    state: &'static str,
    /// The same in words.
    words: String,
    /// The cause that limits its hop.
    verdict: String,
    /// The same in words.
    limit: &'a str,
    /// What keeps this host from it, or makes the hop slower.
    trouble: Option<&'a str>,
    hop: Hop,
    /// Rates of the last three seconds.
    to_bits_per_second: u64,
    from_bits_per_second: u64,
    /// Rates (bytes per second to it, and from it), share of lost frames (parts of 10,000), share of the time in a fade
    /// (percent), fades that ended, at the last of the times.
    samples: Vec<Option<Numbers>>,
}

/// The hop to a peer now.
#[derive(Debug, Serialize)]
struct Hop {
    rate_bits_per_second: Option<u64>,
    round_trip_ms: Option<f64>,
    queue_ms: Option<f64>,
    way_queue_ms: Option<f64>,
    fades: u64,
    faded_s: f64,
    fading_s: f64,
    memory_bytes: u64,
    memory_limit_bytes: u64,
}

impl Hop {
    fn of(peer: &PeerStatus) -> Self {
        let hop = &peer.hop;
        let ms = |span: Option<units::Duration>| span.map(|span| span.as_micros() as f64 / 1e3);
        Self {
            rate_bits_per_second: hop.rate.map(units::BitRate::bits_per_second),
            round_trip_ms: ms(hop.round_trip),
            queue_ms: ms(hop.queue_delay),
            way_queue_ms: ms(hop.hop_queueing),
            fades: hop.stats.sent.fades,
            faded_s: hop.stats.sent.faded.as_secs_f64(),
            fading_s: hop.fading_for.as_secs_f64(),
            memory_bytes: hop.memory.get(),
            memory_limit_bytes: hop.memory_most.get(),
        }
    }
}

impl<'a> Event<'a> {
    /// Creates the event after the answer with the number `sent`.
    fn of(known: &'a Known, window: &Window, sent: Option<u64>) -> Self {
        let history = &known.history;
        let after = sent.unwrap_or(0);
        let mut counts = Counts {
            most: PEERS,
            ..Counts::default()
        };
        let mut matching = Vec::new();
        for peer in known.answer.peers() {
            counts.add(peer);
            if window.has(peer) {
                matching.push(peer);
            }
        }
        matching.sort_unstable_by_key(|peer| &peer.name);
        counts.matching = matching.len();
        // Peers may have gone since the client chose its window.
        counts.from = window
            .from
            .min(matching.len().saturating_sub(1) / PEERS * PEERS);
        let peers = matching.into_iter().skip(counts.from).take(PEERS);
        Self {
            is_first: sent.is_none(),
            span_s: SPAN.as_secs(),
            times_s: history
                .times(after)
                .map(|time| tenths(time.as_secs_f64()))
                .collect(),
            daemon: Daemon::of(&known.answer),
            counts,
            peers: peers.map(|peer| Peer::of(peer, history, after)).collect(),
        }
    }
}

fn tenths(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}

impl Counts {
    fn add(&mut self, peer: &PeerStatus) {
        self.all += 1;
        self.connected += usize::from(peer.keys_age.is_some());
        self.fading += usize::from(state_word(peer) == FADING);
        *self.verdicts.entry(word(peer.limit.by)).or_default() += 1;
    }
}

impl<'a> Peer<'a> {
    fn of(peer: &'a PeerStatus, history: &History, after: u64) -> Self {
        let samples = history.samples(&peer.name, after);
        let numbers = samples.map(|sample| {
            sample.map(|known| {
                (
                    known.sent,
                    known.received,
                    known.lost,
                    known.faded,
                    known.fades,
                )
            })
        });
        Self {
            name: &peer.name,
            state: state_word(peer),
            words: words(peer),
            verdict: word(peer.limit.by),
            limit: &peer.limit.words,
            trouble: peer.trouble.as_ref().map(|trouble| &*trouble.words),
            hop: Hop::of(peer),
            to_bits_per_second: peer.recent.to_peer_bits_per_s,
            from_bits_per_second: peer.recent.from_peer_bits_per_s,
            samples: numbers.collect(),
        }
    }
}

const CONNECTED: &str = "connected";
const FADING: &str = "fading";

/// Returns the state of a peer in words; the age of keys says nothing to people.
fn words(peer: &PeerStatus) -> String {
    match state_word(peer) {
        word if word == CONNECTED => word.into(),
        _ => state(peer),
    }
}

fn state_word(peer: &PeerStatus) -> &'static str {
    match peer.keys_age {
        None => "away",
        Some(_) if !peer.hop.fading_for.is_zero() => FADING,
        Some(_) => CONNECTED,
    }
}
