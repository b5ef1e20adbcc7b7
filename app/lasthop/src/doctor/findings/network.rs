//! The network of this host, and its way to the other end.

use hosts::Role;

use super::{Finding, Severity};
use crate::clash;
use crate::doctor::facts::{Daemon, Facts, Reached};

/// Shortest path MTU that every IPv6 packet may count on (RFC 8200 §5).
const LEAST_MTU: usize = 1_280;

/// Networks of this host that have inner addresses of the hop.
pub(super) fn clash(facts: &Facts) -> Vec<Finding> {
    let end = &facts.end;
    let found = clash::find(&facts.network.routes, &end.own, &end.link);
    let finding = |route| {
        Finding {
        severity: Severity::Error,
        code: "subnet-clash",
        what: clash::words(route),
        why: "one of the two cannot be reached".into(),
        remedy: "connect to another network, or give the hop other inner addresses: `addresses` of `[tun]` at both ends"
            .into(),
    }
    };
    found.map(finding).into_iter().collect()
}

/// The UDP port of a gateway.
pub(super) fn port(facts: &Facts) -> Vec<Finding> {
    let end = &facts.end;
    let (Some(port), Some(Role::Gateway)) = (end.port, end.role) else {
        return Vec::new();
    };
    let listens = facts.network.ports.contains(&port);
    let (severity, what, remedy) = match (end.daemon.runs, listens) {
        (true, true) => return Vec::new(),
        (false, false) => (
            Severity::Warning,
            format!("the gateway does not run: nobody listens at UDP port {port}"),
            "lasthop gateway up".to_owned(),
        ),
        (false, true) => (
            Severity::Error,
            format!("another program listens at UDP port {port}, and the gateway does not run"),
            format!(
                "ss -ulpn 'sport = :{port}' names it; end it, or choose another port (`listen`)"
            ),
        ),
        (true, false) => (
            Severity::Error,
            format!("the gateway runs, and nobody listens at UDP port {port}"),
            "end the gateway and start it again: its configuration has changed".to_owned(),
        ),
    };
    vec![Finding {
        severity,
        code: "port",
        what,
        why: "mobile hosts find this gateway silent, or refused".into(),
        remedy,
    }]
}

/// A strict check of the links by which packets arrive.
pub(super) fn source_check(facts: &Facts) -> Vec<Finding> {
    let network = &facts.network;
    let value = |name: &str| {
        let value = network.parameter(&format!("net/ipv4/conf/{name}/rp_filter"));
        value
            .and_then(|value| value.parse::<u8>().ok())
            .unwrap_or(0)
    };
    let all = value("all");
    // The kernel takes the larger one: 1 is strict, and 2 is loose.
    let is_strict = |link: &&str| all.max(value(link)) == 1;
    let links = network.links.iter().map(String::as_str);
    let strict: Vec<_> = links.chain([&*facts.end.link]).filter(is_strict).collect();
    if strict.is_empty() {
        return Vec::new();
    }
    let severity = match facts.end.role {
        Some(Role::Mobile) if facts.end.daemon.runs => Severity::Error,
        Some(Role::Gateway) => Severity::Warning,
        // The daemon loosens it when it starts.
        Some(Role::Mobile) | None => Severity::Note,
    };
    vec![Finding {
        severity,
        code: "strict-source-check",
        what: format!("the kernel's source check (rp_filter) is strict on {}", strict.join(", ")),
        why: "packets that arrive by another link than the way back to their source are dropped: those of the hop at a \
              mobile host, and at a gateway with several ways out"
            .into(),
        remedy: "sysctl -w net.ipv4.conf.all.rp_filter=2".into(),
    }]
}

/// Links whose IPv6 default route will vanish, since the host forwards.
pub(super) fn advertisements(facts: &Facts) -> Vec<Finding> {
    let network = &facts.network;
    if facts.end.role == Some(Role::Mobile)
        || network.parameter("net/ipv6/conf/all/forwarding") != Some("1")
    {
        return Vec::new();
    }
    let (advertised, fixed): (Vec<_>, Vec<_>) = network
        .ipv6_defaults
        .iter()
        .partition(|(_, is_advertised)| *is_advertised);
    let ignores = |link: &&String| {
        let name = format!("net/ipv6/conf/{link}/accept_ra");
        network.parameter(&name) == Some("1")
    };
    let all: Vec<_> = network.links.iter().filter(ignores).collect();
    let has_route = |link: &&&String| advertised.iter().any(|(its, _)| its == **link);
    let losing: Vec<_> = all.iter().filter(has_route).copied().collect();
    let (severity, links) = match (losing.is_empty(), fixed.is_empty()) {
        (false, _) => (Severity::Error, losing),
        (true, true) if !all.is_empty() => (Severity::Warning, all),
        (true, _) => return Vec::new(),
    };
    let links: Vec<_> = links.iter().map(|link| link.as_str()).collect();
    let commands: Vec<_> = links
        .iter()
        .map(|link| {
            format!(
                "sysctl -w net.ipv6.conf.{}.accept_ra=2",
                link.replace('.', "/")
            )
        })
        .collect();
    vec![Finding {
        severity,
        code: "accept-ra",
        what: format!(
            "this host forwards IPv6, so it ignores router advertisements on {} (accept_ra = 1)",
            links.join(", ")
        ),
        why:
            "an IPv6 default route from such an advertisement expires, and with it the host's IPv6"
                .into(),
        remedy: commands.join(" && "),
    }]
}

/// The gateway of a mobile host that is not connected.
pub(super) fn gateway(facts: &Facts) -> Vec<Finding> {
    let daemon = &facts.end.daemon;
    let mut findings = Vec::new();
    if let Some(trouble) = &daemon.trouble {
        findings.push(Finding {
            severity: if daemon.is_connected {
                Severity::Warning
            } else {
                Severity::Error
            },
            code: "trouble",
            what: format!("the daemon reports ({}): {}", trouble.code, trouble.words),
            why: "that is why the hop does not work as it should".into(),
            remedy: "see docs/guide/troubleshooting.md for this code".into(),
        });
    }
    if facts.end.role != Some(Role::Mobile) || daemon.is_connected {
        return findings;
    }
    for place in &facts.places {
        let text = &place.text;
        let (what, remedy) = match &place.state {
            Reached::Unresolved(error) => (
                format!("the gateway's name in '{text}' cannot be resolved: {error}"),
                "check this host's network and its DNS (`resolvectl query`), or write an address as `endpoint`",
            ),
            Reached::NoRoute(error) => (
                format!("there is no route to '{text}': {error}"),
                "connect this host to a network (`ip route`)",
            ),
            Reached::Answers => (
                format!(
                    "the gateway's host at '{text}' answers by TCP, and the gateway does not by UDP"
                ),
                "run `lasthop doctor` on the gateway: it may be off, its firewall may close the port, or it may not \
                 know this host; if all is well there, this network blocks UDP: try another one",
            ),
            Reached::Silent(_) => (
                format!("the gateway's host at '{text}' does not answer by TCP either"),
                "check that it is on and that the address is right; a network that wants a login first is silent too: \
                 open any page in a browser",
            ),
        };
        findings.push(Finding {
            severity: Severity::Warning,
            code: "gateway-unreached",
            what,
            why: "this host is not connected".into(),
            remedy: remedy.into(),
        });
    }
    findings
}

/// A path that carries only short packets.
pub(super) fn path(facts: &Facts) -> Vec<Finding> {
    let Some(mtu) = facts.end.daemon.path_mtu.filter(|mtu| *mtu < LEAST_MTU) else {
        return Vec::new();
    };
    vec![Finding {
        severity: Severity::Warning,
        code: "path-mtu",
        what: format!("the path of the hop carries packets of at most {mtu} bytes"),
        why: format!("inner packets are cut into more frames; a usual path carries {LEAST_MTU} bytes at least"),
        remedy: "look for a tunnel or a modem with a small MTU on the way (`tracepath -n` with the gateway's address)"
            .into(),
    }]
}

/// DNS servers that a mobile host asks beside the hop, as its daemon knows.
pub(super) fn names(facts: &Facts) -> Vec<Finding> {
    let Daemon {
        is_connected: true,
        names: Some(names),
        ..
    } = &facts.end.daemon
    else {
        return Vec::new();
    };
    if names.beside.is_empty() {
        return Vec::new();
    }
    let beside: Vec<_> = names.beside.iter().map(ToString::to_string).collect();
    let reason = names.error.as_ref();
    let reason = reason.map_or_else(String::new, |error| format!(": {error}"));
    vec![Finding {
        severity: Severity::Warning,
        code: "dns-beside-the-hop",
        what: format!("names are asked at {}, beside the hop{reason}", beside.join(", ")),
        why: "the local network sees which names this host asks for, and each question that the air loses costs \
              seconds, since nothing repairs it"
            .into(),
        remedy: format!(
            "let the gateway offer a resolver (its option `dns`), or list one in `dns` here (docs/guide/dns.md); by \
             hand with systemd-resolved: resolvectl dns {link} 9.9.9.9 && resolvectl domain {link} '~.'",
            link = facts.end.link
        ),
    }]
}

/// A gateway that offers no resolver, although it should.
pub(super) fn resolver(facts: &Facts) -> Vec<Finding> {
    if !facts.end.lacks_resolver {
        return Vec::new();
    }
    vec![Finding {
        severity: Severity::Warning,
        code: "no-resolver",
        what: "this gateway has no DNS server to offer to mobile hosts".into(),
        why: "they may ask for names beside the hop".into(),
        remedy: "set `dns = [\"192.0.2.53\"]` with your server in the gateway's configuration, or `dns = \"none\"` \
                 (docs/guide/dns.md)"
            .into(),
    }]
}

/// A gateway whose mobile hosts keep their inner addresses.
pub(super) fn translation(facts: &Facts) -> Vec<Finding> {
    let end = &facts.end;
    if end.role != Some(Role::Gateway) || end.translates {
        return Vec::new();
    }
    let own: Vec<_> = end.own.iter().map(|own| own.trunc().to_string()).collect();
    vec![Finding {
        severity: Severity::Note,
        code: "no-nat",
        what: "packets of mobile hosts leave with their inner addresses (`nat = false`)".into(),
        why: "answers come back only if the routers beyond know the way".into(),
        remedy: format!(
            "give the next router a route to {} by this host, or set `nat = true`",
            own.join(" and ")
        ),
    }]
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
