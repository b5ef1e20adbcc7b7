//! The plane of goodput and delay.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

use super::Row;
use super::report::by_scheme;
use crate::bench::spread::spread;

const SIZE: (u32, u32) = (860, 480);
/// The palette of Okabe and Ito (2008), which people with colour blindness can distinguish.
const COLORS: [RGBColor; 5] = [
    RGBColor(213, 94, 0),
    RGBColor(230, 159, 0),
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
];

/// The runs of one scheme on one link: median, least and largest.
struct Point {
    link: String,
    scheme: String,
    /// Seconds of requests: the median and the 95th percentile.
    typical: [f64; 3],
    delay: [f64; 3],
    /// Goodput in Mbit/s.
    goodput: [f64; 3],
}

impl Point {
    fn new(runs: &[&Row]) -> Option<Self> {
        let of = |which: fn(&Row) -> f64| spread(runs.iter().map(|row| which(row)));
        Some(Self {
            link: runs[0].link.clone(),
            scheme: runs[0].scheme.clone(),
            typical: of(|row| row.request_median_ms / 1e3)?,
            delay: of(|row| row.request_p95_ms / 1e3)?,
            goodput: of(|row| row.goodput_bps / 1e6)?,
        })
    }
}

fn points(rows: &[Row]) -> Vec<Point> {
    let groups = by_scheme(rows);
    groups.iter().filter_map(|runs| Point::new(runs)).collect()
}

/// Draws the medians of each scheme with their spread into an SVG file: Mbit/s over the delay of small requests.
pub(super) fn draw(rows: &[Row], path: &Path) -> Result<(), Box<dyn Error>> {
    let points = points(rows);
    if points.is_empty() {
        return Ok(());
    }
    let of = |which: fn(&Point) -> [f64; 3]| points.iter().flat_map(which);
    // The axis of delays shows their binary logarithm.
    let place = |seconds: f64| seconds.max(1e-4).log2();
    let shortest = of(|point| point.typical).fold(f64::MAX, f64::min);
    let longest = of(|point| point.delay).fold(shortest, f64::max);
    // The marks of an axis without length would never end.
    let most = of(|point| point.goodput).fold(0.001, f64::max);
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(56)
        .build_cartesian_2d(place(shortest) - 0.5..place(longest) + 0.5, 0.0..most * 1.1)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc(
            "seconds for a small request: median (hollow) and 95th percentile; better to the left",
        )
        .y_desc("goodput, Mbit/s; better above")
        .x_label_formatter(&|delay| format!("{:.3}", delay.exp2()))
        .draw()?;
    for (point, color) in points.iter().zip(COLORS.iter().cycle()) {
        let ([delay, soonest, latest], [goodput, least, most]) = (point.delay, point.goodput);
        let cross = [
            vec![(place(soonest), goodput), (place(latest), goodput)],
            vec![(place(delay), least), (place(delay), most)],
        ];
        let typical = (place(point.typical[0]), goodput);
        let hollow = Circle::new(typical, 5, color.stroke_width(2));
        chart.draw_series(std::iter::once(hollow))?;
        let dot = Circle::new((place(delay), goodput), 5, color.filled());
        chart
            .draw_series(std::iter::once(dot))?
            .label(format!("{}, {}", point.scheme, point.link))
            .legend(move |place| Circle::new(place, 5, color.filled()));
        let lines = cross.map(|line| PathElement::new(line, color.stroke_width(2)));
        chart.draw_series(lines)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerLeft)
        .background_style(WHITE.mix(0.85))
        .draw()?;
    root.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{draw, points};
    use crate::bench::world::report::tests::row;

    #[test]
    fn each_scheme_has_a_point_with_the_spread_of_its_runs() {
        let rows = [
            row("cubic", 3e6, Vec::new()),
            row("lasthop", 2e6, Vec::new()),
            row("cubic", 5e6, Vec::new()),
        ];
        let points = points(&rows);
        assert_eq!(points.len(), 2);
        let whole = points[0].goodput.map(|goodput| goodput as u64);
        assert_eq!(whole, [4, 3, 5]);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("plane.svg");
        draw(&rows, &path).expect("a plane");
        let text = std::fs::read_to_string(path).expect("a file");
        assert!(text.contains("lasthop, a") && text.contains("</svg>"));
    }
}
