//! The experiments of CSDP, as the lab runs them.

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

/// The utilisation that round robin lacks is the price of delayed acknowledgements, of which it causes more.
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
    assert_eq!(failing("csdp96-trace", &table), [""; 0]);
    let at = [("case", "no link repair"), ("until", "20 s")];
    let sequence = table.mean("FIFO", &at, "sequence").unwrap();
    assert!((sequence - 1200.0 * 1024.0).abs() < 0.1, "{sequence}");
}

/// The loss of many hosts in fades follows from turns and late events.
#[test]
fn the_more_take_turns_the_less_a_monitor_saves() {
    let changes = ["experiment.seeds=4", "until=10 s"];
    let table = table(named("csdp96-crowd"), &changes);
    let kept = |connections| {
        let at = [("late", "at once"), ("connections", connections)];
        let lost = |scheme| table.mean(scheme, &at, "lost").unwrap();
        lost("CSDP-RR-PROBING") / lost("RR-DEFERRING")
    };
    let [few, many, most] = ["8", "32", "64"].map(kept);
    assert!(
        few < many && many < most && most < 1.0,
        "{few} {many} {most}"
    );
    assert!(!failing("csdp96-crowd", &table).contains(&"crowd-turns"));
}

/// For any accuracy, and for any duration of an error.
#[test]
fn a_monitor_that_is_right_more_often_is_worth_more() {
    for name in ["csdp96-accuracy", "csdp96-accuracy-periods"] {
        let table = table(named(name), &["experiment.seeds=6"]);
        assert!(
            !failing(name, &table).contains(&"accuracy-matters"),
            "{name}"
        );
    }
}

/// With hints from receivers that get through, a monitor by acknowledgements is as fair among colliding stations as a
/// monitor with perfect knowledge.
#[test]
fn collisions_harm_nobody_whose_receivers_tell() {
    let changes = [
        "experiment.seeds=4",
        "transfer=256 KiB",
        "driver.hints.come=with-frames",
        "driver.hints.mistaken=0 %",
    ];
    let table = table(named("csdp96-collisions"), &changes);
    let at = [
        ("driver.hints.come", "with-frames"),
        ("driver.hints.mistaken", "0 %"),
    ];
    let fairness = |scheme| table.mean(scheme, &at, "fairness").unwrap();
    assert!(fairness("RR-PERFECT") - fairness("RR-ACKS") < 0.002);
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
