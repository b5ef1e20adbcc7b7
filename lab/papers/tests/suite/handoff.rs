//! Downloads with hand-offs as the lab runs them.

use std::fmt::Write;

use experiment::text;
use papers::handoff::EXPERIMENTS;

use crate::lab::{is_golden, makes_sense, named, refuses, table};

#[test]
fn every_case_of_the_plans_makes_sense() {
    makes_sense(EXPERIMENTS);
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let wrong = [
        ("rate=0 bit/s", "rate"),
        ("axes.interval=[\"10 ms\"]", "interval"),
        ("schemes.ARQ.tcp=magic", "magic"),
        ("hand_offs=10", ""),
    ];
    refuses(named("handoff-intervals"), &wrong);
    refuses(
        named("handoff-departures"),
        &[
            ("axes.departure=[\"smooth\"]", "smooth"),
            ("hand_offs=0", "hand_offs"),
        ],
    );
}

#[test]
fn some_hand_offs_are_the_golden_ones() {
    let changes = [
        "experiment.seeds=1",
        "hand_offs=2",
        "interval=3 s",
        "axes.wire=[\"20 ms\"]",
        "axes.departure=[\"bicast\", \"overlap\", \"hard\"]",
    ];
    let table = table(named("handoff-departures"), &changes);
    let mut lines = String::new();
    for row in table.rows() {
        let (_, departure) = &row.parameters[0];
        let mean = text::rounded(row.summary.mean);
        writeln!(
            lines,
            "{:<8} {departure:<10} {:<6} {mean}",
            row.metric, row.scheme
        )
        .unwrap();
    }
    is_golden("handoff", &lines);
}
