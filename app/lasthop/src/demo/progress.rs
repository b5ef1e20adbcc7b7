//! One line of progress for each run.

use std::ops::ControlFlow;

use edges::signals::{Signal, Signals};
use indicatif::ProgressBar;
use units::{BitRate, Bytes};

use super::measure::Progress;
use super::plan::RunPlan;
use crate::bar::bar;

/// The line of one run.
pub(crate) struct Line {
    bar: ProgressBar,
}

impl Line {
    /// Creates a line for `plan`; it is hidden unless `visible`.
    pub(crate) fn new(plan: &RunPlan, visible: bool) -> Self {
        let length = plan.size.get() * plan.way.directions().len() as u64;
        let bar = bar("{prefix:<26} {bar:36} {bytes:>11} {msg}", visible);
        bar.set_length(length);
        bar.set_prefix(plan.scheme.describe(&plan.sender));
        Self { bar }
    }

    /// Shows the progress; stops the run when a signal requests the end.
    pub(crate) fn show(&self, progress: Progress, signals: &mut Signals) -> ControlFlow<()> {
        self.bar.set_position(progress.bytes);
        let rate = BitRate::of(Bytes::new(progress.bytes), progress.elapsed).unwrap_or_default();
        let seconds = progress.elapsed.as_secs_f64();
        let rate = rate.bits_per_second() as f64 / 1e6;
        self.bar
            .set_message(format!("{seconds:5.1} s  {rate:7.2} Mbit/s"));
        if signals.pending().any(Signal::ends) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.bar.abandon();
    }
}
