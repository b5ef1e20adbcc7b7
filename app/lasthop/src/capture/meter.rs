//! The progress of a capture, and its result, on standard error.

use std::fmt;
use std::io::IsTerminal;

use indicatif::ProgressBar;
use runtime::capture::Counts;
use units::Bytes;

use super::file::Written;
use crate::bar::{bar, say};

/// The line of progress; it is there only on a terminal.
pub(super) struct Meter(ProgressBar);

impl Meter {
    pub(super) fn new() -> Self {
        Self(bar("{spinner} {msg}", std::io::stderr().is_terminal()))
    }

    /// Shows what was written and dropped so far.
    pub(super) fn show(&self, written: Written, counts: [Counts; 2]) {
        if !self.0.is_hidden() {
            self.0
                .set_message(format!("{}, Ctrl-C ends", Totals { written, counts }));
            self.0.tick();
        }
    }

    /// Removes the line, and reports the result.
    pub(super) fn finish(&self, daemon: &str, written: Written, counts: [Counts; 2]) {
        self.0.finish_and_clear();
        let totals = Totals { written, counts };
        say(&self.0, &format!("captured of daemon '{daemon}': {totals}"));
        if totals.dropped() > 0 {
            say(
                &self.0,
                "what was dropped came faster than it was written; --snap, --peer, --inner and --hop capture less",
            );
        }
    }
}

struct Totals {
    written: Written,
    counts: [Counts; 2],
}

impl Totals {
    fn dropped(&self) -> u64 {
        self.counts.iter().map(|counts| counts.dropped).sum()
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [inner, hop] = self.written.records;
        let bytes = Bytes::new(self.written.bytes);
        let dropped = self.dropped();
        write!(
            formatter,
            "{inner} packets of the device, {hop} frames of the hop, {bytes}, {dropped} dropped"
        )
    }
}
