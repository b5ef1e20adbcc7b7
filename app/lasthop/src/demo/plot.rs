//! The plot: bytes over time of every transfer, with the fades shaded.

use std::path::Path;

use channel::Direction;
use plotters::coord::Shift;
use plotters::prelude::*;
use units::Duration;

use super::bound::{Span, fades};
use super::plan::{RunResult, Sample, Scheme, Transfer};
use super::site::{Move, WORDS};

const SIZE: (u32, u32) = (960, 540);
const FADE: RGBColor = RGBColor(205, 205, 205);
/// Colours of transfers through lasthop, and of the others (both from the palette of Okabe and Ito, 2008, which people
/// with colour blindness can distinguish).
const LASTHOP: [RGBColor; 3] = [
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(86, 180, 233),
];
const PLAIN: [RGBColor; 3] = [
    RGBColor(213, 94, 0),
    RGBColor(230, 159, 0),
    RGBColor(204, 121, 167),
];

/// Draws `results` into an SVG file; the error is a sentence.
pub(crate) fn draw(results: &[RunResult], path: &Path) -> Result<(), String> {
    draw_chart(results, path).map_err(|error| format!("cannot draw {}: {error}", path.display()))
}

fn draw_chart(results: &[RunResult], path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let Some(first) = results.first() else {
        return Ok(());
    };
    let transfers = || results.iter().flat_map(|result| &result.transfers);
    let longest = transfers().map(Transfer::end).max().unwrap_or_default();
    let seconds = longest.as_secs_f64().max(0.1);
    let megabytes = (transfers().map(Transfer::bytes).max().unwrap_or(0) as f64 / 1e6).max(0.001);

    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let plan = &first.plan;
    let title = format!(
        "{}: {} (seed {})",
        plan.link.name(),
        plan.link.description(),
        plan.seed
    );
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..seconds, 0.0..megabytes * 1.05)?;
    let whole = Span {
        from: first.start,
        until: first.start + longest,
    };
    let bad = fades(&plan.link, plan.seed, Direction::Down, whole);
    chart.draw_series(bad.iter().map(|fade| {
        let at = |time: units::Instant| time.since(first.start).as_secs_f64();
        let corners = [(at(fade.from), 0.0), (at(fade.until), megabytes * 1.05)];
        Rectangle::new(corners, FADE.filled())
    }))?;
    chart
        .configure_mesh()
        .disable_mesh()
        .x_desc("seconds (grey: the air is in a fade)")
        .y_desc("megabytes arrived")
        .draw()?;
    for (number, result) in results.iter().enumerate() {
        for (color, transfer) in colors(result, number).zip(&result.transfers) {
            chart
                .draw_series(LineSeries::new(points(transfer), color.stroke_width(2)))?
                .label(label(result, transfer))
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2))
                });
        }
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.85))
        .draw()?;
    root.present()?;
    Ok(())
}

/// Draws a download in a site into an SVG file: its bytes, and the pause before each of its arrivals; the error is a
/// sentence.
pub(super) fn draw_site(samples: &[Sample], moves: &[Move], path: &Path) -> Result<(), String> {
    draw_panels(samples, moves, path)
        .map_err(|error| format!("cannot draw {}: {error}", path.display()))
}

fn draw_panels(
    samples: &[Sample],
    moves: &[Move],
    path: &Path,
) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (above, below) = root.split_vertically(SIZE.1 / 2);
    let at = |sample: &Sample| sample.at.as_secs_f64();
    let arrived = samples
        .iter()
        .map(|sample| (at(sample), sample.bytes as f64 / 1e6));
    let pause = |pair: &[Sample]| (at(&pair[1]), (at(&pair[1]) - at(&pair[0])) * 1e3);
    let bytes = Panel {
        title: WORDS,
        unit: "megabytes arrived",
        points: arrived.collect(),
        is_curve: true,
    };
    let pauses = Panel {
        title: "",
        unit: "ms since the last arrival",
        points: samples.windows(2).map(pause).collect(),
        is_curve: false,
    };
    bytes.draw(&above, moves)?;
    pauses.draw(&below, moves)?;
    root.present()?;
    Ok(())
}

/// Values over time, as a curve or as bars.
struct Panel {
    title: &'static str,
    unit: &'static str,
    points: Vec<(f64, f64)>,
    is_curve: bool,
}

impl Panel {
    fn draw(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        moves: &[Move],
    ) -> Result<(), Box<dyn std::error::Error>> {
        let seconds = self.points.last().map_or(0.1, |(time, _)| *time);
        let values = self.points.iter().map(|(_, value)| *value);
        let most = values.fold(0.001, f64::max) * 1.15;
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(0.0..seconds, 0.0..most)?;
        chart
            .configure_mesh()
            .disable_mesh()
            .x_desc("seconds (grey: a move to the gateway with this name)")
            .y_desc(self.unit)
            .draw()?;
        for Move { at, to, .. } in moves {
            let line = [(*at, 0.0), (*at, most)];
            chart.draw_series(LineSeries::new(line, FADE.stroke_width(2)))?;
            chart.draw_series([Text::new(*to, (*at, most * 0.97), ("sans-serif", 13))])?;
        }
        let points = self.points.iter().copied();
        let style = LASTHOP[0].stroke_width(2);
        if self.is_curve {
            chart.draw_series(LineSeries::new(points, style))?;
        } else {
            let bar = |(time, value)| PathElement::new([(time, 0.0), (time, value)], style);
            chart.draw_series(points.map(bar))?;
        }
        Ok(())
    }
}

fn colors(result: &RunResult, number: usize) -> impl Iterator<Item = RGBColor> {
    let palette = match &result.plan.scheme {
        Scheme::Plain | Scheme::Peer(_) => PLAIN,
        Scheme::Lasthop(_) => LASTHOP,
    };
    palette.into_iter().cycle().skip(number / 2)
}

fn label(result: &RunResult, transfer: &Transfer) -> String {
    let plan = &result.plan;
    let arrow = match transfer.direction {
        Direction::Down => "",
        Direction::Up => ", upload",
    };
    format!("{}{arrow}", plan.scheme.describe(&plan.sender))
}

fn points(transfer: &Transfer) -> impl Iterator<Item = (f64, f64)> {
    let origin = (Duration::ZERO, 0);
    let samples = transfer
        .samples
        .iter()
        .map(|sample| (sample.at, sample.bytes));
    std::iter::once(origin)
        .chain(samples)
        .map(|(at, bytes)| (at.as_secs_f64(), bytes as f64 / 1e6))
}
