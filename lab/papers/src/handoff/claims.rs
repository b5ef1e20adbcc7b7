//! Statements on hand-off, of the papers and ours.

use experiment::{Claim, Table, Unknown, Verdict};

/// Round trip of the hop in the plans, and what a hand-off may take beyond round trips, in ms.
const HOP: f64 = 20.0;
const BESIDE: f64 = 10.0;
const SCHEMES: [&str; 4] = ["ARQ", "SNOOP", "PLAIN", "MTCP"];
const WIRES: [(&str, f64); 3] = [("2 ms", 2.0), ("20 ms", 20.0), ("80 ms", 80.0)];

/// Returns a verdict that holds if `wrong` finds no exception in any scheme and at any distance; its numbers name the
/// exceptions.
fn everywhere(
    wrong: impl Fn(&str, (&str, f64)) -> Result<Option<String>, Unknown>,
) -> Result<Verdict, Unknown> {
    let mut all = Vec::new();
    for scheme in SCHEMES {
        for wire in WIRES {
            if let Some(what) = wrong(scheme, wire)? {
                all.push(format!("{scheme}, {}: {what}", wire.0));
            }
        }
    }
    let numbers = if all.is_empty() {
        "everywhere".into()
    } else {
        all.join("; ")
    };
    Ok(Verdict::of(all.is_empty(), numbers))
}

fn departing(table: &Table, place: [&str; 3], metric: &str) -> Result<f64, Unknown> {
    let [scheme, departure, wire] = place;
    table.mean(scheme, &[("departure", departure), ("wire", wire)], metric)
}

/// Returns the claim about copies at the next gateway.
fn copies_save_the_wire() -> Claim {
    Claim {
        name: "copies-save-the-wire",
        text: "With copies at the next gateway the stall is at most a round trip of the hop and 10 ms, however far \
               the gateways are from each other",
        source: "ours; Balakrishnan et al. 1997 discuss such buffers",
        judge: |table| {
            everywhere(|scheme, (wire, _)| {
                let stall = departing(table, [scheme, "bicast", wire], "worst")?;
                Ok((stall > HOP + BESIDE).then(|| format!("{stall:.0} ms")))
            })
        },
    }
}

/// Returns the claims over ways to leave a gateway.
pub(super) fn departures() -> Vec<Claim> {
    vec![
        Claim {
            name: "overlap-in-two-round-trips",
            text: "Where both hops work, the stall is at most a round trip of the hop, one between gateways, and 10 ms",
            source: "ours (issue 20)",
            judge: |table| {
                everywhere(|scheme, (wire, trip)| {
                    let stall = departing(table, [scheme, "overlap", wire], "worst")?;
                    let is_long = stall > HOP + trip + BESIDE;
                    Ok(is_long.then(|| format!("{stall:.0} ms")))
                })
            },
        },
        Claim {
            name: "snoop-in-10-to-30-ms",
            text: "Hand-off with snoop takes 10 to 30 ms within a local area",
            source: "Balakrishnan et al. 1997, of their testbed",
            judge: |table| {
                let stall = departing(table, ["SNOOP", "overlap", "2 ms"], "stall")?;
                Ok(Verdict::of(stall <= 30.0, format!("{stall:.1} ms")))
            },
        },
        Claim {
            name: "split-needs-no-state",
            text: "With the split behind the access points, hand-off between these costs a split connection no more \
                   than another one (stall within 10 ms)",
            source: "Haas, Warkhedi 2000, hand-off in a LAN",
            judge: |table| {
                let of = |scheme| departing(table, [scheme, "overlap", "2 ms"], "stall");
                let (split, plain) = (of("MTCP")?, of("PLAIN")?);
                let numbers = format!("{split:.1} ms, whole {plain:.1} ms");
                Ok(Verdict::of(split <= plain + BESIDE, numbers))
            },
        },
        copies_save_the_wire(),
        Claim {
            name: "a-lost-queue-costs-little",
            text: "A gateway that is lost with its queue stalls a download for at most 100 ms more than one whose \
                   queue follows",
            source: "ours",
            judge: |table| {
                everywhere(|scheme, (wire, _)| {
                    let of = |departure| departing(table, [scheme, departure, wire], "stall");
                    let more = of("hard")? - of("buffered")?;
                    Ok((more > 100.0).then(|| format!("{more:.0} ms")))
                })
            },
        },
        Claim {
            name: "silence-in-three-seconds",
            text: "A gateway that falls silent is left, and the download goes on, within 3 s",
            source: "ours (issue 20)",
            judge: |table| {
                everywhere(|scheme, (wire, _)| {
                    let stall = departing(table, [scheme, "unnoticed", wire], "worst")?;
                    Ok((stall > 3_000.0).then(|| format!("{stall:.0} ms")))
                })
            },
        },
    ]
}

/// Returns a verdict that holds if each scheme keeps 95 % of its goodput with a hand-off in each such interval.
fn keeps(table: &Table, interval: &str) -> Result<Verdict, Unknown> {
    everywhere(|scheme, (wire, _)| {
        let at = [("interval", interval), ("wire", wire)];
        let share = table.mean(scheme, &at, "share")?;
        Ok((share < 95.0).then(|| format!("{share:.1} %")))
    })
}

/// Returns the claims over the time between hand-offs.
pub(super) fn intervals() -> Vec<Claim> {
    vec![
        Claim {
            name: "insensitive-to-one-a-second",
            text: "Throughput is insensitive to hand-offs up to one a second (at least 95 % of that without)",
            source: "Balakrishnan et al. 1997, of their testbed",
            judge: |table| keeps(table, "1 s"),
        },
        Claim {
            name: "one-in-five-seconds",
            text: "With one every 5 s at least 95 % of the goodput remains",
            source: "ours (issue 20)",
            judge: |table| keeps(table, "5 s"),
        },
    ]
}
