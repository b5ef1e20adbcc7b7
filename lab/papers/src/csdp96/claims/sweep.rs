//! Claims over a grid of the parameters that the paper does not state.

use experiment::{Claim, Table, Unknown, Verdict};

use super::super::judging::{At, count, judge_at, least, percent, places};
use super::{IMPERFECT, ISSUE, SECTION};

/// A claim that one scheme has less of a metric than another in every combination of the sweep.
macro_rules! everywhere {
    ($name:literal, $source:expr, $text:literal, $metric:literal, $less:literal, $more:literal) => {
        Claim {
            name: $name,
            text: $text,
            source: $source,
            judge: |table| count(table, [$less, $more], $metric),
        }
    };
}

/// Returns the claims over the sweep.
pub(in super::super) fn sweep() -> Vec<Claim> {
    [ends(), knowledge(), use_of_the_air()].concat()
}

fn ends() -> Vec<Claim> {
    vec![
        everywhere!(
            "1-sweep",
            SECTION,
            "CSDP-RR ends earlier than FIFO in every combination",
            "finish_max",
            "CSDP-RR",
            "FIFO"
        ),
        everywhere!(
            "2-sweep",
            SECTION,
            "Its ends lie closer together than those of FIFO in every combination",
            "finish_spread",
            "CSDP-RR",
            "FIFO"
        ),
        everywhere!(
            "2-sweep-lq",
            SECTION,
            "Ends lie farther apart with CSDP-LQ than with FIFO in every combination",
            "finish_spread",
            "FIFO",
            "CSDP-LQ"
        ),
        everywhere!(
            "4-sweep-lq",
            SECTION,
            "With CSDP-LQ the first connection ends earlier than with CSDP-RR in every combination",
            "finish_min",
            "CSDP-LQ",
            "CSDP-RR"
        ),
        Claim {
            name: "3-sweep-together",
            text: "With CSDP-RR all connections end within 10 % of the time in every combination",
            source: SECTION,
            judge: |table| {
                tally(table, |at| {
                    let spread = table.summary("CSDP-RR", at, "finish_spread")?;
                    let last = table.mean("CSDP-RR", at, "finish_max")?;
                    let half = spread.ci95.unwrap_or(f64::INFINITY);
                    let share = spread.mean / last;
                    let holds = (spread.mean + half) / last <= 0.10;
                    Ok(Verdict::of(holds, percent(share)))
                })
            },
        },
    ]
}

fn knowledge() -> Vec<Claim> {
    vec![
        everywhere!(
            "6-sweep-fifo",
            IMPERFECT,
            "Round robin without knowledge ends earlier than FIFO in every combination",
            "finish_max",
            "RR-DEFERRING",
            "FIFO"
        ),
        Claim {
            name: "6-sweep-rr",
            text: "It takes at most 10 % longer than CSDP-RR in every combination",
            source: IMPERFECT,
            judge: |table| {
                tally(table, |at| {
                    let paired = table.paired(["RR-DEFERRING", "CSDP-RR"], at, "finish_max")?;
                    let longer = paired.ratio - 1.0;
                    Ok(Verdict::of(longer <= 0.10, percent(longer)))
                })
            },
        },
    ]
}

fn use_of_the_air() -> Vec<Claim> {
    vec![
        everywhere!(
            "5-sweep-utilisation",
            SECTION,
            "FIFO uses the air worse than CSDP-RR in every combination",
            "utilisation",
            "FIFO",
            "CSDP-RR"
        ),
        everywhere!(
            "5-sweep-lq",
            SECTION,
            "CSDP-LQ is less fair, by airtime, than CSDP-RR in every combination",
            "fairness",
            "CSDP-LQ",
            "CSDP-RR"
        ),
        Claim {
            name: "aim-sweep-utilisation",
            text: "CSDP-RR with perfect knowledge uses at least 95 % of the air in every combination",
            source: ISSUE,
            judge: |table| {
                tally(table, |at| {
                    least(table, "CSDP-RR", at, ("utilisation", 95.0))
                })
            },
        },
        Claim {
            name: "aim-sweep-fairness",
            text: "Its Jain's index is at least 0.98 in every combination",
            source: ISSUE,
            judge: |table| tally(table, |at| least(table, "CSDP-RR", at, ("fairness", 0.98))),
        },
    ]
}

/// Returns a verdict that holds if `judge` does in every combination; the numbers count these, and give the values of
/// the others.
fn tally(
    table: &Table,
    judge: impl Fn(&At<'_>) -> Result<Verdict, Unknown>,
) -> Result<Verdict, Unknown> {
    let places = places(table, "FIFO").into_iter();
    let verdicts = places.map(|place| judge_at(&place, &judge));
    let verdicts = verdicts.collect::<Result<Vec<_>, _>>()?;
    let others: Vec<_> = verdicts
        .iter()
        .filter(|verdict| !verdict.holds)
        .map(|verdict| verdict.numbers.as_str())
        .collect();
    let held = verdicts.len() - others.len();
    let mut numbers = format!("in {held} of {}", verdicts.len());
    if !others.is_empty() {
        numbers = format!("{numbers}; not in {}", others.join("; "));
    }
    Ok(Verdict::of(others.is_empty(), numbers))
}
