//! The statements of the paper, each judged on common seeds: a difference counts if its 95 % confidence interval
//! excludes zero.

mod costs;
mod crowd;
mod knowing;
mod sweep;

use experiment::{Claim, Table, Unknown, Verdict};

pub(super) use self::costs::{delay, requeue, trace};
pub(super) use self::crowd::crowd;
pub(super) use self::knowing::{accuracy, collisions};
pub(super) use self::sweep::sweep;

use super::judging::{all, at_bursts, each_case, extreme, least, less, percent};

/// The paper's policies with knowledge of the channels.
const CSDP: [&str; 3] = ["CSDP-RR", "CSDP-TS", "CSDP-LQ"];
const SECTION: &str = "Section on CSDP with perfect channel estimation";
const IMPERFECT: &str = "Section on CSDP with imperfect channel estimation";
const ISSUE: &str = "Ours, beyond the paper";

/// A claim that one scheme's metric is less than another's at both burst lengths.
macro_rules! less {
    ($name:literal, $source:expr, $text:literal, $metric:literal, $less:literal, $more:literal) => {
        Claim {
            name: $name,
            text: $text,
            source: $source,
            judge: |table| at_bursts(|at| less(table, [$less, $more], at, $metric)),
        }
    };
}

/// A claim that one scheme's metric is less than another's in each case of an experiment.
macro_rules! less_in_each_case {
    ($name:literal, $source:expr, $text:literal, $metric:literal, $less:literal, $more:literal) => {
        Claim {
            name: $name,
            text: $text,
            source: $source,
            judge: |table| each_case(table, $less, |at| less(table, [$less, $more], at, $metric)),
        }
    };
}

/// A claim that no other of the paper's policies has significantly less (or more) of a metric than round robin.
macro_rules! best {
    ($name:literal, $text:literal, $metric:literal, $of:expr, $sign:literal) => {
        Claim {
            name: $name,
            text: $text,
            source: SECTION,
            judge: |table| at_bursts(|at| extreme(table, ("CSDP-RR", &$of), at, ($metric, $sign))),
        }
    };
}

/// Returns the claims over [`csdp96-finish`](super::tables::FINISH).
pub(super) fn finish() -> Vec<Claim> {
    [
        utilisation(),
        spread(),
        longest_queue(),
        knowledge(),
        aims(),
    ]
    .concat()
}

fn utilisation() -> Vec<Claim> {
    vec![
        less!(
            "1-max-rr",
            SECTION,
            "The last connection ends earlier with CSDP-RR than with FIFO",
            "finish_max",
            "CSDP-RR",
            "FIFO"
        ),
        less!(
            "1-max-ts",
            SECTION,
            "The last connection ends earlier with CSDP-TS than with FIFO",
            "finish_max",
            "CSDP-TS",
            "FIFO"
        ),
        less!(
            "1-max-lq",
            SECTION,
            "The last connection ends earlier with CSDP-LQ than with FIFO",
            "finish_max",
            "CSDP-LQ",
            "FIFO"
        ),
        Claim {
            name: "5-fifo-utilisation",
            text: "FIFO uses the air worst of the paper's disciplines",
            source: SECTION,
            judge: |table| {
                at_bursts(|at| {
                    all(CSDP.map(|other| less(table, ["FIFO", other], at, "utilisation")))
                })
            },
        },
        best!(
            "5-rr-utilisation",
            "None uses the air better than CSDP-RR",
            "utilisation",
            ["FIFO", "CSDP-TS", "CSDP-LQ"],
            1.0
        ),
        best!(
            "3-rr-max",
            "With none does the last connection end earlier than with CSDP-RR",
            "finish_max",
            ["FIFO", "CSDP-TS", "CSDP-LQ"],
            -1.0
        ),
    ]
}

fn spread() -> Vec<Claim> {
    vec![
        less!(
            "2-spread-rr",
            SECTION,
            "Ends lie closer together with CSDP-RR than with FIFO",
            "finish_spread",
            "CSDP-RR",
            "FIFO"
        ),
        less!(
            "2-spread-ts",
            SECTION,
            "Ends lie closer together with CSDP-TS than with FIFO",
            "finish_spread",
            "CSDP-TS",
            "FIFO"
        ),
        less!(
            "2-spread-lq",
            SECTION,
            "The exception: ends lie farther apart with CSDP-LQ than with FIFO",
            "finish_spread",
            "FIFO",
            "CSDP-LQ"
        ),
        best!(
            "3-rr-spread",
            "With none do ends lie closer together than with CSDP-RR",
            "finish_spread",
            ["FIFO", "CSDP-TS", "CSDP-LQ"],
            -1.0
        ),
        Claim {
            name: "3-rr-together",
            text: "With CSDP-RR all connections end at nearly the same time (within 10 % of it)",
            source: SECTION,
            judge: |table| {
                at_bursts(|at| {
                    let spread = table.summary("CSDP-RR", at, "finish_spread")?;
                    let last = table.mean("CSDP-RR", at, "finish_max")?;
                    let (share, half) = (
                        spread.mean / last,
                        spread.ci95.unwrap_or(f64::INFINITY) / last,
                    );
                    Ok(Verdict::of(
                        share + half <= 0.10,
                        format!("{} ± {}", percent(share), percent(half)),
                    ))
                })
            },
        },
        best!(
            "5-rr-fairness",
            "None is fairer, by airtime, than CSDP-RR",
            "fairness",
            ["FIFO", "CSDP-TS", "CSDP-LQ"],
            1.0
        ),
    ]
}

fn longest_queue() -> Vec<Claim> {
    vec![
        Claim {
            name: "4-lq-captures",
            text: "With CSDP-LQ some connections capture the air and end in less than half of the time that the first \
                   one takes with CSDP-RR",
            source: SECTION,
            judge: |table| {
                at_bursts(|at| {
                    let first = table.summary("CSDP-LQ", at, "finish_min")?;
                    let fair = table.mean("CSDP-RR", at, "finish_min")?;
                    let half = first.ci95.unwrap_or(f64::INFINITY);
                    let numbers = format!("{:.1} ± {half:.1} s for {fair:.1} s", first.mean);
                    Ok(Verdict::of(first.mean + half < 0.5 * fair, numbers))
                })
            },
        },
        Claim {
            name: "5-lq-fairness",
            text: "CSDP-LQ is the least fair of the paper's disciplines, by when connections end",
            source: SECTION,
            judge: |table| {
                at_bursts(|at| {
                    let others = ["FIFO", "CSDP-RR", "CSDP-TS"];
                    all(others.map(|other| less(table, [other, "CSDP-LQ"], at, "finish_spread")))
                })
            },
        },
    ]
}

fn knowledge() -> Vec<Claim> {
    vec![
        Claim {
            name: "6-zero-knowledge",
            text: "Round robin without knowledge of the channels, which defers what failed, takes at most 10 % longer \
                   than CSDP-RR",
            source: IMPERFECT,
            judge: |table| {
                at_bursts(|at| {
                    let longer = table.paired(["RR-DEFERRING", "CSDP-RR"], at, "finish_max")?;
                    let known = table.mean("CSDP-RR", at, "finish_max")?;
                    let share = longer.difference.mean / known;
                    let half = longer.difference.ci95.unwrap_or(f64::INFINITY) / known;
                    let numbers = format!("{} ± {}", percent(share), percent(half));
                    Ok(Verdict::of(share + half <= 0.10, numbers))
                })
            },
        },
        less!(
            "6-zero-fifo",
            IMPERFECT,
            "It ends earlier than FIFO all the same",
            "finish_max",
            "RR-DEFERRING",
            "FIFO"
        ),
    ]
}

fn aims() -> Vec<Claim> {
    vec![
        at_least(
            "aim-utilisation",
            "CSDP-RR with perfect knowledge uses at least 95 % of the air",
            |table| at_bursts(|at| least(table, "CSDP-RR", at, ("utilisation", 95.0))),
        ),
        at_least(
            "aim-fairness",
            "CSDP-RR with perfect knowledge has a Jain's index of at least 0.98",
            |table| at_bursts(|at| least(table, "CSDP-RR", at, ("fairness", 0.98))),
        ),
    ]
}

const fn at_least(
    name: &'static str,
    text: &'static str,
    judge: fn(&Table) -> Result<Verdict, Unknown>,
) -> Claim {
    Claim {
        name,
        text,
        source: ISSUE,
        judge,
    }
}

/// Returns the claims over the experiment on isolation.
pub(super) fn isolation() -> Vec<Claim> {
    vec![at_least(
        "aim-isolation",
        "While the eighth mobile host is in fades for half of the time, the others get at least 95 % of what they get \
         when it never is, by CSDP-RR and by airtime, however long the fades",
        |table| {
            let schemes = [
                "CSDP-RR",
                "CSDP-RR-ACKS",
                "CSDP-RR-PROBING",
                "AIRTIME-ACKS",
                "AIRTIME-PROBING",
            ];
            let fades = ["fades of 20 ms", "fades of 100 ms", "fades of 1 s"];
            let mut verdicts = Vec::new();
            for scheme in schemes {
                let good = table.mean(scheme, &[("eighth", "good")], "others")?;
                for eighth in fades {
                    let others = table.summary(scheme, &[("eighth", eighth)], "others")?;
                    let lower = others.mean - others.ci95.unwrap_or(f64::INFINITY);
                    let numbers = format!("{scheme}, {eighth}: {}", percent(others.mean / good));
                    verdicts.push(Ok(Verdict::of(lower >= 0.95 * good, numbers)));
                }
            }
            all(verdicts)
        },
    )]
}

/// Returns the claims over random errors.
pub(super) fn random() -> Vec<Claim> {
    vec![
        Claim {
            name: "7-like-rr",
            text: "With random errors CSDP-RR behaves like round robin: the last ends within 2 % of the time",
            source: IMPERFECT,
            judge: |table| {
                each_case(table, "CSDP-RR-ACKS", |at| {
                    let apart = table.paired(["CSDP-RR-ACKS", "RR-DEFERRING"], at, "finish_max")?;
                    let known = table.mean("RR-DEFERRING", at, "finish_max")?;
                    let share = apart.difference.mean / known;
                    let half = apart.difference.ci95.unwrap_or(f64::INFINITY) / known;
                    let numbers = format!("{} ± {}", percent(share), percent(half));
                    Ok(Verdict::of(share.abs() + half <= 0.02, numbers))
                })
            },
        },
        Claim {
            name: "7-marks-nobody",
            text: "With perfect knowledge and random errors nobody is marked: CSDP-RR is round robin to the bit",
            source: IMPERFECT,
            judge: |table| {
                each_case(table, "CSDP-RR", |at| {
                    let apart = table.paired(["CSDP-RR", "RR-DEFERRING"], at, "finish_max")?;
                    let most = apart.difference.max.max(-apart.difference.min);
                    Ok(Verdict::of(most == 0.0, format!("{most:.3} s")))
                })
            },
        },
        less_in_each_case!(
            "7-beats-fifo",
            IMPERFECT,
            "CSDP-RR ends earlier than FIFO whatever the errors: with random ones, too",
            "finish_max",
            "CSDP-RR-ACKS",
            "FIFO"
        ),
        less_in_each_case!(
            "7-fairer-than-fifo",
            IMPERFECT,
            "Its ends lie closer together than those of FIFO, with random errors, too",
            "finish_spread",
            "CSDP-RR-ACKS",
            "FIFO"
        ),
    ]
}

/// Returns the claims over burst lengths at a constant ratio.
pub(super) fn burst() -> Vec<Claim> {
    vec![
        less_in_each_case!(
            "1-every-burst",
            SECTION,
            "CSDP-RR ends earlier than FIFO at every burst length",
            "finish_max",
            "CSDP-RR",
            "FIFO"
        ),
        less_in_each_case!(
            "2-every-burst",
            SECTION,
            "Its ends lie closer together than those of FIFO at every burst length",
            "finish_spread",
            "CSDP-RR",
            "FIFO"
        ),
        less_in_each_case!(
            "6-every-burst",
            IMPERFECT,
            "Round robin without knowledge ends earlier than FIFO at every burst length",
            "finish_max",
            "RR-DEFERRING",
            "FIFO"
        ),
    ]
}

/// Returns the claims over monitors.
pub(super) fn monitor() -> Vec<Claim> {
    vec![
        at_least(
            "aim-acks",
            "CSDP-RR whose monitor goes by acknowledgements uses at least 90 % of the air, whatever receivers tell",
            |table| {
                each_case(table, "RR-ACKS", |at| {
                    least(table, "RR-ACKS", at, ("utilisation", 90.0))
                })
            },
        ),
        at_least(
            "aim-acks-fairness",
            "Its Jain's index is at least 0.98, whatever receivers tell",
            |table| {
                each_case(table, "RR-ACKS", |at| {
                    least(table, "RR-ACKS", at, ("fairness", 0.98))
                })
            },
        ),
        at_least(
            "aim-probing",
            "CSDP-RR whose monitor probes uses at least 90 % of the air, whatever receivers tell",
            |table| {
                each_case(table, "RR-PROBING", |at| {
                    least(table, "RR-PROBING", at, ("utilisation", 90.0))
                })
            },
        ),
    ]
}
