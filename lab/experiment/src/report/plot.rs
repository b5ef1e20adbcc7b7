//! Means with error bars, as SVG for light and dark pages.

use std::error::Error;

use maud::html;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::error::LabError;
use crate::plan::Plan;
use crate::table::{Row, Table};

const SIZE: (u32, u32) = (860, 400);
/// Approximate width of a letter and height of a line in the labels below the horizontal axis, in pixels.
const LETTER: usize = 7;
const LINE: u32 = 18;
/// The palette of Okabe and Ito (2008), which people with colour blindness can distinguish. Its black and yellow are
/// left out, because each vanishes on one of the two backgrounds.
const COLORS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];
/// The text that plotters writes for black; it is replaced by the colour of the text around the plot.
const BLACK_TEXT: &str = "\"#000000\"";

/// A point of a series: its position on the horizontal axis and its row.
struct Point {
    at: f64,
    row: Row,
}

/// The points of one scheme.
struct Series {
    name: String,
    points: Vec<Point>,
}

/// Returns a figure for each metric, in their order.
pub(super) fn draw(table: &Table, plan: &Plan) -> Result<Vec<String>, LabError> {
    let metrics = 0..table.metrics().len();
    let figures = metrics.map(|metric| {
        figure(table, plan, metric).map_err(|error| LabError::Plot(error.to_string()))
    });
    figures.collect()
}

/// Returns the places on the horizontal axis by their labels: the combinations of axis values, in the order of the
/// plan.
fn places(table: &Table) -> Vec<Vec<String>> {
    let mut places: Vec<Vec<String>> = Vec::new();
    for case in table.cases() {
        let labels = case.labels().iter().map(|(_, label)| label.clone());
        let place = labels.collect();
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// Returns the lines of labels below the horizontal axis, each label with the centre of its places. There is one line
/// if all labels of a place fit into it, and otherwise one for each axis, the last axis first; neighbours with the same
/// label share one.
fn lines(places: &[Vec<String>]) -> Vec<Vec<(f64, String)>> {
    let joined = places.iter().map(|place| place.join(", "));
    let joined: Vec<_> = (0..).map(f64::from).zip(joined).collect();
    let widest = joined.iter().map(|(_, label)| label.chars().count()).max();
    let room = SIZE.0 as usize / places.len().max(1);
    let axes = places.first().map_or(0, Vec::len);
    if axes < 2 || widest.unwrap_or(0) * LETTER <= room {
        return vec![joined];
    }
    let line = |axis: usize| {
        let groups = places.chunk_by(|one, other| one[..=axis] == other[..=axis]);
        let mut from = 0;
        let labels = groups.map(|group| {
            let middle = from as f64 + (group.len() - 1) as f64 / 2.0;
            from += group.len();
            (middle, group[0][axis].clone())
        });
        labels.collect()
    };
    (0..axes).rev().map(line).collect()
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
    // Cases are ordered by place, and within a place by scheme.
    for case in 0..table.cases().len() {
        let Some(row) = table.row(case, metric) else {
            continue;
        };
        let (place, scheme) = (case / count, case % count);
        // Schemes are side by side, so that their error bars do not cover each other.
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

/// Returns the colour of a series; a seventh series has the colour of the first, and differs by its position.
fn color(number: usize) -> RGBColor {
    COLORS[number % COLORS.len()]
}

/// Returns a colour in the notation of CSS.
fn hexadecimal(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Returns a text escaped for an attribute.
fn escaped(text: &str) -> String {
    html! { (text) }.into_string()
}

fn chart(
    svg: &mut String,
    places: &[Vec<String>],
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
    let lines = lines(places);
    let mut chart = ChartBuilder::on(&root)
        .margin(10)
        .x_label_area_size(LINE * (lines.len() as u32 + 1))
        .y_label_area_size(64)
        .build_cartesian_2d(-0.5..places.len() as f64 - 0.5, least..most * 1.08)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.15))
        .axis_style(BLACK)
        .label_style(("sans-serif", 14).into_font().color(&BLACK))
        .x_labels(2 * places.len() + 1)
        .x_label_formatter(&|_| String::new())
        .y_desc(title)
        .draw()?;
    let style = TextStyle::from(("sans-serif", 14)).color(&BLACK);
    let style = style.pos(Pos::new(HPos::Center, VPos::Top));
    for (number, line) in (0..).zip(&lines) {
        for (at, label) in line {
            let (x, y) = chart.plotting_area().map_coordinate(&(*at, least));
            let below = y + (LINE * number + LINE / 2) as i32;
            root.draw_text(label, &style, (x, below))?;
        }
    }
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
