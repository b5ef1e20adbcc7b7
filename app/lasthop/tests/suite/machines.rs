//! A gateway that moves to another machine, and what goes on.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rig::site::{GATEWAYS, MOBILE};
use rig::{Process, daemons};

use crate::follow::on_lan;
use crate::site::Hosts;
use crate::succession::Standing;
use crate::support::download::Download;
use crate::support::{self, FIXED_HOST, LONG, PROGRAM, able, connect, wait_until};

/// The gateway on either machine, by its configuration.
const MACHINES: [&str; 2] = [GATEWAYS[0], "spare"];

/// Returns a site in which the machine of another gateway, with this number, can take the place of the first one.
fn with_spare(hosts: Hosts, machine: usize) -> Hosts {
    let folder = hosts.folder.path();
    let east = fs::read_to_string(folder.join("east.toml")).unwrap();
    let spare = east.replace("state_dir = \"east\"", "state_dir = \"spare\"");
    assert_ne!(spare, east);
    fs::write(folder.join("spare.toml"), spare).unwrap();
    let place = "endpoint = \"10.1.0.1:51830\"";
    let other = format!("\"10.1.{machine}.1:51830\"");
    let places = format!("endpoint = [\"10.1.0.1:51830\", {other}]");
    hosts.replace(MOBILE, place, &places);
    hosts
}

/// Returns the name of the gateway's files on a machine.
fn files(machine: usize) -> &'static str {
    MACHINES[machine.min(1)]
}

/// Starts the gateway on a machine, in place of the one on another machine.
fn take_over(hosts: &Hosts, former: &Process, [from, to]: [usize; 2]) -> Process {
    let config = hosts.folder.path().join(files(from));
    let command = format!(
        "nsenter --net=/proc/{}/ns/net {PROGRAM} gateway hand-over --config {}.toml",
        former.id(),
        config.display()
    );
    start(hosts, to, &["--take-over-with", &command])
}

fn start(hosts: &Hosts, on: usize, options: &[&str]) -> Process {
    let site = &hosts.site;
    let role = ["gateway", files(on)];
    site.start_on(&site.gateways[on], role, options).unwrap()
}

/// Starts the gateway on the first machine, and the mobile host, and waits until they are connected.
fn start_both(hosts: &Hosts) -> (Process, Process) {
    let both = (start(hosts, 0, &[]), hosts.site.start(MOBILE).unwrap());
    let connected = || hosts.site.serving() == GATEWAYS[0];
    wait_until("it is connected", || logs(hosts), connected);
    both
}

/// Returns true if the gateway on a machine answers.
fn answers(hosts: &Hosts, on: usize) -> bool {
    let folder = hosts.folder.path().join(files(on));
    daemons::status(Path::new(PROGRAM), GATEWAYS[0], &folder).is_some()
}

/// Returns what all daemons have logged.
fn logs(hosts: &Hosts) -> String {
    let spare = fs::read_to_string(hosts.folder.path().join("spare.log"));
    format!("{}spare:\n{}", hosts.site.logs(), spare.unwrap_or_default())
}

#[test]
fn connections_go_on_with_another_machine() {
    if !able() {
        return;
    }
    for way in [
        "tcp = \"split\"\nsplit_transport = \"kernel-tcp\"",
        "tcp = \"split\"\nsplit_transport = \"mtcp\"",
        "tcp = \"split\"\nsplit_transport = \"mtcp-wide\"",
        "tcp = \"arq\"",
    ] {
        let hosts = with_spare(on_lan(way), 1);
        let site = &hosts.site;
        let (mut gateway, _mobile) = start_both(&hosts);
        let standing = Standing::open(&site.mobile, &site.fixed);
        let ends = [&site.mobile, &site.fixed];
        Download::between(
            ends,
            || logs(&hosts),
            |download| {
                for to in [1, 0] {
                    download.take_pause();
                    replace(&hosts, &mut gateway, [1 - to, to]);
                    download.goes_on();
                    println!("{way:?}: a pause of {:?}", download.take_pause());
                }
            },
        );
        standing.go_on();
    }
}

/// Has another machine take the place of the gateway's, and waits until it has.
fn replace(hosts: &Hosts, gateway: &mut Process, [from, to]: [usize; 2]) {
    let next = take_over(hosts, gateway, [from, to]);
    let mut former = std::mem::replace(gateway, next);
    assert!(former.wait().unwrap().success(), "{}", logs(hosts));
    let answers = || answers(hosts, to);
    wait_until("it runs there", || logs(hosts), answers);
}

/// The mobile host is at another gateway of the site, which relays to the home, and knows the addresses of both
/// machines.
#[test]
fn connections_by_another_gateway_go_on_with_another_machine_of_the_home() {
    if !able() {
        return;
    }
    for way in ["tcp = \"split\"", "tcp = \"arq\""] {
        let hosts = with_spare(on_lan(way), 2);
        let place = "endpoint = \"172.30.0.1:51830\"";
        let places = "endpoint = [\"172.30.0.1:51830\", \"172.30.0.3:51830\"]";
        hosts.replace(GATEWAYS[1], place, places);
        let site = &hosts.site;
        let _other = site.start(GATEWAYS[1]).unwrap();
        let (mut gateway, _mobile) = start_both(&hosts);
        let standing = Standing::open(&site.mobile, &site.fixed);
        let ends = [&site.mobile, &site.fixed];
        let act = |download: &Download<'_>| {
            let relays = || {
                let _ = site.run(MOBILE, &["move", GATEWAYS[1]]);
                site.serving() == GATEWAYS[1]
            };
            wait_until("another gateway relays", || logs(&hosts), relays);
            download.goes_on();
            for (from, to) in [(0, 2), (2, 0)] {
                download.take_pause();
                replace(&hosts, &mut gateway, [from, to]);
                download.goes_on();
                println!("{way:?}: a pause of {:?}", download.take_pause());
            }
        };
        Download::between(ends, || logs(&hosts), act);
        standing.go_on();
    }
}

/// With address translation their fixed hosts know them by an address of the former machine.
#[test]
fn split_connections_with_the_address_of_a_machine_end_with_it() {
    if !able() {
        return;
    }
    let hosts = Hosts::create("tcp = \"split\"");
    hosts.replace(GATEWAYS[0], "nat = false", "nat = true");
    let hosts = with_spare(hosts, 1);
    hosts.site.connect_outside(1).unwrap();
    let site = &hosts.site;
    let (gateway, _mobile) = start_both(&hosts);
    let (mut asks, mut answers) = connect(&site.mobile, &site.fixed, FIXED_HOST).unwrap();
    let _next = take_over(&hosts, &gateway, [0, 1]);
    asks.set_read_timeout(Some(LONG)).unwrap();
    let end = asks.read(&mut [0]).unwrap_err();
    assert_eq!(end.kind(), ErrorKind::ConnectionReset, "{}", logs(&hosts));
    let sent = || answers.write_all(b"who is there?").is_err();
    wait_until("the fixed host learns of it", || logs(&hosts), sent);
}

/// Starts `hand-over` on the gateway's machine, and waits for its offer.
fn offer(hosts: &support::Hosts) -> Child {
    let mut command = Command::new(PROGRAM);
    command.args(["gateway", "hand-over", "--config"]);
    command.arg(hosts.folder.path().join("gateway.toml"));
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let pipes = pipes.stderr(Stdio::piped());
    let mut child = hosts.gateway.run(|| pipes.spawn()).unwrap().unwrap();
    let mut line = String::new();
    BufReader::with_capacity(1, child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "lasthop hands over 1\n");
    child
}

/// The other gateway goes away after it has had this one end.
#[test]
fn connections_that_nobody_takes_are_reset() {
    if !able() {
        return;
    }
    let hosts = support::Hosts::create();
    hosts.configure_more("gateway", "public_key", "tcp = \"split\"");
    let before = hosts.traces();
    let [mut gateway, mobile] = hosts.start_both();
    hosts.wait_until("the ends agree", || {
        hosts.peer("gateway")["hop"]["tcp"]["method"] == "plain"
    });
    let (mut asks, mut answers) = connect(&hosts.mobile, &hosts.fixed, FIXED_HOST).unwrap();

    // One that goes away before changes nothing.
    let gone = offer(&hosts).wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&gone.stderr);
    assert_eq!(gone.status.code(), Some(2), "{words}");
    assert!(words.contains("nothing has changed here"), "{words}");
    asks.write_all(b"ping").unwrap();
    answers.read_exact(&mut [0; 4]).unwrap();

    let mut other = offer(&hosts);
    other.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let output = other.wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(words.contains("1 sockets are reset"), "{words}");
    assert!(output.stdout.starts_with(b"connections "));
    assert!(gateway.0.wait().unwrap().success(), "{}", hosts.logs());
    answers.set_read_timeout(Some(LONG)).unwrap();
    let end = answers.read(&mut [0]).unwrap_err();
    assert_eq!(end.kind(), ErrorKind::ConnectionReset);
    mobile.terminate();
    assert_eq!(hosts.traces(), before);
    assert!(!hosts.folder.path().join("state/gateway.sock").exists());
}

/// A gateway does not start if the other one does not hand over; if that one does not run, there is nothing to hand
/// over.
#[test]
fn who_cannot_take_over_does_not_start() {
    if !able() {
        return;
    }
    let hosts = support::Hosts::create();
    let configuration = hosts.folder.path().join("gateway.toml");
    let run = |command: &str| {
        let mut lasthop = Command::new(PROGRAM);
        lasthop.args(["gateway", "--take-over-with", command, "--config"]);
        lasthop.arg(&configuration);
        let output = hosts.gateway.run(|| lasthop.output()).unwrap().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), words)
    };
    let before = hosts.traces();
    for (command, expected, words) in [
        ("exit 1", 2, "offers no connections"),
        ("echo Welcome; cat", 2, "says \"Welcome\""),
        (
            "echo lasthop hands over 1; read go; echo connections 4; echo none",
            1,
            "it has format 1701736302",
        ),
        (
            "echo lasthop hands over 1; read go; exit 1",
            1,
            "does not hand its connections over",
        ),
    ] {
        let (code, said) = run(command);
        assert_eq!(code, Some(expected), "{said}");
        assert!(said.contains(words), "{said}");
        assert_eq!(hosts.traces(), before, "{command}");
    }
    let _mobile = hosts.start("mobile");
    let other = fs::read_to_string(&configuration).unwrap();
    let other = other.replace("/state\"", "/other\"");
    let path = hosts.folder.path().join("other.toml");
    fs::write(&path, other).unwrap();
    let command = format!("{PROGRAM} gateway hand-over --config {}", path.display());
    let _gateway = hosts.start_as("gateway", &["--take-over-with", &command], &[]);
    hosts.wait_until_connected();
}
