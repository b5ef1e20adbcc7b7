//! `lasthop doctor` on hosts with planted faults: it names each, and its remedies work.

use std::path::PathBuf;
use std::process::Command;

use edges::namespace::Namespace;
use edges::sysctl;
use serde_json::Value;

use crate::join::Site;
use crate::support::able;

/// A fault in a host, by the code of its finding.
struct Planted {
    host: &'static str,
    code: &'static str,
    /// Text that the finding must have.
    names: String,
}

fn space<'a>(site: &'a Site, host: &str) -> &'a Namespace {
    if host == "gateway" {
        &site.gateway
    } else {
        &site.mobiles[0]
    }
}

/// Returns the exit code and the findings of a host.
fn examine(site: &Site, host: &str) -> (Option<i32>, Vec<Value>) {
    let ran = site.run(host, &["doctor", "--json"]);
    let whole: Value = serde_json::from_str(&ran.stdout).expect(&ran.stderr);
    (
        ran.code,
        whole["findings"].as_array().cloned().expect("findings"),
    )
}

fn find(findings: &[Value], code: &str) -> Option<Value> {
    findings.iter().find(|one| one["code"] == code).cloned()
}

fn shell(host: &Namespace, command: &str) -> bool {
    let run = || {
        Command::new("sh")
            .args(["-c", command])
            .status()
            .unwrap()
            .success()
    };
    host.run(run).unwrap()
}

fn set(host: &Namespace, name: &'static str, value: &'static str) {
    host.run(|| sysctl::set(name, value)).unwrap().unwrap();
}

/// Plants a fault of each kind.
fn plant(site: &Site) -> Vec<Planted> {
    // A part of the inner network, which the mobile host's network has too.
    let path: PathBuf = site.state("mobile0").join("mobile/mobile.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let own = text.split("addresses = [\"").nth(1).unwrap();
    let own: ipnet::Ipv4Net = own.split('"').next().unwrap().parse().unwrap();
    let part = own.subnets(24).unwrap().last().unwrap();
    rig::route(&site.mobiles[0], &part.to_string(), "10.1.1.1").unwrap();
    set(&site.mobiles[0], "net/ipv4/conf/all/rp_filter", "1");
    set(&site.gateway, "net/ipv6/conf/wire/accept_ra", "1");
    let chain = |hook: &str, rules: &str| {
        format!(
            "nft add table inet filter && nft add chain inet filter {hook} '{{ type filter hook {hook} priority 0 ; \
             policy drop ; }}' {rules}"
        )
    };
    let known = "&& nft add rule inet filter input iifname lo accept && nft add rule inet filter input ct state \
                 established,related accept && nft add rule inet filter input tcp dport 22 accept";
    assert!(shell(&site.gateway, &chain("forward", "")));
    assert!(shell(&site.gateway, &chain("input", known)));
    let planted = |host, code, names: &str| Planted {
        host,
        code,
        names: names.into(),
    };
    vec![
        planted("mobile0", "subnet-clash", &part.to_string()),
        planted("mobile0", "strict-source-check", "rp_filter"),
        planted("gateway", "accept-ra", "wire"),
        planted("gateway", "forward-policy", "inet filter forward"),
        planted("gateway", "port-closed", "51830"),
    ]
}

#[test]
fn planted_faults_are_named_and_their_remedies_mend_them() {
    if !able() {
        return;
    }
    let site = Site::create();
    let (_, before) = examine(&site, "gateway");
    assert_eq!(find(&before, "port"), None, "it is not set up yet");
    let line = site.up();
    site.done("mobile0", &["join", &line]);
    let codes = [
        "subnet-clash",
        "strict-source-check",
        "accept-ra",
        "forward-policy",
        "port-closed",
        "port",
        "trouble",
    ];
    for host in ["gateway", "mobile0"] {
        let (_, findings) = examine(&site, host);
        for code in codes {
            assert_eq!(find(&findings, code), None, "{host}");
        }
    }
    for Planted { host, code, names } in plant(&site) {
        let (exit, findings) = examine(&site, host);
        assert_eq!(exit, Some(2), "{findings:?}");
        let found = find(&findings, code).unwrap_or_else(|| panic!("{code}: {findings:?}"));
        let text = found.to_string();
        assert!(text.contains(&names), "{text}");
        let remedy = found["remedy"].as_str().unwrap();
        // The network of a host is changed by its owner.
        if code == "subnet-clash" {
            continue;
        }
        assert!(shell(space(&site, host), remedy), "{remedy}");
        let (_, findings) = examine(&site, host);
        assert_eq!(find(&findings, code), None, "after {remedy}");
    }
    // The daemon has noticed the clash by itself.
    site.wait_for_trouble("mobile0", "address-clash");
    let (exit, findings) = examine(&site, "mobile0");
    assert_eq!(exit, Some(2));
    let trouble = find(&findings, "trouble").expect("the daemon's words");
    assert!(trouble["what"].as_str().unwrap().contains("address-clash"));
}
