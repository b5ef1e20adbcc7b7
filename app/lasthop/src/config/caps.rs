//! Limits of one mobile host at its gateway.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use units::Bytes;

use super::within;

/// Limits of one mobile host; a missing one is that for all mobile hosts, or the default.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Caps {
    memory: Option<Memory>,
    queue: Option<Queue>,
    new_flows: Option<NewFlows>,
}

/// Default of new flows per second: many times what people open, and a small part of the capacity of address
/// translation.
const USUAL_NEW_FLOWS: u32 = 500;

impl Caps {
    /// Returns these limits; missing ones are taken from `others`.
    pub(crate) fn or(self, others: hosts::Caps) -> hosts::Caps {
        hosts::Caps {
            memory: self.memory.map_or(others.memory, |Memory(bytes)| bytes),
            queue: self.queue.map_or(others.queue, |Queue(bytes)| bytes),
            new_flows: self
                .new_flows
                .map_or(others.new_flows, |NewFlows(most)| most),
        }
    }

    /// Returns the default limits of a gateway.
    pub(crate) fn usual() -> hosts::Caps {
        hosts::Caps {
            new_flows: Some(USUAL_NEW_FLOWS),
            ..hosts::Caps::default()
        }
    }
}

/// The largest size that may be configured.
const MOST: Bytes = Bytes::mebi(64 << 10);

/// Limit of memory for a mobile host.
#[derive(Debug, Clone, Copy)]
struct Memory(Bytes);

impl<'de> Deserialize<'de> for Memory {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        let usual = hosts::Caps::default().memory;
        let least = hosts::Caps::MEMORY_LEAST;
        let size = within(&text, least, MOST, usual);
        size.map(Self).map_err(de::Error::custom)
    }
}

/// Limit of the queue of a mobile host.
#[derive(Debug, Clone, Copy)]
struct Queue(Bytes);

impl<'de> Deserialize<'de> for Queue {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        let usual = hosts::Caps::default().queue;
        let size = within(&text, Bytes::kibi(128), MOST, usual);
        size.map(Self).map_err(de::Error::custom)
    }
}

/// Limit of new flows per second; `None` without a limit.
#[derive(Debug, Clone, Copy)]
struct NewFlows(Option<u32>);

impl<'de> Deserialize<'de> for NewFlows {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(NewFlowsVisitor)
    }
}

struct NewFlowsVisitor;

impl Visitor<'_> for NewFlowsVisitor {
    type Value = NewFlows;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "new flows a second, 1 or more (usual: {USUAL_NEW_FLOWS}), or \"unlimited\""
        )
    }

    fn visit_i64<E: de::Error>(self, count: i64) -> Result<NewFlows, E> {
        match u32::try_from(count) {
            Ok(count @ 1..) => Ok(NewFlows(Some(count))),
            _ => Err(E::invalid_value(de::Unexpected::Signed(count), &self)),
        }
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<NewFlows, E> {
        match text {
            "unlimited" => Ok(NewFlows(None)),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }
}
