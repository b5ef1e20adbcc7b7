//! `lasthop nfs` and a real server, across an emulated hop. Needs root (or `CAP_SYS_ADMIN` and `CAP_NET_ADMIN`),
//! `/dev/net/tun`, and nfs-ganesha.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use edges::namespace::Namespace;
use machine::RandomStream;
use tempfile::TempDir;

use crate::support::air::{Air, GATEWAY};
use crate::support::ganesha::{self, Ganesha};
use crate::support::{PROGRAM, able};

/// Dube et al. 1997, with fades of 80 ms.
const FADING: &str = r#"
[each]
rate = "20 Mbit/s"
delay = "2 ms"
queue = "100 packets"
[errors]
model = "temporal"
good = { distribution = "exponential", mean = "1 s" }
bad = { distribution = "exponential", mean = "80 ms" }
"#;

/// So long a test waits for what must come; it decides nothing but how long a failure takes.
const LONG: Duration = Duration::from_mins(2);

fn is_able() -> bool {
    let missing = ganesha::missing();
    if let Some(reason) = &missing {
        assert!(
            std::env::var_os("CI").is_none(),
            "under CI nothing is skipped: {reason}"
        );
        eprintln!("skipped: {reason}");
    }
    missing.is_none() && able()
}

fn content(length: usize, seed: u64) -> Vec<u8> {
    let mut random = RandomStream::named(seed, "content");
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend(random.next_u64().to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// A host that copies.
struct Client {
    namespace: Namespace,
    folder: TempDir,
}

impl Client {
    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(PROGRAM);
        command
            .args(["nfs", "--no-signals"])
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        self.namespace.spawn(command).unwrap()
    }

    #[track_caller]
    fn done(&self, arguments: &[&str]) {
        succeeded(&self.start(arguments).wait_with_output().unwrap());
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }
}

#[track_caller]
fn succeeded(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

fn is_same(one: &Path, other: &Path) -> bool {
    fs::read(one).unwrap() == fs::read(other).unwrap()
}

#[test]
fn files_cross_a_fading_hop_both_ways() {
    if !is_able() {
        return;
    }
    let [gateway, namespace] = std::array::from_fn(|_| Namespace::create().unwrap());
    let _air = Air::between([&gateway, &namespace], FADING, 1);
    let server = Ganesha::start(&gateway, GATEWAY);
    let folder = tempfile::tempdir().unwrap();
    let client = Client { namespace, folder };
    fs::write(client.path("large"), content(3_000_000, 1)).unwrap();
    fs::create_dir(client.path("tree")).unwrap();
    for number in 0..50 {
        let name = format!("tree/{number}");
        fs::write(client.path(&name), content(number * 400, number as u64)).unwrap();
    }
    for protocol in ["udp", "tcp"] {
        let option = format!("&proto={protocol}");
        let url = |name: &str| server.url(&format!("{protocol}{name}")) + &option;
        client.done(&["mkdir", &url("")]);
        client.done(&["cp", "--verify", "large", &url("/")]);
        client.done(&["cp", "-r", "tree", &url("/")]);
        client.done(&["cp", &url("/large"), &format!("{protocol}-large")]);
        client.done(&["cp", "-r", &url("/tree"), &format!("{protocol}-tree")]);
        let export = server.export().join(protocol);
        assert!(is_same(&client.path("large"), &export.join("large")));
        assert!(is_same(
            &client.path("large"),
            &client.path(&format!("{protocol}-large"))
        ));
        for number in 0..50 {
            let name = format!("{protocol}-tree/{number}");
            let source = client.path(&format!("tree/{number}"));
            assert!(is_same(&source, &client.path(&name)), "{name}");
        }
        client.done(&["rm", "-r", &url("")]);
        assert_eq!(fs::read_dir(server.export()).unwrap().count(), 0);
    }
}

#[test]
fn a_server_that_is_killed_again_and_again_while_it_is_written_to() {
    if !is_able() {
        return;
    }
    let namespace = Namespace::create().unwrap();
    let mut server = Ganesha::start(&namespace, "127.0.0.1");
    let folder = tempfile::tempdir().unwrap();
    let client = Client { namespace, folder };
    let size = 120_000_000;
    fs::write(client.path("large"), content(size, 2)).unwrap();
    for protocol in ["udp", "tcp"] {
        let url = server.url(protocol) + "&proto=" + protocol;
        let mut child = client.start(&["cp", "large", &url]);
        let part = server.export().join(format!(".{protocol}.lasthop-part"));
        for kill in 1..=4 {
            let begun = Instant::now();
            let wanted = kill * (size as u64) / 6;
            while part.metadata().map_or(0, |part| part.len()) < wanted
                && child.try_wait().unwrap().is_none()
            {
                assert!(begun.elapsed() < LONG, "the file does not grow");
                std::thread::sleep(Duration::from_millis(2));
            }
            server.kill();
            server.run();
        }
        succeeded(&child.wait_with_output().unwrap());
        assert!(
            is_same(&client.path("large"), &server.export().join(protocol)),
            "{protocol}"
        );
    }
}
