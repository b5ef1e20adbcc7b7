//! Claims over the delay that a discipline causes to others, the cost of putting frames back, and one connection over
//! time.

use experiment::{Claim, Table, Unknown, Verdict};

use super::super::judging::{all, at_bursts, each_case, extreme, less};
use super::{ISSUE, SECTION};

const TRACE: &str = "Section on TCP's reaction to losses";
const COST: &str = "Section on implementation complexity";

/// Returns the claims over delays.
pub(in super::super) fn delay() -> Vec<Claim> {
    vec![
        Claim {
            name: "timeouts-grow-less",
            text: "The longest retransmission timeout grows less with CSDP-RR than with FIFO",
            source: SECTION,
            judge: |table| at_bursts(|at| less(table, ["CSDP-RR", "FIFO"], at, "longest_timeout")),
        },
        Claim {
            name: "voice-airtime",
            text: "A call waits least where airtime is shared: no other discipline delays it less",
            source: ISSUE,
            judge: |table| {
                at_bursts(|at| {
                    let others = [
                        "FIFO",
                        "RR",
                        "RR-DEFERRING",
                        "CSDP-RR",
                        "CSDP-TS",
                        "CSDP-LQ",
                    ];
                    extreme(
                        table,
                        ("AIRTIME-PROBING", &others),
                        at,
                        ("voice_delay", -1.0),
                    )
                })
            },
        },
        Claim {
            name: "interactive-rr",
            text: "A typist waits less with CSDP-RR than with FIFO",
            source: ISSUE,
            judge: |table| {
                at_bursts(|at| less(table, ["CSDP-RR", "FIFO"], at, "interactive_delay"))
            },
        },
    ]
}

/// Returns the claims over the price of a frame that is put back.
pub(in super::super) fn requeue() -> Vec<Claim> {
    vec![
        Claim {
            name: "requeue-marginal",
            text: "Putting frames back costs next to nothing: CSDP-RR ends earlier than FIFO, which copies each frame \
                   once, at every rate of copying",
            source: COST,
            judge: |table| {
                each_case(table, "CSDP-RR", |at| {
                    less(table, ["CSDP-RR", "FIFO"], at, "finish_max")
                })
            },
        },
        Claim {
            name: "requeue-fewer",
            text: "Who knows the channels puts fewer frames back than who does not",
            source: COST,
            judge: |table| {
                each_case(table, "CSDP-RR", |at| {
                    less(table, ["CSDP-RR", "RR-DEFERRING"], at, "put_back")
                })
            },
        },
    ]
}

/// Returns the claims over one connection and three bursts: they are one run, whose numbers are exact.
pub(in super::super) fn trace() -> Vec<Claim> {
    let claim = |name, text, judge| Claim {
        name,
        text,
        source: TRACE,
        judge,
    };
    vec![
        claim(
            "trace-slow-detection",
            "Each of three bursts costs a retransmission timeout, and none with link repair",
            |table| {
                all([
                    is(table, ("no link repair", "20 s"), ("timeouts", 3.0)),
                    is(table, ("link repair", "20 s"), ("timeouts", 0.0)),
                ])
            },
        ),
        claim(
            "trace-no-fast-retransmission",
            "Duplicate acknowledgements bring about no retransmission, as whole windows are lost",
            |table| {
                is(
                    table,
                    ("no link repair", "20 s"),
                    ("fast_retransmissions", 0.0),
                )
            },
        ),
        claim(
            "trace-back-off",
            "The timeout doubles after each",
            |table| {
                all([
                    is(table, ("no link repair", "5 s"), ("timeout", 2.5)),
                    is(table, ("no link repair", "5.5 s"), ("timeout", 5.0)),
                ])
            },
        ),
        claim(
            "trace-lost-syn",
            "A lost SYN delays the connection by 6 s, and a second one by 24 s more",
            |table| {
                all([
                    is(table, ("begins in a burst", "8.5 s"), ("sequence", 0.0)),
                    is(table, ("begins in a burst", "8 s"), ("timeout", 6.0)),
                    is(table, ("loses two SYNs", "30 s"), ("sequence", 0.0)),
                    is(table, ("loses two SYNs", "30 s"), ("timeout", 24.0)),
                ])
            },
        ),
    ]
}

/// Returns a verdict that holds if a metric of the trace has this value.
fn is(
    table: &Table,
    (case, until): (&str, &str),
    (metric, value): (&str, f64),
) -> Result<Verdict, Unknown> {
    let seen = table.mean("FIFO", &[("case", case), ("until", until)], metric)?;
    let numbers = format!("{case}, {until}: {metric} {seen:.1}");
    Ok(Verdict::of((seen - value).abs() < 0.05, numbers))
}
