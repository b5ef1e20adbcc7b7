//! Results as text for a terminal.

use std::fmt::Write;

use crate::claim::Judged;
use crate::grid::Grid;
use crate::table::{Row, Table};

/// Returns a number with about four significant digits.
pub fn rounded(value: f64) -> String {
    let magnitude = value.abs();
    match magnitude {
        0.0 => "0".into(),
        1e6.. => format!("{value:.3e}"),
        1000.0.. => format!("{value:.0}"),
        100.0.. => format!("{value:.1}"),
        10.0.. => format!("{value:.2}"),
        0.001.. => format!("{value:.3}"),
        _ => format!("{value:.2e}"),
    }
}

/// Returns the titles and cells of one metric's rows; an unknown value is `-`.
pub(crate) fn lines(table: &Table, metric: usize) -> Vec<Vec<String>> {
    let or_dash = |value: Option<f64>| value.map_or_else(|| "-".into(), rounded);
    let mut lines = Vec::new();
    for case in 0..table.cases().len() {
        let Some(row) = table.row(case, metric) else {
            continue;
        };
        if lines.is_empty() {
            let axes = row.parameters.iter().map(|(axis, _)| axis.as_str());
            let titles = ["mean", "±95 %", "min", "max", "runs", "published", "ratio"];
            let titles = std::iter::once("scheme").chain(axes).chain(titles);
            lines.push(titles.map(Into::into).collect());
        }
        let ratio = row.ratio();
        let summary = row.summary;
        let mut line = vec![row.scheme];
        line.extend(row.parameters.into_iter().map(|(_, label)| label));
        line.extend([rounded(summary.mean), or_dash(summary.ci95)]);
        line.extend([summary.min, summary.max].map(rounded));
        line.extend([summary.runs.to_string(), or_dash(row.published)]);
        line.push(ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}")));
        lines.push(line);
    }
    lines
}

/// Returns the titles and cells of one metric as a grid, a line for each scheme.
fn grid_lines(grid: &Grid, table: &Table, metric: usize) -> Vec<Vec<String>> {
    let Some(cells) = grid.cells(table, metric) else {
        return Vec::new();
    };
    let titles = std::iter::once("scheme").chain(grid.places.iter().map(String::as_str));
    let mut lines = vec![titles.map(Into::into).collect()];
    for (scheme, cells) in grid.schemes.iter().zip(cells) {
        let mut line = vec![scheme.clone()];
        line.extend(
            cells
                .iter()
                .map(|row| row.as_ref().map_or("-".into(), cell)),
        );
        lines.push(line);
    }
    lines
}

/// Returns a mean with its interval.
pub(crate) fn cell(row: &Row) -> String {
    let mean = rounded(row.summary.mean);
    match row.summary.ci95 {
        Some(half) => format!("{mean} ± {}", rounded(half)),
        None => mean,
    }
}

/// Returns a table for each metric, aligned, measured beside published; or a grid of means with their intervals, if
/// there are many schemes and axis values.
pub fn tables(table: &Table) -> String {
    let grid = Grid::of(table);
    let mut text = String::new();
    for (number, metric) in table.metrics().iter().enumerate() {
        let lines = match &grid {
            Some(grid) => grid_lines(grid, table, number),
            None => lines(table, number),
        };
        if lines.is_empty() {
            continue;
        }
        let unit = match metric.unit {
            "" => String::new(),
            unit => format!(" [{unit}]"),
        };
        // Writing to a String does not fail.
        let _ = writeln!(text, "{}{unit}: {}", metric.name, metric.description);
        let labels = table.cases().first().map_or(0, |case| case.labels().len());
        let words = if grid.is_some() { 1 } else { 1 + labels };
        text.push_str(&aligned(&lines, words));
        text.push('\n');
    }
    text
}

/// Compares every scheme with the scheme `against`, case by case on common seeds; a `*` marks a difference whose 95 %
/// confidence interval excludes zero.
pub fn comparison(table: &Table, against: &str) -> String {
    let mut text = String::new();
    for metric in table.metrics() {
        let mut lines = Vec::new();
        let others = table.cases().iter();
        for case in others.filter(|case| case.scheme_name() != against) {
            let labels = case.labels();
            let at: Vec<_> = labels
                .iter()
                .map(|(axis, label)| (axis.as_str(), label.as_str()))
                .collect();
            let schemes = [case.scheme_name(), against];
            let Ok(paired) = table.paired(schemes, &at, metric.name) else {
                continue;
            };
            let half = paired.difference.ci95;
            let mut line = vec![schemes[0].to_owned()];
            line.extend(labels.iter().map(|(_, label)| label.clone()));
            line.push(rounded(paired.difference.mean));
            line.push(half.map_or_else(|| "-".into(), rounded));
            line.push(format!("{:.3}", paired.ratio));
            line.push(paired.difference.runs.to_string());
            line.push(if paired.is_significant() { "*" } else { "" }.into());
            lines.push(line);
        }
        let Some(first) = lines.first() else {
            continue;
        };
        let words = first.len() - 5;
        let axes = table.cases().first().map_or(&[][..], |case| case.labels());
        let axes = axes.iter().map(|(axis, _)| axis.as_str());
        let titles = std::iter::once("scheme").chain(axes);
        let titles = titles.chain(["difference", "±95 %", "ratio", "pairs", ""]);
        lines.insert(0, titles.map(Into::into).collect());
        // Writing to a String does not fail.
        let _ = writeln!(text, "{}, against {against} on common seeds", metric.name);
        text.push_str(&aligned(&lines, words));
        text.push('\n');
    }
    text
}

/// Returns the claims with their verdicts.
pub fn claims(judged: &[Judged]) -> String {
    let lines = judged.iter().map(|judged| {
        let claim = &judged.claim;
        let (word, numbers) = (judged.word(), judged.numbers());
        format!(
            "{word:<8} {} ({})\n         {numbers}\n",
            claim.text, claim.source
        )
    });
    lines.collect()
}

/// Returns the cells in columns: the first `words` columns aligned to the left, the numbers to the right.
pub fn aligned(lines: &[Vec<String>], words: usize) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let length = |line: &Vec<String>, column| {
        line.get(column)
            .map_or(0, |cell: &String| cell.chars().count())
    };
    let width = |column| {
        lines
            .iter()
            .map(|line| length(line, column))
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let begin = text.len();
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let _ = if column < words {
                write!(text, "{cell:<width$}  ")
            } else {
                write!(text, "{cell:>width$}  ")
            };
        }
        text.truncate(begin + text[begin..].trim_end().len());
        text.push('\n');
    }
    text
}
