//! Signals of the emulator on outages, which it knows in advance.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use channel::{Link, Outage};
use edges::clock;
use edges::wait::{Interest, WOKEN, Waiter, WaitingThread};
use runtime::signals::{Audience, Publisher};
use signals::{Event, Signal};
use units::{Duration, Instant};

/// Name of the other end.
const PEER: &str = "air";
const PUBLISHER: u64 = 0;
const FIRST_SUBSCRIBER: u64 = 1;

/// The outages to announce.
pub(super) struct OutageSchedule {
    /// Outages to come, in the time of the link.
    outages: Box<dyn Iterator<Item = Outage> + Send>,
    /// Time zero of the link, by the monotonic clock.
    origin: Instant,
    /// Time between the announcement and the outage, if outages are announced.
    lead: Option<Duration>,
    /// End of the previous outage.
    free_from: Instant,
    queue: VecDeque<Signal>,
}

impl OutageSchedule {
    /// Creates the outages of `link` in a run with `seed` that began at `origin`; there is a signal at the beginning
    /// and at the end of each, and, as a hand-off, `lead` before it, or at the end of the previous one.
    pub(super) fn new(link: &Link, seed: u64, origin: Instant, lead: Option<Duration>) -> Self {
        Self {
            outages: Box::new(link.outages(seed)),
            origin,
            lead,
            free_from: origin,
            queue: VecDeque::new(),
        }
    }

    /// Returns the time of the next signal, if there is one.
    fn due(&mut self) -> Option<Instant> {
        if self.queue.is_empty() {
            let outage = self.outages.next()?;
            self.plan(outage);
        }
        self.queue.front().map(|signal| signal.at)
    }

    /// Returns the next signal, if it is due.
    fn take(&mut self, now: Instant) -> Option<Signal> {
        self.due().filter(|due| *due <= now)?;
        self.queue.pop_front()
    }

    fn plan(&mut self, outage: Outage) {
        let from = self.origin + outage.from.since_origin();
        if let Some(lead) = self.lead {
            let at = (from - lead).max(self.free_from);
            let within = from.since(at);
            self.queue
                .push_back(signal(at, Event::HandoffImpending { within }));
        }
        self.queue.push_back(signal(from, Event::Fade));
        if let Some(until) = outage.until {
            let until = self.origin + until.since_origin();
            let lasted = until.since(from);
            // Packets lost on the air are neither kept nor held.
            let (kept, held) = (false, false);
            self.queue
                .push_back(signal(until, Event::Restored { kept, held, lasted }));
            self.free_from = until;
        }
    }
}

fn signal(at: Instant, event: Event) -> Signal {
    Signal {
        at,
        peer: PEER.into(),
        event,
        past: false,
    }
}

/// Publishes outages until it is dropped, in a thread of its own: subscribers must not delay packets.
pub(super) struct Announcements(
    #[expect(dead_code, reason = "it ends when it is dropped")] WaitingThread,
);

impl Announcements {
    /// Publishes the outages in `outlook` on a socket at `path`.
    pub(super) fn start(path: &Path, outlook: OutageSchedule) -> io::Result<Self> {
        let mut publisher = Publisher::bind(path, Audience::Everyone)?;
        let well = Event::Restored {
            kept: true,
            held: true,
            lasted: Duration::ZERO,
        };
        publisher.publish(signal(outlook.origin, well));
        let waiter = Waiter::new()?;
        waiter.add(&publisher, PUBLISHER, Interest::Readable)?;
        let telling = move |waiter| {
            if let Err(error) = tell(publisher, waiter, outlook) {
                tracing::warn!("cannot report outages any more: {error}");
            }
        };
        WaitingThread::start("signals", waiter, telling).map(Self)
    }
}

/// Publishes outages until it is woken.
fn tell(
    mut publisher: Publisher,
    mut waiter: Waiter,
    mut outlook: OutageSchedule,
) -> io::Result<()> {
    edges::wait::sharpen_timers()?;
    loop {
        while let Some(signal) = outlook.take(clock::monotonic()) {
            publisher.publish(signal);
        }
        let mut newcomers = false;
        for ready in waiter.wait_until(outlook.due())? {
            match ready.token {
                WOKEN => return Ok(()),
                PUBLISHER => newcomers = true,
                token => publisher.gone(token),
            }
        }
        if newcomers {
            publisher.accept(&waiter, FIRST_SUBSCRIBER)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(script: &str) -> Link {
        let text = "[each]\nrate = \"1 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"50 packets\"\n\
                    [errors]\nmodel = \"replay\"\nfile = \"script\"\n";
        Link::from_toml_with(text, "link.toml", &|_| Ok(script.into())).unwrap()
    }

    /// Returns time, name and lead of all signals, in milliseconds after the origin.
    fn told(script: &str, lead: Option<u64>) -> Vec<(u64, &'static str, u64)> {
        let origin = Instant::from_millis(10_000);
        let lead = lead.map(Duration::from_millis);
        let mut outlook = OutageSchedule::new(&link(script), 1, origin, lead);
        let mut told = Vec::new();
        while let Some(due) = outlook.due() {
            assert_eq!(outlook.take(due - Duration::from_millis(1)), None);
            let signal = outlook.take(due).unwrap();
            assert_eq!(signal.at, due);
            let span = match signal.event {
                Event::HandoffImpending { within } => within,
                Event::Restored { kept, held, lasted } => {
                    assert!(!kept && !held);
                    lasted
                }
                _ => Duration::ZERO,
            };
            told.push((
                due.since(origin).as_millis(),
                signal.event.name(),
                span.as_millis(),
            ));
        }
        told
    }

    const SCRIPT: &str = "0.2 s bad\n1 s good\n1.3 s bad\n1.4 s good\n5 s bad";

    #[test]
    fn outages_are_told_as_they_come() {
        let expected = [
            (200, "fade", 0),
            (1_000, "restored", 800),
            (1_300, "fade", 0),
            (1_400, "restored", 100),
            (5_000, "fade", 0),
        ];
        assert_eq!(told(SCRIPT, None), expected);
        assert_eq!(told("", None), []);
    }

    #[test]
    fn outages_are_told_ahead_but_not_into_the_one_before() {
        let expected = [
            (0, "handoff_impending", 200),
            (200, "fade", 0),
            (1_000, "restored", 800),
            (1_000, "handoff_impending", 300),
            (1_300, "fade", 0),
            (1_400, "restored", 100),
            (4_500, "handoff_impending", 500),
            (5_000, "fade", 0),
        ];
        assert_eq!(told(SCRIPT, Some(500)), expected);
    }
}
