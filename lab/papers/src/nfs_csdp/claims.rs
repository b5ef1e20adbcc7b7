//! Expectations from both papers for their combination; chosen before any run.

use experiment::{Claim, Table, Unknown, Verdict};

use super::onset::{At, IN_VAIN, Line, bounds, with_clients};
use crate::csdp96::judging::{all, percent};

const SCHEDULING: &str = "Bhagwat et al. 1996, on results";
const QUEUES: &str = "Dube et al. 1997, Section 6, on queues per destination";
const AGGRESSIVE: &str = "Dube et al. 1997, Section 5.2";
const SEVERAL: &str = "Dube et al. 1997, Section 5.5";
const AIM: &str = "our aim";

const SCHEMES: [&str; 4] = ["FIFO", "RR", "CSDP-RR", "AIRTIME"];
/// The policies of the NFS papers, then ours.
const POLICIES: [&str; 4] = ["exponential", "linear", "hybrid-linear", "adaptive"];
const PAPERS: [&str; 3] = [POLICIES[0], POLICIES[1], POLICIES[2]];
/// Numbers of clients.
const CLIENTS: [&str; 6] = ["1", "2", "4", "8", "16", "32"];
/// Numbers of clients that share the air.
const SEVERAL_CLIENTS: &[&str] = &["2", "4", "8", "16", "32"];

/// A case: scheme, policy, number of clients.
type Case = (&'static str, &'static str, &'static str);

/// The comparison of the first case of each pair with the second: the number of pairs in which it has significantly
/// more of a metric, and those in which it has significantly less.
struct Compared {
    pairs: usize,
    more: usize,
    less: Vec<String>,
}

impl Compared {
    fn of(table: &Table, pairs: &[[Case; 2]], metric: &str) -> Result<Self, Unknown> {
        let (mut more, mut less) = (0, Vec::new());
        for pair in pairs {
            let places =
                pair.map(|(_, policy, clients)| with_clients(&[("policy", policy)], clients));
            let cells = [0, 1].map(|number| (pair[number].0, places[number].as_slice()));
            let paired = table.compared(cells, metric)?;
            if !paired.is_significant() {
                continue;
            }
            if paired.difference.mean > 0.0 {
                more += 1;
            } else {
                let (scheme, policy, clients) = pair[1];
                let ratio = paired.ratio;
                less.push(format!("{scheme}, {policy}, {clients}: {ratio:.2} times"));
            }
        }
        let pairs = pairs.len();
        Ok(Self { pairs, more, less })
    }

    fn numbers(&self) -> String {
        let (more, pairs, less) = (self.more, self.pairs, self.less.len());
        let places = self.less.join("; ");
        let numbers = format!("more in {more} of {pairs}, less in {less}: {places}");
        numbers.trim_end_matches(": ").to_owned()
    }

    /// Returns a verdict that holds if the first has more in each pair.
    fn more(&self) -> Verdict {
        Verdict::of(self.more == self.pairs, self.numbers())
    }

    /// Returns a verdict that holds if the first has less in no pair.
    fn nowhere_less(&self) -> Verdict {
        Verdict::of(self.less.is_empty(), self.numbers())
    }
}

/// Pairs two schemes, with each policy at each of these numbers of clients.
fn schemes([first, second]: [&'static str; 2], clients: &[&'static str]) -> Vec<[Case; 2]> {
    let places = POLICIES
        .into_iter()
        .flat_map(|policy| clients.iter().map(move |clients| (policy, *clients)));
    let pair = |(policy, clients)| [(first, policy, clients), (second, policy, clients)];
    places.map(pair).collect()
}

/// Pairs two policies, with each scheme at each of these numbers of clients.
fn policies([first, second]: [&'static str; 2], clients: &[&'static str]) -> Vec<[Case; 2]> {
    let places = SCHEMES
        .into_iter()
        .flat_map(|scheme| clients.iter().map(move |clients| (scheme, *clients)));
    let pair = |(scheme, clients)| [(scheme, first, clients), (scheme, second, clients)];
    places.map(pair).collect()
}

/// A claim that the first case has more of a metric in each pair, or less in none.
macro_rules! compared {
    ($name:literal, $source:expr, $text:literal, $pairs:expr, $metric:literal, $judge:ident) => {
        Claim {
            name: $name,
            text: $text,
            source: $source,
            judge: |table| Ok(Compared::of(table, &$pairs, $metric)?.$judge()),
        }
    };
}

/// Returns the claims over copies, in both directions.
pub(super) fn claims() -> Vec<Claim> {
    [scheduling(), few(), many(), ours()].concat()
}

/// Returns the claims over the gain of scheduling by channel state.
fn scheduling() -> Vec<Claim> {
    vec![
        compared!(
            "csdp-above-fifo",
            SCHEDULING,
            "From two clients on CSDP-RR gets more through than FIFO, with each policy",
            schemes(["CSDP-RR", "FIFO"], SEVERAL_CLIENTS),
            "throughput",
            more
        ),
        compared!(
            "csdp-above-rr",
            SCHEDULING,
            "From two clients on CSDP-RR gets more through than RR, with each policy",
            schemes(["CSDP-RR", "RR"], SEVERAL_CLIENTS),
            "throughput",
            more
        ),
        compared!(
            "rr-above-fifo",
            QUEUES,
            "From two clients on RR gets more through than FIFO, with each policy",
            schemes(["RR", "FIFO"], SEVERAL_CLIENTS),
            "throughput",
            more
        ),
        compared!(
            "rr-fairer-than-fifo",
            QUEUES,
            "From two clients on RR is fairer than FIFO, with each policy",
            schemes(["RR", "FIFO"], SEVERAL_CLIENTS),
            "fairness",
            more
        ),
        Claim {
            name: "csdp-later-onset",
            text: "Congestion sets in at more clients with CSDP-RR than with FIFO, with each policy of the papers: \
                   \"improved scalability will be one result of the per destination scheduling\"",
            source: QUEUES,
            judge: |table| {
                all(PAPERS.map(|policy| later_onset(table, &[("policy", policy)], &CLIENTS)))
            },
        },
    ]
}

/// Returns the claims over back-off with few clients.
fn few() -> Vec<Claim> {
    vec![
        compared!(
            "hybrid-helps-few",
            AGGRESSIVE,
            "One and two clients get more with hybrid linear back-off than with exponential, with each discipline",
            policies(["hybrid-linear", "exponential"], &["1", "2"]),
            "throughput",
            more
        ),
        Claim {
            name: "two-no-congestion",
            text: "\"With two mobile clients, congestion on the wireless link is not a problem\": at most 10 % of the \
                   calls are spurious repeats, with each discipline and policy",
            source: SEVERAL,
            judge: |table| {
                let (mut most, mut whose) = (0.0, String::new());
                for scheme in SCHEMES {
                    for policy in POLICIES {
                        let place = with_clients(&[("policy", policy)], "2");
                        let [_, share] = bounds(&table.summary(scheme, &place, "spurious")?);
                        if share > most {
                            (most, whose) = (share, format!("{scheme}, {policy}"));
                        }
                    }
                }
                Ok(Verdict::of(
                    most <= IN_VAIN,
                    format!("at most {most:.1} %: {whose}"),
                ))
            },
        },
    ]
}

/// Returns the claims over back-off with many clients.
fn many() -> Vec<Claim> {
    vec![
        Claim {
            name: "congestion-comes",
            text: "\"As the number of mobile clients increases, congestion will eventually become more of a problem \
                   than losses\": with 32 clients most repeats are spurious, with each discipline and policy of the \
                   papers",
            source: SEVERAL,
            judge: |table| {
                let mut least = f64::INFINITY;
                for scheme in SCHEMES {
                    for policy in PAPERS {
                        let place = with_clients(&[("policy", policy)], "32");
                        let of = |metric| table.summary(scheme, &place, metric);
                        let [spurious, _] = bounds(&of("spurious")?);
                        let [_, repeats] = bounds(&of("repeats")?);
                        least = least.min(spurious / repeats);
                    }
                }
                Ok(Verdict::of(
                    least > 0.5,
                    format!("at least {}", percent(least)),
                ))
            },
        },
        Claim {
            name: "linear-collapses",
            text: "\"Pure linear back-off could cause congestion collapse\": 32 clients together get less than half of \
                   the most that any number gets, with each discipline",
            source: AGGRESSIVE,
            judge: |table| {
                all(SCHEMES.map(|scheme| {
                    let (kept, [_, high]) = line(scheme, &[("policy", "linear")]).kept(table)?;
                    let numbers = format!("{scheme} {}", percent(kept));
                    Ok(Verdict::of(high < 0.5, numbers))
                }))
            },
        },
        Claim {
            name: "hybrid-prevents-it",
            text: "Three linear steps prevent it: with hybrid linear back-off 32 clients together get at \
                   least 90 % of the most that any number gets, with each discipline",
            source: AGGRESSIVE,
            judge: |table| {
                all(SCHEMES.map(|scheme| {
                    let at = [("policy", "hybrid-linear")];
                    let (kept, [low, _]) = line(scheme, &at).kept(table)?;
                    let numbers = format!("{scheme} {}", percent(kept));
                    Ok(Verdict::of(low >= 0.9, numbers))
                }))
            },
        },
        compared!(
            "hybrid-hurts-many",
            "ours: where aggressive back-off begins to hurt",
            "16 and 32 clients get less with hybrid linear back-off than with exponential, with each discipline",
            policies(["exponential", "hybrid-linear"], &["16", "32"]),
            "throughput",
            more
        ),
    ]
}

/// Returns the claims over our own parts.
fn ours() -> Vec<Claim> {
    vec![
        Claim {
            name: "adaptive-no-onset",
            text: "With the adaptive policy congestion does not set in up to 32 clients, by any discipline",
            source: AIM,
            judge: |table| {
                all(SCHEMES.map(|scheme| {
                    let at = [("policy", "adaptive")];
                    let onset = line(scheme, &at).onset(table)?;
                    let numbers = format!("{scheme}: {}", onset.unwrap_or("none"));
                    Ok(Verdict::of(onset.is_none(), numbers))
                }))
            },
        },
        compared!(
            "adaptive-nowhere-less",
            AIM,
            "Clients get nowhere less with the adaptive policy than with one of the papers'",
            PAPERS
                .map(|policy| policies(["adaptive", policy], &CLIENTS))
                .concat(),
            "throughput",
            nowhere_less
        ),
        compared!(
            "airtime-nowhere-less",
            AIM,
            "AIRTIME, which knows channels by probes, gets nowhere less through than FIFO or RR",
            [
                schemes(["AIRTIME", "FIFO"], &CLIENTS),
                schemes(["AIRTIME", "RR"], &CLIENTS)
            ]
            .concat(),
            "throughput",
            nowhere_less
        ),
    ]
}

/// Returns the claims over the numbers of clients between those of the grid; chosen after the results of the grid.
pub(super) fn between() -> Vec<Claim> {
    vec![Claim {
        name: "csdp-later-onset-between",
        text: "Congestion sets in at more clients with CSDP-RR than with FIFO, either way, with either policy of the \
               papers",
        source: QUEUES,
        judge: |table| {
            const BETWEEN: [&str; 5] = ["4", "5", "6", "7", "8"];
            let policies = ["exponential", "hybrid-linear"];
            let places = ["read", "write"].map(|way| policies.map(|policy| (way, policy)));
            all(places.into_iter().flatten().map(|(way, policy)| {
                let at = [("copy.way", way), ("policy", policy)];
                later_onset(table, &at, &BETWEEN)
            }))
        },
    }]
}

/// Returns a scheme with each number of clients of the grid.
fn line<'a>(scheme: &'a str, at: &'a At<'a>) -> Line<'a> {
    let clients = &CLIENTS;
    Line {
        scheme,
        at,
        clients,
    }
}

/// Returns a verdict that holds if congestion begins at more clients with CSDP-RR than with FIFO; the numbers are those
/// of all disciplines.
fn later_onset(table: &Table, at: &At<'_>, clients: &[&'static str]) -> Result<Verdict, Unknown> {
    let line = |scheme| Line {
        scheme,
        at,
        clients,
    };
    let of = |scheme| {
        let onset = line(scheme).onset(table)?;
        let number = onset.and_then(|clients| clients.parse().ok());
        Ok::<u32, Unknown>(number.unwrap_or(u32::MAX))
    };
    let numbers = SCHEMES.map(|scheme| {
        let (onset, decline) = (line(scheme).onset(table)?, line(scheme).decline(table)?);
        let (onset, decline) = (onset.unwrap_or("none"), decline.unwrap_or("none"));
        Ok(format!(
            "{scheme} {onset} (less throughput from {decline} on)"
        ))
    });
    let numbers = numbers.into_iter().collect::<Result<Vec<_>, Unknown>>()?;
    let labels: Vec<_> = at.iter().map(|(_, label)| *label).collect();
    let numbers = format!("{}: {}", labels.join(", "), numbers.join(", "));
    Ok(Verdict::of(of("CSDP-RR")? > of("FIFO")?, numbers))
}
