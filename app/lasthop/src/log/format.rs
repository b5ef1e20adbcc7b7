//! The form of the log's lines: text for people, or JSON for programs.

use serde_json::{Value, json};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

use crate::failure::Failure;

/// Variable with the form.
const VARIABLE: &str = "LASTHOP_LOG_FORMAT";

/// Form of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    /// One JSON object a line, as tracing-subscriber writes it.
    Json,
}

impl Format {
    /// Returns the form that the user has chosen.
    pub(super) fn of_environment() -> Result<Self, Failure> {
        match std::env::var_os(VARIABLE) {
            None => Ok(Self::Text),
            Some(text) if text == "text" => Ok(Self::Text),
            Some(text) if text == "json" => Ok(Self::Json),
            Some(text) => Err(Failure::setting(format!(
                "{VARIABLE} is '{}'; use text or json",
                text.display()
            ))),
        }
    }

    /// Returns a line that no event of `tracing` made.
    pub(super) fn line(self, level: &str, message: &str) -> String {
        match self {
            Self::Text => message.into(),
            Self::Json => {
                let mut time = String::new();
                // Writing to a string cannot fail.
                let _ = SystemTime.format_time(&mut Writer::new(&mut time));
                json!({ "timestamp": time, "level": level, "fields": { "message": message } })
                    .to_string()
            }
        }
    }

    /// Returns the part of a line that tells its kind: the message.
    pub(super) fn message(self, line: &str) -> String {
        let parsed = self.parse(line);
        let message = parsed.as_ref().map(|line| &line["fields"]["message"]);
        message.and_then(Value::as_str).unwrap_or(line).into()
    }

    /// Returns the line for `more` lines that were left out, of which `last` was the last one.
    pub(super) fn left_out(self, more: u64, last: &str) -> String {
        let words = |last: &str| format!("and {more} more like it, the last one: {last}");
        let Some(mut line) = self.parse(last) else {
            return words(last);
        };
        line["fields"]["message"] = words(&self.message(last)).into();
        line["fields"]["left_out"] = more.into();
        line.to_string()
    }

    fn parse(self, line: &str) -> Option<Value> {
        let line = match self {
            Self::Text => None,
            Self::Json => serde_json::from_str::<Value>(line).ok(),
        };
        line.filter(|line| line["fields"].is_object())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        r#"{"timestamp":"2026-01-01T00:00:00Z","fields":{"message":"m1: left","peer":"m1"}}"#;

    #[test]
    fn lines_that_were_left_out_are_counted_in_either_form() {
        let text = Format::Text.left_out(7, "m1: left");
        assert_eq!(text, "and 7 more like it, the last one: m1: left");
        let line: Value = serde_json::from_str(&Format::Json.left_out(7, LINE)).unwrap();
        assert_eq!(line["fields"]["message"], text.as_str());
        assert_eq!(
            (&line["fields"]["left_out"], &line["fields"]["peer"]),
            (&json!(7), &json!("m1"))
        );
        assert_eq!(line["timestamp"], "2026-01-01T00:00:00Z");
        assert_eq!(
            Format::Json.left_out(1, "odd"),
            "and 1 more like it, the last one: odd"
        );
    }

    #[test]
    fn the_kind_of_a_line_depends_on_its_message_alone() {
        assert_eq!(Format::Json.message(LINE), "m1: left");
        assert_eq!(Format::Text.message("m1: left"), "m1: left");
        assert_eq!(Format::Json.message("odd"), "odd");
    }

    #[test]
    fn other_lines_have_the_form_too() {
        let line: Value =
            serde_json::from_str(&Format::Json.line("ERROR", "error: \"x\"")).unwrap();
        assert_eq!(
            (&line["level"], &line["fields"]["message"]),
            (&json!("ERROR"), &json!("error: \"x\""))
        );
        assert!(line["timestamp"].as_str().unwrap().ends_with('Z'));
        assert_eq!(Format::Text.line("ERROR", "error: x"), "error: x");
    }
}
