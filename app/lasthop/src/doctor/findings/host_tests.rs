use super::*;
use crate::doctor::facts::System;

/// A host on which nothing is found.
fn sound() -> Facts {
    Facts {
        system: System {
            clock: CLOCKS.start,
            cores: 2,
            seal_rate: Some(SLOW),
            has_nft: true,
            has_landlock: true,
            has_seccomp: true,
            has_segmentation: true,
            open_files: Some(FEW_FILES),
            ..System::default()
        },
        ..Facts::default()
    }
}

/// Returns the codes of what is found after a change.
fn codes(change: impl FnOnce(&mut Facts)) -> Vec<(&'static str, Severity)> {
    let mut facts = sound();
    change(&mut facts);
    let all = crate::doctor::findings::all(&facts).into_iter();
    all.map(|found| (found.code, found.severity)).collect()
}

#[test]
fn nothing_is_found_on_a_sound_host() {
    assert_eq!(codes(|_| {}), []);
}

#[test]
fn each_finding_rests_on_its_fact() {
    let tun = |facts: &mut Facts| facts.system.tun_error = Some("No such device".into());
    assert_eq!(codes(tun), [("no-tun", Severity::Error)]);
    for (role, severity) in [
        (None, Severity::Warning),
        (Some(Role::Gateway), Severity::Error),
        (Some(Role::Mobile), Severity::Note),
    ] {
        let found = codes(|facts| {
            facts.system.has_nft = false;
            facts.end.translates = true;
            facts.end.role = role;
        });
        assert_eq!(found, [("no-nft", severity)]);
    }
    let clock = |facts: &mut Facts| facts.system.clock = 86_400;
    assert_eq!(codes(clock), [("clock", Severity::Warning)]);
    let open = |facts: &mut Facts| facts.system.open_secrets.push(("/k".into(), 0o644));
    assert_eq!(codes(open), [("open-secrets", Severity::Error)]);
    let slow = |facts: &mut Facts| facts.system.seal_rate = Some(SLOW - 1);
    assert_eq!(codes(slow), [("slow-processor", Severity::Note)]);
    let files = |facts: &mut Facts| facts.system.open_files = Some(1_024);
    assert_eq!(codes(files), [("few-open-files", Severity::Note)]);
    let single = |facts: &mut Facts| facts.system.has_segmentation = false;
    assert_eq!(codes(single), [("no-segmentation", Severity::Note)]);
    let open = |facts: &mut Facts| facts.system.has_landlock = false;
    assert_eq!(codes(open), [("no-sandbox", Severity::Note)]);
}

#[test]
fn a_full_table_of_connections_is_named() {
    let table = |most: &str, used: &str, role| {
        codes(|facts| {
            let names = [
                "net/netfilter/nf_conntrack_max",
                "net/netfilter/nf_conntrack_count",
            ];
            for (name, value) in names.into_iter().zip([most, used]) {
                facts.network.parameters.insert(name.into(), value.into());
            }
            facts.end.translates = true;
            facts.end.role = role;
        })
    };
    let gateway = Some(Role::Gateway);
    assert_eq!(table("100000", "79999", gateway), []);
    let full = [("connection-table", Severity::Warning)];
    assert_eq!(table("100000", "80000", gateway), full);
    assert_eq!(
        table("8192", "10", gateway),
        [("connection-table", Severity::Note)]
    );
    assert_eq!(table("8192", "10", None), []);
}
