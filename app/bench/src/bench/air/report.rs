//! The runs as a table.

use super::row::{Case, Row, jain};
use crate::bench::spread::{show, spread};

/// Prints a line for each scheme: medians over the seeds (least – most).
pub(super) fn print(rows: &[Row], schemes: &[String]) {
    println!(
        "| scheme | all, of the air's rate | air for lost packets | air for the way up | each, Mbit/s | \
         Jain, goodput | Jain, airtime ÷ good time | \
         the last, bad half of the time: what the others keep | rate found, Mbit/s |\n\
         |---|---|---|---|---|---|---|---|---|"
    );
    for scheme in schemes {
        let of = |case: Case| {
            rows.iter()
                .filter(move |row| row.scheme == *scheme && row.case == case)
        };
        // If there is no run in which all fade, take any case.
        let first = rows.iter().find(|row| row.scheme == *scheme);
        let usual = match of(Case::Fading).next().or(first) {
            Some(row) => row.case,
            None => continue,
        };
        let each = of(usual).flat_map(|row| row.goodput_bps.iter().map(|rate| rate / 1e6));
        let goodput = of(usual).map(|row| jain(row.goodput_bps.iter().copied()));
        let kept = of(Case::Half).filter_map(|row| {
            let good = of(Case::Good).find(|good| good.seed == row.seed)?;
            Some(row.others() / good.others())
        });
        let found = of(usual).flat_map(|row| row.rates_bps.iter().map(|rate| rate / 1e6));
        println!(
            "| {scheme} | {} | {} | {} | {} | {} | {} | {} | {} |",
            show(spread(of(usual).map(Row::share)), 3),
            show(spread(of(usual).map(|row| row.lost)), 3),
            show(spread(of(usual).map(|row| row.up)), 3),
            show(spread(each), 2),
            show(spread(goodput), 3),
            show(spread(of(usual).map(Row::fairness)), 3),
            show(spread(kept), 3),
            show(spread(found), 1),
        );
    }
    let late = rows.iter().map(|row| row.late).max().unwrap_or_default();
    println!("\nThe emulator missed at most {late} deadlines by more than 2 ms in a run.");
}
