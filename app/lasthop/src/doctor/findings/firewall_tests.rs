use super::*;
use crate::doctor::chains::{Rule, Verdict};
use crate::doctor::facts::End;

fn chain(program: &'static str, family: &str, table: &str, hook: &str) -> Chain {
    let name = if program == "nft" {
        hook.into()
    } else {
        hook.to_uppercase()
    };
    Chain {
        program,
        family: family.into(),
        table: table.into(),
        name,
        hook: Some(hook.into()),
        drops: true,
        rules: Vec::new(),
    }
}

fn gateway(chains: Vec<Chain>) -> Facts {
    Facts {
        end: End {
            role: Some(Role::Gateway),
            link: "lasthop0".into(),
            own: vec!["10.64.0.1/20".parse().expect("a network")],
            port: Some(51_830),
            ..End::default()
        },
        chains,
        ..Facts::default()
    }
}

#[test]
fn a_closed_forward_chain_is_named_with_a_command_that_opens_it() {
    let nft = gateway(vec![chain("nft", "inet", "filter", "forward")]);
    let found = forward(&nft);
    assert_eq!(found[0].severity, Severity::Error);
    assert!(found[0].what.contains("nft chain inet filter forward"));
    assert!(
        found[0]
            .remedy
            .starts_with("nft insert rule inet filter forward iifname lasthop0 accept")
    );
    let mut opened = nft.clone();
    opened.chains[0].rules.push(Rule {
        inward: Some(vec!["lasthop0".into()]),
        ..Rule::always(Verdict::Accept)
    });
    assert_eq!(forward(&opened), []);
    let ours = gateway(vec![chain(
        "nft",
        "inet",
        "lasthop_gateway_forward",
        "forward",
    )]);
    assert_eq!(forward(&ours), []);
    let mobile = Facts {
        end: End {
            role: Some(Role::Mobile),
            ..nft.end.clone()
        },
        ..nft.clone()
    };
    assert_eq!(forward(&mobile), [], "a mobile host forwards nothing");
    let mut nobody = nft;
    nobody.end.role = None;
    assert_eq!(forward(&nobody)[0].severity, Severity::Warning);
}

#[test]
fn the_remedy_is_that_of_the_program_which_manages_the_firewall() {
    let beside = |program, name: &str| Chain {
        name: name.into(),
        hook: None,
        ..chain(program, "ip", "filter", "forward")
    };
    for (other, begin) in [
        (
            "DOCKER-USER",
            "iptables -I DOCKER-USER -i lasthop0 -j ACCEPT",
        ),
        ("ufw-before-forward", "ufw route allow in on lasthop0"),
        ("mine", "iptables -I FORWARD -i lasthop0 -j ACCEPT"),
    ] {
        let chains = vec![
            chain("iptables", "ip", "filter", "forward"),
            beside("iptables", other),
            // The same chain as `nft` shows it.
            Chain {
                name: "FORWARD".into(),
                ..chain("nft", "ip", "filter", "forward")
            },
        ];
        let found = forward(&gateway(chains));
        assert_eq!(found.len(), 1);
        assert!(found[0].remedy.starts_with(begin), "{}", found[0].remedy);
    }
    let firewalld = gateway(vec![chain("nft", "inet", "firewalld", "input")]);
    assert!(input(&firewalld)[0].remedy.contains("--add-port=51830/udp"));
}

#[test]
fn a_closed_port_is_named() {
    let found = input(&gateway(vec![chain("nft", "inet", "filter", "input")]));
    assert_eq!(found[0].code, "port-closed");
    assert_eq!(
        found[0].remedy,
        "nft insert rule inet filter input udp dport 51830 accept"
    );
    let mut perhaps = gateway(vec![chain("nft", "inet", "filter", "input")]);
    perhaps.chains[0].rules.push(Rule {
        is_conditional: true,
        ..Rule::always(Verdict::Accept)
    });
    let found = input(&perhaps);
    assert_eq!(found[0].severity, Severity::Warning);
    assert!(
        found[0].what.contains("not known here"),
        "{}",
        found[0].what
    );
}
