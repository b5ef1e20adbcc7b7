//! The status of a mount, for people.

use std::fmt::Write;

use units::{Bytes, Duration};

use super::answer::Status;

/// Returns the page.
pub(super) fn render(status: &Status) -> String {
    let connection = &status.connection;
    let mut page = format!("{} on {}\n", status.source, status.point);
    let silent = silence(status);
    let answers = silent.map_or_else(|| "answers".into(), |span| format!("silent for {span}"));
    let server = format!(
        "{} by {}, {answers}",
        connection.server, connection.protocol
    );
    line(&mut page, "server", &server);
    line(&mut page, "not safe", &unsafe_data(status));
    line(&mut page, "waiting", &waiting(status));
    line(&mut page, "open", &format!("{} files", status.open_files));
    let sent = &connection.calls.sent;
    let again = sent.messages.saturating_sub(sent.calls);
    let calls = format!("{}, {again} sent again", sent.calls);
    line(&mut page, "calls", &calls);
    line(&mut page, "log", &status.log);
    page
}

/// Returns a description of the data that would be lost if the mount ended now.
pub(super) fn unsafe_data(status: &Status) -> String {
    let bytes = Bytes::new(status.connection.unsafe_bytes);
    match status.connection.unsafe_files {
        0 => "nothing".into(),
        1 => format!("{bytes} in 1 file"),
        files => format!("{bytes} in {files} files"),
    }
}

fn waiting(status: &Status) -> String {
    let oldest = || whole_seconds(status.oldest_request_s.unwrap_or_default() as u64);
    match status.requests {
        0 => "nothing".into(),
        1 => format!("1 request, for {}", oldest()),
        requests => format!("{requests} requests, the oldest for {}", oldest()),
    }
}

/// Returns the duration of the server's silence as text, if it is silent.
pub(super) fn silence(status: &Status) -> Option<String> {
    let silent = status.connection.silent_for;
    silent.map(|span| whole_seconds(span.as_millis() / 1000))
}

fn whole_seconds(seconds: u64) -> String {
    match seconds {
        0 => "less than 1 s".into(),
        seconds => Duration::from_secs(seconds).to_string(),
    }
}

fn line(page: &mut String, name: &str, value: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(page, "  {name:<9} {value}");
}
