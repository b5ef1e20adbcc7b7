//! `lasthop rotate`: a gateway or a mobile host replaces its key while they are connected.

use std::fs;
use std::io::{ErrorKind, Read};
use std::process::Command;

use crate::join::{FIXED, Site};
use crate::no_leak::goes_on;
use crate::support::{LONG, PROGRAM, able, connect, wait_until};

/// Waits until a mobile host has stored this key of its gateway.
fn wait_for_key(site: &Site, mobile: &str, key: &str) {
    let folder = site.state(mobile).join("mobile");
    let log = || fs::read_to_string(folder.join("mobile.log")).unwrap();
    wait_until("the next key", log, || {
        fs::read_to_string(folder.join("gateway/public_key")).unwrap() == key
    });
}

#[test]
fn a_gateway_replaces_its_key_and_interrupts_nobody() {
    if !able() {
        return;
    }
    let site = Site::create();
    let line = site.up();
    site.done("mobile0", &["join", &line]);
    let other = site.invite("cam1");
    let next = site.done("gateway", &["rotate"]);
    wait_for_key(&site, "mobile0", &next);
    site.echo(0);
    let again = site.refused("gateway", 2, &["rotate"]);
    assert!(again.contains("lasthop rotate --finish"), "{again}");
    // An open line names the former key.
    site.done("mobile1", &["join", &other]);
    wait_for_key(&site, "mobile1", &next);
    site.wait_for_state("mobile1", "connected");
    site.wait_for_state("cam1", "connected");
    site.done("gateway", &["rotate", "--finish"]);
    site.done("mobile0", &["leave", "--keep"]);
    site.done("mobile0", &["join"]);
    site.echo(0);
    site.echo(1);
    let nothing = site.refused("gateway", 2, &["rotate", "--finish"]);
    assert!(nothing.contains("nothing to end"), "{nothing}");
    // One is away until the former key has ended.
    site.done("mobile0", &["leave", "--keep"]);
    let late = site.invite("late");
    let last = site.done("gateway", &["rotate"]);
    wait_for_key(&site, "mobile1", &last);
    site.wait_for_state("cam1", "connected");
    let left = site.refused("gateway", 2, &["rotate", "--finish"]);
    let named = "with the present key yet: mobile1;";
    assert!(left.contains(named), "{left}");
    site.done("gateway", &["rotate", "--finish", "--force"]);
    let told = |arguments: &[&str]| {
        let ran = site.run("mobile0", arguments);
        assert_ne!(ran.code, Some(0));
        let words = "the gateway's key was replaced";
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    };
    told(&["join"]);
    site.wait_for_trouble("mobile0", "gateway-key-ended");
    site.done("mobile0", &["leave"]);
    told(&["join", &late]);
    site.echo(1);
}

#[test]
fn a_mobile_host_replaces_its_key_and_completes_what_was_interrupted() {
    if !able() {
        return;
    }
    let site = Site::create();
    let line = site.up();
    let off = site.refused("mobile0", 2, &["rotate"]);
    assert!(off.contains("lasthop gateway up"), "{off}");
    site.done("mobile0", &["join", &line]);
    let folder = site.state("mobile0").join("mobile");
    let [key, next_key, saved] =
        ["mobile.key", "mobile.key.next", "saved"].map(|name| folder.join(name));
    let public = || {
        let shown = Command::new(PROGRAM)
            .args(["keygen", "--public"])
            .arg(&key)
            .output();
        String::from_utf8(shown.unwrap().stdout).unwrap()
    };
    let former = public();
    fs::copy(&key, &saved).unwrap();
    let (client, server) = connect(&site.mobiles[0], &site.fixed, FIXED.into()).unwrap();
    goes_on(&client, &server);
    let next = site.done("mobile0", &["rotate"]);
    assert_ne!(next, former);
    assert_eq!(public(), next);
    assert!(!next_key.exists());
    goes_on(&client, &server);
    site.echo(0);
    site.wait_for_state("mobile1", "connected");
    let no = site.refused("mobile0", 2, &["rotate", "--finish"]);
    assert!(no.contains("this is a mobile host"), "{no}");
    // The command was killed after the gateway had taken the key, and the daemon started anew.
    site.done("mobile0", &["leave", "--keep"]);
    fs::rename(&key, &next_key).unwrap();
    fs::rename(&saved, &key).unwrap();
    site.done("mobile0", &["join"]);
    site.echo(0);
    assert_eq!(site.done("mobile0", &["rotate"]), next);
    assert_eq!(public(), next);
    // The gateway is away, and takes the key when it is back.
    site.done("gateway", &["gateway", "down"]);
    let mut waiting = site.begin("mobile0", &["rotate"]);
    wait_until("the next key", String::new, || next_key.exists());
    site.done("gateway", &["gateway", "up"]);
    assert!(waiting.wait().unwrap().success());
    assert_ne!(public(), next);
    site.echo(0);
    site.done("mobile0", &["leave", "--keep"]);
    let stopped = site.refused("mobile0", 2, &["rotate"]);
    assert!(stopped.contains("the mobile host is off"), "{stopped}");
}

#[test]
fn connections_that_are_split_end_with_the_former_key_of_their_mobile_host() {
    if !able() {
        return;
    }
    let site = Site::create();
    let line = site.up();
    let peer = site.state("gateway/gateway/peers/mobile1.toml");
    let invited = fs::read_to_string(&peer).unwrap();
    fs::write(&peer, format!("tcp = \"split\"\n{invited}")).unwrap();
    site.done("gateway", &["gateway", "down"]);
    site.done("gateway", &["gateway", "up"]);
    site.done("mobile0", &["join", &line]);
    let begin = || connect(&site.mobiles[0], &site.fixed, FIXED.into()).unwrap();
    let (mut client, mut server) = begin();
    goes_on(&client, &server);
    site.done("mobile0", &["rotate"]);
    for end in [&mut client, &mut server] {
        end.set_read_timeout(Some(LONG)).unwrap();
        let error = end.read(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
    let (client, server) = begin();
    goes_on(&client, &server);
}
