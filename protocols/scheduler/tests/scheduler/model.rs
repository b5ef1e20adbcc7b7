//! Random inputs against a reference that looks at every destination for each pick.

use std::collections::BTreeMap;

use machine::Machine;
use proptest::prelude::*;
use scheduler::config::Discipline;
use scheduler::{Destination, Input, Output, Scheduler, Waiting};
use units::{Duration, Instant};

use crate::contract::{config, input};

/// State of all destinations.
#[derive(Default)]
struct Reference {
    lines: BTreeMap<Destination, Option<Waiting>>,
    marked: Vec<Destination>,
    air_is_free: bool,
}

impl Reference {
    fn hear(&mut self, input: Input) {
        match input {
            Input::Join { destination, .. } => {
                self.lines.entry(destination).or_default();
            }
            Input::Leave(destination) => {
                self.lines.remove(&destination);
                self.marked.retain(|marked| *marked != destination);
            }
            Input::Queue {
                destination,
                waiting,
            } => {
                if let Some(line) = self.lines.get_mut(&destination) {
                    *line = waiting;
                }
            }
            Input::AirFree => self.air_is_free = true,
            _ => {}
        }
    }

    /// Returns the destinations that may be served: only unmarked ones, if there are any and marks count.
    fn candidates(&self, discipline: Discipline) -> Vec<(Destination, Waiting)> {
        let ignores = matches!(
            discipline,
            Discipline::Fifo | Discipline::RoundRobin | Discipline::RoundRobinDeferring
        );
        let waits = |(destination, waiting): (&Destination, &Option<Waiting>)| {
            waiting.map(|waiting| (*destination, waiting))
        };
        let all = self.lines.iter().filter_map(waits).collect::<Vec<_>>();
        let is_good =
            |(destination, _): &(Destination, Waiting)| !self.marked.contains(destination);
        let good = all.iter().copied().filter(is_good).collect::<Vec<_>>();
        if ignores || (good.is_empty() && discipline != Discipline::LongestConnectedQueue) {
            all
        } else {
            good
        }
    }

    fn check(&mut self, discipline: Discipline, output: Output) {
        match output {
            Output::Marked(destination) => {
                assert!(!self.marked.contains(&destination), "it is marked already");
                self.marked.push(destination);
            }
            Output::Unmarked(destination) => {
                assert!(self.marked.contains(&destination), "it is not marked");
                self.marked.retain(|marked| *marked != destination);
            }
            Output::Probe(destination) => {
                assert!(std::mem::take(&mut self.air_is_free), "the air is busy");
                assert!(self.marked.contains(&destination), "it needs no probe");
                let waits = self.lines.get(&destination).is_some_and(Option::is_some);
                assert!(waits, "nobody would gain by that");
            }
            Output::Serve(destination) => {
                assert!(std::mem::take(&mut self.air_is_free), "the air is busy");
                let candidates = self.candidates(discipline);
                let chosen = candidates.iter().find(|(other, _)| *other == destination);
                let (_, chosen) = chosen.expect("it may not be served");
                for (_, other) in &candidates {
                    match discipline {
                        Discipline::Fifo | Discipline::CsdpEarliestTimestamp => {
                            assert!(chosen.oldest <= other.oldest);
                        }
                        Discipline::CsdpLongestQueue | Discipline::LongestConnectedQueue => {
                            assert!(chosen.bytes >= other.bytes);
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn it_serves_whom_its_discipline_names_and_lets_no_air_rest_that_somebody_wants(
        config in config(),
        script in prop::collection::vec((0u64..40, input()), 0..200),
    ) {
        let (mut scheduler, mut reference) = (Scheduler::new(&config), Reference::default());
        let mut now = Instant::ZERO;
        let discipline = config.discipline;
        for (delay, input) in script {
            let next = now + Duration::from_millis(delay);
            while let Some(due) = scheduler.poll_timeout().filter(|due| *due <= next) {
                now = due;
                scheduler.handle_timeout(now);
                while let Some(output) = scheduler.poll_output() {
                    reference.check(discipline, output);
                }
            }
            now = next;
            reference.hear(input);
            scheduler.handle_input(now, input);
            while let Some(output) = scheduler.poll_output() {
                reference.check(discipline, output);
            }
            let wanted = !reference.candidates(discipline).is_empty();
            prop_assert!(!(reference.air_is_free && wanted), "the air rests");
        }
    }
}
