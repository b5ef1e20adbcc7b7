//! The effects of acknowledgements and losses on transmissions.

use units::{Duration, Instant};
use wire::hop::{AckRanges, expand};

use super::{Arq, Diagnosis, FADING};
use crate::acknowledge::DELAY_MAX;
use crate::cause::Departure;
use crate::ledger::{Content, Outcome, Settled};
use crate::pace::SilenceEffect;
use crate::stats::Fade;
use crate::{LinkEvent, Output, Sample};

/// Time that a silence must last beyond the timeout to be a fade, while it is not known how promptly the other end
/// acknowledges.
const UNKNOWN: Duration = Duration::from_millis(250);

impl Settled {
    fn departure(&self) -> Departure {
        Departure {
            sent_at: self.sent_at,
            sent_total: self.sent_total,
        }
    }
}

/// Outcome of some transmissions.
#[derive(Debug, Default)]
struct Fate {
    /// The latest one that arrived.
    latest: Option<Settled>,
    /// Time when the first one left that arrived and requested an acknowledgement.
    first: Option<Instant>,
    arrived: u64,
    is_lossy: bool,
}

impl Arq {
    pub(super) fn acknowledged(&mut self, now: Instant, arrived: Instant, ack: &AckRanges<'_>) {
        let largest = expand(ack.largest, self.ledger.next_number());
        let mut ranges = std::mem::take(&mut self.diagnosis.ranges);
        ranges.clear();
        let readable = ack
            .visit(largest, |start, end| ranges.push((start, end)))
            .is_ok();
        if readable && largest < self.ledger.next_number() {
            self.settle(now, arrived, ack, &ranges);
        } else {
            self.stats.sent.acks_refused += 1;
        }
        self.diagnosis.ranges = ranges;
    }

    fn settle(
        &mut self,
        now: Instant,
        arrived: Instant,
        ack: &AckRanges<'_>,
        ranges: &[(u64, u64)],
    ) {
        let Some((_, largest)) = ranges.first().copied() else {
            return;
        };
        let lowest = ranges.last().map_or(largest, |(start, _)| *start);
        let window = self.diagnosis.order.window(self.round_trip.smoothed());
        let overtaken = self
            .diagnosis
            .order
            .acknowledged(now, lowest, largest, window);
        let late = self.diagnosis.order.found(now, ranges);
        self.diagnosis.losses.forgive(late, &mut self.stats.sent);
        let lost_before = overtaken.min(largest.saturating_sub(self.config.reorder));
        let has_missed = std::mem::take(&mut self.pace.has_missed);
        let fate = self.settle_before(now, ranges, lost_before);
        let order = &mut self.diagnosis.order;
        order.settled(now, self.ledger.first(), fate.arrived + late, late);
        if let Some(counts) = ack.counts {
            self.ledger.marks.counted(now, largest, counts);
        }
        let Some(latest) = fate.latest else {
            self.diagnosis.causes.tell(&mut self.stats.sent.causes);
            return;
        };
        let ends_fade = self.pace.fade.is_some();
        self.heard(now, fate.is_lossy || has_missed);
        if ranges
            .first()
            .is_some_and(|(_, largest)| *largest == latest.number)
        {
            let delay = Duration::from_micros(ack.delay);
            let sample = arrived.since(latest.sent_at).saturating_sub(delay);
            if latest.asked && latest.sent_at >= self.pace.silent_until {
                self.round_trip.sample(now, sample);
                self.path.round_trip(now, &self.round_trip);
                self.set_limits(now);
            } else if ends_fade {
                self.round_trip.fade_ended(sample);
            }
            if let Some(first) = fate.first.filter(|_| !has_missed) {
                // No earlier acknowledgement was lost, so the first frame that arrived has waited there for this one.
                let late = arrived.since(first).saturating_sub(sample);
                let lateness = &mut self.round_trip.lateness;
                lateness.note(now, late, DELAY_MAX);
                self.stats.sent.stalled_there = lateness.total;
            }
            self.diagnosis
                .causes
                .note_arrival(latest.departure(), ack.arrival, fate.arrived);
            self.outputs.push_back(Output::Sample(Sample {
                sent_at: latest.sent_at,
                sent_total: latest.sent_total,
                arrival: ack.arrival,
                round_trip: sample,
                marked: self.ledger.marks.take_news(),
                lost_total: self.ledger.lost_bytes(),
            }));
        }
        self.diagnosis.causes.tell(&mut self.stats.sent.causes);
    }

    /// Settles the transmissions in `received` as arrived, and the others below `lost_before` as lost.
    fn settle_before(&mut self, now: Instant, received: &[(u64, u64)], lost_before: u64) -> Fate {
        let pattern = self.pattern(now);
        let Self {
            ledger,
            outbox,
            diagnosis:
                Diagnosis {
                    losses,
                    order,
                    causes,
                    ..
                },
            stats,
            pace,
            path,
            ..
        } = self;
        let mut fate = Fate::default();
        path.acknowledged(now, received);
        ledger.settle(now, received, lost_before, |settled, contents| {
            if path.settled(now, &settled) {
                return;
            }
            let is_lost = settled.outcome == Outcome::Lost;
            fate.is_lossy |= is_lost;
            if losses.note(is_lost, &mut stats.sent) {
                pace.fading_until = Some(now + FADING);
            }
            if is_lost {
                order.lost(settled.number);
                let in_fade = !settled.repair || pace.fade.is_some();
                causes.put_off(settled.departure(), in_fade);
            } else {
                fate.arrived += 1;
                order.arrived(now, settled.number);
                fate.latest = Some(settled);
                fate.first = fate.first.or(settled.asked.then_some(settled.sent_at));
            }
            for content in contents {
                if settled.outcome == Outcome::Arrived {
                    stats.sent.bytes_delivered += outbox.confirm(content);
                } else if settled.repair && pace.fade.is_some() {
                    outbox.lose(now, content, true);
                } else if settled.repair {
                    outbox.lose_alone(now, content, pattern);
                } else {
                    outbox.lose_doubted(content);
                }
            }
        });
        outbox.resume();
        fate
    }

    /// Returns the time when the first overtaken transmission is lost, unless it is acknowledged before.
    pub(super) fn overtaken_until(&self) -> Option<Instant> {
        let window = self.diagnosis.order.window(self.round_trip.smoothed());
        let first = self.ledger.first();
        (!window.is_zero())
            .then(|| self.diagnosis.order.deadline(first, window))
            .flatten()
    }

    /// Declares overtaken transmissions lost after the reordering window.
    pub(super) fn give_up_overtaken(&mut self, now: Instant) {
        let due = self.overtaken_until();
        let grace = &mut self.diagnosis.order.grace;
        let due = due.filter(|due| grace.after(*due) <= now);
        if due.is_some_and(|due| !grace.is_needed(now, due)) {
            let window = self.diagnosis.order.window(self.round_trip.smoothed());
            let lost_before = self.diagnosis.order.lost_before(now, window);
            self.settle_before(now, &[], lost_before);
            self.diagnosis.causes.tell(&mut self.stats.sent.causes);
        }
    }

    /// Notes that something from this end has come through, and ends the fade. A silence without loss does not count
    /// as a fade of the hop: the other end did not run.
    fn heard(&mut self, now: Instant, is_lossy: bool) {
        self.pace.last_heard = now;
        self.pace.silent_since = None;
        self.pace.due.probe = Instant::ZERO;
        self.pace.due.doubt = Instant::ZERO;
        if let Some(fade) = self.pace.fade.take() {
            self.pace.silent_until = now;
            let lasted = now.since(fade.since);
            if is_lossy {
                self.pace.silences = SilenceEffect::Lose;
                self.outbox.fresh_first = false;
                self.stats.sent.fades += 1;
                self.stats.sent.faded += lasted;
            } else {
                self.pace.silences = SilenceEffect::Hold;
                self.pace.fading_until = fade.expected_before;
            }
            let tries = &self.config.tries;
            let kept = !tries.count_fades && lasted <= tries.age;
            self.outputs
                .push_back(Output::Event(LinkEvent::FadeEnded { lasted, kept }));
        }
    }

    pub(super) fn presume_lost(&mut self, now: Instant) {
        let patience = self.patience();
        // Copies would queue behind the originals that the hop may still hold: a few show if it does.
        let spacing = self.copy_spacing(now);
        let most = spacing.map_or(usize::MAX, |_| 1);
        let silent = self
            .pace
            .silent_since
            .map_or(Duration::ZERO, |since| now.since(since));
        let spared = now - SilenceEffect::least_spacing(silent);
        let Self { ledger, outbox, .. } = self;
        let count = ledger.presume_lost(now, patience, most, spared, |content: &Content| {
            outbox.doubt(now, content);
        });
        outbox.resume();
        self.forget_quiet();
        if count == 0 {
            return;
        }
        self.pace.due.doubt = now + spacing.unwrap_or_default();
        self.path.silent(now);
        self.stats.sent.frames_presumed_lost += count as u64;
        let begun = self.pace.last_heard.max(now - patience);
        let since = *self.pace.silent_since.get_or_insert(begun);
        let is_told =
            self.round_trip.lateness.is_known(now) || now.since(since) > patience + UNKNOWN;
        if self.pace.fade.is_none() && is_told {
            let expected_before = self.pace.fading_until;
            // If the hop lost nothing in a recent silence, it has only delayed what waits in it now.
            self.outbox.fresh_first = expected_before.is_none_or(|until| now >= until);
            self.pace.fade = Some(Fade {
                since,
                expected_before,
            });
            self.outputs.push_back(Output::Event(LinkEvent::FadeBegan));
        }
        if self.pace.fade.is_some() {
            self.outputs.push_back(Output::Silence);
            self.pace.fading_until = Some(now + FADING);
        }
    }

    /// Returns the time when a silence has lasted for the retransmission timeout.
    pub(super) fn patience_ends(&self) -> Option<Instant> {
        let oldest = self.ledger.oldest_open()?;
        let from = self.held_from().map_or(oldest, |heard| heard.max(oldest));
        let due = from + self.patience();
        Some(due.max(self.pace.due.doubt))
    }

    /// Returns the retransmission timeout. On a hop that reorders, what was overtaken may be late by its window.
    fn patience(&self) -> Duration {
        let window = self.diagnosis.order.window(self.round_trip.smoothed());
        self.round_trip.patience(DELAY_MAX) + window
    }

    /// Returns the time of the last acknowledgement, on a hop that holds frames in a silence: frames that left before
    /// may still arrive.
    pub(super) fn held_from(&self) -> Option<Instant> {
        let holds = self.pace.silences == SilenceEffect::Hold;
        holds.then_some(self.pace.last_heard)
    }

    /// Returns the time between retransmissions in a silence, if the hop may still hold the originals.
    pub(super) fn copy_spacing(&self, now: Instant) -> Option<Duration> {
        let lasted = now.since(self.pace.last_heard);
        self.pace.silences.spacing(lasted)
    }
}
