//! The status of a mount, for people.

use std::fmt::Write;

use serde_json::Value;
use units::{Bytes, Duration};

/// Returns the page.
pub(super) fn render(status: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let mut page = format!(
        "{} on {}\n",
        text(&status["source"]),
        text(&status["point"])
    );
    let silent = status["silent_for_s"].as_f64();
    let answers = silent.map_or_else(
        || "answers".to_owned(),
        |seconds| format!("silent for {}", seconds_of(seconds)),
    );
    let server = format!(
        "{} by {}, {answers}",
        text(&status["server"]),
        text(&status["protocol"])
    );
    line(&mut page, "server", &server);
    line(&mut page, "not safe", &unsafe_data(status));
    line(&mut page, "waiting", &waiting(status));
    let open = status["open_files"].as_u64().unwrap_or_default();
    line(&mut page, "open", &format!("{open} files"));
    let calls = &status["calls"]["sent"];
    let (calls, messages) = (calls["calls"].as_u64(), calls["messages"].as_u64());
    if let (Some(calls), Some(messages)) = (calls, messages) {
        let again = messages.saturating_sub(calls);
        line(&mut page, "calls", &format!("{calls}, {again} sent again"));
    }
    line(&mut page, "log", &text(&status["log"]));
    page
}

/// Describes the data that would be lost if the mount ended now.
pub(super) fn unsafe_data(status: &Value) -> String {
    let bytes = status["unsafe_bytes"].as_u64().unwrap_or_default();
    match status["unsafe_files"].as_u64().unwrap_or_default() {
        0 => "nothing".into(),
        1 => format!("{} in 1 file", Bytes::new(bytes)),
        files => format!("{} in {files} files", Bytes::new(bytes)),
    }
}

fn waiting(status: &Value) -> String {
    let oldest = status["oldest_request_s"].as_f64().unwrap_or_default();
    match status["requests"].as_u64().unwrap_or_default() {
        0 => "nothing".into(),
        1 => format!("1 request, for {}", seconds_of(oldest)),
        requests => format!("{requests} requests, the oldest for {}", seconds_of(oldest)),
    }
}

/// Returns the time since the last reply of the server, if it is silent.
pub(super) fn silence(status: &Value) -> Option<String> {
    status["silent_for_s"].as_f64().map(seconds_of)
}

fn seconds_of(seconds: f64) -> String {
    match seconds as u64 {
        0 => "less than 1 s".into(),
        seconds => Duration::from_secs(seconds).to_string(),
    }
}

fn line(page: &mut String, name: &str, value: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(page, "  {name:<9} {value}");
}
