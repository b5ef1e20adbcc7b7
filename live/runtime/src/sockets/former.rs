//! The examination of a mobile host's connections from before this process (RFC 9293 §3.5.1, half-open connections).

use units::{Duration, Instant};
use wire::flow::Ends;

use super::Former;

/// First pause between two requests for a connection, and the longest one. Each is twice as long as the one before (RFC
/// 6298 §5.5). The longest is longer than TIME-WAIT of Linux (60 s): a fixed host answers in this state with an
/// acknowledgement, and only afterwards with a reset.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MOST: Duration = Duration::from_secs(64);

/// Requests each of this host's former connections anew, so that the kernel sends an acknowledgement of its own numbers
/// (RFC 5961 §4.2). An end that does not know the connection answers that with a reset: the fixed host if the former
/// process was the other end, as its state has gone. The others only get a duplicate. The request is repeated while the
/// connection is open, since a packet may be lost, or meet an end that has not forgotten the connection yet.
pub(super) struct Examination {
    open: Option<Former>,
    due: Option<Instant>,
    pause: Duration,
}

impl Examination {
    /// Returns an examination of the connections that `open` returns.
    pub(super) fn new(open: Option<Former>) -> Self {
        Self {
            open,
            due: None,
            pause: PAUSE,
        }
    }

    /// Begins, unless it has begun before.
    pub(super) fn begin(&mut self, now: Instant) {
        if self.open.is_some() {
            self.due.get_or_insert(now);
        }
    }

    /// Returns the time of the next requests.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Returns the connections to request now, with this host's end as the destination.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> Vec<Ends> {
        if self.due.is_none_or(|due| now < due) {
            return Vec::new();
        }
        let connections = self.open.as_mut().map(|open| open()).unwrap_or_default();
        if connections.is_empty() || self.pause > PAUSE_MOST {
            (self.open, self.due) = (None, None);
        } else {
            self.due = Some(now + self.pause);
            self.pause = self.pause * 2;
        }
        connections
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn ends() -> Ends {
        Ends {
            source: "198.51.100.2:40000".parse().expect("an address"),
            destination: "10.73.0.2:80".parse().expect("an address"),
        }
    }

    /// Returns the seconds at which the connection is requested, if it closes after `open` of them.
    fn requests(open: u64) -> Vec<u64> {
        let is_open = Arc::new(AtomicBool::new(true));
        let seen = is_open.clone();
        let former: Former = Box::new(move || {
            let open = seen.load(Ordering::Relaxed);
            if open { vec![ends()] } else { vec![] }
        });
        let mut examination = Examination::new(Some(former));
        assert_eq!(examination.due(), None, "the hop is not up");
        examination.begin(Instant::ZERO);
        let mut times = Vec::new();
        while let Some(due) = examination.due() {
            examination.begin(due);
            let seconds = due.since_origin().as_millis() / 1_000;
            is_open.store(seconds < open, Ordering::Relaxed);
            times.extend(examination.handle_timeout(due).iter().map(|_| seconds));
        }
        times
    }

    #[test]
    fn connections_are_requested_until_every_end_must_have_forgotten_them() {
        assert_eq!(requests(1_000), [0, 1, 3, 7, 15, 31, 63, 127]);
    }

    #[test]
    fn connections_that_have_ended_are_not_requested() {
        assert_eq!(requests(2), [0, 1]);
        assert_eq!(requests(0), [0; 0]);
    }

    #[test]
    fn nothing_is_examined_without_connections() {
        let mut examination = Examination::new(None);
        examination.begin(Instant::ZERO);
        assert_eq!(examination.due(), None);
    }
}
