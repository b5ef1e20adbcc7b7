//! The format of lines.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use crate::{Event, LINE_MAX, PEER_MAX, Refusal, Signal, VERSION};

/// Event of the first line.
const GREETING: &str = "signals";

/// Keys of a line; unknown ones are ignored.
#[derive(Default, Serialize, Deserialize)]
struct Line<'a> {
    event: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lasted_us: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    past: bool,
}

impl Signal {
    /// Returns the first line of a connection.
    pub fn greeting() -> String {
        Line {
            event: GREETING.into(),
            version: Some(VERSION),
            ..Line::default()
        }
        .text()
    }

    /// Returns the line of this signal, its end included.
    pub fn to_line(&self) -> String {
        let mut line = Line {
            event: self.event.name().into(),
            at_us: Some(self.at.since_origin().as_micros()),
            peer: Some(Cow::Borrowed(&self.peer)),
            past: self.past,
            ..Line::default()
        };
        match self.event {
            Event::HandoffImpending { within } => line.in_us = Some(within.as_micros()),
            Event::Restored { kept, held, lasted } => {
                line.kept = Some(kept);
                line.held = Some(held);
                line.lasted_us = Some(lasted.as_micros());
            }
            Event::Fade | Event::Disconnected => {}
        }
        line.text()
    }
}

impl Line<'_> {
    fn text(&self) -> String {
        let mut text = serde_json::to_string(self).expect("numbers and text under names");
        text.push('\n');
        debug_assert!(text.len() <= LINE_MAX, "{text}");
        text
    }
}

/// Checks the first line of a connection.
pub(crate) fn read_greeting(bytes: &[u8]) -> Result<(), Refusal> {
    let line: Line<'_> = serde_json::from_slice(bytes).map_err(|_| Refusal::NotSignals)?;
    match line.version {
        Some(VERSION) if line.event == GREETING => Ok(()),
        Some(version) if line.event == GREETING => Err(Refusal::OtherVersion(version)),
        _ => Err(Refusal::NotSignals),
    }
}

/// Parses any other line. Returns none if its event is unknown.
pub(crate) fn read_signal(bytes: &[u8]) -> Result<Option<Signal>, Refusal> {
    let line: Line<'_> = serde_json::from_slice(bytes).map_err(|_| Refusal::Malformed)?;
    let present = |value: Option<u64>| value.ok_or(Refusal::Malformed);
    let span = |value| Ok(Duration::from_micros(present(value)?));
    let event = match &*line.event {
        "handoff_impending" => Event::HandoffImpending {
            within: span(line.in_us)?,
        },
        "fade" => Event::Fade,
        "restored" => Event::Restored {
            kept: line.kept.ok_or(Refusal::Malformed)?,
            held: line.held.ok_or(Refusal::Malformed)?,
            lasted: span(line.lasted_us)?,
        },
        "disconnected" => Event::Disconnected,
        _ => return Ok(None),
    };
    let peer = line.peer.ok_or(Refusal::Malformed)?;
    // The name may be shown on a terminal.
    if peer.len() > PEER_MAX || peer.chars().any(char::is_control) {
        return Err(Refusal::Malformed);
    }
    Ok(Some(Signal {
        at: Instant::ZERO + span(line.at_us)?,
        peer: peer.into_owned(),
        event,
        past: line.past,
    }))
}
