//! The upper bound of what a link could have carried: its rate, for as long as the air was good, less the losses of the
//! air. Headers are not deducted.

use channel::errors::ErrorConfig;
use channel::{Direction, Link, OPPORTUNITY, Rate};
use units::{Instant, Probability};

use crate::emulate::Report;

/// A part of a run, in the time of the link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) from: Instant,
    pub(crate) until: Instant,
}

/// Returns the upper bound of goodput over `span` in bits per second; `None` if the link has no rate. For error models
/// without states in time and without a loss probability per packet, the losses are those of `report`.
pub(crate) fn upper_bound(
    link: &Link,
    direction: Direction,
    span: Span,
    report: &Report,
) -> Option<f64> {
    let mut bits = 0.0;
    let mut from = span.from;
    while from < span.until {
        let (step, end) = link.plan(direction).at(from);
        let until = end.map_or(span.until, |end| end.min(span.until));
        let rate = match (link.trace(direction), step.rate) {
            (Some(trace), _) => {
                let bits = OPPORTUNITY.get() as f64 * 8.0 * trace.count() as f64;
                bits / trace.period().as_secs_f64()
            }
            (None, Rate::Limited(rate)) => rate.bits_per_second() as f64,
            (None, Rate::Unlimited) => return None,
        };
        bits += rate * passing_seconds(link, direction, Span { from, until }, report);
        from = until;
    }
    Some(bits / span.until.since(span.from).as_secs_f64())
}

/// Returns the time in which the air passes everything, in seconds, or the equivalent if it passes a part.
fn passing_seconds(link: &Link, direction: Direction, span: Span, report: &Report) -> f64 {
    let all = span.until.since(span.from).as_secs_f64();
    let good = link
        .timeline(direction, report.seed)
        .map_or(all, |timeline| {
            timeline.good_time(span.from, span.until).as_secs_f64()
        });
    let passes = |loss: Probability| loss.complement().as_f64();
    match link.errors(direction) {
        ErrorConfig::None(_) => all,
        ErrorConfig::Independent(config) => all * passes(config.p),
        ErrorConfig::Temporal(config) => {
            good * passes(config.loss_good) + (all - good) * passes(config.loss_bad)
        }
        ErrorConfig::Replay(config) => {
            good * passes(config.loss_good) + (all - good) * passes(config.loss_bad)
        }
        ErrorConfig::Distance(_) | ErrorConfig::Burst(_) | ErrorConfig::Markov(_) => {
            let counted = match direction {
                Direction::Down => &report.down,
                Direction::Up => &report.up,
            };
            let sent = counted.transmitted.bytes.max(1) as f64;
            all * (1.0 - counted.dropped_air.bytes as f64 / sent)
        }
    }
}

/// Returns the bad periods of `direction` in `span`.
pub(crate) fn fades(link: &Link, seed: u64, direction: Direction, span: Span) -> Vec<Span> {
    let Some(timeline) = link.timeline(direction, seed) else {
        return Vec::new();
    };
    timeline
        .take_while(|period| period.from < span.until)
        .filter(|period| !period.good)
        .map(|period| Span {
            from: period.from.max(span.from),
            until: period
                .until
                .map_or(span.until, |until| until.min(span.until)),
        })
        .filter(|fade| fade.from < fade.until)
        .collect()
}
