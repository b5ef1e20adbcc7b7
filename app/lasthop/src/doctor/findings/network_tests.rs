use edges::netlink::Route;
use hosts::{Trouble, TroubleCode};
use runtime::resolver::NamesStatus;

use super::*;
use crate::doctor::facts::{Daemon, End, Network, Place};

fn facts(role: Role) -> Facts {
    Facts {
        end: End {
            role: Some(role),
            link: "lasthop0".into(),
            own: vec!["10.64.0.1/20".parse().expect("a network")],
            port: Some(51_830),
            translates: true,
            daemon: Daemon {
                runs: true,
                is_connected: true,
                ..Daemon::default()
            },
            ..End::default()
        },
        network: Network {
            links: vec!["eth0".into()],
            ports: [51_830].into(),
            ..Network::default()
        },
        ..Facts::default()
    }
}

fn with(mut facts: Facts, parameters: &[(&str, &str)]) -> Facts {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    facts.network.parameters.extend(parameters.iter().map(own));
    facts
}

#[test]
fn a_clash_is_named() {
    let mut clashing = facts(Role::Mobile);
    assert_eq!(clash(&clashing), []);
    let route = Route::to("10.64.0.0/24".parse().expect("a network")).through("wlan0");
    clashing.network.routes.push(route);
    let found = clash(&clashing);
    assert_eq!(
        (found[0].code, found[0].severity),
        ("subnet-clash", Severity::Error)
    );
    assert!(found[0].what.contains("10.64.0.0/24") && found[0].what.contains("wlan0"));
}

#[test]
fn a_port_is_told_from_one_that_is_taken() {
    for (runs, listens, expected) in [
        (true, true, None),
        (false, false, Some("does not run")),
        (false, true, Some("another program")),
        (true, false, Some("nobody listens")),
    ] {
        let mut facts = facts(Role::Gateway);
        facts.end.daemon.runs = runs;
        if !listens {
            facts.network.ports.clear();
        }
        let found = port(&facts);
        let named = found.first().map(|found| found.what.clone());
        match expected {
            Some(words) => assert!(named.expect("a finding").contains(words), "{words}"),
            None => assert_eq!(named, None),
        }
    }
    assert_eq!(port(&facts(Role::Mobile)), []);
}

#[test]
fn a_strict_source_check_is_named_where_it_hurts() {
    const ALL: &str = "net/ipv4/conf/all/rp_filter";
    const ETH0: &str = "net/ipv4/conf/eth0/rp_filter";
    for (all, eth0, is_strict) in [
        ("0", "0", false),
        ("1", "0", true),
        ("0", "1", true),
        ("2", "1", false),
        ("1", "2", true),
    ] {
        let found = source_check(&with(facts(Role::Mobile), &[(ALL, all), (ETH0, eth0)]));
        assert_eq!(!found.is_empty(), is_strict, "{all} {eth0}");
    }
    let mut strict = with(facts(Role::Mobile), &[(ALL, "1")]);
    let found = source_check(&strict);
    assert_eq!(found[0].severity, Severity::Error);
    assert_eq!(found[0].remedy, "sysctl -w net.ipv4.conf.all.rp_filter=2");
    strict.end.daemon.runs = false;
    assert_eq!(source_check(&strict)[0].severity, Severity::Note);
}

#[test]
fn advertisements_that_a_forwarding_host_ignores_are_named() {
    const FORWARDING: (&str, &str) = ("net/ipv6/conf/all/forwarding", "1");
    const ACCEPT: (&str, &str) = ("net/ipv6/conf/eth0/accept_ra", "1");
    let defaults = |defaults: &[(&str, bool)]| {
        let mut facts = with(facts(Role::Gateway), &[FORWARDING, ACCEPT]);
        let own = |(link, is_advertised): &(&str, bool)| ((*link).to_owned(), *is_advertised);
        facts.network.ipv6_defaults = defaults.iter().map(own).collect();
        advertisements(&facts)
    };
    let losing = defaults(&[("eth0", true)]);
    assert_eq!(
        (losing[0].code, losing[0].severity),
        ("accept-ra", Severity::Error)
    );
    assert_eq!(losing[0].remedy, "sysctl -w net.ipv6.conf.eth0.accept_ra=2");
    assert_eq!(defaults(&[])[0].severity, Severity::Warning);
    assert_eq!(
        defaults(&[("eth0", false)]),
        [],
        "it has another default route"
    );
    let still = with(facts(Role::Gateway), &[ACCEPT]);
    assert_eq!(advertisements(&still), []);
    let accepts = [FORWARDING, ("net/ipv6/conf/eth0/accept_ra", "2")];
    assert_eq!(advertisements(&with(facts(Role::Gateway), &accepts)), []);
}

#[test]
fn a_gateway_that_is_not_reached_is_told_by_how_it_answers() {
    let mut lost = facts(Role::Mobile);
    lost.end.daemon.is_connected = false;
    lost.end.daemon.trouble = Some(Trouble {
        code: TroubleCode::Silent,
        words: "nothing answers".into(),
    });
    let address = std::net::IpAddr::from([192, 0, 2, 1]);
    for (state, words) in [
        (Reached::Answers, "answers by TCP"),
        (Reached::Silent(address), "does not answer by TCP either"),
        (Reached::Unresolved("no".into()), "cannot be resolved"),
        (Reached::NoRoute("no".into()), "no route"),
    ] {
        lost.places = vec![Place {
            text: "gw.example.org:51830".into(),
            state,
        }];
        let found = gateway(&lost);
        assert!(found[0].what.contains("(silent): nothing answers"));
        assert!(found[1].what.contains(words), "{words}");
    }
    lost.end.daemon.trouble = None;
    lost.end.daemon.is_connected = true;
    assert_eq!(gateway(&lost), []);
}

#[test]
fn a_short_path_and_names_beside_the_hop_are_named() {
    let mut mobile = facts(Role::Mobile);
    for (mtu, is_short) in [(Some(1_279), true), (Some(1_280), false), (None, false)] {
        mobile.end.daemon.path_mtu = mtu;
        assert_eq!(!path(&mobile).is_empty(), is_short);
    }
    let mut names_at = |beside: &[&str]| {
        let beside = beside.iter().map(|server| server.parse().unwrap());
        mobile.end.daemon.names = Some(NamesStatus {
            beside: beside.collect(),
            error: Some("nothing may be mounted".into()),
            ..NamesStatus::default()
        });
        let found = names(&mobile);
        mobile.end.daemon.is_connected = false;
        assert_eq!(names(&mobile), [], "there is no hop to use");
        mobile.end.daemon.is_connected = true;
        found
    };
    assert_eq!(names_at(&[]), []);
    let found = names_at(&["192.168.1.1", "fd00::1"]);
    assert_eq!(found[0].code, "dns-beside-the-hop");
    assert_eq!(
        found[0].what,
        "names are asked at 192.168.1.1, fd00::1, beside the hop: nothing may be mounted"
    );
}

#[test]
fn a_gateway_without_a_resolver_to_offer_is_named() {
    let mut gateway = facts(Role::Gateway);
    assert_eq!(resolver(&gateway), []);
    gateway.end.lacks_resolver = true;
    assert_eq!(resolver(&gateway)[0].code, "no-resolver");
}

#[test]
fn a_gateway_without_translation_names_the_route_that_is_needed() {
    let mut gateway = facts(Role::Gateway);
    assert_eq!(translation(&gateway), []);
    gateway.end.translates = false;
    assert!(translation(&gateway)[0].remedy.contains("10.64.0.0/20"));
}
