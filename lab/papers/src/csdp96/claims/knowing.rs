//! Claims over the value of knowledge of the channels.

use experiment::{Claim, Table, Unknown, Verdict};

use super::super::judging::{At, all, each_case, judge_at, least, less, percent, places};
use super::{IMPERFECT, ISSUE};

const SUMMARY: &str = "Conclusion, on telling collisions from fades";
/// The axis of `csdp96-accuracy`.
const RIGHT: &str = "driver.accuracy.right";
/// The axes of `csdp96-collisions`.
const MISTAKEN: &str = "driver.hints.mistaken";
const COME: &str = "driver.hints.come";
const COMING: [&str; 2] = ["at-once", "with-frames"];

/// Returns the claims over the accuracy of the monitor.
pub(in super::super) fn accuracy() -> Vec<Claim> {
    vec![
        Claim {
            name: "7-any-estimator",
            text: "CSDP-RR ends earlier than FIFO however often its monitor is right",
            source: IMPERFECT,
            judge: |table| {
                each_case(table, "CSDP-RR", |at| {
                    less(table, ["CSDP-RR", "FIFO"], at, "finish_max")
                })
            },
        },
        Claim {
            name: "accuracy-matters",
            text: "The more often the monitor is right, the earlier CSDP-RR ends: always before half of the time, and \
                   half of the time before never",
            source: IMPERFECT,
            judge: |table| {
                let steps = [["100 %", "50 %"], ["50 %", "0 %"]];
                all(steps.map(|[more, less]| {
                    let at = [[(RIGHT, more)], [(RIGHT, less)]];
                    earlier(table, "CSDP-RR", [&at[0], &at[1]])
                }))
            },
        },
        Claim {
            name: "accuracy-any-knowledge",
            text: "A monitor that is right more often than not is worth more than none: from 60 % on CSDP-RR ends \
                   earlier than round robin without knowledge",
            source: ISSUE,
            judge: |table| {
                all(["60 %", "70 %", "80 %", "90 %", "100 %"].map(|right| {
                    let place = [(RIGHT.to_owned(), right.to_owned())];
                    judge_at(&place, |at| {
                        less(table, ["CSDP-RR", "RR-DEFERRING"], at, "finish_max")
                    })
                }))
            },
        },
        Claim {
            name: "accuracy-90",
            text: "With a monitor that is right nine times in ten CSDP-RR uses at least 90 % of the air, and its \
                   Jain's index is at least 0.98",
            source: ISSUE,
            judge: |table| {
                let at = [(RIGHT, "90 %")];
                all([
                    least(table, "CSDP-RR", &at, ("utilisation", 90.0)),
                    least(table, "CSDP-RR", &at, ("fairness", 0.98)),
                ])
            },
        },
    ]
}

/// Returns the claims over collisions that are mistaken for fades.
pub(in super::super) fn collisions() -> Vec<Claim> {
    vec![
        Claim {
            name: "collisions-matter",
            text: "To tell collisions from fades is crucial: CSDP-RR ends earlier where none is taken for a fade than \
                   where all are",
            source: SUMMARY,
            judge: |table| {
                all(COMING.map(|come| {
                    let at = ["0 %", "100 %"].map(|share| [(COME, come), (MISTAKEN, share)]);
                    earlier(table, "RR-ACKS", [&at[0], &at[1]])
                }))
            },
        },
        Claim {
            name: "hints-with-frames",
            text: "Hints that come with the next frame that gets through do as well as if they came at once: CSDP-RR \
                   ends at most 1 % later",
            source: SUMMARY,
            judge: |table| {
                let at = [COMING[1], COMING[0]].map(|come| [(COME, come), (MISTAKEN, "0 %")]);
                let later =
                    table.compared([("RR-ACKS", &at[0]), ("RR-ACKS", &at[1])], "finish_max")?;
                let at_once = table.mean("RR-ACKS", &at[1], "finish_max")?;
                let share = later.difference.mean / at_once;
                let half = later.difference.ci95.unwrap_or(f64::INFINITY) / at_once;
                let numbers = format!("{} ± {}", percent(share), percent(half));
                Ok(Verdict::of(share + half <= 0.01, numbers))
            },
        },
        Claim {
            name: "aim-collisions",
            text: "However many collisions are taken for fades, CSDP-RR by acknowledgements uses at least 90 % of the \
                   air, and so does airtime with probes",
            source: ISSUE,
            judge: |table| {
                let schemes = ["RR-ACKS", "AIRTIME-PROBING"];
                all(schemes.map(|scheme| everywhere(table, scheme, ("utilisation", 90.0))))
            },
        },
        Claim {
            name: "aim-collisions-fairness",
            text: "Jain's index of both is at least 0.98",
            source: ISSUE,
            judge: |table| {
                let schemes = ["RR-ACKS", "AIRTIME-PROBING"];
                all(schemes.map(|scheme| everywhere(table, scheme, ("fairness", 0.98))))
            },
        },
    ]
}

/// Returns a verdict that holds if a metric is at least this large wherever the scheme was run; the numbers are those
/// of the place with the least.
fn everywhere(table: &Table, scheme: &str, bound: (&str, f64)) -> Result<Verdict, Unknown> {
    let places = places(table, scheme).into_iter();
    let verdicts = places.map(|place| {
        let verdict = judge_at(&place, |at| least(table, scheme, at, bound))?;
        let mean = judge_mean(table, scheme, &place, bound.0)?;
        Ok((mean, verdict))
    });
    let verdicts = verdicts.collect::<Result<Vec<_>, Unknown>>()?;
    let holds = verdicts.iter().all(|(_, verdict)| verdict.holds);
    let least = verdicts
        .into_iter()
        .min_by(|(one, _), (other, _)| one.total_cmp(other));
    let numbers = least.map_or_else(String::new, |(_, verdict)| verdict.numbers);
    Ok(Verdict::of(holds, format!("{scheme}, least: {numbers}")))
}

fn judge_mean(
    table: &Table,
    scheme: &str,
    place: &[(String, String)],
    metric: &str,
) -> Result<f64, Unknown> {
    let at: Vec<_> = place
        .iter()
        .map(|(axis, label)| (axis.as_str(), label.as_str()))
        .collect();
    table.mean(scheme, &at, metric)
}

/// Returns a verdict that holds if a scheme's last connection ends significantly earlier at the first place than at the
/// second.
fn earlier(table: &Table, scheme: &str, at: [&At<'_>; 2]) -> Result<Verdict, Unknown> {
    let paired = table.compared(at.map(|at| (scheme, at)), "finish_max")?;
    let half = paired.difference.ci95.unwrap_or(f64::INFINITY);
    let [labels, others] = at.map(|at| {
        let labels: Vec<_> = at.iter().map(|(_, label)| *label).collect();
        labels.join(", ")
    });
    let numbers = format!(
        "{labels} for {others}: {:.2} ± {half:.2}",
        paired.difference.mean
    );
    Ok(Verdict::of(paired.difference.mean + half < 0.0, numbers))
}
