//! Judgement of claims against a table: on common seeds, at 95 % confidence.

use experiment::{Table, Unknown, Verdict};

/// Mean lengths of a burst in `csdp96-finish`.
const BURSTS: [&str; 2] = ["50 ms", "100 ms"];

/// A place in the table: axes and their values.
pub(super) type At<'a> = [(&'a str, &'a str)];

/// Returns a verdict that holds if `schemes[0]` has significantly less of a metric than `schemes[1]`.
pub(super) fn less(
    table: &Table,
    schemes: [&str; 2],
    at: &At<'_>,
    metric: &str,
) -> Result<Verdict, Unknown> {
    let paired = table.paired(schemes, at, metric)?;
    let half = paired.difference.ci95.unwrap_or(f64::INFINITY);
    let numbers = format!("{:.2} ± {half:.2}", paired.difference.mean);
    Ok(Verdict::of(paired.difference.mean + half < 0.0, numbers))
}

/// Returns a verdict that holds if no other has significantly more of a metric (times `sign`) than the first.
pub(super) fn extreme(
    table: &Table,
    (first, others): (&str, &[&str]),
    at: &At<'_>,
    (metric, sign): (&str, f64),
) -> Result<Verdict, Unknown> {
    let verdicts = others.iter().map(|other| {
        let paired = table.paired([other, first], at, metric)?;
        let half = paired.difference.ci95.unwrap_or(f64::INFINITY);
        let better = sign * paired.difference.mean;
        let numbers = format!("{other} {:+.3} ± {half:.3}", paired.difference.mean);
        Ok(Verdict::of(better <= half, numbers))
    });
    all(verdicts)
}

/// Returns a verdict that holds if a metric is at least this large at 95 % confidence.
pub(super) fn least(
    table: &Table,
    scheme: &str,
    at: &At<'_>,
    (metric, bound): (&str, f64),
) -> Result<Verdict, Unknown> {
    let summary = table.summary(scheme, at, metric)?;
    let half = summary.ci95.unwrap_or(f64::INFINITY);
    let numbers = format!("{:.3} ± {half:.3}", summary.mean);
    Ok(Verdict::of(summary.mean - half >= bound, numbers))
}

/// Returns a verdict that holds if all of these hold.
pub(crate) fn all(
    verdicts: impl IntoIterator<Item = Result<Verdict, Unknown>>,
) -> Result<Verdict, Unknown> {
    let verdicts = verdicts.into_iter().collect::<Result<Vec<_>, _>>()?;
    let numbers: Vec<_> = verdicts
        .iter()
        .map(|verdict| verdict.numbers.as_str())
        .collect();
    let holds = verdicts.iter().all(|verdict| verdict.holds);
    Ok(Verdict::of(holds, numbers.join("; ")))
}

/// Returns a verdict that holds if `judge` does at both burst lengths.
pub(super) fn at_bursts(
    judge: impl Fn(&At<'_>) -> Result<Verdict, Unknown>,
) -> Result<Verdict, Unknown> {
    all(BURSTS.map(|burst| {
        let verdict = judge(&[("burst", burst)])?;
        let numbers = format!("{burst}: {}", verdict.numbers);
        Ok(Verdict { numbers, ..verdict })
    }))
}

/// Returns the places of a scheme's cases.
pub(super) fn places(table: &Table, scheme: &str) -> Vec<Vec<(String, String)>> {
    let cases = table.cases().iter();
    let own = cases.filter(|case| case.scheme_name() == scheme);
    own.map(|case| case.labels().to_vec()).collect()
}

/// Judges at a place, and adds the place to the numbers.
pub(super) fn judge_at(
    place: &[(String, String)],
    judge: impl Fn(&At<'_>) -> Result<Verdict, Unknown>,
) -> Result<Verdict, Unknown> {
    let at: Vec<_> = place
        .iter()
        .map(|(axis, label)| (axis.as_str(), label.as_str()))
        .collect();
    let verdict = judge(&at)?;
    let labels: Vec<_> = at.iter().map(|(_, label)| *label).collect();
    let numbers = format!("{}: {}", labels.join(", "), verdict.numbers);
    Ok(Verdict { numbers, ..verdict })
}

/// Returns a verdict that holds if `judge` does wherever the scheme was run.
pub(super) fn each_case(
    table: &Table,
    scheme: &str,
    judge: impl Fn(&At<'_>) -> Result<Verdict, Unknown>,
) -> Result<Verdict, Unknown> {
    let places = places(table, scheme).into_iter();
    all(places.map(|place| judge_at(&place, &judge)))
}

/// Returns a verdict that holds if `schemes[0]` has significantly less of a metric than `schemes[1]` in every
/// combination of the sweep. The numbers count these combinations, and name those where it has significantly more.
pub(super) fn count(table: &Table, schemes: [&str; 2], metric: &str) -> Result<Verdict, Unknown> {
    let places = places(table, "FIFO");
    let [first, second] = schemes;
    let verdicts = |schemes: [&str; 2]| {
        let judged = places
            .iter()
            .map(|place| judge_at(place, |at| less(table, schemes, at, metric)));
        judged.collect::<Result<Vec<_>, _>>()
    };
    let held = verdicts(schemes)?
        .iter()
        .filter(|verdict| verdict.holds)
        .count();
    let against = verdicts([second, first])?;
    let against: Vec<_> = against
        .iter()
        .filter(|verdict| verdict.holds)
        .map(|verdict| verdict.numbers.as_str())
        .collect();
    let mut numbers = format!(
        "in {held} of {}, the opposite in {}",
        places.len(),
        against.len()
    );
    if !against.is_empty() {
        numbers = format!("{numbers}: {}", against.join("; "));
    }
    Ok(Verdict::of(held == places.len(), numbers))
}

/// Formats a share in per cent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
