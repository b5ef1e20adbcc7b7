//! The statements of the paper, and the distance of this model from its tables.

use experiment::{Case, Claim, Published, Table, Unknown, Verdict};

use super::about::about;

/// The settings of Tables 2 to 4.
const LAN_8: &str = "LAN 8 KB";
const LAN_32: &str = "LAN 32 KB";
const WAN: &str = "WAN 32 KB";
/// The published peaks of LAN and WAN, in Mbit/s.
const PEAKS: [f64; 2] = [1.50, 1.35];
/// The experiments with a table in the paper.
const TABLES: [&str; 4] = [
    "ton97-table2",
    "ton97-table3",
    "ton97-table4",
    "ton97-table5",
];
/// The schemes that the paper recommends.
const BEST_LINK: &str = "LL-SMART-TCP-AWARE";

/// A claim that holds if the ratio of two throughputs lies within bounds.
macro_rules! ratio {
    ($name:literal, $source:literal, $text:literal, $first:expr, $second:expr, $setting:expr, $bounds:expr) => {
        Claim {
            name: $name,
            text: $text,
            source: $source,
            judge: |table| {
                let ratio =
                    throughput(table, $first, $setting)? / throughput(table, $second, $setting)?;
                Ok(Verdict::of($bounds.contains(&ratio), format!("{ratio:.2}")))
            },
        }
    };
}

/// Returns the claims over all schemes of Tables 2 to 4.
pub(super) fn all() -> Vec<Claim> {
    [link_layer(), end_to_end(), knowing_more(), split(), aims()].concat()
}

fn link_layer() -> Vec<Claim> {
    vec![
        ratio!(
            "aware-lan",
            "Section 4.2",
            "LL-TCP-AWARE is about 10 % faster than LL in the local area (3 to 20 %)",
            "LL-TCP-AWARE",
            "LL",
            LAN_32,
            (1.03..1.20)
        ),
        ratio!(
            "aware-wan",
            "Section 4.2",
            "LL-TCP-AWARE is about 30 % faster than LL in the wide area (at least 20 %)",
            "LL-TCP-AWARE",
            "LL",
            WAN,
            (1.20..)
        ),
        Claim {
            name: "resent-by-both",
            text: "Under LL in the local area the source, too, resends about 90 % of what was lost (75 to 100 %)",
            source: "Section 4.2",
            judge: |table| {
                let source = mean(table, "LL", LAN_32, "retransmissions")?;
                let share = source / mean(table, "LL", LAN_32, "hop_retransmissions")?;
                Ok(Verdict::of((0.75..=1.0).contains(&share), percent(share)))
            },
        },
        Claim {
            name: "no-coarse-timeouts",
            text: "Link-layer schemes never let the source time out",
            source: "Section 4.2, Figure 5",
            judge: |table| {
                let schemes = ["LL", "LL-TCP-AWARE", "LL-SMART", BEST_LINK];
                sum_of_timeouts(table, &schemes)
            },
        },
    ]
}

fn end_to_end() -> Vec<Claim> {
    vec![
        Claim {
            name: "e2e-share",
            text: "E2E reaches less than half of the peak in the local area, less than a quarter in the wide area",
            source: "Section 4.3",
            judge: |table| {
                let [lan, wan] = PEAKS;
                let lan = throughput(table, "E2E", LAN_32)? / lan;
                let wan = throughput(table, "E2E", WAN)? / wan;
                let numbers = format!("{} and {}", percent(lan), percent(wan));
                Ok(Verdict::of(lan < 0.5 && wan < 0.25, numbers))
            },
        },
        ratio!(
            "newreno-lan",
            "Section 4.3",
            "E2E-NEWRENO is 10 to 25 % faster than E2E in the local area with 8 KB",
            "E2E-NEWRENO",
            "E2E",
            LAN_8,
            (1.10..=1.27)
        ),
        ratio!(
            "newreno-wan",
            "Section 4.3",
            "E2E-NEWRENO is about twice as fast as E2E in the wide area (1.6 to 2.4 times)",
            "E2E-NEWRENO",
            "E2E",
            WAN,
            (1.6..2.4)
        ),
    ]
}

fn knowing_more() -> Vec<Claim> {
    vec![
        ratio!(
            "eln-wan",
            "Section 4.3",
            "E2E-ELN is more than twice as fast as E2E in the wide area",
            "E2E-ELN",
            "E2E",
            WAN,
            (2.0..)
        ),
        ratio!(
            "sack-wan",
            "Section 4.3",
            "E2E-IETF-SACK is about 35 % slower than the best link layer in the wide area (25 to 45 %)",
            "E2E-IETF-SACK",
            BEST_LINK,
            WAN,
            (0.55..0.75)
        ),
        ratio!(
            "smart-lan",
            "Section 4.3",
            "E2E-SMART is 10 to 15 % slower than the best link layer in the local area (5 to 20 %)",
            "E2E-SMART",
            BEST_LINK,
            LAN_32,
            (0.80..0.95)
        ),
        Claim {
            name: "rxmt-small-windows",
            text: "Repair at the first mark gains more with 8 KB than with 32 KB",
            source: "Section 4.3",
            judge: |table| {
                let gain = |setting| -> Result<f64, Unknown> {
                    let late = throughput(table, "E2E-ELN", setting)?;
                    Ok(throughput(table, "E2E-ELN-RXMT", setting)? / late - 1.0)
                };
                let (small, large) = (gain(LAN_8)?, gain(LAN_32)?);
                let numbers = format!("{} and {}", percent(small), percent(large));
                Ok(Verdict::of(small > large, numbers))
            },
        },
    ]
}

fn split() -> Vec<Claim> {
    vec![
        Claim {
            name: "split-wired",
            text: "Split connections have no timeouts on the wired side",
            source: "Section 4.4, Figure 10",
            judge: |table| sum_of_timeouts(table, &["SPLIT", "SPLIT-SMART"]),
        },
        ratio!(
            "split-wan",
            "Section 4.4",
            "SPLIT is faster than E2E in the wide area, since the wired side keeps its window",
            "SPLIT",
            "E2E",
            WAN,
            (1.3..)
        ),
        ratio!(
            "split-smart",
            "Section 4.4",
            "SPLIT-SMART is at least 1.8 times as fast as SPLIT, and slower than the best link layer",
            "SPLIT-SMART",
            "SPLIT",
            LAN_8,
            (1.8..)
        ),
    ]
}

fn aims() -> Vec<Claim> {
    vec![
        Claim {
            name: "within-15",
            text: "At least 28 of the 35 throughputs of Tables 2 to 4 lie within 15 % of the published",
            source: "our aim",
            judge: |table| {
                let ratios = ratios(table)?;
                let near = ratios
                    .iter()
                    .filter(|(_, _, ratio)| (ratio - 1.0).abs() <= 0.15);
                let near = near.count();
                let numbers = format!("{near} of {}", ratios.len());
                Ok(Verdict::of(near >= 28, numbers))
            },
        },
        Claim {
            name: "none-off-by-35",
            text: "None of them is off by more than 35 %",
            source: "our aim",
            judge: |table| {
                let far: Vec<_> = ratios(table)?
                    .into_iter()
                    .filter(|(_, _, ratio)| (ratio - 1.0).abs() > 0.35)
                    .map(|(case, _, ratio)| format!("{case}: {ratio:.2}"))
                    .collect();
                Ok(Verdict::of(far.is_empty(), far.join("; ")))
            },
        },
        Claim {
            name: "order",
            text: "Of the pairs of schemes that differ by more than 10 % in a setting, 95 % have the published order",
            source: "our aim",
            judge: order,
        },
        Claim {
            name: "goodputs",
            text: "Goodputs lie within 1.5 points of the published",
            source: "our aim",
            judge: |table| {
                let off = [
                    goodputs(table, "wireless_goodput")?,
                    goodputs(table, "wired_goodput")?,
                ]
                .concat();
                Ok(Verdict::of(off.is_empty(), off.join("; ")))
            },
        },
    ]
}

fn mean(table: &Table, scheme: &str, setting: &str, metric: &str) -> Result<f64, Unknown> {
    table.mean(scheme, &[("setting", setting)], metric)
}

fn throughput(table: &Table, scheme: &str, setting: &str) -> Result<f64, Unknown> {
    mean(table, scheme, setting, "throughput")
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Returns a verdict that holds if the fixed host never timed out.
fn sum_of_timeouts(table: &Table, schemes: &[&str]) -> Result<Verdict, Unknown> {
    let mut sum = 0.0;
    for scheme in schemes {
        for setting in [LAN_8, LAN_32, WAN] {
            sum += mean(table, scheme, setting, "timeouts")?;
        }
    }
    Ok(Verdict::of(
        sum == 0.0,
        format!("{sum:.2} in the mean of a run, over all settings"),
    ))
}

/// Returns the value of a case in the tables of the paper.
fn published(case: &Case, metric: &str) -> Option<f64> {
    let in_table = |name| {
        Published::read(&about([name, ""], ""))
            .ok()?
            .value(case, metric)
    };
    TABLES.into_iter().find_map(in_table)
}

/// Returns every case with a published throughput: its name, the published value, and measured divided by published.
fn ratios(table: &Table) -> Result<Vec<(String, f64, f64)>, Unknown> {
    let mut ratios = Vec::new();
    for (number, case) in table.cases().iter().enumerate() {
        let measured = table.summary_of(number, "throughput")?;
        if let (Some(published), Some(measured)) = (published(case, "throughput"), measured) {
            ratios.push((case.describe(), published, measured.mean / published));
        }
    }
    if ratios.is_empty() {
        return Err(Unknown::new("a case of the paper's tables"));
    }
    Ok(ratios)
}

/// Returns a verdict that holds if 95 % of the pairs of schemes in a setting are in the published order; pairs whose
/// published values are within 10 % do not count.
fn order(table: &Table) -> Result<Verdict, Unknown> {
    let setting = |case: &str| case.split_once(", ").map(|(_, setting)| setting.to_owned());
    let ratios = ratios(table)?;
    let (mut pairs, mut wrong) = (0, Vec::new());
    for (first, one, one_ratio) in &ratios {
        for (second, other, other_ratio) in &ratios {
            if setting(first) != setting(second) || *one <= other * 1.1 {
                continue;
            }
            pairs += 1;
            if one * one_ratio <= other * other_ratio {
                wrong.push(format!("{first} below {second}"));
            }
        }
    }
    let right = pairs - wrong.len();
    let numbers = format!("{right} of {pairs}; {}", wrong.join("; "));
    Ok(Verdict::of(right * 100 >= pairs * 95, numbers))
}

/// Returns the cases whose goodput differs by more than 1.5 points.
fn goodputs(table: &Table, metric: &str) -> Result<Vec<String>, Unknown> {
    let mut off = Vec::new();
    for (number, case) in table.cases().iter().enumerate() {
        let measured = table.summary_of(number, metric)?;
        if let (Some(published), Some(measured)) = (published(case, metric), measured)
            && (measured.mean - published).abs() > 1.5
        {
            let (case, measured) = (case.describe(), measured.mean);
            off.push(format!("{case}: {metric} {measured:.1} for {published:.1}"));
        }
    }
    Ok(off)
}

/// Returns the claims over Table 5.
pub(super) fn bursts() -> Vec<Claim> {
    vec![
        Claim {
            name: "table5-within-20",
            text: "Every throughput of Table 5 lies within 20 % of the published",
            source: "our aim",
            judge: |table| {
                let ratios = ratios(table)?;
                let far = ratios
                    .iter()
                    .filter(|(_, _, ratio)| (ratio - 1.0).abs() > 0.2);
                let far: Vec<_> = far
                    .map(|(case, _, ratio)| format!("{case}: {ratio:.2}"))
                    .collect();
                Ok(Verdict::of(far.is_empty(), far.join("; ")))
            },
        },
        Claim {
            name: "selective-repair-of-bursts",
            text: "With bursts of 6 packets selective repair gains 10 to 45 % over snoop",
            source: "Section 4.5",
            judge: |table| {
                let at = [("burst", "6")];
                let smart = table.mean(BEST_LINK, &at, "throughput")?;
                let gain = smart / table.mean("LL-TCP-AWARE", &at, "throughput")?;
                Ok(Verdict::of(
                    (1.10..1.45).contains(&gain),
                    format!("{gain:.2}"),
                ))
            },
        },
    ]
}

/// Returns the claims over Figure 12.
pub(super) fn spacings() -> Vec<Claim> {
    const AXIS: &str = "errors.mean";
    vec![
        Claim {
            name: "alike-at-few-errors",
            text: "With an error in 256 KB all but E2E are alike (the slowest reaches 80 % of the fastest)",
            source: "Section 4.6, Figure 12",
            judge: |table| {
                let schemes = [
                    "LL-TCP-AWARE",
                    BEST_LINK,
                    "E2E-SMART",
                    "E2E-IETF-SACK",
                    "SPLIT-SMART",
                ];
                let mut values = Vec::new();
                for scheme in schemes {
                    values.push(table.mean(scheme, &[(AXIS, "256 KiB")], "throughput")?);
                }
                let slowest = values.iter().copied().fold(f64::INFINITY, f64::min);
                let share = slowest / values.iter().copied().fold(0.0, f64::max);
                Ok(Verdict::of(share >= 0.8, percent(share)))
            },
        },
        Claim {
            name: "aware-at-many-errors",
            text: "With an error in 16 KB the TCP-aware link layers are several times as fast as E2E",
            source: "Section 4.6, Figure 12",
            judge: |table| {
                let at = [(AXIS, "16 KiB")];
                let aware = table.mean("LL-TCP-AWARE", &at, "throughput")?;
                let times = aware / table.mean("E2E", &at, "throughput")?;
                Ok(Verdict::of(times >= 3.0, format!("{times:.1} times")))
            },
        },
        Claim {
            name: "smart-beats-sack",
            text: "With an error in 16 KB E2E-SMART is much faster than E2E-IETF-SACK, which waits for duplicates",
            source: "Section 4.6, Figure 12",
            judge: |table| {
                let at = [(AXIS, "16 KiB")];
                let smart = table.mean("E2E-SMART", &at, "throughput")?;
                let times = smart / table.mean("E2E-IETF-SACK", &at, "throughput")?;
                Ok(Verdict::of(times >= 1.3, format!("{times:.1} times")))
            },
        },
    ]
}
