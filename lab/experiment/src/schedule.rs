//! Which runs are still wanted.

use std::collections::VecDeque;

use crate::plan::Plan;
use crate::statistics::Summary;
use crate::table::{RunKey, Runs, values};

/// The runs that a plan wants, given those that exist. What it wants in the end is a function of
/// plan and values alone: not of the order in which runs end, nor of how often they were broken off.
#[derive(Debug)]
pub(crate) struct Schedule<'a> {
    plan: &'a Plan,
    /// The position of the metric that decides how many seeds are enough.
    metric: usize,
    /// How many seeds each case gets, as far as is known.
    targets: Vec<u64>,
    /// How many of these each case has.
    present: Vec<u64>,
    queue: VecDeque<RunKey>,
}

impl<'a> Schedule<'a> {
    pub(crate) fn new(plan: &'a Plan, metric: usize, runs: &Runs) -> Self {
        let cases = plan.cases().len();
        let mut schedule = Self {
            plan,
            metric,
            targets: vec![0; cases],
            present: vec![0; cases],
            queue: VecDeque::new(),
        };
        // All cases of one seed come before the next seed, so that an early look at the results sees
        // all cases.
        for seed in 0..plan.seeds().initial() {
            for case in 0..cases {
                schedule.want(case, seed, runs);
            }
        }
        for case in 0..cases {
            schedule.extend(case, runs);
        }
        schedule
    }

    /// The next run to start.
    pub(crate) fn next(&mut self) -> Option<RunKey> {
        self.queue.pop_front()
    }

    /// Whether every run that is wanted exists or was given out.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Notes that a run that was given out now stands in `runs`.
    pub(crate) fn record(&mut self, key: RunKey, runs: &Runs) {
        self.present[key.case] += 1;
        self.extend(key.case, runs);
    }

    /// How many runs are wanted as far as is known, and how many of them exist.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.targets.iter().sum(), self.present.iter().sum())
    }

    /// Of `runs`, those that the plan wants.
    pub(crate) fn select(&self, runs: &Runs) -> Runs {
        let first = self.plan.first_seed();
        let wanted = |key: &RunKey| {
            let target = self.targets.get(key.case).copied().unwrap_or(0);
            key.seed
                .checked_sub(first)
                .is_some_and(|seed| seed < target)
        };
        let selected = runs.iter().filter(|(key, _)| wanted(key));
        selected
            .map(|(key, values)| (*key, values.clone()))
            .collect()
    }

    fn want(&mut self, case: usize, seed: u64, runs: &Runs) {
        let seed = self.plan.first_seed().saturating_add(seed);
        let key = RunKey { case, seed };
        self.targets[case] += 1;
        if runs.contains_key(&key) {
            self.present[case] += 1;
        } else {
            self.queue.push_back(key);
        }
    }

    /// Wants more runs of a case if those that it wanted exist and do not suffice.
    fn extend(&mut self, case: usize, runs: &Runs) {
        while self.present[case] == self.targets[case] {
            let first = self.plan.first_seed();
            let target = self.targets[case];
            let seen: Vec<_> = values(runs, case, self.metric)
                .filter(|(seed, _)| seed.checked_sub(first).is_some_and(|seed| seed < target))
                .map(|(_, value)| value)
                .collect();
            let summary = Summary::of(&seen);
            let Some(next) = self.plan.seeds().next(target, summary.as_ref()) else {
                break;
            };
            for seed in target..next {
                self.want(case, seed, runs);
            }
        }
    }
}
