//! The experiments as the lab runs them.

use experiment::{Published, text};
use papers::ton97::EXPERIMENTS;

use crate::lab::{is_golden, makes_sense, named, plan, refuses, table};

#[test]
fn every_case_of_every_plan_makes_sense() {
    makes_sense(EXPERIMENTS);
}

#[test]
fn every_published_throughput_has_its_case() {
    let counts = [
        ("ton97-table2", 12),
        ("ton97-table3", 17),
        ("ton97-table4", 6),
        ("ton97-table5", 6),
        ("ton97-peak", 2),
    ];
    for (name, count) in counts {
        let experiment = named(name);
        let published = Published::read(experiment.about()).unwrap();
        let cases = plan(experiment, &[]).cases();
        let found = cases
            .iter()
            .filter(|case| published.value(case, "throughput").is_some());
        assert_eq!(found.count(), count, "{name}");
    }
}

#[test]
fn schemes_that_make_no_sense_are_refused_by_name() {
    let wrong = [
        ("snoop.duplicates=0", "snoop"),
        ("snoop.timing.persist=0 s", "snoop"),
        ("schemes.LL.hop=reno", "schemes.LL.hop"),
        ("schemes.ARQ.smart=true", "schemes.ARQ.smart"),
        ("schemes.ARQ.tcp_aware=true", "schemes.ARQ.tcp_aware"),
        ("schemes.LL.base=magic", "magic"),
        ("schemes.LL.speed=1", "speed"),
        ("transfer=0 B", "transfer"),
        ("tcp.timing.tick=0 s", "timing.tick"),
        ("tcp.recovery.policy=sack", "tcp.recovery.policy"),
        ("air.rate=0 bit/s", "rate"),
    ];
    let experiment = named("ton97-table2");
    refuses(experiment, &wrong);
}

#[test]
fn the_tables_are_the_golden_ones() {
    let names = [
        "ton97-peak",
        "ton97-table2",
        "ton97-table3",
        "ton97-table4",
        "ton97-table5",
    ];
    for name in names {
        is_golden(name, &text::tables(&table(named(name), &[])));
    }
}

#[test]
fn the_peaks_are_those_that_the_model_is_calibrated_to() {
    let table = table(named("ton97-peak"), &[]);
    for row in table.rows().iter().filter(|row| row.metric == "throughput") {
        let ratio = row.ratio().unwrap();
        assert!((ratio - 1.0).abs() < 0.01, "{:?}: {ratio}", row.parameters);
    }
}

#[test]
fn windows_and_sequences_are_seen_over_time() {
    let table = table(named("ton97-fig10"), &[]);
    let sequence = |scheme, at| table.mean(scheme, &[("at", at)], "hop_sequence").unwrap();
    assert!(sequence("SPLIT", "10 s") > 0.0);
    assert!(sequence("SPLIT", "20 s") > sequence("SPLIT", "10 s"));
}

#[test]
fn a_trace_is_a_capture_of_the_headers_of_all_that_hosts_and_air_carry() {
    let experiment = named("ton97-table2");
    for case in plan(experiment, &["transfer=64 KiB", "setting=LAN 8 KB"]).cases() {
        let mut capture = Vec::new();
        experiment
            .tracer()
            .unwrap()
            .trace(&case, 1, &mut capture)
            .unwrap();
        let length = capture.len();
        assert!(
            (8 << 10..64 << 10).contains(&length),
            "{}: {length}",
            case.describe()
        );
    }
}

#[test]
fn hardly_any_scheme_hides_what_a_wired_bottleneck_refused() {
    let errors = [("errors", "64 KiB")];
    let table = table(named("ton97-congestion"), &["errors=64 KiB"]);
    let mean = |scheme: &str, metric| table.mean(scheme, &errors, metric);
    for row in table.rows().iter().filter(|row| row.metric == "throughput") {
        let scheme = row.scheme.as_str();
        let own = mean(scheme, "own_congestion_losses").unwrap();
        let hidden = mean(scheme, "congestion_hidden").unwrap();
        assert!(own > 30.0, "{scheme}: {own}");
        assert!(hidden < 0.01 * own, "{scheme}: {hidden} of {own}");
        let repaired_behind = scheme.starts_with("LL");
        assert!(!repaired_behind || hidden == 0.0, "{scheme}: {hidden}");
        assert!(
            mean(scheme, "congestion_marked").unwrap() == 0.0,
            "{scheme}"
        );
        let follows = !scheme.starts_with("SPLIT") && scheme != "ARQ";
        assert_eq!(mean(scheme, "own_air_losses").is_ok(), follows, "{scheme}");
    }
    let punished = |scheme| mean(scheme, "air_punished").unwrap();
    assert!(punished("E2E") > 5.0 * punished("E2E-ELN"));
    assert!(punished("LL") > 5.0 * punished("LL-TCP-AWARE"));
}

#[test]
fn queue_lengths_that_radios_exchange_tell_most_congestion_from_corruption() {
    let table = table(named("ton97-two-hops"), &["errors=both hops"]);
    for sender in ["E2E-ELN", "E2E-SACK-ELN"] {
        let mean = |marks, rivals, metric| {
            let parameters = [("errors", "both hops"), ("rivals", rivals)];
            let scheme = format!("{sender}-{marks}");
            table.mean(&scheme, &parameters, metric).unwrap()
        };
        let mistakes = |marks| mean(marks, "two", "marked_by_mistake");
        assert!(mistakes("HEARD") == 0.0, "{sender}");
        assert!(mistakes("ALL") > 3.0 * mistakes("EXCHANGED"), "{sender}");
        for rivals in ["none", "two"] {
            let plain = [("errors", "both hops"), ("rivals", rivals)];
            let plain = table.mean("E2E", &plain, "throughput").unwrap();
            let ours = mean("EXCHANGED", rivals, "throughput");
            assert!(ours > 1.2 * plain, "{sender}, {rivals}: {ours} and {plain}");
            let known = mean("EXCHANGED", rivals, "air_losses");
            let missed = mean("EXCHANGED", rivals, "missed");
            assert!(
                missed < 0.4 * known,
                "{sender}, {rivals}: {missed} of {known}"
            );
        }
    }
}

#[test]
fn two_hops_that_make_no_sense_are_refused_by_name() {
    let wrong = [
        ("two_hops.exchange=50", "two_hops.exchange"),
        ("two_hops.exchange=0 s", "two_hops.exchange"),
        ("two_hops.threshold=31 packets", "two_hops.threshold"),
        ("two_hops.threshold=8 KiB", "two_hops.threshold"),
        ("two_hops.first.mean=64 KiB", "two_hops.first"),
        ("two_hops.speed=1", "speed"),
        ("errors.model=none", ""),
        ("schemes.E2E.marks=all", "schemes.E2E.marks"),
        ("schemes.E2E.base=split", "schemes.E2E.base"),
        ("schemes.ARQ.tcp_aware=true", "schemes.ARQ.tcp_aware"),
        ("schemes.E2E-ELN-ALL.base=arq", "schemes.E2E-ELN-ALL.marks"),
        ("schemes.E2E-ELN-ALL.marks=guess", "guess"),
    ];
    let experiment = named("ton97-two-hops");
    refuses(experiment, &wrong);
}

/// Retransmissions of the fixed host for data that LL has repaired cause duplicate acknowledgements: no reason for more
/// repairs.
#[test]
fn undelayed_acknowledgements_set_off_no_storm_of_repairs() {
    let changes = [
        "tcp.acknowledging.delayed=false",
        "transfer=2 MiB",
        "experiment.seeds=4",
    ];
    let table = table(named("ton97-table2"), &changes);
    let mean = |scheme, metric| {
        let setting = [("setting", "LAN 32 KB")];
        table.mean(scheme, &setting, metric).unwrap()
    };
    let (repairs, fewest) = (
        mean("LL", "hop_retransmissions"),
        mean("LL-TCP-AWARE", "hop_retransmissions"),
    );
    assert!(repairs < 1.5 * fewest, "{repairs} repairs for {fewest}");
    assert!(mean("LL", "throughput") > 1.3);
}
