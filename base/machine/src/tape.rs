//! A recorded run of a machine.

use std::fmt::Debug;

use units::Instant;

use crate::Machine;

/// A step of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<I, O> {
    /// An input that the machine handled.
    Input(Instant, I),
    /// A call of the machine at a deadline.
    Timeout(Instant),
    /// An output of the machine.
    Output(O),
}

/// Inputs and outputs of a machine, in order. Replayed to an equal machine, the inputs give equal outputs (rule 4 of
/// [`Machine`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tape<I, O>(Vec<Step<I, O>>);

impl<I, O> Default for Tape<I, O> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<I: Clone, O: PartialEq + Debug> Tape<I, O> {
    /// Appends a step.
    pub fn record(&mut self, step: Step<I, O>) {
        self.0.push(step);
    }

    /// Returns the steps, in order.
    pub fn steps(&self) -> &[Step<I, O>] {
        &self.0
    }

    /// Replays the inputs and deadlines to `machine`, and returns the number of equal outputs.
    ///
    /// # Errors
    /// If an output differs; the error describes the first one.
    pub fn replay<M>(&self, machine: &mut M) -> Result<usize, String>
    where
        M: Machine<Input = I, Output = O>,
    {
        let mut equal = 0;
        for (place, step) in self.0.iter().enumerate() {
            let differs = |is: &dyn Debug, was: &dyn Debug| {
                Err(format!(
                    "step {place} of the tape: {is:?} in place of {was:?}"
                ))
            };
            if let Step::Output(was) = step {
                match machine.poll_output() {
                    Some(is) if is == *was => equal += 1,
                    is => return differs(&is, was),
                }
                continue;
            }
            if let Some(more) = machine.poll_output() {
                return differs(&more, &"no output");
            }
            match step {
                Step::Input(now, input) => machine.handle_input(*now, input.clone()),
                Step::Timeout(now) => machine.handle_timeout(*now),
                Step::Output(_) => {}
            }
        }
        match machine.poll_output() {
            Some(more) => Err(format!("after the tape: {more:?} in place of no output")),
            None => Ok(equal),
        }
    }
}
