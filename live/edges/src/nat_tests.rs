use super::*;

fn masquerade() -> Masquerade {
    Masquerade {
        instance: "field_1".into(),
        inner_link: "lasthop0".into(),
        ipv4: vec![
            "10.7.0.0/24".parse().unwrap(),
            "10.8.0.0/24".parse().unwrap(),
        ],
        ipv6: Vec::new(),
    }
}

#[test]
fn the_table_replaces_its_predecessor_in_one_transaction() {
    let expected = r#"table inet lasthop_field_1 {}
delete table inet lasthop_field_1
table inet lasthop_field_1 {
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr { 10.7.0.0/24, 10.8.0.0/24 } oifname != "lasthop0" masquerade
  }
}
"#;
    assert_eq!(masquerade().ruleset().unwrap(), expected);
}

#[test]
fn ipv6_is_translated_only_when_asked_for() {
    assert!(!masquerade().ruleset().unwrap().contains("ip6"));
    let both = Masquerade {
        ipv6: vec!["fd07::/64".parse().unwrap()],
        ..masquerade()
    };
    assert!(both.ruleset().unwrap().contains("ip6 saddr { fd07::/64 }"));
}

#[test]
fn names_cannot_smuggle_rules_in() {
    for instance in ["", "a b", "x; flush ruleset", "é", &"a".repeat(33)] {
        let bad = Masquerade {
            instance: instance.into(),
            ..masquerade()
        };
        assert!(
            matches!(bad.install(), Err(NatError::InvalidName(_))),
            "{instance:?}"
        );
        assert!(
            matches!(remove(instance), Err(NatError::InvalidName(_))),
            "{instance:?}"
        );
    }
    for link in ["", "a\"b", "a\nb", "a b"] {
        let bad = Masquerade {
            inner_link: link.into(),
            ..masquerade()
        };
        assert!(
            matches!(bad.ruleset(), Err(NatError::InvalidLink(_))),
            "{link:?}"
        );
    }
}
