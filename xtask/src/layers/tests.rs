use super::{Edge, Metadata, unknown, violation};

fn is_allowed(from: &str, to: &str) -> bool {
    violation(&edge(from, to, false)).is_none()
}

fn is_allowed_for_tests(from: &str, to: &str) -> bool {
    violation(&edge(from, to, true)).is_none()
}

fn edge(from: &str, to: &str, for_tests: bool) -> Edge {
    Edge {
        from: from.into(),
        to: to.into(),
        for_tests,
    }
}

#[test]
fn what_stands_above_may_be_seen() {
    assert!(is_allowed("base/machine", "base/units"));
    assert!(is_allowed("protocols/hosts", "protocols/arq"));
    assert!(is_allowed("protocols/arq", "base/wire"));
    assert!(is_allowed("live/runtime", "protocols/hosts"));
    assert!(is_allowed("app/lasthop", "sim/channel"));
    assert!(is_allowed("app/lasthop", "live/runtime"));
}

#[test]
fn an_edge_that_climbs_is_found() {
    assert!(!is_allowed("base/units", "base/machine"));
    assert!(!is_allowed("base/machine", "protocols/arq"));
    assert!(!is_allowed("protocols/arq", "protocols/hosts"));
    assert!(!is_allowed("protocols/hosts", "live/runtime"));
    assert!(!is_allowed("live/runtime", "app/lasthop"));
}

#[test]
fn an_edge_that_crosses_is_found() {
    assert!(!is_allowed("sim/channel", "live/edges"));
    assert!(!is_allowed("live/runtime", "sim/channel"));
    assert!(!is_allowed("xtask", "base/units"));
    assert!(!is_allowed("app/lasthop", "xtask"));
}

#[test]
fn tests_may_see_the_simulation_and_nothing_else_from_above() {
    assert!(is_allowed_for_tests("protocols/arq", "sim/channel"));
    assert!(is_allowed_for_tests("live/runtime", "sim/channel"));
    assert!(is_allowed_for_tests("sim/tcp", "sim/simulator"));
    assert!(!is_allowed("sim/tcp", "sim/simulator"));
    assert!(!is_allowed_for_tests("protocols/arq", "protocols/hosts"));
    assert!(!is_allowed_for_tests("protocols/arq", "live/edges"));
}

#[test]
fn a_finding_names_both_crates() {
    let finding = violation(&edge("sim/channel", "live/edges", false)).unwrap();
    assert!(finding.starts_with("sim/channel must not see live/edges (dependency;"));
}

#[test]
fn a_crate_without_a_place_is_found() {
    assert!(unknown("protocols/arq").is_none());
    assert!(unknown("protocols/newcomer").is_some());
    assert!(unknown("newcomer").is_some());
}

#[test]
fn edges_are_read_from_the_metadata_of_cargo() {
    let metadata: Metadata = serde_json::from_str(
        r#"{
            "workspace_root": "/repository",
            "packages": [{
                "manifest_path": "/repository/sim/channel/Cargo.toml",
                "dependencies": [
                    { "name": "serde", "kind": null },
                    { "name": "units", "kind": null, "path": "/repository/base/units" },
                    { "name": "edges", "kind": "dev", "path": "/repository/live/edges" }
                ]
            }]
        }"#,
    )
    .unwrap();
    let (crates, edges) = metadata.graph();
    assert_eq!(crates, ["sim/channel"]);
    let findings: Vec<_> = edges.iter().filter_map(violation).collect();
    assert_eq!((edges.len(), findings.len()), (2, 1));
    assert!(findings[0].contains("live/edges (dev-dependency"));
}
