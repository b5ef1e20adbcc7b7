//! Tests of the detection of bad channels.

use machine::{Machine, RandomStream};
use scheduler::config::{Bursts, Discipline, Monitor, Probing};
use scheduler::{Cause, Destination, Hint, Input, Outcome, Output, Scheduler};
use units::{Duration, Instant};

use crate::air::{Air, Mobile};

const END: Instant = Instant::from_millis(100_000);
pub(crate) const MISSING: Outcome = Outcome::Missing {
    cause: Cause::Unknown,
    given_up: false,
};

pub(crate) fn acknowledgements() -> Monitor {
    Monitor::Acknowledgements(Bursts::default())
}

/// A scheduler with one destination, and its outputs.
pub(crate) struct Watched(pub(crate) Scheduler);

impl Watched {
    pub(crate) fn new(monitor: Monitor) -> Self {
        let config = scheduler::Config {
            discipline: Discipline::CsdpRoundRobin,
            monitor,
        };
        let mut scheduler = Scheduler::new(&config);
        scheduler.handle_input(
            Instant::ZERO,
            Input::Join {
                destination: Destination(0),
                weight: 1,
            },
        );
        Self(scheduler)
    }

    pub(crate) fn outcome(&mut self, at: u64, outcome: Outcome) {
        self.outcome_at(Instant::from_millis(at), outcome);
    }

    fn outcome_at(&mut self, at: Instant, outcome: Outcome) {
        let destination = Destination(0);
        let input = Input::Outcome {
            destination,
            outcome,
        };
        self.0.handle_input(at, input);
    }

    pub(crate) fn hint(&mut self, at: u64, hint: Hint) {
        let destination = Destination(0);
        let input = Input::Hint { destination, hint };
        self.0.handle_input(Instant::from_millis(at), input);
    }

    pub(crate) fn is_marked(&self) -> bool {
        self.0.status(Destination(0)).expect("it joined").is_marked
    }

    pub(crate) fn due(&self) -> Option<u64> {
        self.0
            .poll_timeout()
            .map(|due| due.since_origin().as_millis())
    }
}

#[test]
fn a_missing_acknowledgement_marks_for_the_usual_length_of_a_burst() {
    let mut watched = Watched::new(acknowledgements());
    watched.outcome(100, MISSING);
    assert!(watched.is_marked());
    assert_eq!(watched.due(), Some(150));
    watched.0.handle_timeout(Instant::from_millis(150));
    assert!(!watched.is_marked());
    let said = std::iter::from_fn(|| watched.0.poll_output()).collect::<Vec<_>>();
    assert_eq!(
        said,
        [
            Output::Marked(Destination(0)),
            Output::Unmarked(Destination(0))
        ]
    );
}

#[test]
fn a_mark_that_ended_too_early_comes_back_for_a_deviation() {
    let mut watched = Watched::new(acknowledgements());
    watched.outcome(100, MISSING);
    watched.0.handle_timeout(Instant::from_millis(150));
    watched.outcome(160, MISSING);
    assert_eq!(watched.due(), Some(185));
}

#[test]
fn bursts_are_learned() {
    let mut watched = Watched::new(acknowledgements());
    for n in 0..50 {
        watched.outcome(n * 1_000, MISSING);
        watched.outcome(n * 1_000 + 200, MISSING);
        watched.outcome(n * 1_000 + 240, Outcome::Delivered);
    }
    let status = watched.0.status(Destination(0)).expect("it joined");
    let known = status.burst_length.expect("bursts were seen");
    assert!(
        known.abs_diff(Duration::from_millis(220)) < Duration::from_millis(1),
        "{known}"
    );
    assert_eq!(status.bursts, 50);
}

/// A channel that changes faster than it is tried: one try in three succeeds, whenever it is made.
#[test]
fn bursts_that_are_taken_for_one_do_not_stretch_marks_without_end() {
    let mut watched = Watched::new(acknowledgements());
    let mut chance = RandomStream::named(1, "a channel that changes fast");
    let mut now = Instant::ZERO;
    for try_number in 0..300 {
        let outcome = if chance.below(3) == 0 {
            Outcome::Delivered
        } else {
            MISSING
        };
        watched.outcome_at(now, outcome);
        let next = watched.0.poll_timeout();
        let next = next.unwrap_or(now + Duration::from_millis(10));
        let wait = next.since(now);
        assert!(
            wait <= Duration::from_millis(200),
            "try {try_number}: {wait}"
        );
        now = next;
        watched.0.handle_timeout(now);
    }
}

#[test]
fn collisions_mark_nobody_and_a_fade_that_is_seen_marks_at_once() {
    let patient = Bursts {
        missing: 3,
        ..Bursts::default()
    };
    let mut watched = Watched::new(Monitor::Acknowledgements(patient));
    let missing = |cause| Outcome::Missing {
        cause,
        given_up: false,
    };
    for at in 0..10 {
        watched.outcome(at, missing(Cause::Collision));
    }
    assert!(!watched.is_marked());
    watched.outcome(20, MISSING);
    watched.outcome(21, MISSING);
    assert!(!watched.is_marked());
    watched.outcome(22, missing(Cause::Fade));
    assert!(watched.is_marked());
}

#[test]
fn an_acknowledgement_ends_a_mark() {
    let mut watched = Watched::new(acknowledgements());
    watched.outcome(100, MISSING);
    watched.outcome(110, Outcome::Delivered);
    assert!(!watched.is_marked());
    assert_eq!(watched.due(), None);
}

#[test]
fn the_monitor_costs_the_others_next_to_nothing() {
    let mobiles = vec![
        Mobile::with(50).fading(0, 2_000),
        Mobile::with(190),
        Mobile::with(1),
    ];
    let mut air = Air::new(Discipline::CsdpRoundRobin, acknowledgements(), mobiles);
    air.tries_max = u32::MAX;
    air.run(END, false);
    // Without a monitor it would have had half of the air while both waited.
    let wasted = air.mobile(0).attempts - 50;
    assert!((2..80).contains(&wasted), "{wasted}");
}

#[test]
fn a_discipline_that_knows_nothing_of_channels_sends_no_probes() {
    let probing = Monitor::Probing(Probing::default());
    let mobiles = vec![Mobile::with(5).fading(0, 300), Mobile::with(100)];
    let mut air = Air::new(Discipline::RoundRobinDeferring, probing, mobiles);
    air.run(END, false);
    let status = air.scheduler.status(Destination(0)).expect("it joined");
    assert_eq!(status.probed, 0);
}

#[test]
fn probes_find_the_end_of_a_fade() {
    let probing = Monitor::Probing(Probing::default());
    let mobiles = vec![Mobile::with(5).fading(0, 300), Mobile::with(100)];
    let mut air = Air::new(Discipline::CsdpRoundRobin, probing, mobiles);
    air.run(END, false);
    let fading = air.mobile(0);
    assert_eq!(fading.attempts, 6, "only the first frame was wasted");
    let after = fading.delivered[0].since(Instant::from_millis(300));
    assert!(after < Duration::from_millis(200), "{after}");
    let status = air.scheduler.status(Destination(0)).expect("it joined");
    assert!((3..10).contains(&status.probed), "{}", status.probed);
}
