use super::*;

fn chain(name: &str, drops: bool, rules: Vec<Rule>) -> Chain {
    Chain {
        program: "nft",
        family: "inet".into(),
        table: "filter".into(),
        name: name.into(),
        hook: Some("forward".into()),
        drops,
        rules,
    }
}

const PROBE: Probe<'_> = Probe {
    inward: Some("lasthop0"),
    outward: Some("eth0"),
    port: None,
};

fn fate_of(drops: bool, rules: Vec<Rule>) -> Fate {
    let chain = chain("forward", drops, rules);
    fate(&chain, std::slice::from_ref(&chain), &PROBE)
}

fn from(link: &str, verdict: Verdict) -> Rule {
    Rule {
        inward: Some(vec![link.into()]),
        ..Rule::always(verdict)
    }
}

#[test]
fn the_policy_decides_what_no_rule_does() {
    assert_eq!(fate_of(true, Vec::new()), Fate::Dropped);
    assert_eq!(fate_of(false, Vec::new()), Fate::Accepted);
    let known = Rule {
        is_of_known: true,
        ..Rule::always(Verdict::Accept)
    };
    assert_eq!(fate_of(true, vec![known]), Fate::Dropped);
    let last = vec![
        from("eth9", Verdict::Accept),
        Rule::always(Verdict::Other),
        Rule::always(Verdict::Drop),
    ];
    assert_eq!(fate_of(false, last), Fate::Dropped);
}

#[test]
fn the_first_rule_that_applies_decides() {
    for link in ["lasthop0", "last*", "lasthop+"] {
        let rules = vec![from(link, Verdict::Accept), Rule::always(Verdict::Drop)];
        assert_eq!(fate_of(true, rules), Fate::Accepted, "{link}");
    }
    let rules = vec![
        Rule::always(Verdict::Drop),
        from("lasthop0", Verdict::Accept),
    ];
    assert_eq!(fate_of(false, rules), Fate::Dropped);
}

#[test]
fn unknown_conditions_are_not_guessed() {
    let unknown = |verdict| Rule {
        is_conditional: true,
        ..Rule::always(verdict)
    };
    assert_eq!(
        fate_of(true, vec![unknown(Verdict::Accept)]),
        Fate::PerhapsDropped
    );
    assert_eq!(fate_of(false, vec![unknown(Verdict::Drop)]), Fate::Accepted);
    let other = Rule {
        is_of_other_protocol: true,
        ..Rule::always(Verdict::Accept)
    };
    assert_eq!(fate_of(true, vec![other]), Fate::PerhapsDropped);
}

#[test]
fn jumps_are_followed_and_come_back() {
    let jump = || Rule::always(Verdict::Jump("mine".into()));
    let all = |mine: Vec<Rule>, rest: Vec<Rule>| {
        let mut rules = vec![jump()];
        rules.extend(rest);
        let all = [chain("forward", true, rules), chain("mine", false, mine)];
        fate(&all[0], &all, &PROBE)
    };
    let accept = || from("lasthop0", Verdict::Accept);
    assert_eq!(all(vec![accept()], Vec::new()), Fate::Accepted);
    assert_eq!(
        all(vec![Rule::always(Verdict::Return), accept()], Vec::new()),
        Fate::Dropped
    );
    assert_eq!(all(Vec::new(), vec![accept()]), Fate::Accepted);
    // One that leads to itself ends.
    assert_eq!(all(vec![jump()], Vec::new()), Fate::Dropped);
}

#[test]
fn ports_are_compared_for_udp_only() {
    let to = |ports| Rule {
        ports: Some(vec![ports]),
        ..Rule::always(Verdict::Accept)
    };
    let probe = Probe {
        inward: Some("eth0"),
        outward: None,
        port: Some(51_830),
    };
    for (ports, expected) in [
        (51_830..=51_830, Fate::Accepted),
        (50_000..=60_000, Fate::Accepted),
        (53..=53, Fate::Dropped),
    ] {
        let chain = chain("input", true, vec![to(ports)]);
        assert_eq!(fate(&chain, &[], &probe), expected);
    }
}
