//! What programs hear of fades and hand-offs: from real daemons across an emulated hop, and from the emulator.

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use edges::namespace::Namespace;
use edges::netlink::Netlink;
use serde_json::Value;

use crate::support::turn::Turn;
use crate::support::{FIXED_HOST, Hosts, LONG, PROGRAM, able};

/// Two seconds of good air, then 300 ms of bad.
const FADING: &str = r#"
medium = "half-duplex"
[each]
rate = "2 Mbit/s"
delay = "5 ms"
queue = "50 packets"
[errors]
model = "temporal"
good = { distribution = "deterministic", mean = "2 s" }
bad = { distribution = "deterministic", mean = "300 ms" }
"#;

/// Lines from a socket of signals, as any program would read them.
struct Ear(Lines<BufReader<UnixStream>>);

impl Ear {
    fn at(path: &Path) -> Self {
        // The file is there a moment before its socket listens.
        let listens = || UnixStream::connect(path).is_ok();
        rig::wait("the socket listens", LONG, listens).unwrap();
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let mut ear = Self(BufReader::new(stream).lines());
        let greeting = ear.next();
        assert_eq!(
            (&greeting["event"], &greeting["version"]),
            (&"signals".into(), &1.into())
        );
        ear
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.0.next().unwrap().unwrap()).unwrap()
    }

    /// The next signal of that name; what comes before it.
    fn until(&mut self, event: &str) -> (Value, Vec<Value>) {
        let mut before = Vec::new();
        loop {
            let signal = self.next();
            if signal["event"] == event {
                return (signal, before);
            }
            before.push(signal);
        }
    }
}

fn micros(signal: &Value, key: &str) -> u64 {
    signal[key]
        .as_u64()
        .unwrap_or_else(|| panic!("no {key} in {signal}"))
}

/// Keeps the hop busy while `test` runs.
fn with_traffic(hosts: &Hosts, test: impl FnOnce()) {
    let socket = hosts
        .mobile
        .run(|| UdpSocket::bind("0.0.0.0:0").unwrap())
        .unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // Whether anybody takes it does not matter: the hop acknowledges it.
                let _ = socket.send_to(&[7; 100], (FIXED_HOST, 9));
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test));
        done.store(true, Ordering::Relaxed);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn daemons_tell_of_fades_handoffs_and_their_end() {
    if !able() {
        return;
    }
    let hosts = Hosts::over_air(FADING);
    let state = hosts.folder.path().join("state");
    let (gateway, mobile) = (hosts.start("gateway"), hosts.start("mobile"));
    hosts.wait_until("the mobile's socket stands", || {
        state.join("mobile.signals").exists()
    });
    let mut ear = Ear::at(&state.join("mobile.signals"));
    let first = ear.next();
    assert_eq!(
        (&first["peer"], &first["past"]),
        (&"gateway".into(), &true.into())
    );
    hosts.wait_until_connected();
    assert_eq!(mode(&state), 0o755);
    assert_eq!(mode(&state.join("mobile.signals")), 0o666);
    assert_eq!(
        mode(&state.join("gateway.signals")),
        0o600,
        "who is in reach is not for all"
    );
    assert_eq!(mode(&state.join("mobile.sock")), 0o600);

    with_traffic(&hosts, || {
        for _ in 0..2 {
            let (fade, _) = ear.until("fade");
            let restored = ear.next();
            assert_eq!(restored["event"], "restored", "{fade} {restored}");
            assert!(micros(&restored, "at_us") > micros(&fade, "at_us"));
            let short = micros(&restored, "lasted_us") <= 1_000_000;
            assert_eq!(restored["kept"], short, "{restored}");
            assert_eq!(restored["held"], true, "{restored}");
        }
        let mut of_gateway = Ear::at(&state.join("gateway.signals"));
        assert_eq!(of_gateway.next()["peer"], "tablet7");

        let address = "192.0.2.77/32".parse().unwrap();
        hosts
            .mobile
            .run(|| Netlink::open().unwrap().add_address("lo", address).unwrap())
            .unwrap();
        ear.until("handoff_impending");
        let (_, before) = ear.until("restored");
        assert!(
            before.iter().all(|signal| signal["event"] == "fade"),
            "{before:?}"
        );
    });
    assert_eq!(mobile.terminate().code(), Some(0));
    assert!(!state.join("mobile.signals").exists());
    drop(gateway);
}

/// What `lasthop signals` prints of an emulator with scripted outages that tells them 200 ms ahead, and time zero of
/// its link in microseconds.
fn scripted_outages(namespace: &Namespace) -> (String, u64) {
    let _turn = Turn::take();
    let folder = tempfile::tempdir().unwrap();
    let link = FADING.split("[errors]").next().unwrap().to_owned()
        + "[errors]\nmodel = \"replay\"\nfile = \"outages\"\n";
    let script = "2 s bad\n2.2 s good\n2.3 s bad\n2.5 s good";
    fs::write(folder.path().join("link.toml"), link).unwrap();
    fs::write(folder.path().join("outages"), script).unwrap();
    let mut command = Command::new(PROGRAM);
    command
        .args(["emulate", "--link", "./link.toml", "--json", "report"])
        .args(["--signals", "air.signals", "--announce", "200 ms"])
        .args(["--duration", "3 s"])
        .current_dir(folder.path())
        .stdin(Stdio::null());
    let mut emulator = namespace.spawn(command).unwrap();
    let socket = folder.path().join("air.signals");
    while !socket.exists() {
        std::thread::sleep(Duration::from_millis(5));
        assert!(emulator.try_wait().unwrap().is_none());
    }
    let mut listener = Command::new(PROGRAM);
    listener
        .args(["signals", "--json", "--socket"])
        .arg(&socket);
    let heard = listener.output().unwrap();
    assert_eq!(heard.status.code(), Some(1), "the emulator has ended");
    assert!(emulator.wait().unwrap().success());
    assert!(!socket.exists());
    let report = fs::read(folder.path().join("report")).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    let text = String::from_utf8(heard.stdout).unwrap();
    (text, report["origin_ns"].as_u64().unwrap() / 1_000)
}

/// Times are those of the script, however late the machine is.
#[test]
fn the_emulator_tells_of_outages_ahead() {
    if !able() {
        return;
    }
    let (text, origin) = scripted_outages(&Namespace::create().unwrap());
    let signals: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<_> = signals
        .iter()
        .map(|signal| {
            // Whole microseconds, rounded in two places.
            let millis = (micros(signal, "at_us") + 500 - origin) / 1_000;
            (millis, signal["event"].as_str().unwrap())
        })
        .collect();
    let expected = [
        (0, "restored"),
        (1_800, "handoff_impending"),
        (2_000, "fade"),
        (2_200, "restored"),
        (2_200, "handoff_impending"),
        (2_300, "fade"),
        (2_500, "restored"),
    ];
    // Whoever comes late hears the rest.
    let first = expected.iter().position(|event| *event == told[0]);
    assert_eq!(told, expected[first.unwrap()..]);
    let spans = ["in_us", "lasted_us"].map(|key| {
        let spans = signals
            .iter()
            .rev()
            .filter_map(|signal| signal[key].as_u64());
        spans.collect::<Vec<_>>()
    });
    assert!(
        [100_000, 200_000].starts_with(&spans[0][..spans[0].len().min(2)]),
        "{text}"
    );
    assert!([200_000, 200_000, 0].starts_with(&spans[1]), "{text}");
    assert_eq!(signals.last().unwrap()["kept"], false);
}

#[test]
fn nobody_to_hear_is_an_error_of_the_setting() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(folder.path());
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let here = ["signals", "--state-dir", "."];
    let (code, said) = run(&here);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("no daemon runs here"), "{said}");
    let (code, said) = run(&[&here[..], &["--name", "mobile"]].concat());
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("mobile.signals"), "{said}");
    let (code, said) = run(&["emulate", "--link", "l1-clean", "--announce", "1 s"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--signals"), "{said}");
    // Whoever answers there is no daemon.
    let path = folder.path().join("other.signals");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        std::io::Write::write_all(&mut stream, b"220 mail\r\n").unwrap();
    });
    let (code, said) = run(&here);
    answering.join().unwrap();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("does not speak of a hop"), "{said}");
}
