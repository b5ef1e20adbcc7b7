//! Claims of the experiments beyond the paper's figures.

use experiment::{Claim, Summary, Table, Unknown, Verdict};

use super::{MTCP, above, ends, found, labels, number, rates};

const NETWORKS: [&str; 2] = ["wireless", "Ethernet"];
const WIDE: &str = "MTCP-WIDE";

/// Returns a verdict that holds if `wrong` returns no exception on either network at any of these values.
fn everywhere<'t>(
    values: &[&'t str],
    wrong: impl Fn(&'static str, &'t str) -> Result<Option<String>, Unknown>,
) -> Result<Verdict, Unknown> {
    let mut all = Vec::new();
    for network in NETWORKS {
        for value in values {
            if let Some(what) = wrong(network, value)? {
                all.push(format!("{network}, {value}: {what}"));
            }
        }
    }
    Ok(found(&all))
}

/// Returns MTCP as in the paper and in a variant, on a network at a rate.
fn pair(table: &Table, place: [&str; 2], variant: &str) -> Result<[Summary; 2], Unknown> {
    let [network, rate] = place;
    let of = |variant| {
        let at = [("per", rate), ("variant", variant), ("network", network)];
        table.summary(MTCP, &at, "normalised")
    };
    Ok([of("as in the paper")?, of(variant)?])
}

/// Returns a verdict that holds if MTCP without a part has less than with it, at each rate of 1 % or more on each
/// network; its numbers name the exceptions.
fn counts(table: &Table, without: &str) -> Result<Verdict, Unknown> {
    everywhere(&rates(table), |network, rate| {
        let [whole, part] = pair(table, [network, rate], without)?;
        let numbers = || format!("{}, without {}", number(&whole), number(&part));
        Ok((!above(&whole, &part)).then(numbers))
    })
}

/// Returns the claims over MTCP's mechanisms, one by one.
pub(crate) fn parts() -> Vec<Claim> {
    vec![
        Claim {
            name: "request-counts",
            text: "Without requests MTCP has less at every rate of 1 % or more on both networks",
            source: "Section 3.3 (1)",
            judge: |table| counts(table, "no request"),
        },
        Claim {
            name: "burst-counts",
            text: "So it has if acknowledgements tell of no burst",
            source: "Section 3.3 (2)",
            judge: |table| counts(table, "cumulative"),
        },
        Claim {
            name: "cycle-counts",
            text: "So it has without the retransmission cycle",
            source: "Section 3.3 (3)",
            judge: |table| counts(table, "no cycle"),
        },
        Claim {
            name: "smart-no-better",
            text: "Telling of bursts is as good as SMART, or better, within the interval",
            source: "Section 3.3 (2)",
            judge: |table| {
                everywhere(&rates(table), |network, rate| {
                    let [burst, smart] = pair(table, [network, rate], "SMART")?;
                    let numbers = || format!("{}, SMART {}", number(&burst), number(&smart));
                    Ok(above(&smart, &burst).then(numbers))
                })
            },
        },
        Claim {
            name: "larger-windows",
            text: "Larger windows find losses sooner: from 4 to 8, 16 and 31 KiB throughput does not fall, at 10 %",
            source: "Section 3.2",
            judge: |table| {
                let mut wrong = Vec::new();
                for network in NETWORKS {
                    let of = |variant| {
                        let at = [("per", "10 %"), ("variant", variant), ("network", network)];
                        table.summary(MTCP, &at, "normalised")
                    };
                    let windows = ["4 KiB", "8 KiB", "as in the paper", "31 KiB"].map(of);
                    for pair in windows.windows(2) {
                        if let [Ok(smaller), Ok(larger)] = pair
                            && above(smaller, larger)
                        {
                            let (smaller, larger) = (number(smaller), number(larger));
                            wrong.push(format!("{network}: from {smaller} to {larger}"));
                        }
                    }
                }
                Ok(found(&wrong))
            },
        },
    ]
}

/// TCP's variants and their splits.
const SPLITS: [[&str; 2]; 3] = [
    ["I-TCP", "TCP"],
    ["I-TCP-NEWRENO", "TCP-NEWRENO"],
    ["I-TCP-SACK", "TCP-SACK"],
];

/// Returns a verdict that holds if a split improves throughput at each of these delays of the wire.
fn split_fails(table: &Table, delays: &[&str]) -> Result<Verdict, Unknown> {
    let mut wrong = Vec::new();
    for delay in delays {
        for rate in labels(table, "per") {
            for schemes in SPLITS {
                let at = [("delay", *delay), ("per", rate)];
                let gain = table.paired(schemes, &at, "throughput")?;
                if !(gain.is_significant() && gain.ratio > 1.0) {
                    let [_, whole] = schemes;
                    wrong.push(format!("{whole}, {delay}, {rate}: {:.2} times", gain.ratio));
                }
            }
        }
    }
    Ok(found(&wrong))
}

/// Returns the claims over I-TCP and TCP at several delays of the wire.
pub(crate) fn splits() -> Vec<Claim> {
    vec![
        Claim {
            name: "split-near",
            text: "On a short wire (0.3 ms) a split brings throughput, whatever the variant of TCP and the rate",
            source: "Section 5.2, Figure 10",
            judge: |table| split_fails(table, &["0.3 ms"]),
        },
        Claim {
            name: "split-far",
            text: "On a wire of 50 ms or more it does",
            source: "Balakrishnan et al. 1997, Section 4.4",
            judge: |table| split_fails(table, &["50 ms", "100 ms"]),
        },
    ]
}

/// Returns a verdict that holds if a mobile host without timers has less of `metric` at each rate, in both profiles.
fn saves(table: &Table, metric: &str) -> Result<Verdict, Unknown> {
    let mut wrong = Vec::new();
    for scheme in [MTCP, WIDE] {
        for rate in labels(table, "per") {
            let of = |timers| table.summary(scheme, &[("per", rate), ("timers", timers)], metric);
            let (kept, none) = (of("kept")?, of("none")?);
            if !above(&kept, &none) {
                let numbers = format!("{:.4} with, {:.4} without", kept.mean, none.mean);
                wrong.push(format!("{scheme}, {rate}: {numbers}"));
            }
        }
    }
    Ok(found(&wrong))
}

/// Returns the claims over a mobile host without timers.
pub(crate) fn lean() -> Vec<Claim> {
    vec![
        Claim {
            name: "lean-complete",
            text: "All data arrive at a mobile host without timers, at every rate and seed",
            source: "our aim",
            judge: |table| {
                let mut least = f64::INFINITY;
                for scheme in [MTCP, WIDE] {
                    for rate in labels(table, "per") {
                        let at = [("per", rate), ("timers", "none")];
                        least = least.min(table.summary(scheme, &at, "throughput")?.min);
                    }
                }
                Ok(Verdict::of(
                    least > 0.0,
                    format!("at least {least:.3} Mbit/s"),
                ))
            },
        },
        Claim {
            name: "lean-sleeps",
            text: "Without timers the mobile host wakes up less often, at every rate and in both profiles",
            source: "Section 7, future work",
            judge: |table| saves(table, "wake_ups"),
        },
        Claim {
            name: "lean-works-less",
            text: "And works less",
            source: "Section 7, future work",
            judge: |table| saves(table, "busy"),
        },
    ]
}

/// Returns a verdict that holds if the wide profile with these timers reaches 95 % of the rate that damaged frames
/// leave.
fn reaches(table: &Table, timers: &str) -> Result<Verdict, Unknown> {
    everywhere(&rates(table), |network, rate| {
        let at = [("per", rate), ("network", network), ("timers", timers)];
        let reached = table.summary(WIDE, &at, "reached")?;
        Ok((ends(&reached).0 < 95.0).then(|| number(&reached)))
    })
}

/// Returns the claims over the wide profile.
pub(crate) fn wide() -> Vec<Claim> {
    vec![
        Claim {
            name: "wide-reaches",
            text: "The wide profile has at least 95 % of what is left when damaged frames are taken off, up to 20 %",
            source: "our aim",
            judge: |table| reaches(table, "measured"),
        },
        Claim {
            name: "wide-reaches-ticks",
            text: "So it has if its timers go off at ticks of 10 ms, and each arrival beyond a hole asks",
            source: "our aim",
            judge: |table| reaches(table, "10 ms"),
        },
        Claim {
            name: "wide-reaches-fine",
            text: "So it has with ticks of 2 ms",
            source: "our aim",
            judge: |table| reaches(table, "2 ms"),
        },
    ]
}

/// Returns a verdict that holds if no stall after an outage exceeds two round-trip times.
fn stalls(table: &Table, scheme: &str) -> Result<Verdict, Unknown> {
    everywhere(&labels(table, "outage"), |network, outage| {
        let at = [("outage", outage), ("network", network)];
        let longest = table.summary(scheme, &at, "stall")?.max;
        Ok((longest > 2.0).then(|| format!("up to {longest:.1} round trips")))
    })
}

/// Returns the claims over hand-offs from one access point to another.
pub(crate) fn hand_off() -> Vec<Claim> {
    vec![
        Claim {
            name: "stall-wide",
            text: "No pause is longer than its outage and two round trips, with the wide profile",
            source: "our aim for Section 6.2",
            judge: |table| stalls(table, WIDE),
        },
        Claim {
            name: "stall-paper",
            text: "So with the paper's profile and its tick of 200 ms",
            source: "our aim for Section 6.2",
            judge: |table| stalls(table, MTCP),
        },
    ]
}
