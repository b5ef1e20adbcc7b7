//! The length of frames on the path that they take.

use machine::Machine;
use pathmtu::{Input, News, Output, PathMtu};
use units::{BitRate, Instant};

use crate::Config;
use crate::ledger::{Outcome, Settled};
use crate::round_trip::RoundTrip;

/// Bytes of room below which a frame counts as full, so that a longer one would be useful.
const NEARLY: usize = 64;
/// Least length of a frame in bytes, however short the path MTU.
const FRAME_LEAST: usize = 64;

/// Configuration of the search for the length of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathSearch {
    /// Limits on the length of packets.
    pub lengths: pathmtu::Config,
    /// Bytes that a packet has around its frame.
    pub around: usize,
}

/// News of the path that frames take; lengths are those of packets, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathNews {
    /// The path changed, and a packet there has this many bytes around its frame.
    Moved(usize),
    /// The path may have changed.
    Uncertain,
    /// A message reports that the path carries no longer packets than this; it may be forged.
    Said(usize),
    /// This host itself refuses to send a frame of this many bytes.
    Refused(usize),
}

/// The path of frames, as far as it is known.
#[derive(Debug, Clone)]
pub struct Path {
    search: Option<(PathMtu, usize)>,
    /// Length of frames without a search.
    frame: usize,
    /// Length of the longest frame received.
    received: usize,
    /// Length that any path should carry, of those in the search.
    least: usize,
}

/// Frames that the search sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathProbe {
    /// A frame of this many bytes, and a short one.
    Probe(usize),
    /// A short frame.
    Short,
}

impl Path {
    pub(crate) fn new(config: &Config) -> Self {
        let search = config.path.as_ref();
        Self {
            search: search.map(|search| (PathMtu::new(search.lengths), search.around)),
            frame: config.frame,
            received: 0,
            least: search.map_or(0, |search| pathmtu::BASE.min(search.lengths.bound)),
        }
    }

    /// Returns the most bytes that a frame may have now.
    pub fn frame(&self) -> usize {
        match &self.search {
            Some((path, around)) => path.length().saturating_sub(*around).max(FRAME_LEAST),
            None => self.frame,
        }
    }

    /// Returns the path MTU from here in bytes; `None` before it is found, or without a search.
    pub fn found(&self) -> Option<usize> {
        self.search.as_ref().and_then(|(path, _)| path.found())
    }

    /// Returns true if the path was found to carry less than the least length that any path of IPv6 carries.
    pub fn is_cut(&self) -> bool {
        self.found().is_some_and(|found| found < self.least)
    }

    /// Returns the length of the longest packet from the other end, in bytes; `None` without a search.
    pub fn received_most(&self) -> Option<usize> {
        let (_, around) = self.search.as_ref().filter(|_| self.received > 0)?;
        Some(self.received + around)
    }

    fn tell(&mut self, now: Instant, input: Input) {
        if let Some((path, _)) = &mut self.search {
            path.handle_input(now, input);
        }
    }

    /// Returns the time from which a grant would be used, which may be past.
    pub(crate) fn air_wanted_from(&self) -> Option<Instant> {
        self.search
            .as_ref()
            .and_then(|(path, _)| path.air_wanted_from())
    }

    /// Returns the frame to send, once the air is granted.
    pub(crate) fn due(&mut self, now: Instant) -> Option<PathProbe> {
        let (path, around) = self.search.as_mut()?;
        path.handle_input(now, Input::AirFree);
        path.poll_output().map(|output| match output {
            Output::Probe(length) => PathProbe::Probe(length.saturating_sub(*around)),
            Output::Short => PathProbe::Short,
        })
    }

    /// Records that a probe has left with this number, and the short frame with the next.
    pub(crate) fn sent(&mut self, now: Instant, number: u64) {
        self.tell(now, Input::Sent(number));
    }

    /// Records that a frame of this many bytes leaves.
    pub(crate) fn filled(&mut self, now: Instant, bytes: usize) {
        if bytes + NEARLY > self.frame() {
            self.tell(now, Input::Wanted);
        }
    }

    /// Records that longer frames would be useful.
    pub(crate) fn wanted(&mut self, now: Instant) {
        self.tell(now, Input::Wanted);
    }

    /// Records a received frame of this many bytes.
    pub(crate) fn received(&mut self, bytes: usize) {
        self.received = self.received.max(bytes);
    }

    /// Records that the transmissions in `ranges` (`start..=end`) have arrived.
    pub(crate) fn acknowledged(&mut self, now: Instant, ranges: &[(u64, u64)]) {
        let Some((path, _)) = &mut self.search else {
            return;
        };
        let within = |number: &u64| {
            let mut ranges = ranges.iter();
            ranges.any(|(start, end)| (*start..=*end).contains(number))
        };
        loop {
            let arrived = path.numbers().find(within);
            let Some(number) = arrived else { return };
            path.handle_input(now, Input::Arrived(number));
        }
    }

    /// Records the outcome of a transmission; returns true if it was a probe, so that nothing else follows from it.
    pub(crate) fn settled(&mut self, now: Instant, settled: &Settled) -> bool {
        if settled.is_padded {
            return true;
        }
        if let Some((path, around)) = &mut self.search {
            let length = settled.length + *around;
            let arrived = settled.outcome == Outcome::Arrived;
            let sent_at = settled.sent_at;
            let fate = Input::Fate {
                length,
                sent_at,
                arrived,
            };
            path.handle_input(now, fate);
        }
        false
    }

    pub(crate) fn silent(&mut self, now: Instant) {
        self.tell(now, Input::Silence);
    }

    pub(crate) fn rate(&mut self, now: Instant, rate: BitRate) {
        self.tell(now, Input::Rate(rate));
    }

    pub(crate) fn round_trip(&mut self, now: Instant, round_trip: &RoundTrip) {
        let smoothed = round_trip.smoothed();
        let patience = round_trip.patience(crate::acknowledge::DELAY_MAX);
        self.tell(now, Input::RoundTrip { smoothed, patience });
    }

    pub(crate) fn news(&mut self, now: Instant, news: PathNews) {
        let Some((path, around)) = &mut self.search else {
            return;
        };
        let news = match news {
            PathNews::Moved(new) => {
                *around = new;
                self.received = 0;
                News::Moved
            }
            PathNews::Uncertain => News::Uncertain,
            PathNews::Said(most) => News::Said(most),
            PathNews::Refused(frame) => News::Refused(frame + *around),
        };
        path.handle_input(now, Input::News(news));
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if let Some((path, _)) = &mut self.search {
            path.handle_timeout(now);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.search
            .as_ref()
            .and_then(|(path, _)| path.poll_timeout())
    }
}
