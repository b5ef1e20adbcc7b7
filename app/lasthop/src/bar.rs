//! A progress bar on a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// Returns a bar on standard error, drawn by an indicatif template; it is hidden unless `is_seen`.
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

/// Writes a line to standard error, above the bar if that is visible.
pub(crate) fn say(bar: &ProgressBar, line: &str) {
    if bar.is_hidden() {
        eprintln!("{line}");
    } else {
        bar.println(line);
    }
}
