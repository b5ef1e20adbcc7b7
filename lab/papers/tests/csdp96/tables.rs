//! The experiments as the lab runs them.

use experiment::text;
use papers::csdp96::EXPERIMENTS;

use crate::claims::failing;
use crate::lab::{is_golden, makes_sense, named, refuses, table};

#[test]
fn every_case_of_every_plan_makes_sense() {
    makes_sense(EXPERIMENTS);
}

#[test]
fn plans_that_make_no_sense_are_refused_by_name() {
    let wrong = [
        ("connections=0", "connections"),
        ("transfer=0 B", "transfer"),
        ("driver.queue=0", "driver.queue"),
        ("driver.hints.told=120 %", "told"),
        ("connection=9", "connection"),
        ("air.gap=1 ms", "gap"),
        ("tcp.timing.tick=0 s", "tick"),
        ("wire.rate=fast", "rate"),
        ("errors.good.mean=0 s", "mean"),
        ("last.model=replay", "last"),
        ("schemes.CSDP-RR.monitor=guess", "guess"),
        ("schemes.CSDP-RR.discipline=magic", "magic"),
        ("schemes.FIFO.speed=1", "speed"),
    ];
    refuses(named("csdp96-finish"), &wrong);
    let wrong = [
        ("flows.voice.every=0 s", "flows"),
        ("flows.voice.length=9 kB", "flows"),
    ];
    refuses(named("csdp96-delay"), &wrong);
}

/// The findings over 30 seeds, and the table that they rest on. Those that fail are explained in docs/papers/csdp96.md.
#[test]
fn the_findings_are_those_of_the_golden_table() {
    let table = table(named("csdp96-finish"), &["experiment.seeds=30"]);
    is_golden("csdp96-finish", &text::tables(&table));
    let known = ["5-rr-utilisation", "3-rr-max", "6-zero-knowledge"];
    assert_eq!(failing("csdp96-finish", &table), known);
    let rows = table.rows().into_iter();
    for row in rows.filter(|row| ["overflows", "broken"].contains(&row.metric)) {
        assert!(row.summary.max == 0.0, "{row:?}");
    }
}

/// What round robin lacks of the best is the price of delayed acknowledgements, of which it draws more.
#[test]
fn without_delayed_acknowledgements_nothing_uses_the_air_better_than_round_robin() {
    let changes = ["tcp.acknowledging.delayed=false", "experiment.seeds=12"];
    let failing = failing("csdp96-finish", &table(named("csdp96-finish"), &changes));
    assert!(!failing.contains(&"5-rr-utilisation"), "{failing:?}");
    assert!(!failing.contains(&"3-rr-max"), "{failing:?}");
}

#[test]
fn a_host_in_fades_takes_nothing_from_the_others() {
    let changes = ["experiment.seeds=6", "until=30 s"];
    let table = table(named("csdp96-isolation"), &changes);
    assert_eq!(failing("csdp96-isolation", &table), [""; 0]);
}

#[test]
fn one_connection_meets_three_bursts() {
    let table = table(named("csdp96-trace"), &[]);
    let at = |case, at| [("case", case), ("until", at)];
    let is = |case, moment, metric, value: f64| {
        let seen = table.mean("FIFO", &at(case, moment), metric).unwrap();
        assert!(
            (seen - value).abs() < 0.1,
            "{case}, {moment}: {metric} {seen}"
        );
    };
    is("no link repair", "20 s", "sequence", 1200.0 * 1024.0);
    is("no link repair", "20 s", "timeouts", 3.0);
    is("no link repair", "20 s", "fast_retransmissions", 0.0);
    is("link repair", "20 s", "timeouts", 0.0);
    // The SYN was lost.
    is("begins in a burst", "8 s", "timeout", 6.0);
    is("begins in a burst", "8.5 s", "sequence", 0.0);
}

#[test]
fn a_call_waits_least_where_airtime_is_shared() {
    let changes = ["experiment.seeds=3", "until=20 s", "burst=100 ms"];
    let table = table(named("csdp96-delay"), &changes);
    let mean = |scheme| {
        table
            .mean(scheme, &[("burst", "100 ms")], "voice_delay")
            .unwrap()
    };
    for other in ["FIFO", "RR", "CSDP-RR", "CSDP-TS", "CSDP-LQ"] {
        assert!(2.0 * mean("AIRTIME-ACKS") < mean(other), "{other}");
    }
}
