//! Keys and clocks in two places.

use std::fs;
use std::io::{Read, Write};
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use edges::namespace::Namespace;
use edges::netlink::{Netlink, Route};
use rig::{End, Process, RawMobile};

use super::{GATEWAY, copied_identity};
use crate::support::{Daemon, FIXED_HOST, Hosts, PROGRAM, able, connect, content, fetch_from};

/// Part of the message about a key in use by two hosts, and about a refused time stamp.
const SHARED: &str = "another host uses its key";
const REFUSED: &str = "a handshake was refused, as its time stamp is";
const CHUNK: usize = 5_000;
const CHUNKS: usize = 60;

fn both_say(hosts: &Hosts, text: &str) {
    hosts.wait_until("both ends say it", || {
        ["gateway", "mobile"].map(|part| hosts.log(part).contains(text)) == [true; 2]
    });
}

/// A host with a copy of the key takes the hop for two seconds. The transfer of the first one goes on.
#[test]
fn a_second_host_with_one_key_stops_no_connection() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let _daemons = hosts.start_both();
    let (mut client, mut server) = connect(&hosts.mobile, &hosts.fixed, FIXED_HOST).unwrap();
    let all = content(CHUNK * CHUNKS, 1);
    let sent = all.clone();
    let sending = thread::spawn(move || {
        for chunk in sent.chunks(CHUNK) {
            server.write_all(chunk).unwrap();
            thread::sleep(Duration::from_millis(50));
        }
    });
    let mut received = vec![0; CHUNK];
    client.read_exact(&mut received).unwrap();
    let gateway = GATEWAY.parse().unwrap();
    let mut copy = RawMobile::connect(&hosts.mobile, gateway, copied_identity(&hosts)).unwrap();
    copy.rest(Duration::from_secs(2));
    drop(copy);
    client.read_to_end(&mut received).unwrap();
    assert!(received == all, "{} of {}", received.len(), all.len());
    sending.join().unwrap();
    both_say(&hosts, SHARED);
}

/// The wall clock of a mobile host was an hour ahead, and then right again.
#[test]
fn a_clock_that_was_ahead_locks_nobody_out() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let _gateway = hosts.start("gateway");
    let mut identity = copied_identity(&hosts);
    identity.clock_ahead = Duration::from_hours(1);
    RawMobile::connect(&hosts.mobile, GATEWAY.parse().unwrap(), identity).unwrap();
    let _mobile = hosts.start("mobile");
    hosts.wait_until_connected();
    both_say(&hosts, REFUSED);
}

/// Starts a second gateway with the first one's key, at the same address on another link.
fn standby(hosts: &Hosts) -> (Namespace, Daemon) {
    let host = Namespace::create().unwrap();
    rig::join([
        End::new(&hosts.mobile, "air2", "10.1.0.3/24"),
        End::new(&host, "air2", "10.1.0.1/24"),
    ])
    .unwrap();
    let folder = hosts.folder.path();
    let text = fs::read_to_string(folder.join("gateway.toml")).unwrap();
    let other = text.replace("/state\"", "/standby\"");
    assert_ne!(other, text);
    fs::write(folder.join("standby.toml"), other).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["gateway", "--config", "standby.toml"]);
    command.current_dir(folder);
    let daemon = Process::start(command, "standby", folder, Some(&host)).unwrap();
    let state = folder.join("standby");
    hosts.wait_until("the standby runs", || {
        rig::daemons::status(Path::new(PROGRAM), "gateway", &state).is_some()
    });
    (host, Daemon(daemon))
}

/// An active gateway and a standby with one key: traffic moves to the standby, and back.
#[test]
fn a_mobile_host_returns_from_a_standby_gateway() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let _daemons = hosts.start_both();
    let (other, _standby) = standby(&hosts);
    let inside: IpAddr = "10.73.0.1".parse().unwrap();
    let detour = Route::to("10.1.0.1/32".parse().unwrap()).through("air2");
    fetch_from(&hosts, (&hosts.gateway, inside), 100_000);
    // The active gateway is cut off, and its address leads to the standby.
    let cut = || Netlink::open().unwrap().set_down("air").unwrap();
    hosts.gateway.run(cut).unwrap();
    let lead = || Netlink::open().unwrap().add_route(&detour).unwrap();
    hosts.mobile.run(lead).unwrap();
    fetch_from(&hosts, (&other, inside), 100_000);
    // Then the standby is.
    let cut = || Netlink::open().unwrap().set_down("air2").unwrap();
    other.run(cut).unwrap();
    let lead_back = || Netlink::open().unwrap().remove_route(&detour).unwrap();
    hosts.mobile.run(lead_back).unwrap();
    let join = || Netlink::open().unwrap().set_up("air").unwrap();
    hosts.gateway.run(join).unwrap();
    fetch_from(&hosts, (&hosts.gateway, inside), 100_000);
    both_say(&hosts, SHARED);
}
