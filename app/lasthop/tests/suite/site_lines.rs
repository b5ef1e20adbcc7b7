//! A site that is made by lines: `lasthop gateway up --site`, `join` and `move`.

use std::fs;
use std::process::Command;

use rig::End;
use serde_json::Value;

use crate::join::Site;
use crate::support::download::Download;
use crate::support::{PROGRAM, able, wait_until};

/// Runs a command for the daemon of this name in a host's state folder; returns its exit code and output.
fn ask(site: &Site, host: &str, name: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(PROGRAM);
    command
        .args(arguments)
        .args(["--name", name, "--state-dir"]);
    let output = command.arg(site.state(host).join("run")).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

/// Returns the names and places in the site of a daemon's peers.
fn peers(site: &Site, host: &str, name: &str) -> Vec<(String, String)> {
    let (_, said) = ask(site, host, name, &["status", "--json"]);
    let status: Value = serde_json::from_str(&said).unwrap_or_default();
    let peers = status["host"]["peers"].as_array().cloned();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let place = |peer: &Value| {
        let at = peer["site"].get("at");
        (text(&peer["name"]), text(at.unwrap_or(&peer["site"])))
    };
    peers.unwrap_or_default().iter().map(place).collect()
}

fn wait_for_peers(site: &Site, host: &str, name: &str, expected: &[(&str, &str)]) {
    let present = || peers(site, host, name);
    let is_so = || {
        let present = present();
        let present = present.iter().map(|(name, place)| (&**name, &**place));
        present.eq(expected.iter().copied())
    };
    wait_until("the peers", || format!("{host}: {:?}", present()), is_so);
}

/// Has all hosts but the home start again, which does not run meanwhile.
fn start_again_without_the_home(site: &Site) {
    for file in [
        "mobile0/mobile/gateway/told.json",
        "mobile1/gateway/gateways/told.json",
    ] {
        wait_until("the file", || file.into(), || site.state(file).exists());
    }
    site.done("gateway", &["gateway", "down"]);
    site.done("mobile0", &["leave", "--keep"]);
    site.done("mobile1", &["gateway", "down"]);
    site.done("mobile1", &["gateway", "up"]);
    site.done("mobile0", &["join"]);
    wait_for_peers(
        site,
        "mobile0",
        "mobile",
        &[("gateway", "reserve"), ("west", "serves")],
    );
    site.done("gateway", &["gateway", "up"]);
    wait_until(
        "the home",
        || format!("{:?}", peers(site, "gateway", "gateway")),
        || peers(site, "gateway", "gateway").contains(&("mobile1".into(), "west".into())),
    );
}

/// The second one of the two mobile hosts is a gateway here.
#[test]
fn gateways_and_mobile_hosts_join_by_lines_and_a_download_goes_on() {
    if !able() {
        return;
    }
    let site = Site::create();
    let [mobile, west] = &site.mobiles;
    let [near, far] = ["10.1.3.1/24", "10.1.3.2/24"];
    rig::join([End::new(mobile, "air2", near), End::new(west, "air2", far)]).unwrap();
    rig::route(mobile, "10.1.2.2/32", "10.1.3.2").unwrap();
    let line = site.up();
    let invite = ["invite", "--name", "west", "--gateway", "10.1.2.2"];
    let printed = site.done("gateway", &invite);
    let of_site = printed.trim().strip_prefix("lasthop gateway up --site ");
    let of_site = of_site.expect("a line for a gateway");
    let refused = site.refused("mobile0", 2, &["join", of_site]);
    assert!(refused.contains("gateway up --site"), "{refused}");
    site.done("mobile1", &["gateway", "up", "--site", of_site]);
    site.done("mobile0", &["join", &line]);
    wait_for_peers(
        &site,
        "mobile0",
        "mobile",
        &[("gateway", "serves"), ("west", "reserve")],
    );
    let east = peers(&site, "mobile1", "gateway").remove(0).0;
    let guest = format!("mobile1@{east}");
    wait_for_peers(
        &site,
        "mobile1",
        "gateway",
        &[(&east, "gateway"), (&guest, "elsewhere")],
    );
    start_again_without_the_home(&site);
    Download::between(
        [mobile, &site.fixed],
        || format!("{:?}", peers(&site, "mobile0", "mobile")),
        |download| {
            let goes_by = |to: &str| {
                let (code, said) = ask(&site, "mobile0", "mobile", &["move", to]);
                assert_eq!(code, Some(0), "{said}");
                download.goes_on();
            };
            goes_by("west");
            goes_by("gateway");
            // All follow the home to its next key, and the former one ends.
            let key = site.done("gateway", &["rotate"]);
            let known = site
                .state("mobile1")
                .join(format!("gateway/gateways/{east}.toml"));
            let known = || fs::read_to_string(&known).unwrap();
            wait_until("the key", known, || known().contains(key.trim()));
            goes_by("west");
            let finish = || site.run("gateway", &["rotate", "--finish"]);
            wait_until("the end", || finish().stderr, || finish().code == Some(0));
            goes_by("gateway");
            goes_by("west");
            // The new gateway has nothing more to do with the home, and its guest goes back.
            site.done("gateway", &["revoke", "west"]);
            wait_until(
                "the home",
                || format!("{:?}", peers(&site, "mobile0", "mobile")),
                || peers(&site, "mobile0", "mobile") == [("gateway".into(), "serves".into())],
            );
            download.goes_on();
        },
    );
    site.done("mobile1", &["gateway", "down"]);
}
