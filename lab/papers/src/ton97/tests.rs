//! The same transfer with values and with bytes on the links; and that no scheme loses or repeats a byte.

use experiment::{Case, Experiment, Override, Plan};
use simulator::Encoded;

use super::EXPERIMENTS;
use super::network::SetUp;
use super::tables::set_up;
use super::transfer::Transfer;
use super::upload;

fn plan(experiment: &dyn Experiment, overrides: &[&str]) -> Plan {
    let about = experiment.about();
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    Plan::parse(about.name, about.plan, &overrides).unwrap()
}

fn named(name: &str) -> &'static dyn Experiment {
    let found = EXPERIMENTS.iter().find(|known| known.about().name == name);
    *found.unwrap()
}

fn describe(case: &Case, transfer: &Transfer) -> String {
    format!("{}: {:?}", case.describe(), transfer.measurements())
}

fn by_values(set_up: &SetUp) -> Transfer {
    let mut network = set_up.build(|node| node).unwrap();
    Transfer::run(set_up, &mut network, &mut (), |node| node).unwrap()
}

fn by_bytes(set_up: &SetUp) -> Transfer {
    let mut network = set_up.build(Encoded).unwrap();
    Transfer::run(set_up, &mut network, &mut (), |node| &node.0).unwrap()
}

#[test]
fn bytes_on_the_links_change_nothing() {
    let plan = plan(named("ton97-claims"), &["transfer=512 KiB"]);
    for case in plan.cases() {
        let set_up = set_up(&case, 3).unwrap();
        let (values, bytes) = (by_values(&set_up), by_bytes(&set_up));
        assert_eq!(describe(&case, &values), describe(&case, &bytes));
    }
}

#[test]
fn bytes_on_the_links_change_nothing_for_uploads() {
    for name in ["ton97-upload", "ton97-both"] {
        for case in plan(named(name), &["transfer=256 KiB"]).cases() {
            let set_up = upload::set_up(&case, 3).unwrap();
            let (values, bytes) = (by_values(&set_up), by_bytes(&set_up));
            assert_eq!(describe(&case, &values), describe(&case, &bytes));
        }
    }
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    let plan = plan(named("ton97-claims"), &["transfer=256 KiB"]);
    for case in plan.cases() {
        let first = by_values(&set_up(&case, 5).unwrap());
        let again = by_values(&set_up(&case, 5).unwrap());
        assert_eq!(describe(&case, &first), describe(&case, &again));
    }
}

#[test]
fn without_losses_nothing_is_sent_twice() {
    let overrides = ["transfer=512 KiB", "errors.mean=1000 GiB"];
    for case in plan(named("ton97-claims"), &overrides).cases() {
        let transfer = by_values(&set_up(&case, 1).unwrap());
        let text = describe(&case, &transfer);
        assert!(text.contains("(\"wired_goodput\", 100.0)"), "{text}");
    }
}

/// A split connection continues as MTCP across the hop: nothing is lost or repeated there, in any direction.
#[test]
fn mtcp_carries_transfers_across_the_hop() {
    let schemes = [
        "schemes.ARQ.base=mtcp",
        "schemes.LL.base=mtcp-wide",
        "mtcp_wide.receive_buffer=32 KiB",
        "transfer=256 KiB",
    ];
    for direction in ["direction=download", "direction=upload", "direction=both"] {
        let overrides = [&schemes[..], &[direction]].concat();
        for case in plan(named("ton97-loss"), &overrides).cases() {
            if !["ARQ", "LL"].contains(&case.scheme_name()) {
                continue;
            }
            let set_up = upload::set_up(&case, 3).unwrap();
            let (values, bytes) = (by_values(&set_up), by_bytes(&set_up));
            assert_eq!(describe(&case, &values), describe(&case, &bytes));
            let text = describe(&case, &values);
            assert!(!text.contains("throughput\", 0.0)"), "{text}");
        }
    }
}
