//! The experiments of the comparison as the lab runs them.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;

use experiment::{Campaign, Experiment, Override, Plan, Program, Published, Table, run, text};
use papers::ton97::EXPERIMENTS;

fn named(name: &str) -> &'static dyn Experiment {
    let found = EXPERIMENTS.iter().find(|known| known.about().name == name);
    *found.unwrap()
}

fn plan(experiment: &dyn Experiment, overrides: &[&str]) -> Plan {
    let about = experiment.about();
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    Plan::parse(about.name, about.plan, &overrides).unwrap()
}

fn table(experiment: &dyn Experiment, overrides: &[&str]) -> Table {
    let folder = tempfile::tempdir().unwrap();
    let program = Program {
        lasthop: "0".into(),
        rustc: "0".into(),
        commit: "unknown".into(),
        dirty: None,
        digest: "0".into(),
    };
    let campaign = Campaign {
        experiment,
        plan: &plan(experiment, overrides),
        folder: folder.path(),
        jobs: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        program: &program,
    };
    run(campaign, &mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn every_case_of_every_plan_makes_sense() {
    for experiment in EXPERIMENTS {
        for case in plan(*experiment, &[]).cases() {
            experiment.check(&case).unwrap();
        }
    }
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
    for (change, key) in wrong {
        let cases = plan(experiment, &[change]).cases();
        let problems = cases.iter().filter_map(|case| experiment.check(case).err());
        let problem = problems.map(|problem| problem.to_string()).next();
        let problem = problem.unwrap_or_default();
        assert!(problem.contains(key), "{change}: {problem}");
    }
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
        let table = text::tables(&table(named(name), &[]));
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&golden, &table).unwrap();
        }
        let golden = fs::read_to_string(golden).unwrap();
        assert_eq!(table, golden, "UPDATE_GOLDEN=1 writes it anew");
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
fn a_trace_is_a_capture_of_all_that_hosts_and_air_carry() {
    let experiment = named("ton97-table2");
    for case in plan(experiment, &["transfer=64 KiB", "setting=LAN 8 KB"]).cases() {
        let mut capture = Vec::new();
        experiment
            .tracer()
            .unwrap()
            .trace(&case, 1, &mut capture)
            .unwrap();
        assert!(
            capture.len() > 64 << 10,
            "{}: {}",
            case.describe(),
            capture.len()
        );
    }
}
