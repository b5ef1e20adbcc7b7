//! The experiments that combine NFS with CSDP, as the lab runs them.

use experiment::{Table, text};
use papers::nfs_csdp::EXPERIMENTS;

use crate::claims::failing;
use crate::lab::{is_golden, makes_sense, named, refuses, table};

#[test]
fn every_case_of_every_plan_makes_sense() {
    makes_sense(EXPERIMENTS);
}

#[test]
fn plans_that_make_no_sense_are_refused_by_name() {
    let wrong = [
        ("copy.piece=2 MiB", "copy.piece"),
        ("copy.abort_after=5 min", "copy.abort_after"),
        ("client.window.fixed=0", "client"),
        ("timeouts.initial=0 s", "timeouts"),
        ("policy=patient", "patient"),
        ("server.service.receive_buffer=1 B", "server"),
        ("hosts.wired=1", "hosts.wired"),
        ("hosts.mtu=100 B", "hosts.mtu"),
        ("wire.rate=fast", "rate"),
        ("air.gap=1 ms", "gap"),
        ("driver.queue=0", "driver.queue"),
        ("errors.bad.mean=0 s", "mean"),
        ("schemes.AIRTIME.monitor=guess", "guess"),
    ];
    refuses(named("nfs-csdp-read"), &wrong);
}

/// Eight clients of one policy, in both directions.
#[test]
fn eight_clients_get_what_the_golden_tables_say() {
    for name in ["nfs-csdp-read", "nfs-csdp-write"] {
        let changes = ["experiment.seeds=3", "clients=8", "policy=hybrid-linear"];
        let table = table(named(name), &changes);
        is_golden(name, &text::tables(&table));
    }
}

/// Every claim finds the values that it needs; a plan as short as this one does not decide their truth.
#[test]
fn claims_can_be_judged() {
    for name in ["nfs-csdp-read", "nfs-csdp-write"] {
        let short = ["experiment.seeds=2", "copy.give_up=5 s"];
        failing(name, &table(named(name), &short));
    }
}

/// Returns a metric at the only place of a table.
fn of(table: &Table, scheme: &str, metric: &str) -> f64 {
    table.mean(scheme, &[], metric).unwrap()
}

#[test]
fn without_fades_few_clients_need_no_call_twice() {
    for name in ["nfs-csdp-read", "nfs-csdp-write"] {
        let changes = [
            "experiment.seeds=2",
            "clients=2",
            "policy=exponential",
            "errors.good.mean=10000000 s",
        ];
        let table = table(named(name), &changes);
        for scheme in ["FIFO", "RR", "CSDP-RR", "AIRTIME"] {
            for metric in ["repeats", "spurious", "given_up", "refused", "unfinished"] {
                assert!(
                    of(&table, scheme, metric) == 0.0,
                    "{name}, {scheme}, {metric}"
                );
            }
            assert!(of(&table, scheme, "fairness") > 0.99, "{name}, {scheme}");
        }
    }
}

/// A run that takes too long is terminated, and the bytes that crossed the network until then count.
#[test]
fn what_is_terminated_counts_as_far_as_it_came() {
    let changes = [
        "experiment.seeds=2",
        "clients=32",
        "policy=linear",
        "copy.give_up=30 s",
    ];
    let table = table(named("nfs-csdp-write"), &changes);
    for scheme in ["FIFO", "RR", "CSDP-RR", "AIRTIME"] {
        assert!(of(&table, scheme, "unfinished") > 31.5);
        assert!(table.mean(scheme, &[], "finish_max").is_err());
        assert!(of(&table, scheme, "throughput") < 8_000.0 / 30.0);
    }
}
