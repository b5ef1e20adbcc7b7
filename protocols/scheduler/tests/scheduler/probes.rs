//! Tests of the times of probes.

use machine::Machine;
use scheduler::config::{Discipline, Monitor, Probing};
use scheduler::{Cause, Config, Destination, Input, Outcome, Output, Scheduler, Waiting};
use units::{Bytes, Duration, Instant};

use crate::air::{Air, FRAME, Mobile};

const END: Instant = Instant::from_millis(100_000);

fn probing() -> Monitor {
    Monitor::Probing(Probing::default())
}

/// A scheduler of one destination, with reports about its outputs.
struct Lone {
    scheduler: Scheduler,
    now: Instant,
}

impl Lone {
    fn new() -> Self {
        let config = Config {
            discipline: Discipline::Airtime,
            monitor: probing(),
        };
        let mut lone = Self {
            scheduler: Scheduler::new(&config),
            now: Instant::ZERO,
        };
        let (destination, weight) = (Destination(0), 1);
        lone.tell(Input::Join {
            destination,
            weight,
        });
        lone
    }

    fn tell(&mut self, input: Input) {
        self.scheduler.handle_input(self.now, input);
    }

    fn waits(&mut self, frames: u64) {
        let waiting = (frames > 0).then_some(Waiting {
            bytes: Bytes::new(frames * 1_000),
            oldest: self.now,
        });
        let destination = Destination(0);
        self.tell(Input::Queue {
            destination,
            waiting,
        });
    }

    /// Lets time pass, then frees the air. Returns the output.
    fn asks_after(&mut self, wait: Duration) -> Option<Output> {
        self.now += wait;
        self.scheduler.handle_timeout(self.now);
        self.tell(Input::AirFree);
        let outputs = std::iter::from_fn(|| self.scheduler.poll_output());
        outputs
            .filter(|output| matches!(output, Output::Serve(_) | Output::Probe(_)))
            .last()
    }

    /// Reports its frame or probe as lost.
    fn loses(&mut self, airtime: Duration) {
        let destination = Destination(0);
        self.tell(Input::Sent {
            destination,
            airtime,
        });
        let (cause, given_up) = (Cause::Unknown, false);
        let outcome = Outcome::Missing { cause, given_up };
        self.tell(Input::Outcome {
            destination,
            outcome,
        });
    }
}

const SERVE: Output = Output::Serve(Destination(0));
const PROBED: Output = Output::Probe(Destination(0));

#[test]
fn a_channel_is_probed_at_most_once_in_a_round() {
    for discipline in [Discipline::CsdpRoundRobin, Discipline::Airtime] {
        let mut mobiles = vec![Mobile::with(100); 11];
        mobiles[0] = Mobile::with(5).fading(0, 350);
        let mut air = Air::new(discipline, probing(), mobiles);
        air.run(END, false);
        let status = air.scheduler.status(Destination(0)).expect("it joined");
        // A round takes 100 ms; without it probes would go out after 10, 25, 47, 81, 132, 208 ms.
        assert!((2..=4).contains(&status.probed), "{}", status.probed);
        assert_eq!(air.mobile(0).delivered.len(), 5);
        let first = air.mobile(0).delivered[0];
        assert!(first < Instant::from_millis(600), "{first}");
    }
}

#[test]
fn who_has_nothing_waiting_is_not_probed() {
    let mut lone = Lone::new();
    lone.waits(1);
    assert_eq!(lone.asks_after(FRAME), Some(SERVE));
    lone.loses(FRAME);
    lone.waits(0);
    for _ in 0..100 {
        assert_eq!(lone.asks_after(FRAME), None);
    }
    assert_eq!(lone.scheduler.poll_timeout(), None);
    lone.waits(1);
    assert_eq!(lone.scheduler.poll_output(), Some(PROBED));
}

/// If a probe finds an empty queue, its result is not reported; frames that come later are not forgotten.
#[test]
fn a_probe_that_was_not_sent_is_still_wanted() {
    let mut lone = Lone::new();
    lone.waits(1);
    assert_eq!(lone.asks_after(FRAME), Some(SERVE));
    lone.loses(FRAME);
    assert_eq!(lone.asks_after(FRAME), Some(PROBED));
    lone.waits(0);
    assert_eq!(lone.asks_after(FRAME), None);
    lone.waits(1);
    assert_eq!(lone.scheduler.poll_output(), Some(PROBED));
}
