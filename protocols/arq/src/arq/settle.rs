//! What becomes of transmissions, and what follows from it.

use units::{Duration, Instant};
use wire::hop::{AckRanges, expand};

use super::{Arq, FADING};
use crate::acknowledge::DELAY_MAX;
use crate::ledger::{Content, Outcome, Settled};
use crate::stats::Fade;
use crate::{LinkEvent, Output, Sample};

impl Arq {
    pub(super) fn acknowledged(&mut self, now: Instant, arrived: Instant, ack: &AckRanges<'_>) {
        let largest = expand(ack.largest, self.ledger.next_number());
        let mut ranges = std::mem::take(&mut self.scratch);
        ranges.clear();
        let readable = ack
            .visit(largest, |start, end| ranges.push((start, end)))
            .is_ok();
        if readable && largest < self.ledger.next_number() {
            self.settle(now, arrived, (ack, &ranges));
        } else {
            self.stats.sent.acks_refused += 1;
        }
        self.scratch = ranges;
    }

    fn settle(
        &mut self,
        now: Instant,
        arrived: Instant,
        (ack, ranges): (&AckRanges<'_>, &[(u64, u64)]),
    ) {
        let pattern = self.pattern(now);
        let Self {
            ledger,
            outbox,
            losses,
            stats,
            fade,
            pace,
            config,
            ..
        } = self;
        let mut latest: Option<Settled> = None;
        ledger.settle(now, (ranges, config.reorder), |settled, contents| {
            if losses.note(settled.outcome == Outcome::Lost, &mut stats.sent) {
                pace.fading_until = Some(now + FADING);
            }
            if settled.outcome == Outcome::Arrived {
                latest = Some(settled);
            }
            for content in contents {
                if settled.outcome == Outcome::Arrived {
                    outbox.confirm(content);
                } else if settled.repair && fade.is_some() {
                    outbox.lose(now, content, true);
                } else if settled.repair {
                    outbox.lose_alone(now, content, pattern);
                }
            }
        });
        outbox.resume();
        if let Some((counts, (_, largest))) = ack.counts.zip(ranges.first()) {
            ledger.marks.counted(now, *largest, counts);
        }
        let Some(latest) = latest else { return };
        self.heard(now);
        if ranges
            .first()
            .is_some_and(|(_, largest)| *largest == latest.number)
        {
            let delay = Duration::from_micros(ack.delay);
            let sample = arrived.since(latest.sent_at).saturating_sub(delay);
            if latest.asked {
                self.round_trip.sample(now, sample);
                self.set_limits();
            }
            self.outputs.push_back(Output::Sample(Sample {
                sent_at: latest.sent_at,
                sent_total: latest.sent_total,
                arrival: ack.arrival,
                round_trip: sample,
                marked: self.ledger.marks.take_news(),
            }));
        }
    }

    /// Something that this end sent has come through.
    fn heard(&mut self, now: Instant) {
        self.pace.last_heard = now;
        self.pace.next_probe = Instant::ZERO;
        if let Some(fade) = self.fade.take() {
            let lasted = now.since(fade.since);
            self.stats.sent.fades += 1;
            self.stats.sent.faded += lasted;
            let tries = &self.config.tries;
            let kept = !tries.count_fades && lasted <= tries.age;
            self.outputs
                .push_back(Output::Event(LinkEvent::FadeEnded { lasted, kept }));
        }
    }

    pub(super) fn presume_lost(&mut self, now: Instant) {
        let patience = self.round_trip.patience(DELAY_MAX);
        let Self { ledger, outbox, .. } = self;
        let count = ledger.presume_lost(now, patience, |content: &Content| {
            outbox.lose(now, content, true);
        });
        outbox.resume();
        if count == 0 {
            return;
        }
        self.outputs.push_back(Output::Silence);
        self.stats.sent.frames_presumed_lost += count as u64;
        self.pace.fading_until = Some(now + FADING);
        if self.fade.is_none() {
            let since = self.pace.last_heard.max(now - patience);
            self.fade = Some(Fade { since });
            self.outputs.push_back(Output::Event(LinkEvent::FadeBegan));
        }
    }

    pub(super) fn patience_ends(&self) -> Option<Instant> {
        let oldest = self.ledger.oldest_open()?;
        Some(oldest + self.round_trip.patience(DELAY_MAX))
    }
}
