use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;

#[path = "guide.rs"]
mod guide;

const GATEWAY: &str = include_str!("../../status/gateway.json");
const MOBILE: &str = include_str!("../../status/mobile.json");
/// If it is set, the guide's page is written anew.
const WRITE: &str = "METRICS";

fn answer(status: &str) -> Arc<Answer> {
    let took = Duration::from_millis(250);
    Arc::new(Answer::read(Ok(status.into()), took, None))
}

/// A sample: its name with its labels, and its value.
type Samples = BTreeMap<String, f64>;

/// Reads a text of `OpenMetrics`, strictly; returns the types of families and the samples.
fn parse(text: &str) -> (BTreeMap<String, String>, Samples) {
    let body = text.strip_suffix("# EOF\n").expect("it ends with its mark");
    let (mut kinds, mut samples) = (BTreeMap::new(), Samples::new());
    let mut family = String::new();
    for line in body.lines() {
        if let Some(description) = line.strip_prefix("# ") {
            let mut words = description.splitn(3, ' ');
            let mut word = || words.next().unwrap_or_else(|| panic!("short: {line}"));
            let (what, name, value) = (word(), word(), word());
            match what {
                // It comes first.
                "HELP" => name.clone_into(&mut family),
                "UNIT" => assert!(name.ends_with(&format!("_{value}")), "{line}"),
                "TYPE" => {
                    let former = kinds.insert(name.to_owned(), value.to_owned());
                    assert_eq!(former, None, "twice: {line}");
                }
                other => panic!("unknown '{other}': {line}"),
            }
            assert_eq!(name, family, "{line}");
            continue;
        }
        let (id, value) = line.rsplit_once(' ').unwrap();
        let name = id.split('{').next().unwrap();
        let is_counter = kinds[&family] == "counter";
        let ending = if is_counter { "_total" } else { "" };
        assert_eq!(name, format!("{family}{ending}"), "{line}");
        let value: f64 = value
            .parse()
            .unwrap_or_else(|_| panic!("no number: {line}"));
        assert!(value.is_finite() && value >= 0.0, "{line}");
        assert_eq!(samples.insert(id.to_owned(), value), None, "twice: {line}");
    }
    (kinds, samples)
}

/// Returns the complete names of the metrics of a text.
fn names(text: &str) -> BTreeSet<String> {
    let (kinds, _) = parse(text);
    let name = |(family, kind): (String, String)| {
        let ending = if kind == "counter" { "_total" } else { "" };
        family + ending
    };
    kinds.into_iter().map(name).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_numbers_are_those_of_the_status() {
    let (_, samples) = parse(&text(&answer(GATEWAY)));
    for (id, value) in [
        ("lasthop_up", 1.0),
        ("lasthop_status_duration_seconds", 0.25),
        ("lasthop_uptime_seconds", 13.356),
        ("lasthop_peers", 2.0),
        ("lasthop_peers_connected", 2.0),
        ("lasthop_packets_unroutable_total", 3.0),
        ("lasthop_datagrams_dropped_total{cause=\"bad_mac\"}", 0.0),
        (
            "lasthop_bearer_datagrams_total{direction=\"sent\"}",
            17_131.0,
        ),
        (
            "lasthop_split_bytes_total{direction=\"to_mobile\"}",
            6_291_866.0,
        ),
        ("lasthop_peer_connected{peer=\"m1\"}", 1.0),
        (
            "lasthop_peer_verdict{peer=\"m1\",verdict=\"application\"}",
            1.0,
        ),
        ("lasthop_peer_verdict{peer=\"m1\",verdict=\"air\"}", 0.0),
        (
            "lasthop_peer_verdict{peer=\"m2\",verdict=\"queue-on-the-way\"}",
            1.0,
        ),
        (
            "lasthop_peer_sent_bytes_total{peer=\"m1\",kind=\"brief\"}",
            7_593_190.0,
        ),
        (
            "lasthop_peer_frames_lost_total{peer=\"m1\",cause=\"fade\"}",
            873.0,
        ),
        ("lasthop_peer_faded_seconds_total{peer=\"m1\"}", 0.512_297),
        (
            "lasthop_peer_rate_bytes_per_second{peer=\"m1\"}",
            30_046_000.0 / 8.0,
        ),
        ("lasthop_peer_round_trip_seconds{peer=\"m1\"}", 0.045_006),
        ("lasthop_peer_snoop_repairs_total{peer=\"m2\"}", 636.0),
        (
            "lasthop_peer_airtime_share_ratio{peer=\"m1\"}",
            0.467_142_54,
        ),
    ] {
        let found = samples.get(id).unwrap_or_else(|| panic!("no {id}"));
        assert!(
            (found - value).abs() < 1e-6 * value.max(1.0),
            "{id} is {found}"
        );
    }
    let role = samples
        .keys()
        .find(|id| id.starts_with("lasthop_daemon_info"));
    assert!(role.unwrap().contains("role=\"gateway\""));
}

/// Demands a value, which is a whole number.
fn has(samples: &Samples, id: &str, value: u32) {
    let found = samples
        .get(id)
        .map(|found| (found - f64::from(value)).abs() < 1e-9);
    assert_eq!(found, Some(true), "{id} is {:?}", samples.get(id));
}

#[test]
fn causes_are_counted_under_their_names() {
    let mut status: serde_json::Value = serde_json::from_str(GATEWAY).unwrap();
    status["host"]["datagrams_dropped"] = serde_json::json!([["BadSeal", 7], ["Later", 1]]);
    let (_, samples) = parse(&text(&answer(&status.to_string())));
    has(
        &samples,
        "lasthop_datagrams_dropped_total{cause=\"bad_seal\"}",
        7,
    );
}

#[test]
fn a_daemon_that_does_not_answer_has_no_old_values() {
    let reason = "the daemon does not answer".to_owned();
    let (_, samples) = parse(&text(&Arc::new(Answer::read(
        Err(reason),
        Duration::ZERO,
        None,
    ))));
    let ids: Vec<_> = samples.keys().map(String::as_str).collect();
    assert_eq!(ids, ["lasthop_status_duration_seconds", "lasthop_up"]);
    has(&samples, "lasthop_up", 0);
}

#[test]
fn a_name_with_any_characters_is_one_label() {
    let mut status: serde_json::Value = serde_json::from_str(GATEWAY).unwrap();
    status["host"]["peers"][0]["name"] = "a\"b\\c\nd}".into();
    let (_, samples) = parse(&text(&answer(&status.to_string())));
    has(&samples, r#"lasthop_peer_connected{peer="a\"b\\c\nd}"}"#, 1);
}

#[test]
fn every_metric_is_in_the_guide_and_under_the_same_name_as_before() {
    let path = root().join("docs/guide/metrics.md");
    let page = guide::page();
    if std::env::var_os(WRITE).is_some() {
        fs::write(&path, &page).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/guide/metrics.md is not what the tables of metrics say. A name is a promise to dashboards and alerts: if \
         the change is meant, write the page anew with {WRITE}=write cargo test -p lasthop metrics"
    );
    let in_page: BTreeSet<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name.to_owned())
        .collect();
    let seen: BTreeSet<_> = [GATEWAY, MOBILE]
        .into_iter()
        .flat_map(|status| names(&text(&answer(status))))
        .collect();
    assert_eq!(in_page, seen);
}

#[test]
fn names_follow_the_conventions() {
    for name in names(&text(&answer(GATEWAY))) {
        let is_sound = |c: char| c.is_ascii_lowercase() || c == '_';
        assert!(
            name.starts_with("lasthop_") && name.chars().all(is_sound),
            "{name}"
        );
        for unit in ["_ms", "_milliseconds", "_bits", "_kilobytes", "_percent"] {
            assert!(!name.contains(unit), "{name} is not in base units");
        }
    }
}

/// A dashboard, or a rule, that names a metric which does not exist shows nothing, and never fires.
#[test]
fn the_dashboard_and_the_alerts_name_only_metrics_that_exist() {
    let known = names(&text(&answer(GATEWAY)));
    for (file, least) in [("grafana/lasthop.json", 15), ("prometheus/alerts.yml", 8)] {
        let text = fs::read_to_string(root().join("packaging").join(file)).unwrap();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words = text.split(|c| !is_part(c));
        let named: BTreeSet<_> = words.filter(|word| word.starts_with("lasthop_")).collect();
        for name in &named {
            assert!(
                known.contains(*name),
                "{file} names {name}, which does not exist"
            );
        }
        assert!(named.len() >= least, "{file} names only {named:?}");
        if file.starts_with("grafana") {
            let _: serde_json::Value = serde_json::from_str(&text).unwrap();
        }
    }
}
