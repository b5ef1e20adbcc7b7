//! The guide's page of all metrics, made from their tables.

use std::fmt::Write;

use super::{Kind, Metric, PEER, daemon, peer};

const BEGIN: &str = "\
# Metrics

`lasthop web` serves these metrics at `/metrics`, in the text format of OpenMetrics 1.0, which Prometheus reads: see
[the page of the guide](web.md). `packaging/prometheus/alerts.yml` has alert rules, and `packaging/grafana/lasthop.json`
is a dashboard for Grafana. The [glossary](../glossary.md) explains the terms.

Counters begin at the start of the daemon; those of a peer begin anew if its association does. A metric is missing
while its value is not known. This page is made from the program (`METRICS=write cargo test -p lasthop metrics`), and a
test compares it.
";

/// Returns the page.
pub(super) fn page() -> String {
    let mut page = BEGIN.to_owned();
    let answer = daemon::ABOUT_THE_ANSWER.iter();
    let note = "These are there also if the daemon does not answer. All others are missing then.";
    section(
        &mut page,
        "The query",
        note,
        answer.map(|metric| row(metric, None)),
    );
    let info = format!(
        "| `{}` | gauge | `version`, `role`, `public_key` | {} |",
        daemon::INFO,
        daemon::INFO_HELP
    );
    let rows = std::iter::once(info).chain(daemon::metrics().map(|metric| row(metric, None)));
    section(&mut page, "The daemon", "", rows);
    let note = "\"Sent\" is from this daemon to the peer, \"received\" the other direction.";
    section(
        &mut page,
        "Each peer",
        note,
        peer::metrics().map(|metric| row(metric, Some(PEER))),
    );
    page
}

fn section(page: &mut String, title: &str, note: &str, rows: impl Iterator<Item = String>) {
    let rows: Vec<_> = rows.collect();
    let note = if note.is_empty() {
        String::new()
    } else {
        format!("{note}\n\n")
    };
    let head = "| metric | type | labels | meaning |\n|---|---|---|---|";
    // Writing to a string cannot fail.
    let _ = write!(page, "\n## {title}\n\n{note}{head}\n{}\n", rows.join("\n"));
}

fn row<T>(metric: &Metric<T>, peer: Option<&str>) -> String {
    let labels = peer.into_iter().chain(metric.label);
    let labels: Vec<_> = labels.map(|label| format!("`{label}`")).collect();
    let kind = match metric.kind() {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
    };
    format!(
        "| `{}` | {kind} | {} | {} |",
        metric.name,
        labels.join(", "),
        metric.help
    )
}
