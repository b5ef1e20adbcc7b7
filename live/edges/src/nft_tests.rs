use super::*;
use ipnet::IpNet;

use crate::diversion::{Diversion, Networks};
use crate::forwarding::Forwarding;
use crate::nameserver::{NameServer, QUESTIONS};
use crate::nat::Masquerade;

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

fn networks() -> Networks {
    [IpNet::V4("10.7.0.2/32".parse().unwrap())]
        .into_iter()
        .collect()
}

fn diversion() -> Diversion {
    Diversion {
        instance: "field_1".into(),
        inner_link: "lasthop0".into(),
        from: networks(),
        to: networks(),
        except: Networks::default(),
        destinations: None,
        port: 4_321,
        mark: 7,
        is_own: false,
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
fn what_is_established_is_diverted_before_what_begins() {
    let ruleset = diversion().ruleset().unwrap();
    let at = |rule: &str| ruleset.find(rule).expect(rule);
    let established = at("socket transparent 1 meta mark set 7 accept");
    assert!(at("socket wildcard 1 goto requests") < established);
    assert!(established < at("    goto requests"));
    at("ip saddr { 10.7.0.2/32 } fib daddr type != local");
    at("ip daddr { 10.7.0.2/32 } fib daddr type != local");
    assert!(ruleset.contains("tproxy ip to :4321 meta mark set 7 accept"));
    assert!(!ruleset.contains("tproxy ip6"));
}

/// ICMP errors about packets with other hosts' addresses are for the sockets that sent them: without them a path with a
/// smaller MTU drops all long packets.
#[test]
fn errors_about_diverted_connections_stay_here() {
    let rule = "meta l4proto { icmp, ipv6-icmp } socket transparent 1 meta mark set 7 accept";
    assert!(diversion().ruleset().unwrap().contains(rule));
}

/// Segments of a mobile host that no socket has are of an earlier run's connections. What the daemon itself sends in a
/// mobile host's name are SYN, SYN-ACK and RST, and they go on.
#[test]
fn segments_of_unknown_connections_are_reset_at_the_gateway() {
    let rule = "ip saddr { 10.7.0.2/32 } tcp flags & (syn | rst) == 0 reject with tcp reset";
    let ruleset = diversion().ruleset().unwrap();
    assert!(ruleset.contains(rule), "{ruleset}");
    assert_eq!(ruleset.matches("reject").count(), 1, "{ruleset}");
    let own = Diversion {
        is_own: true,
        ..diversion()
    };
    assert!(!own.ruleset().unwrap().contains("reject"));
}

/// Packets of a host's own sockets are diverted by the mark of their connection, which the first segment sets.
#[test]
fn a_hosts_own_connections_are_kept_by_their_mark() {
    let own = Diversion {
        to: Networks::default(),
        is_own: true,
        ..diversion()
    };
    let ruleset = own.ruleset().unwrap();
    for rule in [
        "ip saddr { 10.7.0.2/32 } fib daddr type != local tcp flags & (syn | ack) == syn ct mark set 7 tproxy",
        "type route hook output priority mangle",
        "meta l4proto tcp meta mark 7 ct mark set 7",
        "meta l4proto tcp ct mark 7 meta mark set 7",
    ] {
        assert!(ruleset.contains(rule), "{rule}");
    }
    assert!(!ruleset.contains("ip daddr"));
    assert!(!diversion().ruleset().unwrap().contains("ct mark"));
}

/// Connections that a mobile host opens in the chosen way may pass as packets.
#[test]
fn what_is_asked_for_may_be_diverted_one_way_only() {
    let to = Diversion {
        from: Networks::default(),
        ..diversion()
    };
    let ruleset = to.ruleset().unwrap();
    assert!(ruleset.contains("ip daddr { 10.7.0.2/32 }"));
    assert!(!ruleset.contains("ip saddr"));
    assert_eq!(to.versions(), (true, false));
}

/// The requests of mobile hosts whose TCP crosses as packets are not diverted on their way to another mobile host.
#[test]
fn requests_of_some_networks_are_not_diverted() {
    let other = IpNet::V4("10.7.0.3/32".parse().unwrap());
    let except = Diversion {
        except: [other].into_iter().collect(),
        ..diversion()
    };
    let ruleset = except.ruleset().unwrap();
    assert!(ruleset.contains("ip daddr { 10.7.0.2/32 } ip saddr != { 10.7.0.3/32 }"));
    assert!(ruleset.contains("ip saddr { 10.7.0.2/32 } fib"));
}

#[test]
fn each_purpose_has_a_table_of_its_own() {
    assert!(
        diversion()
            .ruleset()
            .unwrap()
            .contains("table inet lasthop_field_1_split")
    );
}

#[test]
fn names_cannot_smuggle_rules_in() {
    for instance in ["", "a b", "x; flush ruleset", "é", &"a".repeat(33)] {
        for purpose in [Purpose::Translation, Purpose::Diversion] {
            let table = Table {
                instance: instance.into(),
                purpose,
            };
            let invalid = |result| matches!(result, Err(NftError::InvalidName(_)));
            assert!(invalid(table.install("")), "{instance:?}");
            assert!(invalid(table.remove()), "{instance:?}");
        }
    }
    for link in ["", "a\"b", "a\nb", "a b"] {
        let translates = Masquerade {
            inner_link: link.into(),
            ..masquerade()
        };
        let diverts = Diversion {
            inner_link: link.into(),
            ..diversion()
        };
        for ruleset in [translates.ruleset(), diverts.ruleset()] {
            assert!(matches!(ruleset, Err(NftError::InvalidLink(_))), "{link:?}");
        }
    }
}

fn forwarding() -> Forwarding {
    Forwarding {
        instance: "field_1".into(),
        inner_link: "lasthop0".into(),
        networks: networks(),
        resolvers: vec!["192.0.2.53".parse().unwrap()],
        isolates: true,
        admits_requests: false,
        closes: (true, false),
    }
}

#[test]
fn questions_at_inner_addresses_go_on_to_a_resolver_of_the_same_version() {
    let [own_v4, own_v6, v4, v6] = ["10.7.0.1", "fd07::1", "192.0.2.53", "2001:db8::53"]
        .map(|address| address.parse().unwrap());
    let names = NameServer {
        instance: "field_1".into(),
        inner_link: "lasthop0".into(),
        places: vec![(own_v4, v4), (own_v6, v6), (own_v6, v4)],
        guests: Vec::new(),
    };
    let expected = r#"table inet lasthop_field_1_names {}
delete table inet lasthop_field_1_names
table inet lasthop_field_1_names {
  chain prerouting {
    type nat hook prerouting priority dstnat; policy accept;
    iifname "lasthop0" ip daddr 10.7.0.1 meta l4proto { tcp, udp } th dport 53 dnat ip to 192.0.2.53
    iifname "lasthop0" ip6 daddr fd07::1 meta l4proto { tcp, udp } th dport 53 dnat ip6 to 2001:db8::53
  }
}
"#;
    assert_eq!(names.ruleset().unwrap(), expected);
}

#[test]
fn questions_of_guests_at_their_own_gateway_go_on_too() {
    let names = NameServer {
        instance: "field_1".into(),
        inner_link: "lasthop0".into(),
        places: vec![("10.7.0.1".parse().unwrap(), "192.0.2.53".parse().unwrap())],
        guests: ["10.8.0.2/32", "fd08::2/128"]
            .map(|network| network.parse().unwrap())
            .into(),
    };
    let private = "{ 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 }";
    let expected = format!(
        "iifname \"lasthop0\" ip saddr 10.8.0.2/32 ip daddr {private} {QUESTIONS} dnat ip to 192.0.2.53\n"
    );
    let rules = names.ruleset().unwrap();
    assert!(rules.contains(&expected), "{rules}");
    // No resolver has its version.
    assert!(!rules.contains("fd08::2"), "{rules}");
}

#[test]
fn what_is_not_named_is_not_forwarded() {
    let expected = r#"table inet lasthop_field_1_forward {}
delete table inet lasthop_field_1_forward
table inet lasthop_field_1_forward {
  chain forward {
    type filter hook forward priority filter; policy accept;
    iifname "lasthop0" oifname "lasthop0" meta l4proto tcp reject with tcp reset
    iifname "lasthop0" oifname "lasthop0" reject with icmpx type admin-prohibited
    ct state established,related accept
    iifname "lasthop0" ip daddr 192.0.2.53 meta l4proto { tcp, udp } th dport 53 ct status dnat accept
    iifname "lasthop0" ip daddr { 10.7.0.2/32 } accept
    iifname "lasthop0" reject with icmpx type admin-prohibited
    oifname "lasthop0" drop
    meta nfproto ipv4 iiftype != 65534 oiftype != 65534 drop
  }
}
"#;
    assert_eq!(forwarding().ruleset().unwrap(), expected);
    assert!(forwarding().forbids());
    let open = Forwarding {
        networks: ["0.0.0.0/0", "::/0"]
            .map(|all| all.parse().unwrap())
            .into_iter()
            .collect(),
        isolates: false,
        admits_requests: true,
        closes: (false, false),
        ..forwarding()
    };
    let rules = open.ruleset().unwrap();
    assert!(
        rules.contains("oifname \"lasthop0\" ip6 saddr { ::/0 } accept"),
        "{rules}"
    );
    assert!(!open.forbids());
}
