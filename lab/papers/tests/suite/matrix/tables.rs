//! The experiment as the lab runs it.

use std::fmt::Write;

use experiment::{Table, text};
use papers::matrix::EXPERIMENTS;

use crate::lab::{is_golden, makes_sense, named, plan, refuses, table};

/// Returns the mean throughput of every case.
fn throughputs(table: &Table) -> String {
    let mut lines = String::new();
    let rows = table.rows().into_iter();
    for row in rows.filter(|row| row.metric == "throughput") {
        let (_, channel) = &row.parameters[0];
        let mean = text::rounded(row.summary.mean);
        writeln!(lines, "{channel:<12} {:<18} {mean}", row.scheme).unwrap();
    }
    lines
}

#[test]
fn every_case_of_the_plan_makes_sense() {
    makes_sense(EXPERIMENTS);
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let wrong = [
        ("direction=upload", "direction"),
        ("schemes.MTCP.hop=reno", "schemes.MTCP.hop"),
        ("schemes.I-TCP.base=magic", "magic"),
        ("mtcp.packet=20", "packet"),
        ("mtcp_wide.timing.tick=0 s", "tick"),
    ];
    refuses(named("matrix"), &wrong);
}

#[test]
fn small_transfers_are_the_golden_ones() {
    let changes = ["experiment.seeds=2", "transfer=256 KiB"];
    is_golden("matrix", &throughputs(&table(named("matrix"), &changes)));
}

#[test]
fn a_recording_that_there_is_not_is_told_the_known_ones() {
    let changes = ["errors.model=replay", "errors.file=moon"];
    let experiment = named("ton97-peak");
    let problem = experiment.check(&plan(experiment, &changes).cases()[0]);
    let problem = problem.unwrap_err().to_string();
    assert!(problem.contains("known are wifi-edge"), "{problem}");
}
