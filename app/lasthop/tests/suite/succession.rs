//! A gateway whose process is replaced by another one, and what goes on.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use crate::support::download::Download;
use crate::support::{FIXED_HOST, Hosts, LONG, LOSSY_LINK, able, connect};

/// How TCP crosses the hop, and whether the gateway translates addresses.
const WAYS: [(&str, bool); 5] = [
    ("tcp = \"split\"\nsplit_transport = \"kernel-tcp\"", true),
    ("tcp = \"split\"\nsplit_transport = \"mtcp\"", false),
    ("tcp = \"split\"\nsplit_transport = \"mtcp-wide\"", true),
    ("tcp = \"arq\"", true),
    ("tcp = \"arq\"", false),
];

/// The hosts, with these lines for the mobile host in the gateway's configuration.
fn hosts(lines: &str, nat: bool) -> Hosts {
    let hosts = Hosts::over_air(LOSSY_LINK);
    hosts.configure_more("gateway", "public_key", lines);
    if !nat {
        hosts.without_nat();
    }
    hosts
}

/// Sends `question`, and its end, and expects the same as the answer.
fn exchange(mut asks: TcpStream, mut answers: TcpStream, question: &'static [u8]) {
    for end in [&asks, &answers] {
        end.set_read_timeout(Some(LONG)).unwrap();
    }
    asks.write_all(question).unwrap();
    asks.shutdown(Shutdown::Write).unwrap();
    let mut heard = Vec::new();
    answers.read_to_end(&mut heard).unwrap();
    answers.write_all(&heard).unwrap();
    drop(answers);
    let mut answer = Vec::new();
    asks.read_to_end(&mut answer).unwrap();
    assert!(answer == question);
}

#[test]
fn connections_go_on_with_the_next_process() {
    if !able() {
        return;
    }
    for (lines, nat) in WAYS {
        let hosts = hosts(lines, nat);
        let [mut gateway, mobile] = hosts.start_both();
        let is_split = !lines.contains("arq");
        hosts.wait_until("the ends agree", || {
            (!is_split || hosts.peer("gateway")["hop"]["tcp"]["method"] == "plain")
                && (!lines.contains("mtcp") || !hosts.peer("mobile")["hop"]["streams"].is_null())
        });
        let idle = connect(&hosts.mobile, &hosts.fixed, FIXED_HOST).unwrap();
        let half = connect(&hosts.mobile, &hosts.fixed, FIXED_HOST).unwrap();
        half.0.shutdown(Shutdown::Write).unwrap();
        Download::during(&hosts, |download| {
            for _ in 0..3 {
                download.take_pause();
                hosts.succeed(&mut gateway);
                download.goes_on();
                println!("{lines}: a pause of {:?}", download.take_pause());
            }
        });
        exchange(idle.0, idle.1, b"a question");
        let (mut asked, mut answers) = half;
        answers.set_read_timeout(Some(LONG)).unwrap();
        assert_eq!(answers.read(&mut [0]).unwrap(), 0);
        answers.write_all(b"late").unwrap();
        drop(answers);
        let mut late = String::new();
        asked.read_to_string(&mut late).unwrap();
        assert_eq!(late, "late");
        hosts.wait_until("all have ended", || {
            !is_split || hosts.status("gateway")["split"]["open"] == 0
        });
        assert!(gateway.terminate().success(), "{}", hosts.logs());
        drop(mobile);
    }
}

/// Where nothing runs, there is nothing to take over; and what a former process cannot give ends.
#[test]
fn who_takes_over_nothing_starts_as_ever() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let before = hosts.traces();
    let mut gateway = hosts.start_until_ready("gateway");
    hosts.succeed(&mut gateway);
    let mobile = hosts.start("mobile");
    hosts.wait_until_connected();
    mobile.terminate();
    assert!(gateway.terminate().success(), "{}", hosts.logs());
    assert_eq!(hosts.traces(), before);
}
