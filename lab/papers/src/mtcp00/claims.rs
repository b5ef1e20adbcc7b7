//! The statements of the paper, and the goals of the project.

mod beyond;

use experiment::{Claim, Summary, Table, Unknown, Verdict};

pub(super) use beyond::{hand_off, lean, parts, splits, wide};

const MTCP: &str = "MTCP";
const I_TCP: &str = "I-TCP";
const TCP: &str = "TCP";
const ALL: [&str; 3] = [MTCP, I_TCP, TCP];

/// Returns the values of an axis, in the plan's order.
fn labels<'t>(table: &'t Table, axis: &str) -> Vec<&'t str> {
    let mut labels = Vec::new();
    for label in table.cases().iter().filter_map(|case| case.label(axis)) {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    labels
}

/// Returns the packet error rates of 1 % and more.
fn rates(table: &Table) -> Vec<&str> {
    let mut rates = labels(table, "per");
    rates.retain(|rate| !rate.starts_with('0'));
    rates
}

/// Returns the limits of the 95 % confidence interval.
fn ends(summary: &Summary) -> (f64, f64) {
    let half = summary.ci95.unwrap_or(0.0);
    (summary.mean - half, summary.mean + half)
}

/// Returns true if the whole first interval is above the second.
fn above(first: &Summary, second: &Summary) -> bool {
    ends(first).0 > ends(second).1
}

/// Returns a verdict that holds if `better` is above each other scheme at each rate of 1 % or more; its numbers name
/// the exceptions.
fn ranks(table: &Table, better: &str, others: &[&str], metric: &str) -> Result<Verdict, Unknown> {
    let mut wrong = Vec::new();
    for rate in rates(table) {
        let at = [("per", rate)];
        let first = table.summary(better, &at, metric)?;
        for other in others {
            let second = table.summary(other, &at, metric)?;
            if !above(&first, &second) {
                let (first, second) = (number(&first), number(&second));
                wrong.push(format!("{rate}: {first}, {other} {second}"));
            }
        }
    }
    Ok(found(&wrong))
}

/// Returns a verdict that holds if there are no exceptions; its numbers list them.
fn found(wrong: &[String]) -> Verdict {
    let numbers = match wrong {
        [] => "everywhere".to_owned(),
        _ => wrong.join("; "),
    };
    Verdict::of(wrong.is_empty(), numbers)
}

fn number(summary: &Summary) -> String {
    let half = summary.ci95.unwrap_or(0.0);
    format!("{:.1} ± {half:.1}", summary.mean)
}

/// Returns the claims over Figures 10a and 10b.
pub(super) fn speed() -> Vec<Claim> {
    vec![
        Claim {
            name: "mtcp-best",
            text: "MTCP lies above I-TCP and TCP at every rate of 1 % or more, intervals apart",
            source: "Section 5.2, Figure 10",
            judge: |table| ranks(table, MTCP, &[I_TCP, TCP], "normalised"),
        },
        Claim {
            name: "split-better",
            text: "I-TCP lies above TCP at every rate of 1 % or more, intervals apart",
            source: "Section 5.2, Figure 10",
            judge: |table| ranks(table, I_TCP, &[TCP], "normalised"),
        },
        Claim {
            name: "gap-grows",
            text: "The more errors, the more times TCP's throughput is MTCP's",
            source: "Section 5.2, Figure 10",
            judge: |table| {
                let mut ratios = Vec::new();
                for rate in rates(table) {
                    let at = [("per", rate)];
                    let mtcp = table.mean(MTCP, &at, "normalised")?;
                    ratios.push(mtcp / table.mean(TCP, &at, "normalised")?);
                }
                Ok(rising(&ratios))
            },
        },
    ]
}

fn rising(values: &[f64]) -> Verdict {
    let numbers: Vec<_> = values.iter().map(|value| format!("{value:.2}")).collect();
    Verdict::of(values.is_sorted(), numbers.join(", "))
}

/// Returns the claims over Figure 12a.
pub(super) fn networks() -> Vec<Claim> {
    vec![Claim {
        name: "wireless-better",
        text: "At equal rates of 1 % or more each protocol keeps more of its throughput on the slower network",
        source: "Section 5.2, Figure 12a",
        judge: |table| {
            let mut wrong = Vec::new();
            for rate in rates(table) {
                for scheme in ALL {
                    let on = |network| {
                        table.summary(scheme, &[("per", rate), ("network", network)], "normalised")
                    };
                    let (wireless, ethernet) = (on("wireless")?, on("Ethernet")?);
                    if !above(&wireless, &ethernet) {
                        let (wireless, ethernet) = (number(&wireless), number(&ethernet));
                        wrong.push(format!("{scheme}, {rate}: {wireless}, {ethernet}"));
                    }
                }
            }
            Ok(found(&wrong))
        },
    }]
}

/// A claim that a scheme's gap between the networks, averaged over all ratios, is smaller with outages.
macro_rules! closer {
    ($name:literal, $scheme:expr, $text:literal) => {
        Claim {
            name: $name,
            text: $text,
            source: "Section 5.2, Figure 12b",
            judge: |table| {
                let outages = labels(table, "outage");
                let gap = |network| -> Result<f64, Unknown> {
                    let mut sum = 0.0;
                    for outage in &outages {
                        let on = |network| {
                            let at = [("outage", *outage), ("network", network)];
                            table.mean($scheme, &at, "normalised")
                        };
                        sum += (on("wireless")? - on(network)?).abs();
                    }
                    Ok(sum / outages.len() as f64)
                };
                let (outage, rate) = (gap("Ethernet")?, gap("Ethernet, equal rate")?);
                let numbers = format!("{outage:.1} and {rate:.1} points");
                Ok(Verdict::of(outage < rate, numbers))
            },
        }
    };
}

/// Returns the claims over Figure 12b.
pub(super) fn outages() -> Vec<Claim> {
    vec![
        closer!(
            "closer-mtcp",
            MTCP,
            "MTCP on both networks differs less at equal outages than at equal packet error rates"
        ),
        closer!("closer-i-tcp", I_TCP, "So does I-TCP"),
        closer!("closer-tcp", TCP, "So does TCP"),
    ]
}

/// Returns a verdict that holds if the values of MTCP are below those of each other scheme at each rate of 1 % or more.
fn lowest(table: &Table, metric: &str) -> Result<Verdict, Unknown> {
    let mut wrong = Vec::new();
    for rate in rates(table) {
        let at = [("per", rate)];
        let mtcp = table.summary(MTCP, &at, metric)?;
        for other in [I_TCP, TCP] {
            let other_value = table.summary(other, &at, metric)?;
            if !above(&other_value, &mtcp) {
                let (mtcp, value) = (number(&mtcp), number(&other_value));
                wrong.push(format!("{rate}: {mtcp}, {other} {value}"));
            }
        }
    }
    Ok(found(&wrong))
}

/// Returns the claims over Figures 13a and 13b.
pub(super) fn arrivals() -> Vec<Claim> {
    vec![
        Claim {
            name: "mean-lowest",
            text: "From one buffer to the next MTCP takes the least time, at every rate of 1 % or more",
            source: "Section 5.2, Figure 13a",
            judge: |table| lowest(table, "interval"),
        },
        Claim {
            name: "deviation-lowest",
            text: "These times deviate the least with MTCP, at every rate of 1 % or more",
            source: "Section 5.2, Figure 13b",
            judge: |table| lowest(table, "deviation"),
        },
        Claim {
            name: "deviation-half",
            text: "At 10 % they deviate at most half as much as with TCP",
            source: "our aim for \"much lower\", Figure 13b",
            judge: |table| {
                let at = [("per", "10 %")];
                let mtcp = table.summary(MTCP, &at, "deviation")?;
                let tcp = table.summary(TCP, &at, "deviation")?;
                let numbers = format!("{} and {} ms", number(&mtcp), number(&tcp));
                Ok(Verdict::of(2.0 * ends(&mtcp).1 <= ends(&tcp).0, numbers))
            },
        },
    ]
}

/// Returns the claims over Figures 14a and 14b.
pub(super) fn work() -> Vec<Claim> {
    vec![
        Claim {
            name: "usage-falls",
            text: "The more errors, the less of the time the mobile host works, whatever the protocol",
            source: "Section 5.2, Figure 14a",
            judge: |table| {
                let mut wrong = Vec::new();
                for scheme in ALL {
                    let usage = |rate| table.mean(scheme, &[("per", rate)], "usage");
                    let usages = rates(table).into_iter().map(usage);
                    let usages = usages.collect::<Result<Vec<_>, _>>()?;
                    if !usages.iter().rev().is_sorted() {
                        wrong.push(scheme.to_owned());
                    }
                }
                Ok(found(&wrong))
            },
        },
        Claim {
            name: "usage-higher",
            text: "From 5 % on it works more of the time with MTCP than with I-TCP or TCP",
            source: "Section 5.2, Figure 14a",
            judge: |table| {
                let mut wrong = Vec::new();
                for rate in ["5.3 %", "10 %", "15 %", "20 %"] {
                    let usage = |scheme| table.summary(scheme, &[("per", rate)], "usage");
                    let mtcp = usage(MTCP)?;
                    let others = [usage(I_TCP)?, usage(TCP)?];
                    if others.iter().any(|other| !above(&mtcp, other)) {
                        wrong.push(rate.to_owned());
                    }
                }
                Ok(found(&wrong))
            },
        },
        Claim {
            name: "least-work",
            text: "The whole transfer costs the mobile host least with MTCP, at every rate of 1 % or more",
            source: "Section 5.2, Figure 14b",
            judge: |table| lowest(table, "busy"),
        },
        Claim {
            name: "work-gap-grows",
            text: "The more errors, the more times MTCP's work is TCP's",
            source: "Section 5.2, Figure 14b",
            judge: |table| {
                let mut ratios = Vec::new();
                for rate in rates(table) {
                    let at = [("per", rate)];
                    let tcp = table.mean(TCP, &at, "busy")?;
                    ratios.push(tcp / table.mean(MTCP, &at, "busy")?);
                }
                Ok(rising(&ratios))
            },
        },
    ]
}

/// Returns the claims over Table 3.
pub(super) fn both_ways() -> Vec<Claim> {
    vec![
        Claim {
            name: "both-ways-faster",
            text: "Both ways at once and without errors MTCP is about 12 % faster than I-TCP (6 to 18 %)",
            source: "Section 5.2, Table 3",
            judge: |table| {
                let mtcp = table.mean(MTCP, &[], "throughput")?;
                let gain = mtcp / table.mean(I_TCP, &[], "throughput")? - 1.0;
                let numbers = format!("{:.1} %", gain * 100.0);
                Ok(Verdict::of((0.06..0.18).contains(&gain), numbers))
            },
        },
        Claim {
            name: "both-ways-cheaper",
            text: "And it works less of the time",
            source: "Section 5.2, Table 3",
            judge: |table| {
                let mtcp = table.summary(MTCP, &[], "usage")?;
                let i_tcp = table.summary(I_TCP, &[], "usage")?;
                let numbers = format!("{} and {} %", number(&mtcp), number(&i_tcp));
                Ok(Verdict::of(above(&i_tcp, &mtcp), numbers))
            },
        },
    ]
}

/// Returns the claims over Figure 11.
pub(super) fn trace() -> Vec<Claim> {
    vec![Claim {
        name: "stalls-less",
        text: "Seen each 2 s until it ends, MTCP's transfer stands still less often than I-TCP's and TCP's",
        source: "Section 5.2, Figure 11",
        judge: |table| {
            let mut stood = Vec::new();
            for scheme in ALL {
                let at = |moment| table.mean(scheme, &[("at", moment)], "sequence");
                let seen = labels(table, "at").into_iter().map(at);
                let seen = seen.collect::<Result<Vec<_>, _>>()?;
                let end = seen.last().copied().unwrap_or_default();
                let steps = seen
                    .windows(2)
                    .filter(|pair| pair[0] < end || pair[1] < end);
                let still = seen
                    .windows(2)
                    .filter(|pair| pair[0] >= pair[1] && pair[1] < end);
                stood.push((still.count(), steps.count()));
            }
            let share = |(still, steps): (usize, usize)| still as f64 / steps.max(1) as f64;
            let shares: Vec<_> = stood.into_iter().map(share).collect();
            let numbers: Vec<_> = shares
                .iter()
                .map(|share| format!("{:.0} %", share * 100.0))
                .collect();
            let holds = shares[1..].iter().all(|other| shares[0] < *other);
            Ok(Verdict::of(holds, numbers.join(", ")))
        },
    }]
}
