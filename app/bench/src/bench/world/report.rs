//! The runs as a table.

use super::Row;
use crate::bench::spread::{show, spread};

/// Prints a line for each link and scheme: medians over the seeds (least – most).
pub(super) fn print(rows: &[Row]) {
    println!(
        "| link | scheme | goodput, Mbit/s | of the better TCP alone | request, median, ms | p95, ms | \
         p95 of the better p95 | dropped by the queue, % | of a fair share | the others, of theirs |\n\
         |---|---|---|---|---|---|---|---|---|---|"
    );
    for runs in by_scheme(rows) {
        let row = runs[0];
        let of = || runs.iter().copied();
        let ratio = of().filter_map(|row| Some(row.goodput_bps / best(rows, row)?.0));
        let p95 = of().filter_map(|row| Some(row.request_p95_ms / best(rows, row)?.1));
        let shares = |ours: bool| of().filter_map(move |row| share(row, ours));
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.link,
            row.scheme,
            show(spread(of().map(|row| row.goodput_bps / 1e6)), 2),
            show(spread(ratio), 3),
            show(spread(of().map(|row| row.request_median_ms)), 0),
            show(spread(of().map(|row| row.request_p95_ms)), 0),
            show(spread(p95), 2),
            show(
                spread(of().map(|row| 100.0 * row.dropped_packets / row.offered_packets.max(1.0))),
                2
            ),
            show(spread(shares(true)), 2),
            show(spread(shares(false)), 2),
        );
    }
    let late = rows.iter().map(|row| row.late).max().unwrap_or_default();
    println!("\nThe emulator missed at most {late} deadlines by more than 2 ms in a run.");
}

/// Groups the runs by scheme and link, in the order of their first.
pub(super) fn by_scheme(rows: &[Row]) -> Vec<Vec<&Row>> {
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    for row in rows {
        let is_same = |first: &Row| (&first.link, &first.scheme) == (&row.link, &row.scheme);
        match groups.iter_mut().find(|runs| is_same(runs[0])) {
            Some(runs) => runs.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

/// Returns the largest goodput of TCP alone on that link with that seed, and the least 95th percentile.
fn best(rows: &[Row], row: &Row) -> Option<(f64, f64)> {
    let alone = || {
        rows.iter().filter(|other| {
            other.link == row.link && other.seed == row.seed && !other.scheme.starts_with("lasthop")
        })
    };
    let most = alone().map(|row| row.goodput_bps).max_by(f64::total_cmp)?;
    let least = alone()
        .map(|row| row.request_p95_ms)
        .min_by(f64::total_cmp)?;
    Some((most, least))
}

/// Returns the goodput of the download (or the mean of the others) relative to an equal share; `None` if there are no
/// others.
fn share(row: &Row, ours: bool) -> Option<f64> {
    let count = row.rivals_bps.len() as f64;
    let others: f64 = row.rivals_bps.iter().sum();
    let fair = (others + row.goodput_bps) / (count + 1.0);
    let share = if ours {
        row.goodput_bps
    } else {
        others / count
    };
    (count > 0.0 && fair > 0.0).then(|| share / fair)
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Row, best, share};

    pub(in crate::bench::world) fn row(
        scheme: &str,
        goodput_bps: f64,
        rivals_bps: Vec<f64>,
    ) -> Row {
        Row {
            link: "a".into(),
            scheme: scheme.into(),
            seed: 1,
            seconds: 1,
            goodput_bps,
            request_median_ms: 1.0,
            request_p95_ms: goodput_bps,
            requests: 1,
            offered_packets: 1.0,
            dropped_packets: 0.0,
            rivals: rivals_bps.iter().map(|_| "cubic".into()).collect(),
            rivals_bps,
            late: 0,
        }
    }

    #[test]
    fn shares_are_those_of_all() {
        let one = row("lasthop", 4.0, vec![10.0, 10.0]);
        assert_eq!(share(&one, true), Some(0.5));
        assert_eq!(share(&one, false), Some(1.25));
        assert_eq!(share(&row("bbr", 4.0, Vec::new()), true), None);
    }

    #[test]
    fn only_tcp_alone_is_what_is_compared_with() {
        let rows = [
            row("cubic", 3.0, Vec::new()),
            row("bbr", 2.0, Vec::new()),
            row("lasthop", 9.0, Vec::new()),
        ];
        assert_eq!(best(&rows, &rows[2]), Some((3.0, 2.0)));
    }
}
