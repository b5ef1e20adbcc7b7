//! `lasthop web` as browsers, Prometheus and attackers meet it.

mod client;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rig::Process;

use crate::support::{Hosts, PROGRAM, able, wait_until};
use client::{Web, exchange, get};

/// The reply of a gateway with two mobile hosts.
const STATUS: &str = include_str!("../../../src/status/gateway.json");

/// A process that answers at the control socket of a gateway as long as this exists.
struct Gateway {
    socket: PathBuf,
    asked: Arc<AtomicUsize>,
}

impl Gateway {
    fn start(folder: &Path) -> Self {
        let socket = folder.join("gateway.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let reply = STATUS.replace('\n', " ") + "\n";
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut question = String::new();
                BufReader::new(&stream).read_line(&mut question).unwrap();
                assert_eq!(question, "status\n");
                count.fetch_add(1, Ordering::Relaxed);
                // Its reader may be gone.
                let _ = stream.write_all(reply.as_bytes());
            }
        });
        Self { socket, asked }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // Its listener lives on without a name, as after a crash.
        fs::remove_file(&self.socket).unwrap();
    }
}

/// Returns a field of `status` in proc(5).
fn field(process: &str, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap()
        .trim_start_matches(':')
        .trim()
        .replace('\t', " ")
}

/// Returns the only child of a process.
fn child(parent: u32) -> String {
    let children = format!("/proc/{parent}/task/{parent}/children");
    fs::read_to_string(children).unwrap().trim().to_owned()
}

#[test]
fn it_waits_for_a_daemon_that_starts_ends_and_starts_again() {
    let folder = tempfile::tempdir().unwrap();
    let web = Web::start(folder.path(), "127.0.0.1:0", None);
    let metrics = || get(&web, "/metrics").body;
    let is_up = |value| {
        let line = format!("\nlasthop_up {value}\n");
        wait_until(&line, || web.log(), || metrics().contains(&line));
    };
    is_up(0);
    assert!(!metrics().contains("lasthop_peer_connected"));
    for _ in 0..2 {
        let gateway = Gateway::start(folder.path());
        is_up(1);
        assert!(metrics().contains("lasthop_peer_connected{peer=\"m2\"} 1\n"));
        assert!(gateway.asked.load(Ordering::Relaxed) > 0);
        drop(gateway);
        is_up(0);
    }
    // What both processes may still do.
    let [server, relay] = [web.process.id().to_string(), child(web.process.id())];
    for process in [&server, &relay] {
        assert_eq!(field(process, "CapEff"), format!("{:016x}", 0));
        assert_eq!(field(process, "NoNewPrivs"), "1");
        assert_eq!(field(process, "Seccomp"), "2");
    }
    if field("self", "Uid").starts_with("0 ") {
        assert_eq!(field(&server, "Uid"), ["65534"; 4].join(" "));
        assert_eq!(field(&server, "Groups"), "");
    }
}

#[test]
fn everything_but_its_few_urls_is_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let _gateway = Gateway::start(folder.path());
    let web = Web::start(folder.path(), "127.0.0.1:0", None);
    let page = get(&web, "/");
    assert_eq!(page.status, 200);
    assert!(
        page.head
            .contains("content-security-policy: default-src 'none'")
    );
    assert!(page.body.contains("<title>lasthop</title>"));
    let metrics = get(&web, "/metrics");
    assert!(
        metrics
            .head
            .contains("content-type: application/openmetrics-text; version=1.0.0")
    );
    assert!(metrics.body.ends_with("# EOF\n"));

    let host = "Host: localhost\r\n";
    for (request, status) in [
        (format!("GET /nothing HTTP/1.1\r\n{host}\r\n"), 404),
        (
            format!("POST / HTTP/1.1\r\n{host}Content-Length: 2\r\n\r\n{{}}"),
            405,
        ),
        (format!("DELETE /metrics HTTP/1.1\r\n{host}\r\n"), 405),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".into(), 400),
        ("GET / HTTP/1.1\r\n\r\n".into(), 400),
        (format!("GET /events?from=x HTTP/1.1\r\n{host}\r\n"), 400),
    ] {
        let answer = exchange(&web, &request);
        assert_eq!(answer.status, status, "{request}");
        assert!(answer.body.ends_with(".\n"), "{request}: {}", answer.body);
    }
    let head = exchange(&web, &format!("HEAD /metrics HTTP/1.1\r\n{host}\r\n"));
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    // What is no HTTP, or too much of it.
    for request in [
        "no request\r\n\r\n".to_owned(),
        "\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n".to_owned(),
        format!("GET / HTTP/1.1\r\n{host}X: {}\r\n\r\n", "x".repeat(100_000)),
        format!("GET / HTTP/1.1\r\n{host}{}\r\n", "X: y\r\n".repeat(500)),
        format!("GET /{} HTTP/1.1\r\n{host}\r\n", "a".repeat(100_000)),
    ] {
        let status = exchange(&web, &request).status;
        assert!((400..500).contains(&status), "{status}");
    }
    assert_eq!(get(&web, "/").status, 200);
}

#[test]
fn events_come_and_too_many_connections_are_turned_away() {
    let folder = tempfile::tempdir().unwrap();
    let _gateway = Gateway::start(folder.path());
    let web = Web::start(folder.path(), "127.0.0.1:0", None);
    let mut stream = web.connect();
    stream
        .write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut seen = Vec::new();
    let mut part = [0; 4096];
    // The second event comes after the next answer of the daemon.
    while seen.windows(6).filter(|part| *part == b"data: ").count() < 2 {
        let length = stream.read(&mut part).unwrap();
        assert!(length > 0, "the stream ended");
        seen.extend_from_slice(&part[..length]);
    }
    let seen = String::from_utf8(seen).unwrap();
    assert!(seen.contains("content-type: text/event-stream"));
    assert!(seen.contains("\"name\":\"m1\""));

    let mut idle: Vec<_> = (0..63).map(|_| web.connect()).collect();
    let refused = || exchange(&web, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 503;
    wait_until("a connection is refused", || web.log(), refused);
    idle.truncate(32);
    let served = || get(&web, "/").status == 200;
    wait_until("there is room again", || web.log(), served);
}

#[test]
fn a_wrong_address_or_port_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let _gateway = Gateway::start(folder.path());
    let run = |listen: &str| {
        let state = folder.path().to_str().unwrap();
        let arguments = ["web", "--state-dir", state, "--listen", listen];
        let output = Command::new(PROGRAM).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    for open in ["0.0.0.0:9530", "[::]:9530", "192.0.2.1:80"] {
        let said = run(open);
        assert!(
            said.contains("it has no password") && said.contains("ssh -L"),
            "{said}"
        );
    }
    assert!(run("localhost").contains("--listen"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let said = run(&taken.local_addr().unwrap().to_string());
    assert!(said.contains("choose another port with --listen"), "{said}");
}

/// A real hop: the page of its gateway, read by the mobile host through the tunnel.
#[test]
fn the_hosts_of_the_tunnel_can_read_it_at_the_tunnels_address() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let _daemons = hosts.start_both();
    let state = hosts.folder.path().join("state");
    let web = |listen| Web::start(&state, listen, Some((&hosts.gateway, hosts.folder.path())));
    let page = web("10.73.0.1:9530");
    let metrics = || hosts.mobile.run(|| get(&page, "/metrics")).unwrap().body;
    let line = "\nlasthop_peer_connected{peer=\"tablet7\"} 1\n";
    wait_until(line, || hosts.logs(), || metrics().contains(line));
    // The requests themselves come by the tunnel.
    let name = "lasthop_peer_received_packets_total{peer=\"tablet7\"} ";
    let counted = || {
        let metrics = metrics();
        let value = metrics.lines().find_map(|line| line.strip_prefix(name));
        value.unwrap().parse::<u64>().unwrap() > 0
    };
    wait_until(name, || hosts.logs(), counted);
    let mut command = Command::new(PROGRAM);
    command.args([
        "web",
        "--name",
        "gateway",
        "--listen",
        "198.51.100.1:9530",
        "--state-dir",
    ]);
    command.arg(&state);
    let mut refused = Process::start(
        command,
        "refused",
        hosts.folder.path(),
        Some(&hosts.gateway),
    )
    .unwrap();
    assert_eq!(refused.wait().unwrap().code(), Some(2));
    let said = refused.words();
    assert!(said.contains("'gateway' are 10.73.0.1, fd73::1"), "{said}");
}
