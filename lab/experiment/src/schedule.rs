//! The runs that are still wanted.

use std::collections::VecDeque;

use crate::plan::Plan;
use crate::statistics::Summary;
use crate::table::{RunKey, Runs, values};

/// The runs that a plan wants, given those that exist. The final set depends only on plan and values: not on the order
/// in which runs end, nor on the number of interruptions.
#[derive(Debug)]
pub(crate) struct Schedule<'a> {
    plan: &'a Plan,
    /// Index of the metric that decides the number of seeds.
    metric: usize,
    /// Number of seeds that each case needs, as far as is known.
    targets: Vec<u64>,
    /// Number of those seeds that each case has.
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
        // All cases of one seed come before the next seed, so that early results contain all cases.
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

    /// Returns the next run to start.
    pub(crate) fn next(&mut self) -> Option<RunKey> {
        self.queue.pop_front()
    }

    /// Returns true if every wanted run exists or was started.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Notes that a started run is now in `runs`.
    pub(crate) fn record(&mut self, key: RunKey, runs: &Runs) {
        self.present[key.case] += 1;
        self.extend(key.case, runs);
    }

    /// Returns the number of wanted runs as far as is known, and the number of those that exist.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.targets.iter().sum(), self.present.iter().sum())
    }

    /// Returns the runs of `runs` that the plan wants.
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

    /// Wants more runs of a case if all wanted ones exist and do not suffice.
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
