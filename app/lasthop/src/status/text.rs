//! Parts of lines of the page.

use std::fmt::Write;

use units::Duration;

pub(super) fn some(count: u64, what: &str) -> Option<String> {
    (count > 0).then(|| format!("{count} {what}"))
}

pub(super) fn line(page: &mut String, name: &str, content: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(page, "{name:<17} {content}");
}

/// Returns a span in the form of ages on the page.
pub(super) fn seconds(span: Duration) -> String {
    age(span.as_millis() / 1000)
}

pub(super) fn age(seconds: u64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{minutes} min {} s", seconds % 60),
        _ => format!("{hours} h {} min", minutes % 60),
    }
}
