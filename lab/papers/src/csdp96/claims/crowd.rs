//! Claims over the cost of fades for many mobile hosts.

use experiment::{Claim, Table, Unknown, Verdict};

use super::super::judging::{At, all, percent};
use super::ISSUE;

const NONE: &str = "RR-DEFERRING";
const PROBING: &str = "CSDP-RR-PROBING";
const LATE: [&str; 2] = ["at once", "50 ms late"];
const COUNTS: [&str; 6] = ["2", "4", "8", "16", "32", "64"];

/// Returns the claims over many mobile hosts on one air.
pub(in super::super) fn crowd() -> Vec<Claim> {
    vec![
        Claim {
            name: "crowd-saves-less",
            text: "The more mobile hosts take turns, the less of what round robin loses in fades is saved by probes: \
                   less by 32 than by 8, where news come at once",
            source: ISSUE,
            judge: |table| {
                let [few, many] = ["8", "32"].map(|count| kept(table, (LATE[0], count)));
                let (few, many) = (few?, many?);
                let holds = few.0 + few.1 < many.0 - many.1;
                Ok(Verdict::of(holds, saved(table, LATE[0])?))
            },
        },
        Claim {
            name: "crowd-late",
            text: "News that come 50 ms late cost 8 mobile hosts more of what is saved than 32, whose next turn comes \
                   later than that",
            source: ISSUE,
            judge: |table| {
                let cost = |count| {
                    let [at_once, late] = LATE.map(|late| kept(table, (late, count)));
                    let (at_once, late) = (at_once?, late?);
                    Ok::<_, Unknown>((late.0 - at_once.0, late.1 + at_once.1))
                };
                let (few, many) = (cost("8")?, cost("32")?);
                let numbers = format!(
                    "8: {} ± {}; 32: {} ± {}",
                    percent(few.0),
                    percent(few.1),
                    percent(many.0),
                    percent(many.1)
                );
                Ok(Verdict::of(few.0 - few.1 > many.0 + many.1, numbers))
            },
        },
        Claim {
            name: "crowd-turns",
            text: "Where news come at once, probes lose no more than the first turn in each fade: nobody who learns of \
                   fades from losses can save more, with 32 mobile hosts",
            source: ISSUE,
            judge: |table| {
                let at = [("late", LATE[0]), ("connections", "32")];
                let lost = table.summary(PROBING, &at, "lost")?;
                let first = first_turns(table, &at)?;
                let half = lost.ci95.unwrap_or(f64::INFINITY);
                let numbers = format!("{:.2} ± {half:.2} % for {first:.2} %", lost.mean);
                Ok(Verdict::of(lost.mean + half <= first, numbers))
            },
        },
        Claim {
            name: "crowd-worthwhile",
            text: "Probes lose less than round robin without knowledge, with up to 64 mobile hosts, late news or not",
            source: ISSUE,
            judge: |table| {
                all(LATE.map(|late| {
                    let kept = COUNTS.map(|count| kept(table, (late, count)));
                    let kept = kept.into_iter().collect::<Result<Vec<_>, _>>()?;
                    let holds = kept.iter().all(|(share, half)| share + half < 1.0);
                    Ok(Verdict::of(holds, saved(table, late)?))
                }))
            },
        },
    ]
}

/// Returns the share of the loss of round robin without knowledge that remains with probes, and half of the confidence
/// interval of its difference.
fn kept(table: &Table, (late, count): (&str, &str)) -> Result<(f64, f64), Unknown> {
    let at = [("late", late), ("connections", count)];
    let paired = table.paired([PROBING, NONE], &at, "lost")?;
    let lost = table.mean(NONE, &at, "lost")?;
    let half = paired.difference.ci95.unwrap_or(f64::INFINITY);
    Ok((1.0 + paired.difference.mean / lost, half / lost))
}

/// Describes the share that is saved, for each number of mobile hosts.
fn saved(table: &Table, late: &str) -> Result<String, Unknown> {
    let each = COUNTS.map(|count| {
        let (share, half) = kept(table, (late, count))?;
        Ok(format!(
            "{count}: {} ± {}",
            percent(1.0 - share),
            percent(half)
        ))
    });
    let each = each.into_iter().collect::<Result<Vec<_>, Unknown>>()?;
    Ok(format!("{late}, saved: {}", each.join("; ")))
}

/// Returns the share of the air that the first turn in each fade takes, in per cent, by round robin without knowledge,
/// if turns are evenly spaced: exponential fades of mean b with one turn every r meet r/b ÷ (1 − e^(−r/b)) turns for
/// each first one.
fn first_turns(table: &Table, at: &At<'_>) -> Result<f64, Unknown> {
    let turns = table.mean(NONE, at, "between")? / FADE_MS;
    Ok(table.mean(NONE, at, "lost")? * (1.0 - (-turns).exp()) / turns)
}

/// Mean length of a fade in the plan, in milliseconds.
const FADE_MS: f64 = 100.0;
