//! The runs as tables: medians over the seeds (least – most).

use super::PAPERS;
use super::case::Scheme;
use super::load::Part;
use super::measure::Row;
use crate::bench::spread::{show, spread};

/// A figure of a run in a table: title, number of decimal places, and value.
type Figure = (&'static str, usize, fn(&Row) -> Option<f64>);

/// The tables of transfers to the mobile host.
const FIGURES: [Figure; 7] = [
    ("Mbit/s", 3, |row| Some(row.rate())),
    ("Processor of the mobile host, % (Figure 14a)", 2, |row| {
        Some(row.usage())
    }),
    (
        "Processor of the mobile host, s for 14.6 MB (Figure 14b)",
        2,
        |row| row.for_each_megabyte(row.work.all_seconds() * PAPERS as f64 / 1e6),
    ),
    ("Of that, s by the daemon", 2, |row| {
        row.for_each_megabyte(row.work.seconds_of(Part::Daemon) * PAPERS as f64 / 1e6)
    }),
    ("Frames that the mobile host sent, for each MB", 0, |row| {
        row.for_each_megabyte(row.air.sent)
    }),
    ("Wake-ups of its tasks, for each MB", 0, |row| {
        row.for_each_megabyte(row.work.all_wake_ups())
    }),
    ("Wake-ups of its daemon, for each MB", 0, |row| {
        row.for_each_megabyte(row.work.wake_ups_of(Part::Daemon))
    }),
];

/// Prints all tables.
pub(super) fn print(rows: &[Row], schemes: &[Scheme]) {
    let down: Vec<_> = rows.iter().filter(|row| !row.case.both_ways).collect();
    for figure in FIGURES.iter().filter(|_| !down.is_empty()) {
        table(figure, &down, schemes);
    }
    let both: Vec<_> = rows.iter().filter(|row| row.case.both_ways).collect();
    if !both.is_empty() {
        both_ways(&both, schemes);
    }
    let count = |of: fn(&Row) -> bool| rows.iter().filter(|row| of(row)).count();
    let rests = rows.iter().map(|row| 100.0 * row.background.all_seconds());
    let late = rows.iter().map(|row| row.air.late).fold(0.0, f64::max);
    println!(
        "{} runs, of which {} carried all their bytes; costs of the others are scaled too. What arrived differed in {} \
         of them from what was sent. At rest the mobile host used {} % of the processor, which is taken off. The \
         emulator missed at most {late} deadlines by more than 2 ms in a run.",
        rows.len(),
        count(|row| row.whole),
        count(|row| !row.intact),
        show(spread(rests), 3),
    );
}

/// Returns the distinct numbers, in their order.
fn distinct(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// Prints a table with a line for each air and a column for each scheme.
fn table((title, places, of): &Figure, rows: &[&Row], schemes: &[Scheme]) {
    let names: Vec<_> = schemes.iter().map(|scheme| scheme.name()).collect();
    println!("{title}\n\n| Mbit/s, lost | {} |", names.join(" | "));
    println!("|---|{}", "---|".repeat(schemes.len()));
    for hop in distinct(rows.iter().map(|row| row.case.hop)) {
        for lost in distinct(rows.iter().map(|row| row.case.lost)) {
            let cell = |scheme: &Scheme| {
                let runs = rows.iter().filter(|row| {
                    (row.case.scheme, row.case.hop, row.case.lost) == (*scheme, hop, lost)
                });
                show(spread(runs.filter_map(|row| of(row))), *places)
            };
            let cells: Vec<_> = schemes.iter().map(cell).collect();
            println!("| {hop}, {lost} % | {} |", cells.join(" | "));
        }
    }
    println!();
}

/// Prints Table 3 of the paper.
fn both_ways(rows: &[&Row], schemes: &[Scheme]) {
    println!(
        "Both ways at once, without loss (Table 3)\n\n| Mbit/s | scheme | kB/s, both | to the mobile host | from it | \
         processor, % | s for 14.6 MB | wake-ups for each MB |\n|---|---|---|---|---|---|---|---|"
    );
    for hop in distinct(rows.iter().map(|row| row.case.hop)) {
        for scheme in schemes {
            let runs = || {
                rows.iter()
                    .filter(|row| (row.case.scheme, row.case.hop) == (*scheme, hop))
            };
            let rate = |of: fn(&Row) -> f64| {
                show(spread(runs().map(|row| of(row) / row.seconds / 1e3)), 1)
            };
            let cost = runs().filter_map(|row| {
                row.for_each_megabyte(row.work.all_seconds() * PAPERS as f64 / 1e6)
            });
            let wakes = runs().filter_map(|row| row.for_each_megabyte(row.work.all_wake_ups()));
            println!(
                "| {hop} | {} | {} | {} | {} | {} | {} | {} |",
                scheme.name(),
                rate(|row| row.bytes + row.bytes_up),
                rate(|row| row.bytes),
                rate(|row| row.bytes_up),
                show(spread(runs().map(|row| row.usage())), 2),
                show(spread(cost), 2),
                show(spread(wakes), 0),
            );
        }
    }
    println!();
}
