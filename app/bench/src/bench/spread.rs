//! The spread of repeated measurements, as Markdown.

#[cfg(test)]
mod tests;

/// Returns the median, the least and the largest of some numbers; `None` if there are none.
pub(crate) fn spread(values: impl IntoIterator<Item = f64>) -> Option<[f64; 3]> {
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let (least, most) = (*values.first()?, *values.last()?);
    let middle = values.len() / 2;
    let median = if values.len().is_multiple_of(2) {
        f64::midpoint(values[middle - 1], values[middle])
    } else {
        values[middle]
    };
    Some([median, least, most])
}

/// Returns a spread as text, such as `1.50 (1.40 – 1.60)`; a dash if there is none.
pub(crate) fn show(spread: Option<[f64; 3]>, places: usize) -> String {
    spread.map_or_else(
        || "–".into(),
        |[median, least, most]| format!("{median:.places$} ({least:.places$} – {most:.places$})"),
    )
}
