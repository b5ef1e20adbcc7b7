//! The methods for TCP with the kernel's own TCP over an emulated hop that loses frames or fades.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};

use edges::namespace::Namespace;
use serde_json::Value;

use crate::support::{Daemon, FIXED_HOST, Hosts, LOSSY_LINK, able, carry, connect, content};

const BYTES: usize = 2 << 20;
/// What two ends may agree on, and which of it is on.
const OPTIONS: [&str; 3] = ["sack", "timestamps", "window_scaling"];
const SETTINGS: [[bool; 3]; 5] = [
    [true, true, true],
    [false, true, true],
    [true, false, true],
    [true, true, false],
    [false, false, false],
];

/// Four seconds of good air, then six of bad.
const FADING_LINK: &str = r#"
[each]
rate = "2 Mbit/s"
delay = "5 ms"
queue = "50 packets"
[errors]
model = "temporal"
good = { distribution = "deterministic", mean = "4 s" }
bad = { distribution = "deterministic", mean = "6 s" }
"#;
/// More than one direction carries between two fades.
const ACROSS_A_FADE: usize = 1_100_000;
/// With it a sender of Linux gives up after three seconds of timeouts.
const IMPATIENT: &str = "3";

/// The hosts, connected over `link`, with TCP by this method.
fn connected(link: &str, method: &str) -> (Hosts, [Daemon; 2]) {
    let hosts = Hosts::over_air(link);
    hosts.configure_more("gateway", "public_key", &format!("tcp = \"{method}\""));
    let daemons = hosts.start_both();
    for end in ["gateway", "mobile"] {
        hosts.wait_until("the ends agree", || tcp(&hosts, end)["method"] == method);
    }
    (hosts, daemons)
}

/// What a daemon says of TCP.
fn tcp(hosts: &Hosts, end: &str) -> Value {
    hosts.peer(end)["hop"]["tcp"].take()
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn configure(host: &Namespace, setting: [bool; 3]) {
    let set = |option, on| {
        let value = if on { "1" } else { "0" };
        rig::set(host, &format!("net/ipv4/tcp_{option}"), value).unwrap();
    };
    for (option, on) in OPTIONS.into_iter().zip(setting) {
        set(option, on);
    }
    // Nothing that one connection learned may serve the next.
    set("no_metrics_save", true);
}

/// Segments that the TCP of this host has sent again.
fn retransmitted(host: &Namespace) -> u64 {
    let text = host
        .run(|| fs::read_to_string("/proc/thread-self/net/snmp").unwrap())
        .unwrap();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let place = names.split(' ').position(|name| name == "RetransSegs");
    let value = values.split(' ').nth(place.unwrap()).unwrap();
    value.parse().unwrap()
}

/// The mobile host connects; one end sends and the other checks every byte.
fn transfer(hosts: &Hosts, upload: bool) {
    let (mobile, fixed) = connect(&hosts.mobile, &hosts.fixed, FIXED_HOST).unwrap();
    let (sender, receiver) = if upload {
        (mobile, fixed)
    } else {
        (fixed, mobile)
    };
    carry(sender, receiver, BYTES);
}

/// A file in each setting, both ways; returns what the senders sent again, downloads and uploads.
fn in_every_setting(hosts: &Hosts) -> [u64; 2] {
    let mut sums = [0; 2];
    for setting in SETTINGS {
        configure(&hosts.mobile, setting);
        configure(&hosts.fixed, setting);
        for (upload, sum) in [false, true].into_iter().zip(&mut sums) {
            let sender = if upload { &hosts.mobile } else { &hosts.fixed };
            let before = retransmitted(sender);
            transfer(hosts, upload);
            *sum += retransmitted(sender) - before;
        }
    }
    sums
}

#[test]
fn snoop_repairs_the_kernels_tcp_in_every_setting() {
    if !able() {
        return;
    }
    let (plain_hosts, _plain_daemons) = connected(LOSSY_LINK, "plain");
    let (hosts, _daemons) = connected(LOSSY_LINK, "snoop");
    // Beside each other, as neither fills a processor.
    let (plain, snoop) = std::thread::scope(|scope| {
        let plain = scope.spawn(|| in_every_setting(&plain_hosts));
        let snoop = in_every_setting(&hosts);
        (plain.join().unwrap(), snoop)
    });
    let status = tcp(&plain_hosts, "gateway");
    assert!(
        status["agent"].is_null() && status["mobile"].is_null(),
        "{status}"
    );
    let (gateway, mobile) = (tcp(&hosts, "gateway"), tcp(&hosts, "mobile"));
    let told = format!("plain {plain:?}, snoop {snoop:?}\n{gateway}\n{mobile}");
    println!("{told}");
    let agent = &gateway["agent"];
    assert!(
        count(&agent["repairs"]) > 0 && count(&agent["held"]) > 0,
        "{told}"
    );
    assert!(count(&agent["upload"]["asked"]) > 0, "{told}");
    assert!(count(&mobile["mobile"]["repairs"]) > 0, "{told}");
    // Both ways together: in few uploads with SACK, a mobile's kernel sends a hundred segments again that had arrived.
    let [snoop, plain] = [snoop, plain].map(|ways| ways.iter().sum::<u64>());
    assert!(snoop < plain, "{told}");
}

/// Sends across a fade; returns the error if the sender gave up.
fn send(mut from: TcpStream, mut to: TcpStream) -> io::Result<()> {
    let reader = to.try_clone()?;
    std::thread::scope(|scope| {
        let receiver = scope.spawn(move || {
            let read = io::copy(&mut to, &mut io::sink());
            let _ = to.shutdown(Shutdown::Both);
            read
        });
        let sent = from
            .write_all(&content(ACROSS_A_FADE, 0))
            .and_then(|()| from.shutdown(Shutdown::Write))
            // The receiver ends the connection once it has everything.
            .and_then(|()| from.read(&mut [0]));
        // A receiver whose sender has given up waits for nothing.
        let _ = reader.shutdown(Shutdown::Both);
        let received = receiver.join().unwrap();
        sent.and(received)
            .map(|length| assert_eq!(length, ACROSS_A_FADE as u64))
    })
}

/// Impatient senders on both sides of a hop that fades; returns the outcomes of a download and of an upload.
fn across_a_fade(hosts: &Hosts) -> [io::Result<()>; 2] {
    for host in [&hosts.mobile, &hosts.fixed] {
        rig::set(host, "net/ipv4/tcp_retries2", IMPATIENT).unwrap();
    }
    let ends = || connect(&hosts.mobile, &hosts.fixed, FIXED_HOST).unwrap();
    let ((mobile, fixed), (other_mobile, other_fixed)) = (ends(), ends());
    std::thread::scope(|scope| {
        let download = scope.spawn(move || send(fixed, mobile));
        let upload = send(other_mobile, other_fixed);
        [download.join().unwrap(), upload]
    })
}

#[test]
fn a_fade_ends_no_connection_of_an_impatient_kernel() {
    if !able() {
        return;
    }
    let methods = ["plain", "arq", "snoop"];
    let rigs = methods.map(|method| connected(FADING_LINK, method));
    let [plain, arq, snoop] = std::thread::scope(|scope| {
        let outcomes = rigs
            .each_ref()
            .map(|(hosts, _)| scope.spawn(|| across_a_fade(hosts)));
        outcomes.map(|outcomes| outcomes.join().unwrap())
    });
    let told = format!("plain {plain:?}, arq {arq:?}, snoop {snoop:?}");
    println!("{told}");
    assert!(plain.iter().all(Result::is_err), "too short a fade: {told}");
    let held = arq.iter().chain(&snoop);
    assert!(held.into_iter().all(Result::is_ok), "{told}");
}
