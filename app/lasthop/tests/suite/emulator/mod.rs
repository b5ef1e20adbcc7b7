//! `lasthop emulate` as a process between real network namespaces.

mod accuracy;
mod rig;

use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use rig::Rig;
use serde_json::Value;

const LOSSY: &str = r#"
[each]
rate = "50 Mbit/s"
delay = "2 ms"
queue = "40 packets"
[errors]
model = "independent"
p = "10 %"
"#;

/// Two mobile hosts on one air.
const TWO: &[&str] = &[
    "--link",
    "l1-clean",
    "--right",
    "a,10.0.0.2/24",
    "--right",
    "b,10.0.0.3/24",
];

/// What a datagram has around its payload on the wire: Ethernet, IPv4 and UDP headers.
pub(crate) const HEADERS: u64 = 14 + 20 + 8;

/// The numbers in the datagrams that wait at `socket`, until none comes for a while.
fn numbers(socket: &UdpSocket) -> Vec<u32> {
    socket
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    let mut buffer = [0; 2048];
    let mut numbers = Vec::new();
    while socket.recv(&mut buffer).is_ok() {
        numbers.push(u32::from_be_bytes(*buffer.first_chunk().unwrap()));
    }
    numbers
}

fn packets(report: &Value, direction: &str, what: &str) -> u64 {
    report[direction][what]["packets"].as_u64().unwrap()
}

#[test]
fn packets_are_conserved_in_order_and_counted() {
    let Some(mut rig) = Rig::start(LOSSY, 5) else {
        return;
    };
    let (gateway, mobile) = rig.sockets();
    let count = 2000_u32;
    // Both ends read while the other sends: a socket's own buffer must not lose anything.
    let (down, up) = thread::scope(|scope| {
        let down = scope.spawn(|| numbers(&mobile));
        let up = scope.spawn(|| numbers(&gateway));
        for number in 0..count {
            let mut payload = [0; 200];
            payload[..4].copy_from_slice(&number.to_be_bytes());
            gateway.send(&payload).unwrap();
            if number % 4 == 0 {
                mobile.send(&payload).unwrap();
            }
            // A busy machine reads late, and what is beyond the buffer of its socket never comes to the emulator.
            if number % 50 == 0 {
                thread::sleep(Duration::from_millis(2));
            }
        }
        (down.join().unwrap(), up.join().unwrap())
    });
    let report = rig.air.report();
    assert_eq!(report["ended"], false);
    for (direction, arrived, sent) in [("down", down, count), ("up", up, count / 4)] {
        assert!(
            arrived.is_sorted_by(|a, b| a < b),
            "{direction}: {arrived:?}"
        );
        let of = |what| packets(&report, direction, what);
        assert_eq!(of("offered"), u64::from(sent));
        assert_eq!(of("delivered"), arrived.len() as u64);
        assert_eq!(
            of("offered"),
            of("delivered") + of("dropped_queue") + of("dropped_air")
        );
        assert_eq!(
            report[direction]["offered"]["bytes"],
            u64::from(sent) * (200 + HEADERS)
        );
        assert_eq!(report[direction]["refused_packets"], 0);
        assert!(of("dropped_air") > 0);
    }
    let last = rig.air.end();
    assert_eq!(
        (&last["ended"], &last["down"]["offered"]),
        (&true.into(), &report["down"]["offered"])
    );
}

/// Checks that `lasthop emulate` refuses these arguments with these words.
fn refuse(arguments: &[&str], words: &str) {
    let program = crate::support::PROGRAM;
    let output = std::process::Command::new(program)
        .arg("emulate")
        .args(arguments)
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains(words), "{error}");
}

#[test]
fn faults_that_make_no_sense_are_refused_with_exit_code_2() {
    for (arguments, words) in [
        (
            &["--link", "l1-clean", "--jitter", "much"][..],
            "exponential:5 ms",
        ),
        (&["--link", "l1-clean", "--jitter", "90 s"][..], "60 s"),
        (&["--link", "l1-clean", "--keep-order"], "--jitter"),
        (&["--link", "l1-clean", "--reorder", "1 %"], "1 %:10 ms"),
        (
            &["--link", "l1-clean", "--reorder", "1 %:0 s"],
            "reordering.hold",
        ),
        (&["--link", "l1-clean", "--duplicate", "110 %"], "110 %"),
        (&["--link", "l1-clean", "--corrupt", "a bit"], "a bit"),
        (&[TWO, &["--duplicate", "1 %"]].concat(), "down.faults"),
    ] {
        refuse(arguments, words);
    }
}

#[test]
fn what_cannot_be_emulated_is_refused_with_exit_code_2() {
    for (arguments, words) in [
        (&["--link", "no-such-link"][..], "l2-b40"),
        (&["--link", "./missing.toml"], "missing.toml"),
        (
            &[
                "--link",
                "l1-clean",
                "--left",
                "netns:no-such-namespace,air",
            ],
            "no-such-namespace",
        ),
        (&["--link", "l1-clean", "--left", "a,b"], "netns:mobile"),
        (&["--link", "l1-clean", "--right", "stdout"], "--json"),
        (&["--link", "l1-clean", "--errors", "1=l2-b80"], "--link"),
        (&["--link", "l1-clean", "--errors", "l2-b80"], "8=l2-b80"),
        (
            &[
                "--link",
                "l1-clean",
                "--right",
                "a,10.0.0.2/24",
                "--right",
                "b",
            ],
            "right side 2 has no address",
        ),
        (
            &[
                "--link",
                "l1-clean",
                "--right",
                "a,10.0.0.2/24",
                "--right",
                "b,10.0.0.2/16",
            ],
            "sides 1 and 2 both have the address 10.0.0.2",
        ),
        (&[TWO, &["--errors", "3=l2-b80"]].concat(), "there are 2"),
        (&[TWO, &["--errors", "2=nothing"]].concat(), "l2-b40"),
        (
            &[TWO, &["--errors", "1=l1-b40", "--errors", "1=l1-b80"]].concat(),
            "twice for right side 1",
        ),
        (&[TWO, &["--signals", "a.signals"]].concat(), "--signals"),
    ] {
        refuse(arguments, words);
    }
}
