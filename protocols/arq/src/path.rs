//! How long frames may be on the path that they take.

use machine::Machine;
use pathmtu::{Input, News, Output, PathMtu};
use units::{BitRate, Instant};

use crate::Config;
use crate::ledger::{Outcome, Settled};
use crate::round_trip::RoundTrip;

/// A frame that leaves less of its room than this could have been longer.
const NEARLY: usize = 64;
/// What a frame has at least, however little the path carries.
const FRAME_LEAST: usize = 64;

/// How the length of frames is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathSearch {
    /// Between which lengths of packets.
    pub lengths: pathmtu::Config,
    /// What a packet has around its frame, in bytes.
    pub around: usize,
}

/// News of the path that frames take; lengths are those of packets, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathNews {
    /// It leads elsewhere, and a packet there has so many bytes around its frame.
    Moved(usize),
    /// It may lead elsewhere.
    Uncertain,
    /// Somebody says that it carries no longer packets than this; it may be forged.
    Said(usize),
    /// This host itself does not send a frame of so many bytes.
    Refused(usize),
}

/// The path of frames, as far as it is known.
#[derive(Debug, Clone)]
pub struct Path {
    search: Option<(PathMtu, usize)>,
    /// What frames have without a search.
    frame: usize,
    /// The longest frame that has come.
    received: usize,
    /// What any path should carry of the lengths that are searched.
    least: usize,
}

/// What is to be put on the air for the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// A frame of so many bytes, and a short one.
    Probe(usize),
    /// A short one.
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

    /// How many bytes a frame may have now.
    pub fn frame(&self) -> usize {
        match &self.search {
            Some((path, around)) => path.length().saturating_sub(*around).max(FRAME_LEAST),
            None => self.frame,
        }
    }

    /// The longest packet that the path from here carries, in bytes; nothing before it has been found, or where it is
    /// not searched.
    pub fn found(&self) -> Option<usize> {
        self.search.as_ref().and_then(|(path, _)| path.found())
    }

    /// Whether the path has been found to carry less than packets have at least, as any path of IPv6 carries.
    pub fn is_cut(&self) -> bool {
        self.found().is_some_and(|found| found < self.least)
    }

    /// The longest packet that has come from the other end, in bytes; nothing where the path is not searched.
    pub fn received_most(&self) -> Option<usize> {
        let (_, around) = self.search.as_ref().filter(|_| self.received > 0)?;
        Some(self.received + around)
    }

    fn tell(&mut self, now: Instant, input: Input) {
        if let Some((path, _)) = &mut self.search {
            path.handle_input(now, input);
        }
    }

    /// Since when, or from when on, a grant of the air would be used.
    pub(crate) fn air_wanted_from(&self) -> Option<Instant> {
        self.search
            .as_ref()
            .and_then(|(path, _)| path.air_wanted_from())
    }

    /// What is to be sent, where the air is granted.
    pub(crate) fn due(&mut self, now: Instant) -> Option<Due> {
        let (path, around) = self.search.as_mut()?;
        path.handle_input(now, Input::AirFree);
        path.poll_output().map(|output| match output {
            Output::Probe(length) => Due::Probe(length.saturating_sub(*around)),
            Output::Short => Due::Short,
        })
    }

    /// What was to be tried has left under this number, and the short frame under the next.
    pub(crate) fn sent(&mut self, now: Instant, number: u64) {
        self.tell(now, Input::Sent(number));
    }

    /// A frame of so many bytes leaves.
    pub(crate) fn filled(&mut self, now: Instant, bytes: usize) {
        if bytes + NEARLY > self.frame() {
            self.tell(now, Input::Wanted);
        }
    }

    /// Longer frames than now would be of use.
    pub(crate) fn wanted(&mut self, now: Instant) {
        self.tell(now, Input::Wanted);
    }

    /// A frame of so many bytes has come.
    pub(crate) fn received(&mut self, bytes: usize) {
        self.received = self.received.max(bytes);
    }

    /// The transmissions in `ranges` (`start..=end`) have arrived.
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

    /// What became of a transmission; true if nothing else follows from it: it was a try.
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
