//! Transfers from the mobile host, and both ways at once.

use experiment::{Table, text};

use crate::lab::{named, refuses, table};

const SHORT: &[&str] = &["transfer=1 MiB", "experiment.seeds=4"];

fn mean(table: &Table, scheme: &str, metric: &str) -> f64 {
    let setting = [("setting", "LAN 32 KB")];
    table.mean(scheme, &setting, metric).unwrap()
}

#[test]
fn an_upload_is_repaired_on_the_hop() {
    let table = table(named("ton97-upload"), SHORT);
    let snoop = |metric| mean(&table, "LL-TCP-AWARE", metric);
    assert!(snoop("up_hop_retransmissions") >= 10.0);
    assert!(snoop("up_retransmissions") <= 1.0);
    assert!(snoop("up_timeouts") + snoop("up_fast_retransmissions") <= 1.0);
    let far = |scheme| {
        let setting = [("setting", "WAN 32 KB")];
        table.mean(scheme, &setting, "up_throughput").unwrap()
    };
    assert!(far("LL-TCP-AWARE") > 1.5 * far("E2E"));
}

/// Without the shield the sender is notified of every loss that the hop repairs.
#[test]
fn a_sender_that_is_not_shielded_reduces_its_window() {
    let table = table(named("ton97-upload"), SHORT);
    let recoveries = |scheme| mean(&table, scheme, "up_fast_retransmissions");
    assert!(recoveries("LL") > recoveries("LL-TCP-AWARE") + 3.0);
}

#[test]
fn both_directions_are_repaired_at_once() {
    let table = table(named("ton97-both"), SHORT);
    for scheme in ["LL-TCP-AWARE", "LL-SMART-TCP-AWARE"] {
        let snoop = |metric| mean(&table, scheme, metric);
        assert!(snoop("hop_retransmissions") >= 10.0, "{scheme}");
        assert!(snoop("up_hop_retransmissions") >= 10.0, "{scheme}");
        let again = snoop("retransmissions") + snoop("up_retransmissions");
        assert!(again <= 2.0, "{scheme}: {again}");
        let both = snoop("throughput") + snoop("up_throughput");
        assert!(both > 1.2, "{scheme}: {both}");
    }
}

#[test]
fn a_plan_gives_the_same_table_twice() {
    for name in ["ton97-upload", "ton97-both"] {
        let once = || {
            text::tables(&table(
                named(name),
                &["transfer=256 KiB", "experiment.seeds=1"],
            ))
        };
        assert_eq!(once(), once());
    }
}

#[test]
fn schemes_that_make_no_sense_are_refused_by_name() {
    let wrong = [
        ("ton97-upload", "schemes.LL.smart=true", "schemes.LL.smart"),
        (
            "ton97-upload",
            "schemes.E2E-ELN.base=forward",
            "base = \"mark\"",
        ),
        ("ton97-both", "schemes.E2E.base=mark", "schemes.E2E.base"),
        ("ton97-both", "schemes.ARQ.smart=true", "schemes.ARQ.smart"),
        ("ton97-table2", "direction=upload", "direction"),
        ("ton97-congestion", "direction=both", "direction"),
        ("ton97-two-hops", "direction=both", "direction"),
        ("ton97-table2", "direction=sideways", "sideways"),
    ];
    for (name, change, key) in wrong {
        refuses(named(name), &[(change, key)]);
    }
}
