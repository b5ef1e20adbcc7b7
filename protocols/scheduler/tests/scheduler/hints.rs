//! Tests of receivers' reports about frames that they did not get.

use scheduler::config::{Monitor, Probing};
use scheduler::{Destination, Hint, Outcome};
use units::Duration;

use crate::monitors::{MISSING, Watched, acknowledgements};

const RISEN: Hint = Hint::Risen { faded: None };

/// Both monitors without perfect knowledge.
fn monitors() -> [Monitor; 2] {
    [acknowledgements(), Monitor::Probing(Probing::default())]
}

fn bursts(watched: &Watched) -> (u64, Option<Duration>) {
    let status = watched.0.status(Destination(0)).expect("it joined");
    (status.bursts, status.burst_length)
}

#[test]
fn a_signal_that_has_risen_unmarks_at_once_and_one_that_has_fallen_marks() {
    for monitor in monitors() {
        let mut watched = Watched::new(monitor);
        watched.outcome(100, MISSING);
        assert!(watched.is_marked());
        watched.hint(103, RISEN);
        assert!(!watched.is_marked());
        assert_eq!(watched.due(), None);
        watched.hint(200, Hint::Fallen);
        assert!(watched.is_marked());
        assert!(watched.due().is_some());
    }
}

#[test]
fn a_frame_that_was_damaged_by_others_was_no_burst() {
    for monitor in monitors() {
        let mut watched = Watched::new(monitor);
        watched.outcome(100, MISSING);
        watched.outcome(110, MISSING);
        // One of the two may have faded.
        watched.hint(120, Hint::Damaged(1));
        assert!(watched.is_marked());
        watched.hint(130, Hint::Damaged(1));
        assert!(!watched.is_marked());
        watched.hint(130, RISEN);
        watched.outcome(130, Outcome::Delivered);
        assert_eq!(bursts(&watched), (0, None));
    }
}

#[test]
fn lengths_that_receivers_tell_are_learned_in_place_of_guesses() {
    for monitor in monitors() {
        let mut watched = Watched::new(monitor);
        let length = Duration::from_millis(70);
        let faded = Some(length);
        watched.outcome(100, MISSING);
        watched.hint(300, Hint::Risen { faded });
        watched.outcome(300, Outcome::Delivered);
        assert_eq!(bursts(&watched), (1, Some(length)));
        // Also a report of fades that hit no frame.
        watched.hint(900, Hint::Risen { faded });
        assert_eq!(bursts(&watched), (2, Some(length)));
    }
}

#[test]
fn perfect_knowledge_needs_no_hints() {
    let mut watched = Watched::new(Monitor::Perfect);
    watched.hint(100, Hint::Fallen);
    assert!(!watched.is_marked());
}
