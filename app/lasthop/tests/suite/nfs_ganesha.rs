//! `lasthop nfs` and a real server, across an emulated hop.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use edges::namespace::Namespace;
use rig::needs::can_test;
use rig::{Directories, Ganesha};
use tempfile::TempDir;

use crate::support::air::{Air, GATEWAY};
use crate::support::turn::Turn;
use crate::support::{PROGRAM, able, content, wait_until};

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

fn is_able() -> bool {
    can_test(Ganesha::missing()) && able()
}

/// A host that copies.
struct Client {
    namespace: Namespace,
    folder: TempDir,
}

impl Client {
    fn new(namespace: Namespace) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { namespace, folder }
    }

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

/// Files, and a folder of some, to a server across a fading hop, and back.
fn both_ways(client: &Client, server: &Ganesha, protocol: &str) {
    fs::write(client.path("large"), content(3_000_000, 1)).unwrap();
    fs::create_dir(client.path("tree")).unwrap();
    for number in 0..50 {
        let name = format!("tree/{number}");
        fs::write(client.path(&name), content(number * 400, number as u64)).unwrap();
    }
    let url = |name: &str| format!("{}&proto={protocol}", server.url(&format!("there{name}")));
    client.done(&["mkdir", &url("")]);
    client.done(&["cp", "--verify", "large", &url("/")]);
    client.done(&["cp", "-r", "tree", &url("/")]);
    client.done(&["cp", &url("/large"), "large-back"]);
    client.done(&["cp", "-r", &url("/tree"), "tree-back"]);
    let export = server.export().join("there");
    assert!(is_same(&client.path("large"), &export.join("large")));
    assert!(is_same(&client.path("large"), &client.path("large-back")));
    for number in 0..50 {
        let [source, back] = ["tree", "tree-back"].map(|tree| format!("{tree}/{number}"));
        assert!(
            is_same(&client.path(&source), &client.path(&back)),
            "{back}"
        );
    }
    client.done(&["rm", "-r", &url("")]);
    assert_eq!(fs::read_dir(server.export()).unwrap().count(), 0);
}

#[test]
fn files_cross_a_fading_hop_both_ways() {
    if !is_able() {
        return;
    }
    let _turn = Turn::take();
    let hops = ["udp", "tcp"].map(|protocol| {
        let [gateway, namespace] = rig::hosts().unwrap();
        let air = Air::between([&gateway, &namespace], FADING, 1);
        let client = Client::new(namespace);
        let (folder, listing) = (client.folder.path(), Directories::Read);
        let server = Ganesha::start(&gateway, GATEWAY, folder, listing).unwrap();
        (protocol, air, client, server)
    });
    std::thread::scope(|scope| {
        for (protocol, _, client, server) in &hops {
            scope.spawn(|| both_ways(client, server, protocol));
        }
    });
}

#[test]
fn a_server_that_is_killed_again_and_again_while_it_is_written_to() {
    if !is_able() {
        return;
    }
    let _turn = Turn::take();
    let [namespace] = rig::hosts().unwrap();
    let client = Client::new(namespace);
    let (folder, listing) = (client.folder.path(), Directories::Read);
    let mut server = Ganesha::start(&client.namespace, "127.0.0.1", folder, listing).unwrap();
    let size = 120_000_000;
    fs::write(client.path("large"), content(size, 2)).unwrap();
    for protocol in ["udp", "tcp"] {
        let url = server.url(protocol) + "&proto=" + protocol;
        let mut child = client.start(&["cp", "large", &url]);
        let part = server.export().join(format!(".{protocol}.lasthop-part"));
        for kill in 1..=4 {
            let wanted = kill * (size as u64) / 6;
            wait_until("the file grows", String::new, || {
                part.metadata().map_or(0, |part| part.len()) >= wanted
                    || child.try_wait().unwrap().is_some()
            });
            server.kill();
            server.revive(listing).unwrap();
        }
        succeeded(&child.wait_with_output().unwrap());
        assert!(
            is_same(&client.path("large"), &server.export().join(protocol)),
            "{protocol}"
        );
    }
}
