//! The statements of the report, and the distance of this model from its tables.

use experiment::{Claim, Table, Unknown, Verdict};
use serde::Deserialize;

use crate::nfs::judging::{
    BAD, RESPONSE, WAY, best_block, named, nowhere_slower, percent, places, response,
};

/// The report's numbers.
pub(super) const PUBLISHED: &str = include_str!("published.toml");

/// The rows of a table with the fastest and the slowest of the report's ten runs.
#[derive(Debug, Deserialize)]
struct Rows {
    rows: Vec<Row>,
    ranges: Vec<[f64; 2]>,
}

#[derive(Debug, Deserialize)]
struct Row {
    scheme: String,
    #[serde(rename = "copy.way")]
    way: String,
    #[serde(rename = "errors.bad.mean")]
    bad: String,
    response: f64,
}

impl Row {
    fn at(&self) -> [(&str, &str); 2] {
        [(WAY, &self.way), (BAD, &self.bad)]
    }
}

/// Returns the published rows of an experiment with bad periods.
fn published(experiment: &str) -> Result<Rows, Unknown> {
    let unknown =
        |what: String| Unknown::new(format!("the published rows of {experiment}: {what}"));
    let file: toml::Table =
        toml::from_str(PUBLISHED).map_err(|error| unknown(error.to_string()))?;
    let rows = file.get(experiment).cloned();
    let rows = rows.ok_or_else(|| unknown("none".into()))?;
    rows.try_into().map_err(|error| unknown(error.to_string()))
}

/// Returns a verdict that holds if every mean is within 25 % of the published one.
fn within_25(table: &Table, experiment: &str) -> Result<Verdict, Unknown> {
    let rows = published(experiment)?.rows;
    let mut far = Vec::new();
    for row in &rows {
        let ratio = response(table, &row.scheme, &row.at())? / row.response;
        if (ratio - 1.0).abs() > 0.25 {
            let at = named(&row.at());
            far.push(format!("{}, {at}: {ratio:.2}", row.scheme));
        }
    }
    let near = rows.len() - far.len();
    let numbers = format!("{near} of {}; {}", rows.len(), far.join("; "));
    Ok(Verdict::of(far.is_empty(), numbers))
}

/// Returns a verdict that holds if schemes whose published ranges do not overlap are in the published order.
fn order(table: &Table, experiment: &str) -> Result<Verdict, Unknown> {
    let Rows { rows, ranges } = published(experiment)?;
    let rows: Vec<_> = rows.iter().zip(&ranges).collect();
    let (mut pairs, mut wrong) = (0, Vec::new());
    for (fast, fast_range) in &rows {
        for (slow, slow_range) in &rows {
            if fast.at() != slow.at() || fast_range[1] >= slow_range[0] {
                continue;
            }
            pairs += 1;
            let [faster, slower] = [fast, slow].map(|row| response(table, &row.scheme, &row.at()));
            if faster? >= slower? {
                let at = named(&fast.at());
                wrong.push(format!("{} before {}, {at}", slow.scheme, fast.scheme));
            }
        }
    }
    let numbers = format!("{} of {pairs}; {}", pairs - wrong.len(), wrong.join("; "));
    Ok(Verdict::of(wrong.is_empty(), numbers))
}

/// Returns the share of the response time of NO-CHANGES that a scheme saves at a bad period.
fn saves(table: &Table, scheme: &str, way: &str, bad: &str) -> Result<f64, Unknown> {
    let at = [(WAY, way), (BAD, bad)];
    Ok(1.0 - response(table, scheme, &at)? / response(table, "NO-CHANGES", &at)?)
}

/// A claim that a scheme saves, at 80 ms, the same shares of the time of reads and writes as in the report's tables,
/// within ten points.
macro_rules! saving {
    ($name:literal, $text:literal, $source:literal, $scheme:literal, $read:literal, $write:literal) => {
        Claim {
            name: $name,
            text: $text,
            source: $source,
            judge: |table| {
                let read = saves(table, $scheme, "read", "80 ms")?;
                let write = saves(table, $scheme, "write", "80 ms")?;
                let near = |share: f64, published: f64| (share - published).abs() <= 0.10;
                let numbers = format!("{} and {}", percent(read), percent(write));
                Ok(Verdict::of(
                    near(read, $read) && near(write, $write),
                    numbers,
                ))
            },
        }
    };
}

/// Returns the claims over Tables 1 to 6.
pub(super) fn one_client() -> Vec<Claim> {
    [near_the_tables(), savings(), combined()].concat()
}

fn near_the_tables() -> Vec<Claim> {
    vec![
        Claim {
            name: "within-25",
            text: "Every scheme at 40 and 80 ms lies within 25 % of the published mean",
            source: "our aim",
            judge: |table| within_25(table, "nfs95-table1-6"),
        },
        Claim {
            name: "order",
            text: "Schemes whose published ranges do not overlap are in the published order",
            source: "our aim",
            judge: |table| order(table, "nfs95-table1-6"),
        },
        Claim {
            name: "reads-are-slower",
            text: "Reads are slower than writes",
            source: "Section 4",
            judge: |table| {
                let mut least = f64::INFINITY;
                for scheme in ["NO-CHANGES", "LINEAR", "RETRANSMIT", "LINEAR-RETRANSMIT"] {
                    for bad in ["40 ms", "80 ms"] {
                        let [read, write] = ["read", "write"]
                            .map(|way| response(table, scheme, &[(WAY, way), (BAD, bad)]));
                        least = least.min(read? / write?);
                    }
                }
                Ok(Verdict::of(
                    least > 1.0,
                    format!("at least {least:.2} times"),
                ))
            },
        },
    ]
}

fn savings() -> Vec<Claim> {
    vec![
        Claim {
            name: "linear-at-40",
            text: "At 40 ms linear back-off changes little (at most 10 %)",
            source: "Section 4.2",
            judge: |table| {
                let [read, write] =
                    ["read", "write"].map(|way| saves(table, "LINEAR", way, "40 ms"));
                let (read, write) = (read?, write?);
                let numbers = format!("{} and {}", percent(read), percent(write));
                Ok(Verdict::of(read.max(write) <= 0.10, numbers))
            },
        },
        saving!(
            "linear-at-80",
            "At 80 ms linear back-off makes reads 28 % and writes 46 % shorter (10 points about each)",
            "Section 4.2, Table 2",
            "LINEAR",
            0.28,
            0.46
        ),
        saving!(
            "retransmit-at-80",
            "At 80 ms link-level retransmission makes reads 53 % and writes 66 % shorter (10 points about each)",
            "Section 4.3",
            "RETRANSMIT",
            0.53,
            0.66
        ),
        saving!(
            "both-at-80",
            "At 80 ms both make reads 53 % and writes 67 % shorter (10 points about each)",
            "Section 4.4",
            "LINEAR-RETRANSMIT",
            0.53,
            0.67
        ),
    ]
}

fn combined() -> Vec<Claim> {
    vec![
        Claim {
            name: "linear-bounds",
            text: "With linear back-off no run is terminated, and the slowest is faster than without, at 80 ms",
            source: "Section 4.2",
            judge: |table| {
                let mut holds = true;
                let mut numbers = Vec::new();
                for place in places(table) {
                    let [before, after] = ["NO-CHANGES", "LINEAR"]
                        .map(|scheme| table.summary(scheme, &place, RESPONSE));
                    let (before, after) = (before?, after?);
                    holds &= table.mean("LINEAR", &place, "aborted")? == 0.0;
                    if place.contains(&(BAD, "80 ms")) {
                        holds &= after.max < before.max;
                        numbers.push(format!("{:.1} s for {:.1} s", after.max, before.max));
                    }
                }
                Ok(Verdict::of(holds, numbers.join(" and ")))
            },
        },
        Claim {
            name: "no-interference",
            text: "Both together are nowhere slower than linear back-off alone",
            source: "Section 4.4",
            judge: |table| nowhere_slower(table, ["LINEAR-RETRANSMIT", "LINEAR"]),
        },
        Claim {
            name: "no-interference-below",
            text: "Both together are nowhere slower than link-level retransmission alone",
            source: "Section 4.4",
            judge: |table| nowhere_slower(table, ["LINEAR-RETRANSMIT", "RETRANSMIT"]),
        },
        Claim {
            name: "adaptive",
            text: "The adaptive policy is nowhere slower than linear back-off",
            source: "our aim",
            judge: |table| nowhere_slower(table, ["ADAPTIVE", "LINEAR"]),
        },
    ]
}

/// Returns the claims over Table 7.
pub(super) fn without_errors() -> Vec<Claim> {
    vec![
        Claim {
            name: "calibrated",
            text: "The model is calibrated to the rows without errors (within 3 %)",
            source: "Table 7",
            judge: |table| {
                let [read, write] = [("read", 30.7), ("write", 14.2)].map(|(way, published)| {
                    Ok(response(table, "NO-CHANGES", &[(WAY, way)])? / published)
                });
                let (read, write) = (read?, write?);
                let near = |ratio: f64| (ratio - 1.0).abs() <= 0.03;
                let numbers = format!("{read:.2} and {write:.2}");
                Ok(Verdict::of(near(read) && near(write), numbers))
            },
        },
        Claim {
            name: "repair-ends-overflow",
            text: "Real link-level retransmission makes reads faster: what overflows no longer waits for NFS",
            source: "Sections 4.3 and 4.6",
            judge: |table| {
                let read = |scheme| response(table, scheme, &[(WAY, "read")]);
                let (with, without) = (read("LINEAR-ARQ")?, read("LINEAR")?);
                let numbers = format!("{with:.1} s for {without:.1} s");
                Ok(Verdict::of(with < without, numbers))
            },
        },
    ]
}

/// Returns the claims over Tables 8 and 9.
pub(super) fn two_clients() -> Vec<Claim> {
    vec![
        Claim {
            name: "two-within-25",
            text: "Every row of Tables 8 and 9 lies within 25 % of the published mean",
            source: "our aim",
            judge: |table| within_25(table, "nfs95-table8-9"),
        },
        Claim {
            name: "two-order",
            text: "Schemes whose published ranges do not overlap are in the published order",
            source: "our aim",
            judge: |table| order(table, "nfs95-table8-9"),
        },
    ]
}

/// Returns the claims over Figure 4.
pub(super) fn block_sizes() -> Vec<Claim> {
    vec![Claim {
        name: "best-block",
        text: "No other block size that the papers name is better than 4,096 bytes in any curve, beyond the intervals",
        source: "Section 4.1, Figure 4",
        judge: |table| best_block(table, "NO-CHANGES"),
    }]
}
