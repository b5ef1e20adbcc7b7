//! The changes of the window by what arrives.

use arq::Sample;
use units::{Bytes, Duration, Instant};

use super::rivals::{Mode, Verdict, View};
use super::wanted::WantedWait;
use super::{Control, GROWTH, INITIAL_WINDOW};

/// Bounds, in microseconds, of the wait that ends a start. Between them it is an eighth of the round trip (RFC 9406
/// §4.2).
const START_WAIT: (i64, i64) = (4_000, 16_000);
/// Largest window before a rate is measured, in bytes.
const UNMEASURED: u64 = 8 * INITIAL_WINDOW;
/// Share of the recent rate below which the rate has fallen.
const FELL: (u64, u64) = (4, 5);
/// Share of the window that remains for a round trip after a mark (RFC 8511 has the same for TCP).
const MARKED: (u64, u64) = (17, 20);
/// Number of later frames until a loss is detected.
const TOLD_BY: u64 = 4;
/// Share of the window that remains on a path that turned out to be longer.
const KEPT: (u64, u64) = (9, 10);

impl Control {
    /// Finds out if others fill the queue, and adopts or drops delays accordingly.
    pub(super) fn consult(&mut self, now: Instant, sample: &Sample, limited: bool) {
        let view = self.view(sample);
        match self.rivals.note(now, view, limited) {
            Verdict::None => {}
            Verdict::Adopt(wait) => {
                self.delays.adopt(wait);
                let longer = view.unloaded + Duration::from_micros(wait.max(0) as u64);
                let peak = self.deliveries.peak().unwrap_or(self.smoothed);
                let (numerator, denominator) = KEPT;
                let window = peak.bytes_in(longer).get() * numerator / denominator;
                self.window = self.window.max(window);
                self.times.held_until = now + longer;
            }
            Verdict::Disown => {
                let offset = self.delays.disown();
                self.rivals.disowned(offset);
            }
        }
    }

    fn view(&self, sample: &Sample) -> View {
        let wait = self.heard.map_or(0, |heard| heard.wait);
        let frame = self.frame_time();
        let peak = self.deliveries.peak().unwrap_or(self.smoothed);
        let (numerator, denominator) = FELL;
        let unloaded = self.unloaded();
        // If the rate has fallen, a frame takes longer than the frames with the smallest delay did.
        let slow = self
            .rate
            .map_or(self.smoothed, |rate| rate.min(self.smoothed));
        let slow = slow.time_for(Bytes::new(self.frame));
        View {
            wait,
            wanted: self.wanted_wait(),
            empty: WantedWait::none(slow.max(frame)),
            unloaded,
            rate: self.smoothed,
            fell: self.smoothed < peak.scaled(numerator, denominator),
            former: peak
                .bytes_in(unloaded + Duration::from_micros(wait.max(0) as u64))
                .get(),
            sent: sample.sent_total,
            newest: self.counts.sent,
            frame: self.frame,
            frame_time: frame,
        }
    }

    /// Sets the window.
    pub(super) fn advance(
        &mut self,
        now: Instant,
        sample: &Sample,
        (lost, marked): (bool, bool),
        full: bool,
        outstanding: u64,
    ) {
        let frame = self.frame_time();
        let wait = self.counts.waits.into_iter().min().unwrap_or(0);
        let bytes = sample.sent_total.saturating_sub(self.counts.arrived);
        if self.is_starting() && wait < WantedWait::none(frame) && outstanding > self.window / 2 {
            // The rate of TCP in slow start doubles with each round trip, and must not be delayed here.
            let most = self.rate.map_or(UNMEASURED, |rate| {
                rate.scaled(4, 1).bytes_in(self.unloaded()).get()
            });
            self.window = (self.window + bytes).min(most).max(self.window);
        }
        self.counts.arrived = sample.sent_total;
        let Some(rate) = self.rate else {
            return;
        };
        let unloaded = self.unloaded();
        match &mut self.rivals.mode {
            Mode::Starting => {
                let least = Duration::from_micros(WantedWait::least(frame) as u64);
                let window = rate.scaled(2, 1).bytes_in(unloaded + least).get();
                self.window = window.max(self.window);
                let (least, most) = START_WAIT;
                let eighth = (unloaded / 8).as_micros() as i64;
                let long = eighth.clamp(least, most).max(WantedWait::least(frame));
                let congested = marked || (lost && wait > WantedWait::none(frame));
                if full && (wait > long || congested) {
                    self.rivals.mode = Mode::Alone;
                }
            }
            Mode::Alone => {
                let wanted = Duration::from_micros(self.wanted_wait() as u64);
                let window = rate.bytes_in(unloaded + wanted).get();
                let mut grown = window * self.growth() / GROWTH[0];
                if now < self.times.marked_until {
                    grown = grown * MARKED.0 / MARKED.1;
                }
                self.window = if now < self.times.held_until {
                    grown.max(self.window)
                } else {
                    grown
                };
            }
            Mode::Testing(test) => {
                // The smoothed value would hide a queue that has stood for long.
                let shortest = self.delays.shortest().unwrap_or(unloaded);
                let product = rate.bytes_in(shortest.min(unloaded)).get();
                self.window = test.window(product, self.frame);
            }
            Mode::Competing(cubic) => {
                let heard = self.heard.map_or(0, |heard| heard.wait);
                let deepest = self.heard.map_or(0, |heard| heard.deepest);
                if marked || (lost && heard * 2 > deepest) {
                    // A later frame reveals a loss, so losses just after the previous one are of the same round.
                    let newest = self.counts.sent + TOLD_BY * self.frame;
                    cubic.congested(sample.sent_total, newest);
                } else {
                    cubic.arrived(now, bytes, self.frame, unloaded);
                }
                self.window = cubic.bytes(self.frame);
            }
        }
    }
}
