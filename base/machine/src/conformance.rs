//! The check that a machine keeps its contract.
//!
//! Give [`check`] a function that builds the machine, and a list of inputs with the delay before each. It runs the list
//! in several ways that must give equal outputs. If they differ, it panics and names the rule that was broken.

use std::fmt::Debug;

use units::{Duration, Instant};

use crate::Machine;

/// Largest number of outputs at one instant; a machine that gives more is taken to loop for ever.
const OUTPUTS_MAX: usize = 1_000_000;
/// Largest number of deadlines at one instant; a machine that has more is taken to loop for ever (rule 5 of
/// [`Machine`]).
const REPEATS_MAX: usize = 8;

/// Runs `script` on fresh machines and checks rules 2 to 5 of [`Machine`]; the machine then runs on for `tail`, so that
/// its timers are checked too.
///
/// # Panics
/// If a rule is broken.
pub fn check<M>(build: impl Fn() -> M, script: &[(Duration, M::Input)], tail: Duration)
where
    M: Machine,
    M::Input: Clone,
    M::Output: Debug,
{
    let plain = run(&build, script, tail, false);
    let again = run(&build, script, tail, false);
    assert_same(&plain, &again, "rule 4: two runs with equal inputs differ");
    let nudged = run(&build, script, tail, true);
    assert_same(
        &plain,
        &nudged,
        "rule 3: an early or repeated timeout changed something",
    );
}

/// Runs `script` once and returns each output with its time, as text.
fn run<M>(
    build: &impl Fn() -> M,
    script: &[(Duration, M::Input)],
    tail: Duration,
    nudge: bool,
) -> Vec<String>
where
    M: Machine,
    M::Input: Clone,
    M::Output: Debug,
{
    let mut machine = build();
    let mut log = Vec::new();
    let mut now = Instant::ZERO;
    for (delay, input) in script {
        let next = now + *delay;
        advance(&mut machine, &mut now, next, &mut log, nudge);
        machine.handle_input(now, input.clone());
        drain(&mut machine, now, &mut log);
    }
    let end = now + tail;
    advance(&mut machine, &mut now, end, &mut log, nudge);
    log
}

/// Fires every deadline up to `end`; with `nudge`, also calls the machine before each deadline and twice at it.
fn advance<M>(machine: &mut M, now: &mut Instant, end: Instant, log: &mut Vec<String>, nudge: bool)
where
    M: Machine,
    M::Output: Debug,
{
    let mut repeats = 0;
    while let Some(deadline) = machine.poll_timeout().filter(|deadline| *deadline <= end) {
        let due = deadline.max(*now);
        repeats = if due == *now { repeats + 1 } else { 0 };
        assert!(repeats <= REPEATS_MAX, "rule 5: the machine spins at {now}");
        if nudge && due > *now {
            *now += due.since(*now) / 2;
            if *now < due {
                machine.handle_timeout(*now);
                drain(machine, *now, log);
            }
        }
        *now = due;
        machine.handle_timeout(due);
        drain(machine, due, log);
        if nudge && machine.poll_timeout().is_none_or(|next| next > due) {
            machine.handle_timeout(due);
            drain(machine, due, log);
        }
    }
    *now = end.max(*now);
}

fn drain<M>(machine: &mut M, now: Instant, log: &mut Vec<String>)
where
    M: Machine,
    M::Output: Debug,
{
    for _ in 0..OUTPUTS_MAX {
        match machine.poll_output() {
            Some(output) => log.push(format!("{now} {output:?}")),
            None => return,
        }
    }
    panic!("rule 2: the machine had not run dry after {OUTPUTS_MAX} outputs at {now}");
}

fn assert_same(one: &[String], other: &[String], rule: &str) {
    if let Some(place) = (0..one.len().max(other.len())).find(|i| one.get(*i) != other.get(*i)) {
        panic!(
            "{rule}: output {place} is {:?} and {:?}",
            one.get(place),
            other.get(place)
        );
    }
}
