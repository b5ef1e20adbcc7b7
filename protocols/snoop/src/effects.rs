//! The context and the effects of an event.

use std::collections::VecDeque;

use units::Instant;

use crate::{Config, Counters, Output};

/// Context of one event.
pub(crate) struct Context<'a> {
    pub(crate) now: Instant,
    pub(crate) config: &'a Config,
    /// Bytes that may still be cached, over all connections.
    pub(crate) room: u64,
}

impl Context<'_> {
    /// Returns true if senders are shielded from losses that are repaired here.
    pub(crate) fn shields(&self) -> bool {
        self.config.tcp_aware && self.config.repair
    }
}

/// Effects of events.
#[derive(Debug)]
pub(crate) struct Effects<P> {
    pub(crate) outputs: VecDeque<Output<P>>,
    pub(crate) counters: Counters,
}

impl<P> Effects<P> {
    pub(crate) fn new() -> Self {
        Self {
            outputs: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Sends a copy from the cache, ahead of other packets.
    pub(crate) fn repair(&mut self, packet: P) {
        self.counters.repairs += 1;
        self.send_to_mobile(packet, true);
    }

    pub(crate) fn send_to_mobile(&mut self, packet: P, priority: bool) {
        self.outputs
            .push_back(Output::ToMobile { packet, priority });
    }

    pub(crate) fn send_to_fixed(&mut self, packet: P) {
        self.outputs.push_back(Output::ToFixed(packet));
    }
}
