//! The progress of experiments: a bar on a terminal, otherwise a line from time to time.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use edges::signals::{Signal, Signals};
use experiment::Progress;
use indicatif::ProgressBar;

use crate::bar::{bar, say};
use crate::failure::INTERRUPTED;

/// Time between two lines without a terminal.
const LINE: Duration = Duration::from_secs(10);

/// The progress of one experiment, on standard error.
pub(crate) struct Line<'a> {
    name: &'static str,
    bar: ProgressBar,
    signals: &'a mut Signals,
    begun: Instant,
    told: Instant,
    is_first: bool,
    is_ending: bool,
}

impl<'a> Line<'a> {
    pub(crate) fn new(name: &'static str, signals: &'a mut Signals) -> Self {
        let now = Instant::now();
        let template = "{prefix:<20} {bar:32} {pos}/{len} runs  {per_sec}  {eta} left";
        let bar = bar(template, std::io::stderr().is_terminal());
        bar.set_prefix(name);
        Self {
            name,
            bar,
            signals,
            begun: now,
            told: now,
            is_first: true,
            is_ending: false,
        }
    }

    /// Shows the progress; stops the run at the first signal that requests the end, and exits at the second.
    pub(crate) fn show(&mut self, progress: Progress) -> ControlFlow<()> {
        if self.is_first {
            self.begin(progress);
        }
        if self.bar.is_hidden() {
            self.tell(progress);
        } else {
            self.bar.set_length(progress.total);
            self.bar.set_position(progress.done);
        }
        let asked = self.signals.pending().any(Signal::ends);
        if asked && self.is_ending {
            // Finished runs are stored; runs in flight are lost.
            std::process::exit(INTERRUPTED.into());
        }
        if asked {
            self.is_ending = true;
            self.say("waiting for the runs in flight; interrupt again to drop them");
        }
        if self.is_ending {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn begin(&mut self, progress: Progress) {
        self.is_first = false;
        if progress.resumed > 0 {
            let (resumed, total) = (progress.resumed, progress.total);
            self.say(&format!("{resumed} of {total} runs are there already"));
        }
        if progress.dropped > 0 {
            self.say(&format!("{} damaged runs are repeated", progress.dropped));
        }
        self.bar.set_position(progress.resumed);
        self.bar.reset_eta();
    }

    fn tell(&mut self, progress: Progress) {
        if self.told.elapsed() < LINE {
            return;
        }
        self.told = Instant::now();
        let ended = progress.done.saturating_sub(progress.resumed);
        let speed = ended as f64 / self.begun.elapsed().as_secs_f64();
        let left = (progress.total - progress.done) as f64 / speed.max(1e-9);
        let (done, total) = (progress.done, progress.total);
        self.say(&format!(
            "{done} of {total} runs, {speed:.1} runs/s, {left:.0} s left"
        ));
    }

    fn say(&self, text: &str) {
        say(&self.bar, &format!("{}: {text}", self.name));
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
