//! `lasthop demo` as a user runs it, on a fast link with a small file.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::{Command, Output};

use rig::needs::{can_test, no_hosts};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::install;
use crate::support::turn::Turn;

const LINK: &str = r#"
description = "fast, with a fade now and then"
[each]
rate = "100 Mbit/s"
delay = "2 ms"
queue = "200 packets"
[errors]
model = "temporal"
good = { distribution = "exponential", mean = "200 ms" }
bad = { distribution = "exponential", mean = "20 ms" }
"#;

/// A user with no rights.
const NOBODY: u32 = 65_534;

/// The demo with `arguments` in a folder of its own.
fn demo(folder: &TempDir, arguments: &[&str]) -> Output {
    fs::write(folder.path().join("link.toml"), LINK).unwrap();
    Command::new(env!("CARGO_BIN_EXE_lasthop"))
        .current_dir(folder)
        .args(["demo", "--link", "./link.toml", "--report", "report"])
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn a_site_hands_a_mobile_host_over_in_a_download() {
    if !can_test(no_hosts()) {
        return;
    }
    let _turn = Turn::take();
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.current_dir(&folder);
    command.args(["demo", "--site", "--size", "9 MB", "--json"]);
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let figures: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(figures["sha256_ok"], true, "{figures}");
    assert_eq!(figures["moves"][0]["to"], "west", "{figures}");
    let plot = fs::read_to_string(folder.path().join("lasthop-demo/bytes.svg")).unwrap();
    assert!(plot.contains("west") && plot.contains("megabytes arrived"));
}

fn rows(output: &Output) -> Vec<Value> {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_file_arrives_intact_alone_and_through_lasthop_both_ways() {
    if !can_test(no_hosts()) {
        return;
    }
    let _turn = Turn::take();
    let folder = tempfile::tempdir().unwrap();
    let rows = rows(&demo(
        &folder,
        &[
            "--direction",
            "both",
            "--senders",
            "reno",
            "--size",
            "2 MB",
            "--json",
        ],
    ));
    assert_eq!(rows.len(), 4);
    for (row, (scheme, direction)) in rows.iter().zip([
        ("plain", "down"),
        ("plain", "up"),
        ("lasthop", "down"),
        ("lasthop", "up"),
    ]) {
        assert_eq!(
            (row["scheme"].as_str(), row["direction"].as_str()),
            (Some(scheme), Some(direction))
        );
        assert_eq!(row["payload_bytes"], 2_000_000, "{row}");
        assert_eq!(
            (&row["sha256_ok"], &row["failure"]),
            (&true.into(), &Value::Null),
            "{row}"
        );
        assert!(row["share"].as_f64().unwrap() > 0.0, "{row}");
        assert!(
            row["wire_bytes_per_payload_byte"].as_f64().unwrap() > 1.0,
            "{row}"
        );
        assert_eq!(
            row["cpu_seconds_per_gb"].is_null(),
            scheme == "plain",
            "{row}"
        );
    }
    let plot = fs::read_to_string(folder.path().join("report/bytes.svg")).unwrap();
    assert!(plot.contains("TCP reno through lasthop, upload"));
    let figures = fs::read_to_string(folder.path().join("report/figures.json")).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Value>>(&figures).unwrap(), rows);
}

/// Gives up root, with rights to the device that are the usual ones but not those of every machine.
const AS_NOBODY: &str = "mknod -m 666 tun c 10 200
mount --bind tun /dev/net/tun
exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$0\" \"$@\"";

/// As root this gives up root first; otherwise all other tests are of that kind too.
#[test]
fn a_user_without_any_privilege_can_run_it() {
    if !can_test(no_hosts()) || !rustix::process::geteuid().is_root() {
        return;
    }
    let _turn = Turn::take();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // Others may enter neither the folder of the build nor, at first, this one.
    install(&at("lasthop"));
    fs::write(at("link.toml"), LINK).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let output = Command::new("unshare")
        .current_dir(&folder)
        .args(["--mount", "sh", "-e", "-c", AS_NOBODY])
        .args([
            "./lasthop",
            "demo",
            "--link",
            "./link.toml",
            "--size",
            "1 MB",
            "--json",
        ])
        .output()
        .unwrap();
    let rows = rows(&output);
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row["sha256_ok"] == true), "{rows:?}");
    assert!(at("lasthop-demo/bytes.svg").exists());
}

#[test]
fn every_way_to_repair_tcp_is_a_scheme() {
    if !can_test(no_hosts()) {
        return;
    }
    let _turn = Turn::take();
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--schemes", "tunnel,snoop", "--size", "2 MB", "--json"];
    let rows = rows(&demo(&folder, &arguments));
    let schemes: Vec<_> = rows
        .iter()
        .map(|row| row["scheme"].as_str().unwrap())
        .collect();
    assert_eq!(schemes, ["tunnel", "snoop"]);
    for row in &rows {
        assert_eq!(row["payload_bytes"], 2_000_000, "{row}");
        assert_eq!(row["sha256_ok"], true, "{row}");
    }
}

#[test]
fn a_transfer_that_is_broken_off_is_compared_as_far_as_it_came() {
    if !can_test(no_hosts()) {
        return;
    }
    let _turn = Turn::take();
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "--schemes",
        "plain",
        "--size",
        "1 GB",
        "--time",
        "1500 ms",
        "--skip",
        "500 ms",
        "--json",
    ];
    let rows = rows(&demo(&folder, &arguments));
    let payload = rows[0]["payload_bytes"].as_u64().unwrap();
    assert!(0 < payload && payload < 1_000_000_000);
    assert_eq!(rows[0]["sha256_ok"], true);
}

#[test]
fn what_cannot_be_shown_is_refused_with_exit_code_2() {
    let _turn = Turn::take();
    let folder = tempfile::tempdir().unwrap();
    for (arguments, words) in [
        (
            ["--senders", "no-such-control"],
            "no congestion control 'no-such-control'",
        ),
        (["--link", "no-such-link"], "l2-b40"),
        (["--size", "20"], "MB"),
        (["--report", "/proc/none"], "another folder by --report"),
        (
            ["--schemes", "relay"],
            "known are plain, tunnel, snoop, split, auto, lasthop",
        ),
    ] {
        let command = env!("CARGO_BIN_EXE_lasthop");
        let output = Command::new(command)
            .current_dir(&folder)
            .arg("demo")
            .args(arguments)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(words), "{error}");
    }
}
