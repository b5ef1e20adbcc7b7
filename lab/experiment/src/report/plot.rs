//! Means with error bars, as SVG for light and dark pages.

use std::error::Error;

use maud::html;
use plotters::prelude::*;

use crate::error::LabError;
use crate::plan::Plan;
use crate::table::{Row, Table};

const SIZE: (u32, u32) = (860, 400);
/// The palette of Okabe and Ito (2008), which those who see colours differently can tell apart; its black
/// and yellow are left out, as one of them vanishes on each background.
const COLORS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];
/// What plotters writes for black, and what takes the colour of the text around the plot instead.
const BLACK_TEXT: &str = "\"#000000\"";

/// What stands at one place of the horizontal axis, in one colour.
struct Point {
    at: f64,
    row: Row,
}

/// The points of one scheme.
struct Series {
    name: String,
    points: Vec<Point>,
}

/// A figure for each metric, in their order.
pub(super) fn draw(table: &Table, plan: &Plan) -> Result<Vec<String>, LabError> {
    let metrics = 0..table.metrics().len();
    let figures = metrics.map(|metric| {
        figure(table, plan, metric).map_err(|error| LabError::Plot(error.to_string()))
    });
    figures.collect()
}

/// Places on the horizontal axis: the combinations of axis values or, without any, the schemes.
fn places(table: &Table) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    for case in table.cases() {
        let labels: Vec<_> = case
            .labels()
            .iter()
            .map(|(_, label)| label.as_str())
            .collect();
        let place = labels.join(", ");
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

fn series(table: &Table, plan: &Plan, metric: usize) -> Vec<Series> {
    let schemes = plan.schemes();
    let count = schemes.len();
    let mut series: Vec<_> = schemes
        .into_iter()
        .map(|(name, _)| Series {
            name,
            points: Vec::new(),
        })
        .collect();
    // Cases come place by place, and within a place scheme by scheme.
    for case in 0..table.cases().len() {
        let Some(row) = table.row(case, metric) else {
            continue;
        };
        let (place, scheme) = (case / count, case % count);
        // Schemes stand side by side, so that their error bars do not cover each other.
        let aside = (scheme as f64 + 0.5) / count as f64 - 0.5;
        let at = place as f64 + 0.7 * aside;
        series[scheme].points.push(Point { at, row });
    }
    series
}

fn figure(table: &Table, plan: &Plan, metric: usize) -> Result<String, Box<dyn Error>> {
    let (places, series) = (places(table), series(table, plan, metric));
    let about = &table.metrics()[metric];
    let title = match about.unit {
        "" => about.name.to_owned(),
        unit => format!("{} [{unit}]", about.name),
    };
    let mut svg = String::new();
    chart(&mut svg, &places, &series, &title)?;
    let axes: Vec<_> = plan.axes().iter().map(crate::plan::Axis::name).collect();
    let over = if axes.is_empty() {
        String::new()
    } else {
        format!(" over {}", axes.join(", "))
    };
    let told = format!(
        "Plot of the mean {title}{over} for each scheme with 95 % confidence intervals; the numbers \
        are those of the table below."
    );
    let marked = format!("<svg role=\"img\" aria-label=\"{}\" ", escaped(&told));
    let svg = svg
        .replacen("<svg ", &marked, 1)
        .replace(BLACK_TEXT, "\"currentColor\"");
    let figure = html! {
        figure {
            (maud::PreEscaped(svg))
            figcaption {
                "From left to right: "
                @for (number, series) in series.iter().enumerate() {
                    span.key style={ "--key:" (hexadecimal(color(number))) } { (series.name) } " "
                }
                "Bars: 95 % confidence intervals. Crosses: published."
            }
        }
    };
    Ok(figure.into_string())
}

/// The colour of a series; a seventh has that of the first, and is told from it by its place.
fn color(number: usize) -> RGBColor {
    COLORS[number % COLORS.len()]
}

/// A colour as CSS writes it.
fn hexadecimal(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A text as it may stand in an attribute.
fn escaped(text: &str) -> String {
    html! { (text) }.into_string()
}

fn chart(
    svg: &mut String,
    places: &[String],
    series: &[Series],
    title: &str,
) -> Result<(), Box<dyn Error>> {
    let rows = || {
        series
            .iter()
            .flat_map(|series| &series.points)
            .map(|point| &point.row)
    };
    let most = rows().flat_map(|row| [top(row), row.published.unwrap_or(0.0)]);
    let most = most.fold(0.0, f64::max);
    let least = rows().map(bottom).fold(0.0, f64::min);
    let most = if most > least { most } else { least + 1.0 };
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    let mut chart = ChartBuilder::on(&root)
        .margin(10)
        .x_label_area_size(42)
        .y_label_area_size(64)
        .build_cartesian_2d(-0.5..places.len() as f64 - 0.5, least..most * 1.08)?;
    let place = |at: &f64| {
        let is_whole = (at - at.round()).abs() < 1e-6 && *at > -0.4;
        let name = is_whole.then(|| places.get(at.round() as usize)).flatten();
        name.cloned().unwrap_or_default()
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.15))
        .axis_style(BLACK)
        .label_style(("sans-serif", 14).into_font().color(&BLACK))
        .x_labels(2 * places.len() + 1)
        .x_label_formatter(&place)
        .y_desc(title)
        .draw()?;
    for (number, series) in series.iter().enumerate() {
        let color = color(number);
        let bars = series.points.iter().map(|point| {
            let row = &point.row;
            ErrorBar::new_vertical(
                point.at,
                bottom(row),
                row.summary.mean,
                top(row),
                color.filled(),
                8,
            )
        });
        chart.draw_series(bars)?;
        let published = series.points.iter().filter_map(|point| {
            let at = (point.at, point.row.published?);
            Some(Cross::new(at, 6, color.stroke_width(2)))
        });
        chart.draw_series(published)?;
    }
    root.present()?;
    Ok(())
}

fn top(row: &Row) -> f64 {
    row.summary.mean + row.summary.ci95.unwrap_or(0.0)
}

fn bottom(row: &Row) -> f64 {
    row.summary.mean - row.summary.ci95.unwrap_or(0.0)
}
