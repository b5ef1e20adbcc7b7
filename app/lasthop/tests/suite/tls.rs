//! A network that lets no UDP through: the hop goes on by TLS, and returns to UDP.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};

use crate::join::{Site, line_of};
use crate::support::download::Download;
use crate::support::{Hosts, able, fetch, rule};

const HOP: &str = "[hop]\ntls_port = 443";
/// What the network between the two hosts does: at the gateway's host, where the mobile host comes in.
const BLOCK: &str = "table inet blocked { chain input { type filter hook input priority 0; \
                     iifname \"air*\" meta l4proto udp drop; }; }";
const UNBLOCK: &str = "delete table inet blocked";
/// The gateway for the mobile host.
const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 1, 0, 1));

fn endpoint(hosts: &Hosts, part: &str) -> String {
    hosts.peer(part)["endpoint"].as_str().unwrap_or("").into()
}

fn wait_for(hosts: &Hosts, by_tls: bool) {
    let what = if by_tls { "goes by TLS" } else { "goes by UDP" };
    let is_so = |part| {
        let endpoint = endpoint(hosts, part);
        !endpoint.is_empty() && endpoint.starts_with("tls:") == by_tls
    };
    hosts.wait_until(what, || is_so("mobile") && is_so("gateway"));
}

#[test]
fn a_download_goes_on_by_tls_where_udp_is_blocked_and_returns_to_udp() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    for part in ["gateway", "mobile"] {
        hosts.configure_more(part, "[tun]", HOP);
    }
    let before = hosts.traces();
    let [gateway, mobile] = hosts.start_both();
    wait_for(&hosts, false);
    Download::during(&hosts, |download| {
        rule(&hosts.gateway, BLOCK);
        wait_for(&hosts, true);
        download.goes_on();
        let (code, page) = hosts.status_page(&["--name", "mobile", "--peer", "gateway"]);
        assert_eq!(code, Some(0), "{page}");
        assert!(page.contains("(udp-blocked)"), "{page}");
        rule(&hosts.gateway, UNBLOCK);
        wait_for(&hosts, false);
        download.goes_on();
    });
    let log = hosts.log("mobile");
    assert!(log.contains("no answer by UDP for"), "{log}");
    assert!(log.contains("UDP works again after"), "{log}");
    for daemon in [gateway, mobile] {
        assert!(daemon.terminate().success(), "{}", hosts.logs());
    }
    assert_eq!(hosts.traces(), before);
}

/// A hop that begins by TLS, with strangers at the port: they get a handshake of TLS and then nothing.
#[test]
fn a_hop_begins_by_tls_beside_strangers_who_get_no_answer() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    for part in ["gateway", "mobile"] {
        hosts.configure_more(part, "[tun]", HOP);
    }
    rule(&hosts.gateway, BLOCK);
    let daemons = hosts.start_both();
    wait_for(&hosts, true);
    let mut strangers: Vec<_> = (0..4)
        .map(|_| {
            let connected = hosts.mobile.run(|| TcpStream::connect((GATEWAY, 443)));
            connected.unwrap().unwrap()
        })
        .collect();
    for stranger in &mut strangers {
        stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    }
    fetch(&hosts, 300_000);
    for mut stranger in strangers {
        let mut answer = Vec::new();
        // An alert of TLS at most: it cannot be a record of data.
        let _ = stranger.read_to_end(&mut answer);
        assert!(answer.len() < 16, "{answer:?}");
    }
    for daemon in daemons {
        assert!(daemon.terminate().success(), "{}", hosts.logs());
    }
}

/// Two commands suffice where no UDP passes: the line has the port for TLS.
#[test]
fn a_line_joins_by_tls_where_udp_is_blocked() {
    if !able() {
        return;
    }
    let site = Site::create();
    let taken = || TcpListener::bind((Ipv6Addr::UNSPECIFIED, 443)).unwrap();
    let web_server = site.gateway.run(taken).unwrap();
    let up = site.run("gateway", &["gateway", "up"]);
    assert!(
        up.stderr.contains("TCP port 443 cannot be used") && up.stderr.contains("no port for TLS"),
        "{}",
        up.stderr
    );
    site.done("gateway", &["gateway", "down"]);
    drop(web_server);
    std::fs::remove_dir_all(site.state("gateway")).unwrap();
    rule(&site.gateway, BLOCK);
    let up = site.run("gateway", &["gateway", "up"]);
    assert!(up.stderr.contains("open TCP port 443"), "{}", up.stderr);
    site.done("mobile0", &["join", &line_of(&up.stdout)]);
    site.wait_for_trouble("mobile0", "udp-blocked");
    site.echo(0);
    let config = site.state("mobile0/mobile/mobile.toml");
    let ran = site.gateway.run(|| {
        let mut command = std::process::Command::new(crate::support::PROGRAM);
        command.arg("check").arg(&config).output().unwrap()
    });
    assert!(ran.unwrap().status.success());
    // The gateway goes away, and the next host learns what each of its ports does.
    site.done("gateway", &["gateway", "down"]);
    let line = line_of(&site.done("gateway", &["invite", "--name", "cam1"]));
    let text = site
        .run("mobile1", &["join", "--timeout", "2", &line])
        .stderr;
    assert!(text.contains("TCP port 443, for TLS, refuses"), "{text}");
}
