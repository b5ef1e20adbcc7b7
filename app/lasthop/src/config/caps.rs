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
    /// Memory of the whole gateway.
    total: Option<Total>,
    memory: Option<Memory>,
    queue: Option<Queue>,
    new_flows: Option<NewFlows>,
    packets: Option<Packets>,
}

/// Default memory of a gateway.
const USUAL_TOTAL: Bytes = Bytes::mebi(1_024);
/// Default of new flows per second: many times what people open, and a small part of the capacity of address
/// translation.
const USUAL_NEW_FLOWS: u32 = 500;

/// Default of packets per second: 600 Mbit/s of packets of usual length, more than one gateway carries.
const USUAL_PACKETS: u32 = 50_000;

impl Caps {
    /// Returns these limits; missing ones are taken from `others`.
    pub(crate) fn or(self, others: hosts::Caps) -> hosts::Caps {
        hosts::Caps {
            memory: self.memory.map_or(others.memory, |Memory(bytes)| bytes),
            queue: self.queue.map_or(others.queue, |Queue(bytes)| bytes),
            new_flows: self
                .new_flows
                .map_or(others.new_flows, |NewFlows(most)| most),
            packets: self.packets.map(|Packets(most)| most).or(others.packets),
        }
    }

    /// Returns the memory of the gateway if it is given, which concerns all mobile hosts.
    pub(crate) fn total(self) -> Option<Bytes> {
        self.total.map(|Total(bytes)| bytes)
    }

    /// Returns the default memory of a gateway that needs `least` bytes: what is left serves those that need more.
    pub(crate) fn usual_total(least: Bytes) -> Bytes {
        USUAL_TOTAL.max(least + hosts::Caps::MEMORY_LEAST)
    }

    /// Returns the default limits of a gateway.
    pub(crate) fn usual() -> hosts::Caps {
        hosts::Caps {
            new_flows: Some(USUAL_NEW_FLOWS),
            packets: Some(USUAL_PACKETS),
            ..hosts::Caps::default()
        }
    }
}

/// The largest size that may be configured.
const MOST: Bytes = Bytes::mebi(64 << 10);

/// Limit of memory for the whole gateway.
#[derive(Debug, Clone, Copy)]
struct Total(Bytes);

impl<'de> Deserialize<'de> for Total {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        let size = within(&text, Bytes::mebi(64), MOST, USUAL_TOTAL);
        size.map(Self).map_err(de::Error::custom)
    }
}

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

/// Limit of packets per second from a mobile host.
#[derive(Debug, Clone, Copy)]
struct Packets(u32);

impl<'de> Deserialize<'de> for Packets {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let count = i64::deserialize(input)?;
        let limits = 1_000..=1_000_000;
        match u32::try_from(count) {
            Ok(count) if limits.contains(&count) => Ok(Self(count)),
            _ => Err(de::Error::custom(format!(
                "{count} packets a second is out of range; allowed: 1000 to 1000000, usual: {USUAL_PACKETS}"
            ))),
        }
    }
}
