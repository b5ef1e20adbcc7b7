//! The statements of the paper, and our goals beyond it.

use experiment::{Claim, Table, Unknown, Verdict};

use crate::nfs::judging::{
    RESPONSE, WAY, best_block, named, nowhere_more, nowhere_slower, percent, places, response,
    with_block,
};

const BOTH: &str = "HYBRID-LINEAR-RETRANSMIT";

/// Returns the claims over Figures 3 and 4.
pub(super) fn block_sizes() -> Vec<Claim> {
    vec![Claim {
        name: "best-block",
        text: "No other block size that the papers name is better than 4,096 bytes in any curve, beyond the intervals",
        source: "Section 5.1, Figures 3 and 4",
        judge: |table| best_block(table, "NO-CHANGES"),
    }]
}

fn bad<'a>(way: &'a str, period: &'a str) -> [(&'a str, &'a str); 2] {
    [(WAY, way), ("bad", period)]
}

/// Returns the ratio of the response times of two schemes.
fn ratio(table: &Table, schemes: [&str; 2], at: &[(&str, &str)]) -> Result<f64, Unknown> {
    let [first, second] = schemes.map(|scheme| response(table, scheme, at));
    Ok(first? / second?)
}

/// Returns the claims over Figures 5 and 6.
pub(super) fn schemes() -> Vec<Claim> {
    [both_mechanisms(), shapes(), ours()].concat()
}

fn both_mechanisms() -> Vec<Claim> {
    vec![
        Claim {
            name: "62-percent",
            text: "Both mechanisms make the response up to 62 % shorter (52 to 72 %)",
            source: "Section 6",
            judge: |table| {
                let mut most: f64 = 0.0;
                for place in places(table) {
                    most = most.max(1.0 - ratio(table, [BOTH, "NO-CHANGES"], &place)?);
                }
                Ok(Verdict::of((0.52..=0.72).contains(&most), percent(most)))
            },
        },
        Claim {
            name: "near-zero-errors",
            text: "At 40 ms both mechanisms are within 5 % of the line without errors",
            source: "Section 5.6",
            judge: |table| {
                let [read, write] = ["read", "write"].map(|way| {
                    let with = response(table, BOTH, &bad(way, "40 ms"))?;
                    Ok(with / response(table, BOTH, &bad(way, "0 ms"))?)
                });
                let (read, write) = (read?, write?);
                let numbers = format!("{read:.3} and {write:.3}");
                Ok(Verdict::of(read.max(write) <= 1.05, numbers))
            },
        },
        Claim {
            name: "below-hybrid",
            text: "Both together are nowhere slower than hybrid linear back-off alone",
            source: "Section 5.4",
            judge: |table| nowhere_slower(table, [BOTH, "HYBRID-LINEAR"]),
        },
        Claim {
            name: "below-retransmit",
            text: "Both together are nowhere slower than retransmission alone",
            source: "Section 5.4",
            judge: |table| nowhere_slower(table, [BOTH, "RETRANSMIT"]),
        },
    ]
}

fn shapes() -> Vec<Claim> {
    vec![
        Claim {
            name: "converging",
            text: "Retransmission is ahead of hybrid linear back-off at 40 ms, and less so at 160 ms",
            source: "Section 5.3",
            judge: |table| {
                let mut holds = true;
                let mut numbers = Vec::new();
                for way in ["read", "write"] {
                    let [short, long] = ["40 ms", "160 ms"].map(|period| {
                        ratio(table, ["RETRANSMIT", "HYBRID-LINEAR"], &bad(way, period))
                    });
                    let (short, long) = (short?, long?);
                    holds &= short < 1.0 && long > short;
                    numbers.push(format!("{way}: {short:.2}, {long:.2}"));
                }
                Ok(Verdict::of(holds, numbers.join("; ")))
            },
        },
        Claim {
            name: "consistent",
            text: "Without changes the runs differ more at high error rates than with both mechanisms",
            source: "Section 5.6",
            judge: |table| {
                let mut holds = true;
                let mut numbers = Vec::new();
                for way in ["read", "write"] {
                    let [before, after] = ["NO-CHANGES", BOTH]
                        .map(|scheme| table.summary(scheme, &bad(way, "160 ms"), RESPONSE));
                    let [before, after] = [before?, after?].map(|summary| summary.ci95);
                    let (before, after) = (before.unwrap_or(0.0), after.unwrap_or(0.0));
                    holds &= after < before;
                    numbers.push(format!("{way}: ±{before:.2} s, ±{after:.2} s"));
                }
                Ok(Verdict::of(holds, numbers.join("; ")))
            },
        },
        Claim {
            name: "hybrid-not-aborted",
            text: "With hybrid linear back-off no run is terminated",
            source: "Section 5.2",
            judge: |table| {
                let mut aborted = 0.0;
                for place in places(table) {
                    aborted += table.mean("HYBRID-LINEAR", &place, "aborted")?;
                }
                Ok(Verdict::of(aborted == 0.0, format!("{aborted}")))
            },
        },
    ]
}

fn ours() -> Vec<Claim> {
    vec![Claim {
        name: "adaptive",
        text: "The adaptive policy is nowhere slower than hybrid linear back-off",
        source: "our aim",
        judge: |table| nowhere_slower(table, ["ADAPTIVE", "HYBRID-LINEAR"]),
    }]
}

/// Returns the claims over Figures 7 and 8.
pub(super) fn two_clients() -> Vec<Claim> {
    vec![Claim {
        name: "scales",
        text: "With two clients all changes are faster than none at every bad period",
        source: "Section 5.5",
        judge: |table| nowhere_slower(table, ["ALL-CHANGES", "NO-CHANGES"]),
    }]
}

/// Returns the claims over the runs of Figure 9.
pub(super) fn one_run() -> Vec<Claim> {
    vec![
        Claim {
            name: "one-run-before",
            text: "8.4 KB/s, one run without changes, lies within the 5 to 95 % range",
            source: "Figure 9",
            judge: |table| within_range(table, "NO-CHANGES", 8.4),
        },
        Claim {
            name: "one-run-after",
            text: "19.2 KB/s, one run with all changes, lies within the 5 to 95 % range",
            source: "Figure 9",
            judge: |table| within_range(table, "ALL-CHANGES", 19.2),
        },
    ]
}

fn within_range(table: &Table, scheme: &str, published: f64) -> Result<Verdict, Unknown> {
    let column = table
        .metrics()
        .iter()
        .position(|metric| metric.name == "throughput");
    let column = column.ok_or_else(|| Unknown::new("throughput"))?;
    let runs = table.runs().filter(|(key, _)| {
        let case = table.cases().get(key.case);
        case.is_some_and(|case| case.scheme_name() == scheme)
    });
    let mut values: Vec<_> = runs
        .filter_map(|(_, values)| *values.get(column)?)
        .collect();
    values.sort_by(f64::total_cmp);
    let at = |share: usize| values.get((values.len().saturating_sub(1)) * share / 100);
    let (Some(low), Some(high)) = (at(5), at(95)) else {
        return Err(Unknown::new(scheme));
    };
    let numbers = format!("{low:.1} to {high:.1} KB/s");
    Ok(Verdict::of((*low..=*high).contains(&published), numbers))
}

/// Returns the claims over the laws of periods.
pub(super) fn periods() -> Vec<Claim> {
    vec![Claim {
        name: "deterministic",
        text: "With deterministic periods the unchanged client suffers less than with uniform ones",
        source: "CS-TR-3583, Section 3.2",
        judge: |table| {
            let mut holds = true;
            let mut numbers = Vec::new();
            for way in ["read", "write"] {
                let [fixed, drawn] = ["deterministic", "uniform, ticks"]
                    .map(|law| response(table, "NO-CHANGES", &[("periods", law), (WAY, way)]));
                let (fixed, drawn) = (fixed?, drawn?);
                holds &= fixed < drawn;
                numbers.push(format!("{way}: {fixed:.1} s, {drawn:.1} s"));
            }
            Ok(Verdict::of(holds, numbers.join("; ")))
        },
    }]
}

/// Returns the claims over the least timeout.
pub(super) fn minimum_timeout() -> Vec<Claim> {
    vec![Claim {
        name: "late-on-the-wire",
        text: "With link repair a longer least timeout does no harm on the air, and harm on the wire",
        source: "Section 5.4",
        judge: |table| {
            let at = |initial, losses| {
                let place = [
                    ("timeouts.initial", initial),
                    (WAY, "write"),
                    ("losses", losses),
                ];
                response(table, "HYBRID-LINEAR-RETRANSMIT", &place)
            };
            let air = at("2800 ms", "air")? / at("700 ms", "air")?;
            let wire = at("2800 ms", "wire")? / at("700 ms", "wire")?;
            let numbers = format!("air {air:.2} times, wire {wire:.2} times");
            Ok(Verdict::of(air <= 1.02 && wire > 1.1, numbers))
        },
    }]
}

/// Returns the claims over block sizes that the client chooses itself.
pub(super) fn block_auto() -> Vec<Claim> {
    vec![Claim {
        name: "auto-block",
        text: "The size that the client finds is within 5 % of the best fixed one everywhere",
        source: "our aim",
        judge: |table| {
            let mut far = Vec::new();
            for place in places(table) {
                if !place.contains(&("block", "auto")) {
                    continue;
                }
                let mut best = f64::INFINITY;
                for size in ["1024", "2048", "4096", "8192"] {
                    let at = with_block(&place, size);
                    best = best.min(response(table, "ADAPTIVE", &at)?);
                }
                let ratio = response(table, "ADAPTIVE", &place)? / best;
                if ratio > 1.05 {
                    far.push(format!("{}: {ratio:.2}", named(&place)));
                }
            }
            Ok(Verdict::of(far.is_empty(), far.join("; ")))
        },
    }]
}

/// Returns the claims over slow hops.
pub(super) fn slow() -> Vec<Claim> {
    vec![Claim {
        name: "adaptive-slow",
        text: "The adaptive policy is nowhere slower than hybrid linear back-off",
        source: "our aim",
        judge: |table| nowhere_slower(table, ["ADAPTIVE", "HYBRID-LINEAR"]),
    }]
}

/// Returns the claims over congestion.
pub(super) fn congestion() -> Vec<Claim> {
    vec![
        Claim {
            name: "silent-server",
            text: "Hybrid linear and adaptive clients send a silent server fewer datagrams than pure linear ones",
            source: "Section 5.2",
            judge: |table| {
                let mut holds = true;
                let mut numbers = Vec::new();
                for place in places(table) {
                    if !place.contains(&("trouble", "silent server")) {
                        continue;
                    }
                    let asked = |scheme| table.mean(scheme, &place, "asked");
                    let (linear, hybrid) = (asked("LINEAR")?, asked("HYBRID-LINEAR")?);
                    let adaptive = asked("ADAPTIVE")?;
                    holds &= hybrid < linear && adaptive < linear;
                    numbers.push(format!("{linear:.0}, {hybrid:.0}, {adaptive:.0}"));
                }
                Ok(Verdict::of(holds, numbers.join("; ")))
            },
        },
        Claim {
            name: "wired-beside-hybrid",
            text: "A wired client is nowhere slower beside hybrid linear clients than beside exponential ones",
            source: "our aim",
            judge: |table| wired_beside(table, "HYBRID-LINEAR"),
        },
        Claim {
            name: "wired-beside-adaptive",
            text: "A wired client is nowhere slower beside adaptive clients than beside exponential ones",
            source: "our aim",
            judge: |table| wired_beside(table, "ADAPTIVE"),
        },
    ]
}

/// Returns a verdict that holds if the client on the wire is nowhere slower beside clients of a scheme than beside
/// exponential ones, beyond the 95 % interval.
fn wired_beside(table: &Table, scheme: &str) -> Result<Verdict, Unknown> {
    nowhere_more(table, [scheme, "EXPONENTIAL"], "wired")
}
