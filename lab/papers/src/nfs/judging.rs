//! Metrics, axes and comparisons for the claims of both papers.

use experiment::{Case, Summary, Table, Unknown, Verdict};

/// The metric that the papers report.
pub(crate) const RESPONSE: &str = "response";
/// The axis of the direction of copies.
pub(crate) const WAY: &str = "copy.way";
/// The axis of the mean length of bad periods.
pub(crate) const BAD: &str = "errors.bad.mean";

/// Returns the labels of a case on the axes, in the form that the table takes.
pub(crate) fn labels(case: &Case) -> Vec<(&str, &str)> {
    let labels = case.labels().iter();
    labels
        .map(|(axis, label)| (axis.as_str(), label.as_str()))
        .collect()
}

/// Returns every combination of axis values, once.
pub(crate) fn places(table: &Table) -> Vec<Vec<(&str, &str)>> {
    let mut places: Vec<Vec<(&str, &str)>> = Vec::new();
    for place in table.cases().iter().map(labels) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// Returns a place as text for people.
pub(crate) fn named(place: &[(&str, &str)]) -> String {
    let labels: Vec<_> = place.iter().map(|(_, label)| *label).collect();
    labels.join(", ")
}

/// Returns the mean response time of a scheme.
pub(crate) fn response(table: &Table, scheme: &str, at: &[(&str, &str)]) -> Result<f64, Unknown> {
    table.mean(scheme, at, RESPONSE)
}

/// Returns a verdict that holds if one scheme is nowhere slower than another beyond the 95 % interval of their
/// difference on common seeds.
pub(crate) fn nowhere_slower(table: &Table, schemes: [&str; 2]) -> Result<Verdict, Unknown> {
    nowhere_more(table, schemes, RESPONSE)
}

/// Returns a verdict that holds if the first scheme has nowhere more of `metric` than the second, beyond that interval.
pub(crate) fn nowhere_more(
    table: &Table,
    schemes: [&str; 2],
    metric: &str,
) -> Result<Verdict, Unknown> {
    let mut slower = Vec::new();
    for place in places(table) {
        let paired = table.paired(schemes, &place, metric)?;
        let difference = paired.difference;
        if difference.mean > difference.ci95.unwrap_or(f64::INFINITY) {
            let where_ = named(&place);
            slower.push(format!("{where_}: {:.2} times", paired.ratio));
        }
    }
    let numbers = if slower.is_empty() {
        "nowhere".to_owned()
    } else {
        slower.join("; ")
    };
    Ok(Verdict::of(slower.is_empty(), numbers))
}

/// Returns the same place with another block size.
pub(crate) fn with_block<'a>(
    place: &[(&'a str, &'a str)],
    size: &'a str,
) -> Vec<(&'a str, &'a str)> {
    let labels = place.iter();
    let with =
        |(axis, label): &(&'a str, &'a str)| (*axis, if *axis == "block" { size } else { *label });
    labels.map(with).collect()
}

/// Returns the response times of a scheme; `None` if no run ended in time.
fn response_times(
    table: &Table,
    scheme: &str,
    at: &[(&str, &str)],
) -> Result<Option<Summary>, Unknown> {
    // Every run has a value of `aborted`.
    table.mean(scheme, at, "aborted")?;
    Ok(table.summary(scheme, at, RESPONSE).ok())
}

/// Returns a verdict that holds if no other block size of the papers is better anywhere than 4,096 bytes, beyond the 95
/// % intervals.
pub(crate) fn best_block(table: &Table, scheme: &str) -> Result<Verdict, Unknown> {
    let mut better = Vec::new();
    for place in places(table) {
        if !place.contains(&("block", "4096")) {
            continue;
        }
        let ours = table.summary(scheme, &place, RESPONSE)?;
        for size in ["1024", "8192"] {
            let at = with_block(&place, size);
            let Some(other) = response_times(table, scheme, &at)? else {
                continue;
            };
            let slack = ours.ci95.unwrap_or(0.0) + other.ci95.unwrap_or(0.0);
            if other.mean + slack < ours.mean {
                better.push(format!(
                    "{}: {:.1} s for {:.1} s",
                    named(&at),
                    other.mean,
                    ours.mean
                ));
            }
        }
    }
    let numbers = if better.is_empty() {
        "nowhere".to_owned()
    } else {
        better.join("; ")
    };
    Ok(Verdict::of(better.is_empty(), numbers))
}

/// Formats a share in per cent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
