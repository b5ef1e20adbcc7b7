//! How far a command is, on a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar on standard error, drawn by a template of indicatif's; one that nobody sees unless `is_seen`.
pub(crate) fn bar(template: &str, is_seen: bool) -> ProgressBar {
    let bar = if is_seen {
        ProgressBar::new(0)
    } else {
        ProgressBar::hidden()
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Writes a line to standard error: above the bar, if it is seen.
pub(crate) fn say(bar: &ProgressBar, line: &str) {
    if bar.is_hidden() {
        eprintln!("{line}");
    } else {
        bar.println(line);
    }
}
