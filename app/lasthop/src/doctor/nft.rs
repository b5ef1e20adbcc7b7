//! The chains in the output of `nft -j list ruleset`.

use std::ops::RangeInclusive;

use serde_json::Value;

use super::chains::{Chain, Rule, Verdict};

/// Returns the chains; what it cannot read is a rule with unknown conditions.
pub(crate) fn parse(text: &str) -> Vec<Chain> {
    let whole: Value = serde_json::from_str(text).unwrap_or_default();
    let items = whole["nftables"].as_array().cloned().unwrap_or_default();
    let mut chains: Vec<Chain> = Vec::new();
    for item in &items {
        if let Some(chain) = item.get("chain") {
            chains.push(Chain {
                program: "nft",
                family: text_of(&chain["family"]),
                table: text_of(&chain["table"]),
                name: text_of(&chain["name"]),
                hook: chain["hook"].as_str().map(Into::into),
                drops: chain["policy"] == "drop",
                rules: Vec::new(),
            });
        }
    }
    for item in &items {
        let Some(rule) = item.get("rule") else {
            continue;
        };
        let place = |chain: &&mut Chain| {
            rule["family"] == *chain.family
                && rule["table"] == *chain.table
                && rule["chain"] == *chain.name
        };
        if let Some(chain) = chains.iter_mut().find(place) {
            chain.rules.push(read(&rule["expr"]));
        }
    }
    chains
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().into()
}

fn read(expressions: &Value) -> Rule {
    let mut rule = Rule::always(Verdict::Other);
    for expression in expressions.as_array().into_iter().flatten() {
        let Some((kind, value)) = expression.as_object().and_then(|one| one.iter().next()) else {
            rule.is_conditional = true;
            continue;
        };
        match kind.as_str() {
            "accept" => rule.verdict = Verdict::Accept,
            "drop" | "reject" => rule.verdict = Verdict::Drop,
            "return" => rule.verdict = Verdict::Return,
            "jump" | "goto" => rule.verdict = Verdict::Jump(text_of(&value["target"])),
            "counter" | "log" | "comment" | "meter" | "mangle" => {}
            "match" => add_condition(&mut rule, value),
            // A limit, a map of verdicts, an extension of iptables and more.
            _ => rule.is_conditional = true,
        }
    }
    rule
}

fn add_condition(rule: &mut Rule, condition: &Value) {
    let (left, right) = (&condition["left"], &condition["right"]);
    let is_equality = matches!(condition["op"].as_str(), None | Some("==" | "in"));
    if left["ct"]["key"] == "state" && is_equality {
        let admits_new = values(right).any(|state| state == "new");
        rule.is_of_known |= !admits_new;
        rule.is_conditional |= admits_new;
        return;
    }
    let key = left["meta"]["key"].as_str().unwrap_or_default();
    let payload = &left["payload"];
    let protocol = payload["protocol"].as_str().unwrap_or_default();
    match key {
        _ if !is_equality => rule.is_conditional = true,
        "iifname" | "iif" => rule.inward = Some(links(right)),
        "oifname" | "oif" => rule.outward = Some(links(right)),
        "l4proto" => {
            rule.is_of_other_protocol = !values(right).any(|one| one == "udp" || one == 17);
            rule.is_conditional |= rule.ports.is_none() && !rule.is_of_other_protocol;
        }
        "nfproto" | "protocol" => rule.is_conditional = true,
        _ if protocol == "udp" || protocol == "th" => match ports(right) {
            Some(ports) if payload["field"] == "dport" => {
                rule.ports = Some(ports);
            }
            _ => rule.is_conditional = true,
        },
        _ if ["tcp", "sctp", "dccp", "icmp", "icmpv6"].contains(&protocol) => {
            rule.is_of_other_protocol = true;
        }
        _ => rule.is_conditional = true,
    }
}

/// Returns a value, or all of a set.
fn values(value: &Value) -> impl Iterator<Item = &Value> {
    let set = value.as_array().or_else(|| value["set"].as_array());
    let one = set.is_none().then_some(value);
    set.into_iter().flatten().chain(one)
}

fn links(value: &Value) -> Vec<String> {
    values(value).map(text_of).collect()
}

/// Returns the ports of a condition; `None` if one of them cannot be read.
fn ports(value: &Value) -> Option<Vec<RangeInclusive<u16>>> {
    let port = |value: &Value| value.as_u64().and_then(|port| u16::try_from(port).ok());
    let range = |value: &Value| match value["range"].as_array().map(Vec::as_slice) {
        Some([first, last]) => Some(port(first)?..=port(last)?),
        _ => port(value).map(|port| port..=port),
    };
    values(value).map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::super::chains::{Fate, Probe, fate};
    use super::*;

    /// A chain with this policy and these rules, as `nft -j list ruleset` prints them.
    fn listed(policy: &str, rules: &[&str]) -> Vec<Chain> {
        let place = r#""family":"inet","table":"filter","chain":"input""#;
        let rule = |expr: &&str| format!(r#",{{"rule":{{{place},"handle":4,"expr":[{expr}]}}}}"#);
        let rules: Vec<_> = rules.iter().map(rule).collect();
        let rules = rules.concat();
        let chain = format!(
            r#"{{"chain":{{"family":"inet","table":"filter","name":"input","handle":1,"type":"filter",
            "hook":"input","prio":0,"policy":"{policy}"}}}}"#
        );
        parse(&format!(
            r#"{{"nftables":[{{"metainfo":{{"version":"1.0.6"}}}},{chain}{rules}]}}"#
        ))
    }

    fn fate_of(policy: &str, rules: &[&str]) -> Fate {
        fate_from(Some("eth0"), policy, rules)
    }

    fn fate_from(inward: Option<&str>, policy: &str, rules: &[&str]) -> Fate {
        let chains = listed(policy, rules);
        assert_eq!(chains[0].hook.as_deref(), Some("input"));
        let probe = Probe {
            inward,
            outward: None,
            port: Some(51_830),
        };
        fate(&chains[0], &chains, &probe)
    }

    const SSH: &str = r#"{"match":{"op":"==","left":{"payload":{"protocol":"tcp","field":"dport"}},"right":22}},
        {"accept":null}"#;
    const KNOWN: &str = r#"{"match":{"op":"in","left":{"ct":{"key":"state"}},"right":["established","related"]}},
        {"accept":null}"#;
    const LOOPBACK: &str =
        r#"{"match":{"op":"==","left":{"meta":{"key":"iifname"}},"right":"lo"}},{"accept":null}"#;

    #[test]
    fn a_usual_server_closes_the_port_until_a_rule_names_it() {
        let usual = [LOOPBACK, KNOWN, SSH];
        assert_eq!(fate_of("drop", &usual), Fate::Dropped);
        assert_eq!(fate_from(None, "drop", &usual), Fate::Dropped);
        assert_eq!(fate_of("accept", &usual), Fate::Accepted);
        for right in [
            "51830",
            r#"{"set":[53,51830]}"#,
            r#"{"range":[51000,52000]}"#,
            r#"{"set":[{"range":[51000,52000]}]}"#,
        ] {
            let open = format!(
                r#"{{"match":{{"op":"==","left":{{"payload":{{"protocol":"udp","field":"dport"}}}},
                "right":{right}}}}},{{"counter":{{"packets":0,"bytes":0}}}},{{"accept":null}}"#
            );
            let rules = [LOOPBACK, KNOWN, SSH, &open];
            assert_eq!(fate_of("drop", &rules), Fate::Accepted, "{right}");
        }
    }

    #[test]
    fn what_it_does_not_know_is_unknown() {
        let limited = r#"{"limit":{"rate":4,"per":"second"}},{"accept":null}"#;
        let sources = r#"{"match":{"op":"==","left":{"payload":{"protocol":"ip","field":"saddr"}},
            "right":"192.0.2.1"}},{"accept":null}"#;
        let other = r#"{"match":{"op":"!=","left":{"meta":{"key":"iifname"}},"right":"eth0"}},{"accept":null}"#;
        for rule in [limited, sources, other] {
            assert_eq!(fate_of("drop", &[rule]), Fate::PerhapsDropped, "{rule}");
        }
        let reject = r#"{"reject":{"type":"icmpx","expr":"admin-prohibited"}}"#;
        assert_eq!(fate_of("accept", &[reject]), Fate::Dropped);
        assert!(parse("nonsense").is_empty() && parse("{}").is_empty());
    }
}
