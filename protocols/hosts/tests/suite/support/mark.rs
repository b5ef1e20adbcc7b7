//! A mark of all that two hosts do, by which runs are compared.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use channel::Link;
use hosts::Output;
use units::Instant;

use super::{Pair, Setting};

/// A hash of every output with its time and host, in the few tests that look at it: it takes a twentieth of the time of
/// a run.
pub(super) struct Mark(Option<DefaultHasher>);

impl Mark {
    pub(super) fn new(is_wanted: bool) -> Self {
        Self(is_wanted.then(DefaultHasher::new))
    }

    /// Mixes an output into the mark.
    pub(super) fn note(&mut self, now: Instant, host: usize, output: &Output) {
        let Some(mark) = &mut self.0 else {
            return;
        };
        (host, now.as_nanos()).hash(mark);
        match output {
            Output::Datagram { buffer, .. } => buffer.hash(mark),
            Output::Packet(packet) => packet.hash(mark),
            _ => {}
        }
    }
}

impl Pair {
    /// A pair over a named link that keeps a mark.
    pub(crate) fn marked(link: &str, seed: u64) -> Self {
        let setting = Setting {
            is_marked: true,
            ..Setting::usual(seed)
        };
        Self::with(Link::named(link).expect("a link"), setting)
    }

    /// Returns a hash of all outputs and their times, equal for equal runs.
    pub(crate) fn mark(&self) -> u64 {
        self.mark.0.as_ref().expect("a marked pair").finish()
    }
}
