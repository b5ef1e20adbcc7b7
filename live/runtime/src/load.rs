//! The load of the event loop: the share of time in which it had work, whether the system let it run or not.

use units::{Duration, Instant};

/// Shortest time of a measurement: a burst of work is no overload.
const SPAN: Duration = Duration::from_secs(5);
/// Share of time from which a loop is overloaded. Queues grow before nothing is left.
const OVERLOADED: f64 = 0.75;

/// Measures the load.
#[derive(Debug)]
pub(crate) struct Load {
    /// Beginning of the present measurement, and the time in it for which the loop had nothing to do.
    begun: Instant,
    idle: Duration,
    /// The last wait, until something came for which datagrams show when it did.
    wait: Option<Wait>,
    /// Result of the last one.
    share: f64,
}

/// Beginning and end of a time in which the loop had nothing to do.
#[derive(Debug, Clone, Copy)]
struct Wait {
    from: Instant,
    until: Instant,
}

impl Load {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            begun: now,
            idle: Duration::ZERO,
            wait: None,
            share: 0.0,
        }
    }

    /// Records a wait from one time until another one. From its deadline on there was work, although the system did not
    /// let the loop run.
    pub(crate) fn waited(&mut self, from: Instant, deadline: Option<Instant>, until: Instant) {
        self.end_wait();
        let until = deadline.map_or(until, |deadline| until.min(deadline));
        self.wait = Some(Wait { from, until });
    }

    /// Records a rest, in which the loop lets work come together.
    pub(crate) fn rested(&mut self, rest: Duration) {
        self.end_wait();
        self.idle += rest;
    }

    /// Records a datagram that has been read: from its arrival on there was work, too.
    pub(crate) fn arrived(&mut self, at: Instant) {
        if let Some(wait) = &mut self.wait {
            wait.until = wait.until.min(at);
        }
    }

    fn end_wait(&mut self) {
        if let Some(Wait { from, until }) = self.wait.take() {
            self.idle += until.since(from);
        }
    }

    /// Ends the measurement if it is long enough; returns true if it is another one of an overloaded loop.
    pub(crate) fn is_overloaded(&mut self, now: Instant) -> bool {
        let time = now.since(self.begun);
        if time < SPAN {
            return false;
        }
        self.end_wait();
        let was_overloaded = self.share >= OVERLOADED;
        self.share = time.saturating_sub(self.idle).as_nanos() as f64 / time.as_nanos() as f64;
        (self.begun, self.idle) = (now, Duration::ZERO);
        let is_overloaded = self.share >= OVERLOADED;
        if is_overloaded && !was_overloaded {
            tracing::warn!(
                "this daemon had work for {:.0} % of the last seconds: the processor is too slow, or busy with \
                 something else",
                self.share * 100.0
            );
        }
        is_overloaded
    }

    /// Returns the share of time in which the loop had work, from 0 to 1, in the last measurement.
    pub(crate) fn share(&self) -> f64 {
        self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has a loop wait for `idle` of each 100 ms, until `late` after the deadline, for 20 s. Returns the seconds in
    /// which it was found to be overloaded, and the last share of time in which it had work.
    fn run(idle: u64, late: u64) -> (Vec<u64>, f64) {
        let mut load = Load::new(Instant::ZERO);
        let mut overloaded = Vec::new();
        for turn in 0..200 {
            let now = Instant::from_millis(turn * 100);
            let deadline = now + Duration::from_millis(idle);
            load.waited(now, Some(deadline), deadline + Duration::from_millis(late));
            if load.is_overloaded(now + Duration::from_millis(100)) {
                overloaded.push((turn + 1) / 10);
            }
        }
        (overloaded, load.share())
    }

    #[test]
    fn a_loop_that_works_most_of_the_time_is_overloaded() {
        assert_eq!(run(0, 0), (vec![5, 10, 15, 20], 1.0));
        let (overloaded, share) = run(60, 0);
        assert!(overloaded.is_empty(), "{overloaded:?}");
        assert!((share - 0.4).abs() < 1e-9, "{share}");
    }

    #[test]
    fn time_for_which_the_system_did_not_let_it_run_counts() {
        let (overloaded, share) = run(5, 90);
        assert_eq!(overloaded, [5, 10, 15, 20]);
        assert!((share - 0.95).abs() < 1e-9, "{share}");
    }

    #[test]
    fn time_for_which_datagrams_waited_counts() {
        let mut load = Load::new(Instant::ZERO);
        let at = |millis| Instant::from_millis(millis);
        for second in 0..5 {
            assert!(!load.is_overloaded(at(second * 1_000)));
            load.waited(at(second * 1_000), None, at(second * 1_000 + 990));
            for millis in [30, 60, 90] {
                load.arrived(at(second * 1_000 + millis));
            }
        }
        assert!(load.is_overloaded(at(5_000)));
        assert!((load.share() - 0.97).abs() < 1e-9, "{}", load.share());
    }

    #[test]
    fn an_idle_loop_is_not_overloaded() {
        let mut load = Load::new(Instant::ZERO);
        let later = Instant::from_millis(60_000);
        load.waited(Instant::ZERO, None, later);
        assert!(!load.is_overloaded(later));
        assert!(load.share() < 1e-9);
    }
}
