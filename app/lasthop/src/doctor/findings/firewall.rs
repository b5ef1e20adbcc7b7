//! Firewalls of this host that stop packets of the hop.

use hosts::Role;

use super::{Finding, Severity};
use crate::doctor::chains::{Chain, Fate, Probe, fate};
use crate::doctor::facts::Facts;

/// Begin of the names of our own tables.
const OURS: &str = "lasthop_";

/// Chains that do not forward packets of mobile hosts.
pub(super) fn forward(facts: &Facts) -> Vec<Finding> {
    let end = &facts.end;
    if end.role == Some(Role::Mobile) {
        return Vec::new();
    }
    let probe = Probe {
        inward: Some(&end.link),
        outward: facts.network.outer_link(),
        port: None,
    };
    let finding = |(chain, fate): (&Chain, Fate)| Finding {
        severity: severity(facts, fate),
        code: "forward-policy",
        what: format!(
            "{} does not forward packets from {}{}",
            name(chain),
            end.link,
            hedge(fate)
        ),
        why: "mobile hosts reach nothing beyond this gateway".into(),
        remedy: remedy_of_forward(chain, &facts.chains, &end.link),
    };
    closed(facts, "forward", &probe).map(finding).collect()
}

/// Chains that do not admit datagrams of mobile hosts.
pub(super) fn input(facts: &Facts) -> Vec<Finding> {
    let end = &facts.end;
    let (Some(port), true) = (end.port, end.role == Some(Role::Gateway)) else {
        return Vec::new();
    };
    let probe = Probe {
        inward: facts.network.outer_link(),
        outward: None,
        port: Some(port),
    };
    let finding = |(chain, fate): (&Chain, Fate)| Finding {
        severity: severity(facts, fate),
        code: "port-closed",
        what: format!(
            "{} does not admit UDP port {port}{}",
            name(chain),
            hedge(fate)
        ),
        why: "mobile hosts find this gateway silent".into(),
        remedy: remedy_of_input(chain, &facts.chains, port),
    };
    closed(facts, "input", &probe).map(finding).collect()
}

/// Returns the chains at this hook that drop the packet, or may.
fn closed<'a>(
    facts: &'a Facts,
    hook: &'a str,
    probe: &'a Probe<'a>,
) -> impl Iterator<Item = (&'a Chain, Fate)> {
    let all = &facts.chains;
    let has_ipv6 = facts.end.own.iter().any(|own| own.addr().is_ipv6());
    let is_meant = move |chain: &&Chain| {
        chain.hook.as_deref() == Some(hook)
            && !chain.table.starts_with(OURS)
            && !is_shown_better(chain, all)
            && (has_ipv6 || hook == "input" || chain.family != "ip6")
    };
    let fates = all.iter().filter(is_meant);
    let fates = fates.map(move |chain| (chain, fate(chain, all, probe)));
    fates.filter(|(_, fate)| *fate != Fate::Accepted)
}

/// Returns true for a chain of `nft` that `iptables` shows with all of its conditions.
fn is_shown_better(chain: &Chain, all: &[Chain]) -> bool {
    let is_same = |other: &Chain| {
        other.program != "nft"
            && (&other.family, &other.table, &other.name)
                == (&chain.family, &chain.table, &chain.name)
    };
    chain.program == "nft" && all.iter().any(is_same)
}

fn severity(facts: &Facts, fate: Fate) -> Severity {
    match fate {
        Fate::Dropped if facts.end.role.is_some() => Severity::Error,
        Fate::Accepted | Fate::Dropped | Fate::PerhapsDropped => Severity::Warning,
    }
}

fn hedge(fate: Fate) -> &'static str {
    match fate {
        Fate::PerhapsDropped => ", unless a rule does so whose conditions are not known here",
        Fate::Accepted | Fate::Dropped => "",
    }
}

fn name(chain: &Chain) -> String {
    let Chain {
        program,
        family,
        table,
        name,
        ..
    } = chain;
    match *program {
        "nft" => format!("the firewall (nft chain {family} {table} {name})"),
        program => format!("the firewall ({program} chain {name})"),
    }
}

/// Program that manages a firewall on the user's behalf.
enum Manager {
    Ufw,
    Firewalld,
    Docker,
    Nobody,
}

fn manager(chain: &Chain, all: &[Chain]) -> Manager {
    let mut beside = all.iter().filter(|other| other.is_beside(chain));
    if chain.table == "firewalld" {
        Manager::Firewalld
    } else if beside.clone().any(|other| other.name.starts_with("ufw")) {
        Manager::Ufw
    } else if beside.any(|other| other.name == "DOCKER-USER") {
        Manager::Docker
    } else {
        Manager::Nobody
    }
}

/// Returns the program to change a chain of iptables' kind, if it is one.
fn iptables(chain: &Chain) -> Option<&'static str> {
    let is_one = chain.table == "filter" && chain.name == chain.name.to_uppercase();
    match &*chain.family {
        "ip" if is_one => Some("iptables"),
        "ip6" if is_one => Some("ip6tables"),
        _ => None,
    }
}

fn remedy_of_forward(chain: &Chain, all: &[Chain], link: &str) -> String {
    let Chain {
        family,
        table,
        name,
        ..
    } = chain;
    let both = |program: &str, chain: &str| {
        format!(
            "{program} -I {chain} -i {link} -j ACCEPT && {program} -I {chain} -o {link} -j ACCEPT"
        )
    };
    match (manager(chain, all), iptables(chain)) {
        (Manager::Ufw, _) => {
            format!("ufw route allow in on {link} && ufw route allow out on {link}")
        }
        (Manager::Firewalld, _) => format!(
            "firewall-cmd --permanent --zone=trusted --add-interface={link} && firewall-cmd --reload"
        ),
        (Manager::Docker, Some(program)) => both(program, "DOCKER-USER"),
        (_, Some(program)) => both(program, name),
        (_, None) => format!(
            "nft insert rule {family} {table} {name} iifname {link} accept && nft insert rule {family} {table} {name} \
             oifname {link} accept"
        ),
    }
}

fn remedy_of_input(chain: &Chain, all: &[Chain], port: u16) -> String {
    let Chain {
        family,
        table,
        name,
        ..
    } = chain;
    match (manager(chain, all), iptables(chain)) {
        (Manager::Ufw, _) => format!("ufw allow {port}/udp"),
        (Manager::Firewalld, _) => {
            format!("firewall-cmd --permanent --add-port={port}/udp && firewall-cmd --reload")
        }
        (_, Some(program)) => format!("{program} -I {name} -p udp --dport {port} -j ACCEPT"),
        (_, None) => format!("nft insert rule {family} {table} {name} udp dport {port} accept"),
    }
}

#[cfg(test)]
#[path = "firewall_tests.rs"]
mod tests;
