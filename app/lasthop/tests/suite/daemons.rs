//! Two real daemons, kernel TCP and a fixed host, in network namespaces that the test makes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::support::{FIXED_HOST, GATEWAY_OUTSIDE, Hosts, able, fetch, fetch_from, install, ping};

#[test]
fn carries_everything_and_leaves_nothing() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let before = hosts.traces();

    let gateway = hosts.start_with("gateway", &[("LASTHOP_LOG_FORMAT", "json")]);
    let mobile = hosts.start("mobile");
    hosts.wait_until_connected();
    ping(&hosts.mobile, FIXED_HOST);
    assert_eq!(
        fetch(&hosts, 8 << 20),
        GATEWAY_OUTSIDE,
        "the gateway translates addresses"
    );
    let inner = "fd73::1".parse().unwrap();
    let seen = fetch_from(&hosts, (&hosts.gateway, inner), 1 << 20);
    assert_eq!(seen.to_string(), "fd73::2");
    let status = hosts.status("gateway");
    assert_eq!(status["host"]["peers"][0]["name"], "tablet7");
    assert!(status["device"]["sent"].as_u64().unwrap() > 0);
    assert_ne!(hosts.traces(), before);
    assert_eq!(gateway.capabilities(), 0, "no capability is kept");

    let peer = ["--name", "gateway", "--peer", "tablet7"];
    let named = |name: &'static str| ["--name", name];
    for arguments in [&named("gateway")[..], &named("mobile"), &peer] {
        let (code, page) = hosts.status_page(arguments);
        assert!(code == Some(0) && page.contains("connected"), "{page}");
    }
    for name in ["gateway", "mobile"] {
        assert_eq!(schema_error(&hosts.status(name)), None);
    }
    assert_eq!(mobile.terminate().code(), Some(0));
    let (code, page) = hosts.status_page(&named("gateway"));
    assert!(
        code == Some(0) && page.contains("; 0 of 1 mobile hosts connected"),
        "{page}"
    );
    assert_eq!(hosts.status_page(&peer).0, Some(3), "it has left");
    let unknown = ["--name", "gateway", "--peer", "tablet8"];
    assert_eq!(hosts.status_page(&unknown).0, Some(2));
    assert_eq!(gateway.terminate().code(), Some(0));
    let log = fs::read_to_string(hosts.folder.path().join("gateway.log")).unwrap();
    let lines = log.lines().map(serde_json::from_str::<serde_json::Value>);
    let lines: Result<Vec<_>, _> = lines.collect();
    let lines = lines.expect("each line is JSON");
    let has = |event: &str| {
        let is_it = |line: &serde_json::Value| {
            line["fields"]["event"] == event && line["fields"]["peer"] == "tablet7"
        };
        lines.iter().any(is_it)
    };
    assert!(has("established") && has("left"), "{log}");
    assert_eq!(hosts.traces(), before);
    assert!(!hosts.folder.path().join("state/mobile.sock").exists());
}

/// Returns what the published schema finds wrong with a status.
fn schema_error(status: &serde_json::Value) -> Option<String> {
    let schema = include_str!("../../../../docs/status-schema.json");
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    let schema = serde_json::from_str(schema).unwrap();
    compiler.add_resource("status.json", schema).unwrap();
    let index = compiler.compile("status.json", &mut schemas).unwrap();
    let checked = schemas.validate(status, index);
    checked.err().map(|error| format!("{error:#}"))
}

#[test]
fn starts_again_after_a_crash_and_still_leaves_nothing() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let before = hosts.traces();
    let [gateway, mobile] = hosts.start_both();
    gateway.kill();
    mobile.kill();
    assert_ne!(hosts.traces(), before, "a killed daemon could not clean up");

    let [gateway, mobile] = hosts.start_both();
    fetch(&hosts, 1 << 20);
    mobile.terminate();
    gateway.terminate();
    assert_eq!(hosts.traces(), before);
}

#[test]
fn one_crashed_end_comes_back_to_the_other() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let [gateway, mobile] = hosts.start_both();
    mobile.kill();
    let mobile = hosts.start("mobile");
    hosts.wait_until_connected();
    fetch(&hosts, 1 << 20);
    mobile.terminate();
    gateway.terminate();
}

#[test]
fn a_port_in_use_is_an_error_of_the_setting() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let before = hosts.traces();
    let taken = hosts
        .gateway
        .run(|| std::net::UdpSocket::bind("[::]:51830").unwrap())
        .unwrap();
    let (code, said) = hosts.start("gateway").end();
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("51830") && said.contains("set another `listen`"),
        "{said}"
    );
    drop(taken);
    assert_eq!(hosts.traces(), before);
}

#[test]
fn no_privilege_is_an_error_of_the_setting() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    // Nobody else may read where the tests were built; so the program goes where he may.
    let nobody = 65_534;
    let folder = hosts.folder.path();
    fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
    install(&folder.join("lasthop"));
    let state = folder.join("state");
    fs::create_dir_all(&state).unwrap();
    for file in [
        folder.join("gateway.key"),
        folder.join("gateway.toml"),
        state,
    ] {
        if chown(&file, Some(nobody), Some(nobody)).is_err() {
            return; // In a user namespace there is nobody else.
        }
    }
    let mut command = Command::new(folder.join("lasthop"));
    command
        .args(["gateway", "--config"])
        .arg(folder.join("gateway.toml"));
    command.uid(nobody).gid(nobody).current_dir(folder);
    let output = hosts.gateway.run(|| command.output().unwrap()).unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("CAP_NET_ADMIN"), "{said}");
}

#[test]
fn some_destinations_and_a_shared_secret() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let before = hosts.traces();
    hosts.configure_more("mobile", "state_dir", "routes = [\"198.51.100.0/24\"]");
    // The mobile does not have the secret yet.
    hosts.make_secret();
    let secret = "preshared_key_file = \"tablet7.psk\"";
    hosts.configure_more("gateway", "public_key", secret);
    let gateway = hosts.start("gateway");
    let mobile = hosts.start("mobile");
    // Noise IKpsk2 mixes the secret into the answer, so it is the mobile that finds it wrong.
    hosts.wait_until("the answer is refused", || {
        let dropped = &hosts.status("mobile")["host"]["datagrams_dropped"];
        dropped.as_array().is_some_and(|causes| !causes.is_empty())
    });
    assert!(hosts.peer("mobile")["keys_age"].is_null());
    mobile.terminate();

    hosts.configure_more("mobile", "public_key", secret);
    let mobile = hosts.start("mobile");
    hosts.wait_until_connected();
    assert_eq!(fetch(&hosts, 1 << 20), GATEWAY_OUTSIDE);
    mobile.terminate();
    gateway.terminate();
    assert_eq!(hosts.traces(), before);
}
