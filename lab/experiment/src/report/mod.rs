//! The page of results for people: self-contained HTML.

mod markdown;
mod plot;

use std::path::Path;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;

use crate::about::About;
use crate::claim::Judged;
use crate::error::LabError;
use crate::experiment::Experiment;
use crate::grid::Grid;
use crate::plan::Plan;
use crate::storage::{PROVENANCE, write_atomically};
use crate::table::{Row, Table};
use crate::text::{cell, lines};

const STYLE: &str = include_str!("style.css");
/// Share of the colour in the darkest cell of a grid, in percent: text stays legible on it.
const DARKEST: f64 = 45.0;
/// Entries of the provenance on a page, in this order.
const SHOWN: [(&str, &str); 8] = [
    ("commit", "commit"),
    ("dirty", "source differs from the commit"),
    ("lasthop", "lasthop"),
    ("rustc", "compiler"),
    ("plan_hash", "hash of the plan"),
    ("first_seed", "first seed"),
    ("runs", "runs"),
    ("wall_seconds", "seconds of wall time"),
];

/// One experiment with its results.
#[derive(Debug)]
pub struct Chapter {
    about: &'static About,
    plan: Plan,
    table: Table,
    judged: Vec<Judged>,
    /// `None` until the experiment was run to its end.
    provenance: Option<Value>,
}

impl Chapter {
    /// Creates the chapter of an experiment whose results are in `folder`.
    pub fn new(
        experiment: &'static dyn Experiment,
        plan: Plan,
        table: Table,
        folder: &Path,
    ) -> Result<Self, LabError> {
        let path = folder.join(PROVENANCE);
        let provenance = match std::fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).ok(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(LabError::file("read", &path)(error)),
        };
        Ok(Self {
            about: experiment.about(),
            judged: table.judge(experiment),
            plan,
            table,
            provenance,
        })
    }
}

/// Stores a page atomically.
pub fn save(path: &Path, page: &str) -> Result<(), LabError> {
    write_atomically(path, page.as_bytes())
}

/// Returns the page of these chapters. It refers to nothing outside itself.
pub fn page(chapters: &[Chapter]) -> Result<String, LabError> {
    let bodies = chapters
        .iter()
        .map(chapter)
        .collect::<Result<Vec<_>, _>>()?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "lasthop lab: results" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { "lasthop lab: results" }
                    p {
                        "Means over all seeds, ± half the width of the 95 % confidence interval (Student's t). "
                        "Ratio: measured by published. Published numbers enter only here, never a run."
                    }
                    @if chapters.len() > 1 {
                        nav aria-label="Experiments" {
                            ul {
                                @for chapter in chapters {
                                    @let about = chapter.about;
                                    li { a href={ "#" (about.name) } { (about.name) } ": " (about.title) }
                                }
                            }
                        }
                    }
                    @for body in &bodies { (body) }
                }
            }
        }
    };
    Ok(page.into_string())
}

fn chapter(chapter: &Chapter) -> Result<Markup, LabError> {
    let about = chapter.about;
    let grid = Grid::of(&chapter.table);
    let plots = match grid {
        Some(_) => Vec::new(),
        None => plot::draw(&chapter.table, &chapter.plan)?,
    };
    Ok(html! {
        section id=(about.name) aria-labelledby={ (about.name) "-title" } {
            h2 id={ (about.name) "-title" } { (about.name) ": " (about.title) }
            p { (about.source) }
            @if chapter.provenance.is_none() {
                p { strong { "Not run to its end: more seeds are to come." } }
            }
            @if !chapter.judged.is_empty() {
                h3 { "Claims" }
                (claims(&chapter.judged))
            }
            @for (number, metric) in about.metrics.iter().enumerate() {
                h3 { (metric.name) @if !metric.unit.is_empty() { " [" (metric.unit) "]" } }
                p { (metric.description) }
                @if let Some(plot) = plots.get(number) { (PreEscaped(plot)) }
                @match &grid {
                    Some(grid) => (shaded(grid, &chapter.table, number)),
                    None => (measured(chapter, number)),
                }
            }
            h3 { "Parameters" }
            (parameters(chapter))
            @if !about.calibration.is_empty() {
                h3 { "Calibration" }
                (calibration(chapter))
            }
            @if !about.deviations.is_empty() {
                h3 { "Deviations" }
                (PreEscaped(markdown::to_html(about.deviations)))
            }
            h3 { "Provenance" }
            (provenance(chapter))
        }
    })
}

/// Returns a table that scrolls separately on a narrow screen.
fn grid(caption: &str, titles: &[&str], body: &Markup) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead { tr { @for title in titles { th scope="col" { (title) } } } }
                tbody { (body) }
            }
        }
    }
}

fn claims(judged: &[Judged]) -> Markup {
    let body = html! {
        @for judged in judged {
            tr {
                td { strong { (judged.word()) } }
                td.text { (judged.claim.text) }
                td.text { (judged.numbers()) }
                td { (judged.claim.source) }
            }
        }
    };
    grid(
        "What is claimed, and whether it holds here",
        &["verdict", "claim", "numbers", "source"],
        &body,
    )
}

/// Returns a grid whose cells are darker the nearer they are to the largest value in their column.
fn shaded(many: &Grid, table: &Table, metric: usize) -> Markup {
    let Some(cells) = many.cells(table, metric) else {
        return html! { p { "No run has a value of it." } };
    };
    let mean = |row: &Option<Row>| row.as_ref().map_or(0.0, |row| row.summary.mean);
    let most = |place: usize| {
        cells
            .iter()
            .map(|line| mean(&line[place]))
            .fold(0.0, f64::max)
    };
    let shade = |row: &Option<Row>, place| {
        let most = most(place);
        let share = if most > 0.0 { mean(row) / most } else { 0.0 };
        format!("--share: {:.0}%", DARKEST * share)
    };
    let body = html! {
        @for (scheme, line) in many.schemes.iter().zip(&cells) {
            tr {
                th scope="row" { (scheme) }
                @for (place, row) in line.iter().enumerate() {
                    td.number.shaded style=(shade(row, place)) {
                        (row.as_ref().map_or_else(|| "-".into(), cell))
                    }
                }
            }
        }
    };
    let titles = std::iter::once("scheme").chain(many.places.iter().map(String::as_str));
    let titles: Vec<_> = titles.collect();
    let name = table.metrics()[metric].name;
    let caption = format!(
        "{name} over {}; the darker, the nearer to the most of its column",
        many.axis
    );
    grid(&caption, &titles, &body)
}

fn measured(chapter: &Chapter, metric: usize) -> Markup {
    let lines = lines(&chapter.table, metric);
    let Some((titles, rows)) = lines.split_first() else {
        return html! { p { "No run has a value of it." } };
    };
    let words = 1 + chapter.plan.axes().len();
    let body = html! {
        @for row in rows {
            tr {
                @for (column, cell) in row.iter().enumerate() {
                    @if column == 0 { th scope="row" { (cell) } }
                    @else if column < words { td { (cell) } }
                    @else { td.number { (cell) } }
                }
            }
        }
    };
    let titles: Vec<_> = titles.iter().map(String::as_str).collect();
    let name = chapter.about.metrics[metric].name;
    grid(
        &format!("{name}, measured beside published"),
        &titles,
        &body,
    )
}

fn parameters(chapter: &Chapter) -> Markup {
    let plan = &chapter.plan;
    let body = html! {
        @for (key, value) in plan.constants() {
            tr { th scope="row" { (key) } td.text { (value) } }
        }
        @for axis in plan.axes() {
            @let values: Vec<_> = axis.labels().collect();
            tr { th scope="row" { (axis.name()) } td.text { (values.join(", ")) } }
        }
        @for (name, keys) in plan.schemes() {
            @let keys: Vec<_> = keys.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            tr { th scope="row" { "scheme " (name) } td.text { (keys.join(", ")) } }
        }
    };
    let default = Plan::parse(chapter.about.name, chapter.about.plan, &[]);
    let is_default = default.is_ok_and(|default| default.hash() == plan.hash());
    html! {
        @if !is_default {
            p { "This is not the default plan; published numbers may speak of something else." }
        }
        (grid("The plan", &["key", "value"], &body))
    }
}

fn calibration(chapter: &Chapter) -> Markup {
    let constants = chapter.plan.constants();
    let value = |key: &str| {
        let found = constants.iter().find(|(name, _)| name == key);
        found.map_or("varies", |(_, value)| value.as_str())
    };
    let body = html! {
        @for known in chapter.about.calibration {
            tr { th scope="row" { (known.key) } td { (value(known.key)) } td.text { (known.reason) } }
        }
    };
    grid(
        "What the paper does not state",
        &["key", "value", "reason"],
        &body,
    )
}

fn provenance(chapter: &Chapter) -> Markup {
    let Some(provenance) = &chapter.provenance else {
        return html! { p { "Known once the experiment has been run to its end." } };
    };
    let body = html! {
        @for (key, name) in SHOWN {
            @let value = provenance.get(key).unwrap_or(&Value::Null);
            tr {
                th scope="row" { (name) }
                td { @if let Some(text) = value.as_str() { (text) } @else { (value.to_string()) } }
            }
        }
    };
    let text = chapter.plan.text();
    html! {
        (grid("What made these results", &["what", "value"], &body))
        details { summary { "The plan as text" } pre tabindex="0" { (text) } }
    }
}
