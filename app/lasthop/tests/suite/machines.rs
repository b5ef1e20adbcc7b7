//! A gateway that moves to another machine, and what goes on.

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;

use rig::Process;
use rig::site::{GATEWAYS, MOBILE};

use crate::follow::on_lan;
use crate::site::Hosts;
use crate::succession::exchange;
use crate::support::download::Download;
use crate::support::{FIXED_HOST, LONG, PROGRAM, able, connect, wait_until};

/// The gateway on either machine, by its configuration.
const MACHINES: [&str; 2] = [GATEWAYS[0], "spare"];

/// Returns the hosts, whose second gateway's machine can take the place of the first one, if the mobile host's TCP
/// crosses the hop in this way.
fn hosts(way: &str) -> Hosts {
    let hosts = on_lan(way);
    let folder = hosts.folder.path();
    let east = fs::read_to_string(folder.join("east.toml")).unwrap();
    let spare = east.replace("state_dir = \"east\"", "state_dir = \"spare\"");
    assert_ne!(spare, east);
    fs::write(folder.join("spare.toml"), spare).unwrap();
    let place = "endpoint = \"10.1.0.1:51830\"";
    let places = "endpoint = [\"10.1.0.1:51830\", \"10.1.1.1:51830\"]";
    hosts.replace(MOBILE, place, places);
    hosts
}

/// Starts the gateway on a machine, in place of the one on the other machine.
fn take_over(hosts: &Hosts, former: &Process, to: usize) -> Process {
    let config = hosts.folder.path().join(MACHINES[1 - to]);
    let command = format!(
        "nsenter --net=/proc/{}/ns/net {PROGRAM} gateway hand-over --config {}.toml",
        former.id(),
        config.display()
    );
    start(hosts, to, &["--take-over-with", &command])
}

fn start(hosts: &Hosts, on: usize, options: &[&str]) -> Process {
    let site = &hosts.site;
    let role = ["gateway", MACHINES[on]];
    site.start_on(&site.gateways[on], role, options).unwrap()
}

/// Returns what all daemons have logged.
fn logs(hosts: &Hosts) -> String {
    let spare = fs::read_to_string(hosts.folder.path().join("spare.log"));
    format!("{}spare:\n{}", hosts.site.logs(), spare.unwrap_or_default())
}

#[test]
fn split_connections_go_on_with_another_machine() {
    if !able() {
        return;
    }
    for transport in ["kernel-tcp", "mtcp", "mtcp-wide"] {
        let hosts = hosts(&format!(
            "tcp = \"split\"\nsplit_transport = \"{transport}\""
        ));
        let site = &hosts.site;
        let mut gateway = start(&hosts, 0, &[]);
        let _mobile = site.start(MOBILE).unwrap();
        let connected = || site.serving() == GATEWAYS[0];
        wait_until("it is connected", || logs(&hosts), connected);
        let idle = connect(&site.mobile, &site.fixed, FIXED_HOST).unwrap();
        let half = connect(&site.mobile, &site.fixed, FIXED_HOST).unwrap();
        half.0.shutdown(Shutdown::Write).unwrap();
        let ends = [&site.mobile, &site.fixed];
        Download::between(
            ends,
            || logs(&hosts),
            |download| {
                for to in [1, 0, 1] {
                    download.take_pause();
                    let next = take_over(&hosts, &gateway, to);
                    let mut former = std::mem::replace(&mut gateway, next);
                    assert!(former.wait().unwrap().success(), "{}", logs(&hosts));
                    download.goes_on();
                    println!("{transport}: a pause of {:?}", download.take_pause());
                }
            },
        );
        exchange(idle.0, idle.1, b"a question");
        let (mut asked, mut answers) = half;
        answers.set_read_timeout(Some(LONG)).unwrap();
        assert_eq!(answers.read(&mut [0]).unwrap(), 0);
        answers.write_all(b"late").unwrap();
        drop(answers);
        let mut late = String::new();
        asked.read_to_string(&mut late).unwrap();
        assert_eq!(late, "late");
    }
}
