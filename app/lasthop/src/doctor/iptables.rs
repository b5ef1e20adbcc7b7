//! The chains in the output of `iptables -S`.

use super::chains::{Chain, Rule, Verdict};

/// Returns the chains of the table "filter" of a program: "iptables" or "ip6tables".
pub(crate) fn parse(program: &'static str, text: &str) -> Vec<Chain> {
    let family = if program == "iptables" { "ip" } else { "ip6" };
    let mut chains: Vec<Chain> = Vec::new();
    for line in text.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            ["-P", name, policy] => chains.push(Chain {
                hook: Some(name.to_lowercase()),
                drops: policy != "ACCEPT",
                ..empty(program, family, name)
            }),
            ["-N", name] => chains.push(empty(program, family, name)),
            ["-A", name, ref rest @ ..] => {
                if let Some(chain) = chains.iter_mut().find(|chain| chain.name == name) {
                    chain.rules.push(read(rest));
                }
            }
            _ => {}
        }
    }
    chains
}

fn empty(program: &'static str, family: &str, name: &str) -> Chain {
    Chain {
        program,
        family: family.into(),
        table: "filter".into(),
        name: name.into(),
        hook: None,
        drops: false,
        rules: Vec::new(),
    }
}

fn read(words: &[&str]) -> Rule {
    let mut rule = Rule::always(Verdict::Other);
    let mut words = words.iter().copied().peekable();
    while let Some(word) = words.next() {
        let mut next = || words.next().unwrap_or_default();
        match word {
            "-i" => rule.inward = Some(vec![next().into()]),
            "-o" => rule.outward = Some(vec![next().into()]),
            "-p" => match next() {
                "udp" | "17" | "all" => {}
                _ => rule.is_of_other_protocol = true,
            },
            // The conditions of an extension follow it.
            "-m" => drop(next()),
            "--dport" => match range(next()) {
                Some(ports) => rule.ports = Some(vec![ports]),
                None => rule.is_conditional = true,
            },
            "--dports" => {
                let ports: Option<Vec<_>> = next().split(',').map(range).collect();
                rule.is_conditional |= ports.is_none();
                rule.ports = ports;
            }
            "--ctstate" | "--state" => {
                let admits_new = next().split(',').any(|state| state == "NEW");
                rule.is_of_known |= !admits_new;
                rule.is_conditional |= admits_new;
            }
            "-j" | "-g" => {
                rule.verdict = match next() {
                    "ACCEPT" => Verdict::Accept,
                    "DROP" | "REJECT" => Verdict::Drop,
                    "RETURN" => Verdict::Return,
                    "LOG" | "NFLOG" | "MARK" | "CONNMARK" => Verdict::Other,
                    chain => Verdict::Jump(chain.into()),
                }
            }
            "--comment" => skip_comment(&mut words),
            // What follows a verdict only shapes it.
            _ if rule.verdict != Verdict::Other => {}
            _ => rule.is_conditional = true,
        }
    }
    rule
}

/// Skips a comment, which is in quotes if it has several words.
fn skip_comment<'a>(words: &mut impl Iterator<Item = &'a str>) {
    let Some(first) = words.next() else {
        return;
    };
    let ends = |word: &str| word.ends_with('"') && !word.ends_with("\\\"");
    if first.starts_with('"') && (first.len() == 1 || !ends(first)) {
        let _ = words.find(|word| ends(word));
    }
}

fn range(text: &str) -> Option<std::ops::RangeInclusive<u16>> {
    let (first, last) = text.split_once(':').unwrap_or((text, text));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::super::chains::{Fate, Probe, fate};
    use super::*;

    /// A host with docker, as `iptables -S` prints it.
    const DOCKER: &str = "\
-P INPUT ACCEPT
-P FORWARD DROP
-P OUTPUT ACCEPT
-N DOCKER
-N DOCKER-USER
-A FORWARD -j DOCKER-USER
-A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -o docker0 -j DOCKER
-A FORWARD -i docker0 ! -o docker0 -j ACCEPT
-A DOCKER -d 172.17.0.2/32 ! -i docker0 -o docker0 -p tcp -m tcp --dport 80 -j ACCEPT
";

    fn forward(text: &str) -> Fate {
        let chains = parse("iptables", text);
        let chain = chains.iter().find(|chain| chain.name == "FORWARD").unwrap();
        assert_eq!(chain.hook.as_deref(), Some("forward"));
        let probe = Probe {
            inward: Some("lasthop0"),
            outward: Some("eth0"),
            port: None,
        };
        fate(chain, &chains, &probe)
    }

    #[test]
    fn docker_closes_the_way_until_its_users_chain_opens_it() {
        assert_eq!(forward(DOCKER), Fate::Dropped);
        let opened = format!(
            "{DOCKER}-A DOCKER-USER -i lasthop0 -m comment --comment \"for the hop\" -j ACCEPT\n"
        );
        assert_eq!(forward(&opened), Fate::Accepted);
    }

    #[test]
    fn an_input_chain_is_read() {
        let input = |rule: &str| {
            let text = format!(
                "-P INPUT DROP\n-A INPUT -i lo -j ACCEPT\n-A INPUT -m state --state ESTABLISHED -j ACCEPT\n\
                 -A INPUT -p tcp -m tcp --dport 22 -j ACCEPT\n{rule}\n"
            );
            let chains = parse("ip6tables", &text);
            let probe = Probe {
                inward: Some("eth0"),
                outward: None,
                port: Some(51_830),
            };
            fate(&chains[0], &chains, &probe)
        };
        assert_eq!(input(""), Fate::Dropped);
        for open in [
            "-A INPUT -p udp -m udp --dport 51830 -j ACCEPT",
            "-A INPUT -p udp -m multiport --dports 53,51820:51840 -j ACCEPT",
        ] {
            assert_eq!(input(open), Fate::Accepted, "{open}");
        }
        let unknown = "-A INPUT -s 192.0.2.0/24 -p udp -m udp --dport 51830 -j ACCEPT";
        assert_eq!(input(unknown), Fate::PerhapsDropped);
        assert_eq!(
            input("-A INPUT -j REJECT --reject-with icmp-port-unreachable"),
            Fate::Dropped
        );
    }
}
