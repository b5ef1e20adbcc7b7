//! The experiments of both NFS papers, as the lab runs them.

use experiment::{Published, Table, text};
use papers::{nfs95, nfs97};

use crate::claims::failing;
use crate::lab::{is_golden, makes_sense, named, plan, refuses, table};

/// Returns the mean of a metric for every case of a table.
fn means(table: &Table, metric: &str) -> Vec<f64> {
    let rows = table.rows().into_iter();
    rows.filter(|row| row.metric == metric)
        .map(|row| row.summary.mean)
        .collect()
}

#[test]
fn every_case_of_every_plan_makes_sense() {
    makes_sense(nfs95::EXPERIMENTS);
    makes_sense(nfs97::EXPERIMENTS);
}

#[test]
fn every_published_number_has_its_case() {
    let counts = [
        ("nfs95-table1-6", "response", 16),
        ("nfs95-table7", "response", 2),
        ("nfs95-table8-9", "response", 8),
        ("nfs97-fig9-range", "throughput", 2),
    ];
    for (name, metric, count) in counts {
        let experiment = named(name);
        let published = Published::read(experiment.about()).unwrap();
        let cases = plan(experiment, &[]).cases();
        let found = cases
            .iter()
            .filter(|case| published.value(case, metric).is_some());
        assert_eq!(found.count(), count, "{name}");
    }
}

#[test]
fn plans_that_make_no_sense_are_refused_by_name() {
    let wrong = [
        ("copy.file=0 B", "copy.file"),
        ("copy.piece=2 MiB", "copy.piece"),
        ("copy.abort_after=200 min", "copy.abort_after"),
        ("copy.way=sideways", "sideways"),
        ("client.block.fixed=100", "client"),
        ("client.window.fixed=0", "client"),
        ("timeouts.initial=0 s", "timeouts"),
        ("timeouts.maximum=1 ms", "timeouts"),
        ("server.service.receive_buffer=1 B", "server"),
        ("hosts.mobile=0", "hosts.mobile"),
        ("hosts.wired=64", "hosts.mobile"),
        ("hosts.mtu=100 B", "hosts.mtu"),
        ("air.rate=0 bit/s", "air"),
        ("errors.bad.mean=0 s", "errors"),
        ("mobile.speed=1", "speed"),
        ("mobile.variation=101", "mobile.variation"),
        ("station.variation=101", "station.variation"),
        ("schemes.LINEAR.policy=magic", "magic"),
        ("schemes.LINEAR.tries=3", "schemes.LINEAR.tries"),
        ("schemes.LINEAR-ARQ.tries=0", "schemes.LINEAR-ARQ.tries"),
        ("schemes.LINEAR-ARQ.tries=3", ""),
    ];
    refuses(named("nfs95-table1-6"), &wrong);
    refuses(named("nfs95-fig3"), &[("at=5", "at")]);
}

/// Returns the tables without our own schemes, which change with lasthop; two spaces separate the columns, whose widths
/// depend on those schemes too.
fn of_the_papers(table: &Table) -> String {
    let tables = text::tables(table);
    let is_theirs = |line: &&str| {
        let scheme = line.split_whitespace().next().unwrap_or_default();
        !scheme.starts_with("ADAPTIVE") && !scheme.ends_with("ARQ")
    };
    let narrow = |line: &str| {
        let cells = line.split("  ").map(str::trim);
        let cells: Vec<_> = cells.filter(|cell| !cell.is_empty()).collect();
        cells.join("  ") + "\n"
    };
    tables.lines().filter(is_theirs).map(narrow).collect()
}

#[test]
fn tables_are_the_golden_ones_and_only_claims_fail_that_docs_explain() {
    let misses: [(&str, &[&str]); 3] = [
        ("nfs95-table7", &[]),
        (
            "nfs95-table1-6",
            &[
                "within-25",
                "order",
                "linear-at-40",
                "linear-at-80",
                "retransmit-at-80",
                "both-at-80",
            ],
        ),
        ("nfs95-table8-9", &["two-within-25"]),
    ];
    for (name, misses) in misses {
        let table = table(named(name), &[]);
        is_golden(name, &of_the_papers(&table));
        assert_eq!(failing(name, &table), misses, "{name}");
    }
}

const FAST: &[&str] = &[
    "experiment.seeds=2",
    "air.access=500 us",
    "mobile.packet=500 us",
    "mobile.kilobyte=500 us",
    "mobile.receive_buffer=50 packets",
];

/// Every run checks the data that it read and the final content of the server.
#[test]
fn without_errors_on_hosts_with_room_nothing_is_sent_twice() {
    for window in ["1", "4"] {
        let window = format!("client.window.fixed={window}");
        let table = table(named("nfs95-table7"), &[FAST, &[&window]].concat());
        assert!(means(&table, "overflows").iter().all(|count| *count == 0.0));
        for scheme in ["NO-CHANGES", "LINEAR"] {
            for way in ["read", "write"] {
                let mean = |metric| table.mean(scheme, &[("copy.way", way)], metric);
                assert!(mean("retransmissions").unwrap() == 0.0, "{scheme}, {way}");
                assert!(mean("response").unwrap() < 15.0, "{scheme}, {way}");
            }
        }
    }
}

#[test]
fn what_is_held_is_not_lost() {
    let changes = [FAST, &["copy.file=200000 B"]].concat();
    let table = table(named("nfs95-table1-6"), &changes);
    for way in ["read", "write"] {
        for bad in ["40 ms", "80 ms"] {
            let at = [("copy.way", way), ("errors.bad.mean", bad)];
            let mean = |scheme, metric| table.mean(scheme, &at, metric).unwrap();
            assert!(mean("NO-CHANGES", "faded") > 0.0);
            assert!(mean("NO-CHANGES", "retransmissions") > 0.0);
            for scheme in ["RETRANSMIT", "LINEAR-RETRANSMIT"] {
                assert!(mean(scheme, "faded") == 0.0 && mean(scheme, "retransmissions") == 0.0);
            }
            // Frames fade, but datagrams arrive.
            assert!(mean("LINEAR-ARQ", "faded") > 0.0);
            assert!(mean("LINEAR-ARQ", "retransmissions") == 0.0);
        }
    }
}

#[test]
fn a_plan_gives_the_same_table_twice() {
    let changes = ["copy.file=50000 B", "experiment.seeds=2"];
    for name in ["nfs95-table1-6", "nfs97-fig7-8", "nfs97-congestion"] {
        let once = || text::tables(&table(named(name), &changes));
        assert_eq!(once(), once(), "{name}");
    }
}

#[test]
fn a_silent_server_and_a_short_queue_are_not_taken_for_fades() {
    let table = table(named("nfs97-congestion"), &["experiment.seeds=4"]);
    let failing = failing("nfs97-congestion", &table);
    assert!(!failing.contains(&"silent-server"), "{failing:?}");
    assert!(!failing.contains(&"wired-beside-adaptive"), "{failing:?}");
}

#[test]
fn runs_that_take_too_long_are_terminated_and_run_again() {
    let name = "nfs95-table1-6";
    let with = |limit, seeds| {
        let limit = format!("copy.abort_after={limit}");
        let seeds = format!("experiment.seeds={seeds}");
        let bad = "errors.bad.mean=80 ms";
        table(named(name), &[&limit, &seeds, "copy.way=write", bad])
    };
    let at = [("errors.bad.mean", "80 ms")];
    let ruled = with("16 s", 4);
    let all = ruled.summary("NO-CHANGES", &at, "response").unwrap();
    assert!(all.max <= 16.0);
    assert!(ruled.mean("NO-CHANGES", &at, "aborted").unwrap() > 0.0);
    // If no run ends in time there is no response time.
    let hopeless = with("5 s", 1);
    let none = hopeless.summary("NO-CHANGES", &at, "response");
    assert!(none.is_err());
    assert!(hopeless.mean("NO-CHANGES", &at, "aborted").unwrap() > 49.0);
}

#[test]
fn a_trace_shows_the_headers_of_all_that_hosts_and_air_carry() {
    let experiment = named("nfs95-table1-6");
    for case in plan(experiment, &["copy.file=50000 B"]).cases() {
        let mut capture = Vec::new();
        let tracer = experiment.tracer().unwrap();
        tracer.trace(&case, 1, &mut capture).unwrap();
        let length = capture.len();
        let described = case.describe();
        assert!(
            (16 << 10..256 << 10).contains(&length),
            "{described}: {length}"
        );
    }
}
