//! What fades cost many.

use experiment::{Claim, Table, Unknown, Verdict};

use super::super::judging::{all, percent};
use super::ISSUE;

const NONE: &str = "RR-DEFERRING";
const LATE: [&str; 2] = ["at once", "50 ms late"];
const COUNTS: [&str; 6] = ["2", "4", "8", "16", "32", "64"];

/// The claims over many mobile hosts on one air.
pub(in super::super) fn crowd() -> Vec<Claim> {
    vec![
        Claim {
            name: "crowd-saves-less",
            text: "The more mobile hosts take turns, the less of what round robin loses in fades is saved by knowing \
                   of them from losses: less by 32 than by 8",
            source: ISSUE,
            judge: |table| {
                all(LATE.map(|late| {
                    let few = kept(table, "CSDP-RR-PROBING", (late, "8"))?;
                    let many = kept(table, "CSDP-RR-PROBING", (late, "32"))?;
                    let holds = few.0 + few.1 < many.0 - many.1;
                    Ok(Verdict::of(holds, saved(table, "CSDP-RR-PROBING", late)?))
                }))
            },
        },
        Claim {
            name: "crowd-turns",
            text: "What is lost even when news come at once is the first turn in each fade: of 32 mobile hosts at \
                   least 80 % of what a monitor loses",
            source: ISSUE,
            judge: |table| {
                let at = [("late", LATE[0]), ("connections", "32")];
                let lost = table.summary("CSDP-RR-PROBING", &at, "lost")?;
                let first = first_turns(table, NONE, LATE[0], "32")?;
                let half = lost.ci95.unwrap_or(f64::INFINITY);
                let numbers = format!("{first:.2} % of {:.2} ± {half:.2} %", lost.mean);
                Ok(Verdict::of(first >= 0.8 * (lost.mean + half), numbers))
            },
        },
        Claim {
            name: "crowd-worthwhile",
            text: "Probes lose less than round robin without knowledge, with up to 64 mobile hosts, late news or not",
            source: ISSUE,
            judge: |table| {
                all(LATE.map(|late| {
                    let kept = COUNTS.map(|count| kept(table, "CSDP-RR-PROBING", (late, count)));
                    let kept = kept.into_iter().collect::<Result<Vec<_>, _>>()?;
                    let holds = kept.iter().all(|(share, half)| share + half < 1.0);
                    Ok(Verdict::of(holds, saved(table, "CSDP-RR-PROBING", late)?))
                }))
            },
        },
    ]
}

/// Of what round robin loses without knowledge, the share that a scheme loses as well, and half of the confidence
/// interval of its difference.
fn kept(table: &Table, scheme: &str, (late, count): (&str, &str)) -> Result<(f64, f64), Unknown> {
    let at = [("late", late), ("connections", count)];
    let paired = table.paired([scheme, NONE], &at, "lost")?;
    let lost = table.mean(NONE, &at, "lost")?;
    let half = paired.difference.ci95.unwrap_or(f64::INFINITY);
    Ok((1.0 + paired.difference.mean / lost, half / lost))
}

/// What is saved, by how many there are.
fn saved(table: &Table, scheme: &str, late: &str) -> Result<String, Unknown> {
    let each = COUNTS.map(|count| {
        let (share, half) = kept(table, scheme, (late, count))?;
        Ok(format!(
            "{count}: {} ± {}",
            percent(1.0 - share),
            percent(half)
        ))
    });
    let each = each.into_iter().collect::<Result<Vec<_>, Unknown>>()?;
    Ok(format!("{late}, saved: {}", each.join("; ")))
}

/// The share of the air that the first turn in each fade takes, in per cent, if turns come evenly: exponential fades of
/// mean b with turns each r meet r/b ÷ (1 − e^(−r/b)) turns for each that is the first.
fn first_turns(table: &Table, scheme: &str, late: &str, count: &str) -> Result<f64, Unknown> {
    let at = [("late", late), ("connections", count)];
    let lost = table.mean(scheme, &at, "lost")?;
    let turns = table.mean(scheme, &at, "between")? / FADE_MS;
    Ok(lost * (1.0 - (-turns).exp()) / turns)
}

/// The mean length of a fade in the plan.
const FADE_MS: f64 = 100.0;
