//! Every error in a configuration names its place and its remedy.

use std::path::PathBuf;

use hosts::SplitTerms;
use units::{Bytes, Duration};

use super::Source;
use super::caps::Caps;
use super::carrier::{Carrier, Endpoint};
use super::gateway::GatewayConfig;
use super::mobile::MobileConfig;
use super::shared::{Reach, Routes};
use super::split::{SplitTransport, Tcp};

const GATEWAY: &str = include_str!("../../examples/gateway.toml");
const MOBILE: &str = include_str!("../../examples/mobile.toml");

fn source(text: &str) -> Source {
    Source::new(PathBuf::from("some/hop.toml"), text.into(), None)
}

/// Returns the error of `text`, which must be wrong for the end of its example.
fn complaint(text: &str) -> String {
    let source = source(text);
    let (gateway, mobile) = (GatewayConfig::load(&source), MobileConfig::load(&source));
    let failure = if text.contains("[gateway]") {
        mobile.err()
    } else {
        gateway.err()
    };
    failure.expect("the configuration is wrong").to_string()
}

/// Returns the example with `old` replaced.
fn changed(example: &str, old: &str, new: &str) -> String {
    assert!(example.contains(old), "the example has no '{old}'");
    example.replacen(old, new, 1)
}

/// Beginnings of settings in the examples that show no default.
const WITHOUT_DEFAULT: &[&str] = &[
    "routes = [",
    "dns = [",
    "search_domains =",
    "congestion_control =",
    "interface =",
    "ethertype =",
    "public_key_file =",
    "home =",
];

#[test]
fn the_examples_are_valid_and_show_the_defaults() {
    for shown in [false, true] {
        let plain = |text: &str| {
            if !shown {
                return text.to_owned();
            }
            // Every commented setting is enabled; the shorter one of two is the default.
            let setting = |line: &str| {
                let rest = line
                    .strip_prefix("# ")
                    .filter(|rest| rest.contains(" = "))?;
                let shown = !WITHOUT_DEFAULT.iter().any(|name| rest.starts_with(name));
                shown.then(|| rest.to_owned())
            };
            let lines = text
                .lines()
                .map(|line| setting(line).unwrap_or_else(|| line.into()));
            lines.collect::<Vec<_>>().join("\n")
        };
        let gateway = GatewayConfig::load(&source(&plain(GATEWAY))).expect("valid");
        assert_eq!(gateway.name.0, "gateway");
        assert_eq!(gateway.listen().to_string(), "[::]:51830");
        assert!(gateway.nat && gateway.hop.rate.0.is_none());
        assert_eq!(
            (
                gateway.tun.mtu.0,
                gateway.hop.bearer_mtu(Reach::Networks { widest: 0 })
            ),
            (1500, hosts::BearerMtu::up_to(1500))
        );
        assert_eq!(gateway.tun.name, "lasthop0");
        assert_eq!(gateway.peers[0].tcp, Tcp::Arq);
        assert_eq!(gateway.snoop.cache.0, Bytes::mebi(32));
        let split = &gateway.split;
        assert_eq!(split.buffer.0, Bytes::kibi(64));
        assert_eq!(split.connections.0, 2_048);
        assert_eq!(split.idle.0, Duration::from_secs(124 * 60));
        assert_eq!(split.receive_buffer.0, None);
        assert_eq!(gateway.peers[0].transport(), SplitTransport::MtcpWide);
        assert_eq!(
            gateway.peers[0].streams(),
            SplitTerms::Never,
            "TCP is not split"
        );
        assert_eq!(gateway.air.sharing(), None);
        let usual = Caps::usual();
        let mobile = &gateway.peers[0];
        assert_eq!(mobile.caps.or(gateway.caps.or(usual)), usual);
        assert_eq!(mobile.weight(), 1);
        assert_eq!(gateway.peers[0].networks().count(), 2);
        let mobile = MobileConfig::load(&source(&plain(MOBILE))).expect("valid");
        assert_eq!(
            (mobile.name.0.as_str(), &mobile.routes),
            ("mobile", &Routes::Default)
        );
        let placed = mobile.place(&source(MOBILE)).expect("valid");
        assert_eq!(placed.0, Carrier::Udp);
        assert_eq!(mobile.state_dir, PathBuf::from("/run/lasthop"));
        assert_eq!(mobile.snoop.cache.0, Bytes::mebi(32));
        assert_eq!(mobile.split.connections.0, 2_048);
        assert_eq!(mobile.split.receive_buffer.0, None);
    }
}

#[test]
fn an_unknown_field_is_shown_in_its_line() {
    let wrong = changed(MOBILE, "endpoint =", "endpiont =");
    let line = 1 + wrong
        .lines()
        .take_while(|line| !line.starts_with("endpiont"))
        .count();
    let text = complaint(&wrong);
    assert!(
        text.starts_with(&format!("some/hop.toml:{line}:1: unknown field `endpiont`")),
        "{text}"
    );
    assert!(text.contains("`endpoint`, `public_key`"), "{text}");
    let mark = format!("\n {line} | endpiont = \"gateway.example.org:51830\"\n    | ^^^^^^^^");
    assert!(text.ends_with(&mark), "{text}");
}

/// An example, a text in it, its replacement, and a part of the error.
type WrongValue = (&'static str, &'static str, &'static str, &'static str);

const WRONG_VALUES: &[WrongValue] = &[
    (
        MOBILE,
        "# rate = \"auto\"",
        "rate = \"5 Mbps\"",
        "unknown unit 'Mbps'",
    ),
    (
        MOBILE,
        "# rate = \"auto\"",
        "rate = \"5\"",
        "no unit; write it like",
    ),
    (
        MOBILE,
        "# rate = \"auto\"",
        "rate = \"0 bit/s\"",
        "carries nothing",
    ),
    (
        MOBILE,
        "org:51830",
        "org",
        "write it like 'gateway.example.org:51830'",
    ),
    (
        MOBILE,
        "gateway.example.org:51830",
        "2001:db8::1:51830",
        "'[2001:db8::1]:51830'",
    ),
    (
        MOBILE,
        "# routes = \"default\"",
        "routes = \"all\"",
        "\"default\" or a list",
    ),
    (MOBILE, "# mtu = 1500", "mtu = 100", "allowed: 1280 to 9000"),
    (
        MOBILE,
        "# bearer_mtu = \"auto\"",
        "bearer_mtu = 1279",
        "allowed: 1280 to 9000",
    ),
    (
        MOBILE,
        "# bearer_mtu = \"auto\"",
        "bearer_mtu = \"most\"",
        "or a bound in bytes from 1280 to 9000",
    ),
    (
        MOBILE,
        "10.73.0.2/24",
        "10.73.0.2/33",
        "write it like '10.73.0.2'",
    ),
    (
        MOBILE,
        "addresses = [\"10.73.0.2/24\", \"fd73::2/64\"]",
        "addresses = []",
        "needs an inner",
    ),
    (
        MOBILE,
        "# tls_port = 443",
        "tls_port = 0",
        "a number from 1 to 65535",
    ),
    (
        GATEWAY,
        "# tls_port = 443",
        "tls_port = \"https\"",
        "expected i64",
    ),
    (MOBILE, "rajs6p24", "rajs6p25", "mistyped"),
    (
        MOBILE,
        "lasthop-pk1-",
        "lasthop-sk1-",
        "this is a private key; a public key is wanted",
    ),
    (
        GATEWAY,
        "# listen = \"[::]:51830\"",
        "listen = \"51830\"",
        "write it like '[::]:51830'",
    ),
    (
        GATEWAY,
        "# name = \"gateway\"",
        "name = \"a/b\"",
        "letters, digits and '_'",
    ),
    (
        GATEWAY,
        "# nat = true",
        "nat = \"yes\"",
        "expected a boolean",
    ),
    (
        GATEWAY,
        "private_key_file = \"gateway.key\"",
        "",
        "missing field `private_key_file`",
    ),
    (
        MOBILE,
        "# public_key_file =",
        "public_key_file =",
        "remove one of the two",
    ),
    (
        MOBILE,
        "public_key = \"lasthop",
        "# public_key = \"lasthop",
        "the gateway needs `public_key`",
    ),
    (GATEWAY, "[tun]", "[tun", "some/hop.toml:"),
    (
        GATEWAY,
        "# tcp = \"arq\"",
        "tcp = \"air\"",
        "some/hop.toml:140:7: unknown variant `air`, expected one of `arq`, `snoop`, `plain`, `split`",
    ),
    (
        GATEWAY,
        "# discipline = \"airtime\"",
        "discipline = \"round-robin\"",
        "use \"round-robin-deferring\" or",
    ),
    (
        GATEWAY,
        "# monitor = { probing",
        "monitor = \"perfect\" #",
        "only a simulated channel tells its state",
    ),
    (
        GATEWAY,
        "# monitor = { probing = { first = \"10 ms\"",
        "monitor = { probing = { first = \"10 s\"",
        "`maximum` must be at least `first`",
    ),
    (GATEWAY, "# cache = \"32 MiB\"", "cache = \"32\"", "no unit"),
    (
        GATEWAY,
        "# bearer = \"udp\"",
        "bearer = \"ethernet\"",
        "write `interface = \"eth0\"`",
    ),
    (
        GATEWAY,
        "# ethertype = 0x88b5",
        "ethertype = 0x88b5",
        "set `bearer = \"ethernet\"` too, or remove it",
    ),
    (
        GATEWAY,
        "# ethertype = 0x88b5",
        "ethertype = 64",
        "0x40 is no EtherType; allowed: 0x600 to 0xffff, usual: 0x88b5",
    ),
    (
        MOBILE,
        "gateway.example.org:51830",
        "02:00:5e:10:00:01",
        "set `bearer = \"ethernet\"` in `[hop]`",
    ),
    (
        GATEWAY,
        "# memory = \"96 MiB\"",
        "memory = \"1 MiB\"",
        "1 MiB is out of range; allowed: 16 MiB to 64 GiB, usual: 96 MiB",
    ),
    (
        GATEWAY,
        "# queue = \"16 MiB\"",
        "queue = \"0 B\"",
        "allowed: 128 KiB to 64 GiB, usual: 16 MiB",
    ),
    (
        GATEWAY,
        "# new_flows = 500",
        "new_flows = 0",
        "1 or more (usual: 500), or \"unlimited\"",
    ),
    (
        GATEWAY,
        "# weight = 1",
        "weight = 2",
        "set `shared = true` in `[air]`",
    ),
    (GATEWAY, "# weight = 1", "weight = 0", "between 1 and 1000"),
    (
        MOBILE,
        "# cache = \"32 MiB\"",
        "cache = \"4 GiB\"",
        "allowed: 1 MiB to 1 GiB, usual: 32 MiB",
    ),
];

#[test]
fn a_wrong_value_is_met_with_a_right_one() {
    for (example, old, new, expected) in WRONG_VALUES {
        let text = complaint(&changed(example, old, new));
        assert!(text.contains(expected), "no '{expected}' in:\n{text}");
    }
}

/// Returns the mobile host's example with Ethernet, with this line as the gateway's address.
fn by_ethernet(endpoint: &str) -> String {
    let text = changed(MOBILE, "endpoint = \"gateway.example.org:51830\"", endpoint);
    let text = changed(&text, "# bearer = \"udp\"", "bearer = \"ethernet\"");
    changed(&text, "# interface", "interface")
}

#[test]
fn by_ethernet_a_gateway_has_a_mac_address_or_is_looked_for() {
    let place = |text: &str| {
        let mobile = MobileConfig::load(&source(text)).expect("valid");
        mobile.place(&source(text)).expect("valid")
    };
    let address = "02:00:5e:10:00:01";
    let text = by_ethernet(&format!("endpoint = \"{address}\""));
    let known = Endpoint::Ethernet(address.parse().expect("an address"));
    let carrier = |ether_type| Carrier::Ethernet {
        interface: "eth0".into(),
        ether_type,
    };
    assert_eq!(place(&text), (carrier(0x88b5), vec![known]));
    let text = changed(
        &by_ethernet(""),
        "# ethertype = 0x88b5",
        "ethertype = 0x88b6",
    );
    let anywhere = vec![Endpoint::ANYWHERE];
    assert_eq!(place(&text), (carrier(0x88b6), anywhere));
}

#[test]
fn what_does_not_go_with_the_bearer_is_refused() {
    let text = complaint(&by_ethernet("endpoint = \"gateway.example.org:51830\""));
    assert!(
        text.contains("or remove the line, and the gateway is looked for"),
        "{text}"
    );
    let text = complaint(&by_ethernet("").replace("bearer = \"ethernet\"", "bearer = \"udp\""));
    assert!(
        text.contains("set `bearer = \"ethernet\"` too, or remove it"),
        "{text}"
    );
    let listening = changed(GATEWAY, "# listen", "listen");
    let listening = changed(&listening, "# bearer = \"udp\"", "bearer = \"ethernet\"");
    let text = complaint(&changed(&listening, "# interface", "interface"));
    assert!(text.contains("at no port; remove this line"), "{text}");
    let text = complaint(&changed(
        MOBILE,
        "endpoint = \"gateway.example.org:51830\"",
        "",
    ));
    assert!(text.contains("the gateway needs an endpoint"), "{text}");
}

#[test]
fn every_method_for_tcp_has_its_name() {
    for method in [Tcp::Arq, Tcp::Snoop, Tcp::Plain, Tcp::Split, Tcp::Auto] {
        let line = format!("tcp = \"{}\"", method.name());
        let text = changed(GATEWAY, "# tcp = \"arq\"", &line);
        let gateway = GatewayConfig::load(&source(&text)).expect("valid");
        assert_eq!(gateway.peers[0].tcp, method);
    }
}

#[test]
fn there_must_be_something_to_choose_between() {
    let text = changed(GATEWAY, "# tcp = \"arq\"", "tcp = \"auto\"");
    let kernel = "split_transport = \"kernel-tcp\"";
    let text = changed(&text, "# split_transport = \"mtcp-wide\"", kernel);
    let text = complaint(&text);
    assert!(
        text.contains("chooses between the link repair and MTCP"),
        "{text}"
    );
}

#[test]
fn an_air_is_shared_as_the_example_says_once_it_is() {
    let text = changed(GATEWAY, "# shared = false", "shared = true");
    let gateway = GatewayConfig::load(&source(&text)).expect("valid");
    let usual = Some(scheduler::Config::default());
    assert_eq!(gateway.air.sharing(), usual);
    let text = text
        .replace("# discipline", "discipline")
        .replace("# monitor", "monitor");
    let gateway = GatewayConfig::load(&source(&text)).expect("valid");
    assert_eq!(gateway.air.sharing(), usual);
}

#[test]
fn what_a_mobile_may_take_is_its_own_or_that_of_all() {
    let all = "memory = \"32 MiB\"\nnew_flows = \"unlimited\"";
    let text = changed(GATEWAY, "# memory = \"96 MiB\"", all);
    let own =
        "# caps = { memory = \"96 MiB\", queue = \"16 MiB\", new_flows = 500, packets = 50000 }";
    let text = changed(
        &text,
        own,
        "caps = { queue = \"1 MiB\", new_flows = 7, packets = 2000 }",
    );
    let gateway = GatewayConfig::load(&source(&text)).expect("valid");
    let caps = gateway.caps.or(Caps::usual());
    assert_eq!((caps.memory, caps.new_flows), (Bytes::mebi(32), None));
    let caps = gateway.peers[0].caps.or(caps);
    assert_eq!((caps.memory, caps.new_flows), (Bytes::mebi(32), Some(7)));
    assert_eq!((caps.queue, caps.packets), (Bytes::mebi(1), Some(2_000)));
    let few = changed(GATEWAY, "# packets = 50000", "packets = 10");
    assert!(complaint(&few).contains("allowed: 1000 to 1000000"));
}

#[test]
fn the_memory_of_a_gateway_is_for_all_its_mobile_hosts() {
    let gateway = GatewayConfig::load(&source(GATEWAY)).expect("valid");
    assert_eq!(gateway.caps.total(), None);
    let text = changed(GATEWAY, "# total = \"1 GiB\"", "total = \"256 MiB\"");
    let gateway = GatewayConfig::load(&source(&text)).expect("valid");
    assert_eq!(gateway.caps.total(), Some(Bytes::mebi(256)));
    let small = changed(&text, "256 MiB", "1 MiB");
    assert!(complaint(&small).contains("out of range; allowed: 64 MiB"));
    let own =
        "# caps = { memory = \"96 MiB\", queue = \"16 MiB\", new_flows = 500, packets = 50000 }";
    let text = changed(GATEWAY, own, "caps = { total = \"256 MiB\" }");
    assert!(complaint(&text).contains("set it in [caps]"));
}

#[test]
fn a_weight_counts_where_shares_are_given() {
    let text = changed(GATEWAY, "# weight = 1", "weight = 3");
    let text = changed(&text, "# shared = false", "shared = true");
    let gateway = GatewayConfig::load(&source(&text)).expect("valid");
    assert_eq!(gateway.peers[0].weight(), 3);
    let fifo = changed(&text, "# discipline = \"airtime\"", "discipline = \"fifo\"");
    assert!(complaint(&fifo).contains("gives no shares"));
}

#[test]
fn mobiles_that_could_be_taken_for_each_other_are_refused() {
    let start = GATEWAY.find("[[peers]]").expect("the example has a peer");
    let peer = &GATEWAY[start..];
    let again = |peer: &str| complaint(&format!("{GATEWAY}\n{peer}"));
    assert!(again(peer).contains("a peer named 'tablet7' already"));
    let renamed = peer.replace("tablet7", "robot1");
    assert!(again(&renamed).contains("has this key too"));
    let other_key = renamed.replace(&peer[peer.find("lasthop-pk1").unwrap()..][..70], OTHER_KEY);
    let text = again(&other_key);
    assert!(text.contains("has 10.73.0.2/32 too"), "{text}");
}

const OTHER_KEY: &str = "lasthop-pk1-7491fpxzx76vtaeqgzhtppry2w611757cb3wqzm1wx7xkaxtdnrajs6p24";
