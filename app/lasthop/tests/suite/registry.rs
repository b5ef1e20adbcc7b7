//! A gateway whose list of hosts is in etcd.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rig::{Account, Etcd};

use crate::join::{FIXED, Site};
use crate::support::{PROGRAM, able, wait_until};

/// The gateway's account in etcd.
const ACCOUNT: Account = Account {
    user: "east",
    password: "a word",
    prefix: "/lasthop/east/",
};

/// A gateway and its registry.
struct Registered {
    site: Site,
    etcd: Etcd,
    /// Line for its first mobile host.
    line: String,
    folder: tempfile::TempDir,
}

impl Registered {
    /// Starts a gateway, and has its list kept by some members of etcd on the fixed host from then on.
    fn create(members: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let site = Site::create();
        let address = FIXED.to_string();
        let etcd = Etcd::start(&site.fixed, &address, folder.path(), members, &ACCOUNT).unwrap();
        let line = site.up();
        let registered = Self {
            site,
            etcd,
            line,
            folder,
        };
        registered.configure(ACCOUNT.password);
        registered.restart();
        registered
    }

    fn of_gateway(&self, name: &str) -> PathBuf {
        self.site.state("gateway/gateway").join(name)
    }

    fn configure(&self, password: &'static str) {
        let account = Account {
            password,
            ..ACCOUNT
        };
        let path = self.of_gateway("gateway.toml");
        self.etcd.register(&path, &account).unwrap();
    }

    fn restart(&self) {
        self.site.done("gateway", &["gateway", "down"]);
        self.site.done("gateway", &["gateway", "up"]);
    }

    /// Returns the text of an entry of the registry.
    fn entry(&self, key: &str) -> String {
        let key = format!("{}hosts/{key}", ACCOUNT.prefix);
        let arguments = ["get", "--print-value-only", &key];
        self.etcd.control(&arguments).unwrap()
    }

    fn put(&self, key: &str, text: &str) {
        let key = format!("{}hosts/{key}", ACCOUNT.prefix);
        self.etcd.control(&["put", &key, text]).unwrap();
    }

    /// Has etcd forget what was before its last change.
    fn compact(&self) {
        let key = format!("{}owner", ACCOUNT.prefix);
        let fields = self.etcd.control(&["get", &key, "--write-out", "fields"]);
        let fields = fields.unwrap();
        let mut lines = fields.lines();
        let revision = lines.find_map(|line| line.strip_prefix("\"Revision\" : "));
        self.etcd.control(&["compact", revision.unwrap()]).unwrap();
    }

    fn log(&self) -> String {
        fs::read_to_string(self.of_gateway("gateway.log")).unwrap_or_default()
    }

    fn wait_for_words(&self, words: &str) {
        wait_until(words, || self.log(), || self.log().contains(words));
    }
}

fn can_test() -> bool {
    able() && rig::needs::can_test(Etcd::missing())
}

#[test]
fn a_gateway_keeps_its_list_in_etcd() {
    if !can_test() {
        return;
    }
    let mut east = Registered::create(3);
    // What was there before is in the registry now, and so is a key that is claimed.
    assert!(east.entry("peers/mobile1").contains("[invitation]"));
    east.site.done("mobile0", &["join", &east.line]);
    assert!(east.entry("peers/mobile1").starts_with('#'));
    assert!(!east.entry("peers/mobile1").contains("[invitation]"));
    // One member is not missed.
    east.etcd.kill(0);
    let line = east.site.invite("cam1");
    east.site.done("gateway", &["rename", "cam1", "cam2"]);
    assert!(east.entry("peers/cam2").contains("[invitation]"));
    // Without a majority nobody is invited, and nobody notices anything else.
    east.etcd.kill(1);
    let refused = east
        .site
        .refused("gateway", 2, &["invite", "--name", "cam3"]);
    assert!(
        refused.contains("the registry does not answer"),
        "{refused}"
    );
    let listed = east.site.run("gateway", &["peers"]);
    assert!(
        listed.stderr.contains("the gateway's copy"),
        "{}",
        listed.stderr
    );
    assert!(listed.stdout.contains("mobile1"), "{}", listed.stdout);
    east.wait_for_words("does not answer");
    east.restart();
    east.site.wait_for_state("mobile1", "connected");
    east.site.echo(0);
    // All is caught up when it is back, what others have changed meanwhile too.
    east.etcd.revive(1).unwrap();
    east.wait_for_words("answers again");
    east.site.done("mobile1", &["join", &line]);
    east.site.echo(1);
    let prefix = ACCOUNT.prefix;
    east.etcd
        .control(&["del", &format!("{prefix}hosts/peers/cam2")])
        .unwrap();
    east.site.wait_for_trouble("mobile1", "revoked");
    assert_eq!(east.site.state_of("cam2"), "none");
    east.site.echo(0);
}

#[test]
fn a_machine_that_is_lost_gets_its_list_from_etcd_and_nonsense_in_it_harms_nobody() {
    if !can_test() {
        return;
    }
    let east = Registered::create(1);
    east.site.done("mobile0", &["join", &east.line]);
    east.site.done("gateway", &["gateway", "down"]);
    for folder in ["peers", "gateways"] {
        fs::remove_dir_all(east.of_gateway(folder)).unwrap();
    }
    east.put("peers/rubbish", "name = ");
    east.put("peers/thief", &east.entry("peers/mobile1"));
    east.put("peers/..%2f", "");
    east.put("nothing", "");
    east.site.done("gateway", &["gateway", "up"]);
    east.site.wait_for_state("mobile1", "connected");
    east.site.echo(0);
    for name in ["rubbish", "thief"] {
        assert_eq!(east.site.state_of(name), "none");
        east.wait_for_words(&format!("peers/{name}.toml"));
    }
    // A host that the operator adds in the registry is taken while the gateway runs.
    let line = east.site.invite("cam1");
    let cam = east.entry("peers/cam1");
    east.site.done("gateway", &["revoke", "cam1"]);
    east.put("peers/cam9", &cam);
    east.wait_for_words("cam9 (invited): may connect");
    east.site.done("mobile1", &["join", &line]);
    east.site.echo(1);
}

#[test]
fn an_etcd_that_begins_anew_revokes_nobody() {
    if !can_test() {
        return;
    }
    let mut east = Registered::create(1);
    east.site.done("mobile0", &["join", &east.line]);
    east.site.invite("cam1");
    let stale = east.entry("peers/cam1");
    east.site.done("gateway", &["revoke", "cam1"]);
    let address = FIXED.to_string();
    east.etcd.kill(0);
    let folder = tempfile::tempdir().unwrap();
    east.etcd = Etcd::start(&east.site.fixed, &address, folder.path(), 1, &ACCOUNT).unwrap();
    // It has an entry of an earlier day, and more changes than the former one.
    for _ in 0..100 {
        east.put("peers/cam1", &stale);
    }
    east.configure(ACCOUNT.password);
    let invited = east.site.invite("cam2");
    assert!(east.entry("peers/mobile1").contains("public_key"));
    assert_eq!(east.entry("peers/cam1"), "");
    assert_eq!(east.site.state_of("cam1"), "none");
    east.site.wait_for_state("mobile1", "connected");
    // The running gateway knew the former authority only.
    east.restart();
    east.site.done("mobile1", &["join", &invited]);
    assert!(east.entry("peers/cam2").contains("public_key"));
}

/// Runs `cp`.
fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-r").args([from, to]).status();
    assert!(copied.unwrap().success());
}

/// It is restored from a backup, has more changes by now than it had, and remembers no older ones. The gateway
/// remembers no key that it has revoked, as if its machine had taken the place of another one.
#[test]
fn an_etcd_of_an_earlier_day_brings_nobody_back_and_loses_nobody() {
    if !can_test() {
        return;
    }
    let mut east = Registered::create(1);
    east.site.done("mobile0", &["join", &east.line]);
    east.site.invite("cam1");
    let [data, backup] = ["member0", "backup"].map(|name| east.folder.path().join(name));
    east.etcd.kill(0);
    copy(&data, &backup);
    east.etcd.revive(0).unwrap();
    assert!(east.entry("peers/cam1").contains("[invitation]"));
    east.site.done("gateway", &["revoke", "cam1"]);
    let line = east.site.invite("cam2");
    east.site.done("gateway", &["gateway", "down"]);
    fs::remove_file(east.of_gateway("peers/former-keys")).unwrap();
    east.etcd.kill(0);
    fs::remove_dir_all(&data).unwrap();
    copy(&backup, &data);
    east.etcd.revive(0).unwrap();
    assert_eq!(east.entry("peers/cam2"), "");
    for _ in 0..100 {
        let key = format!("{}other", ACCOUNT.prefix);
        east.etcd.control(&["put", &key, ""]).unwrap();
    }
    east.compact();
    east.site.done("gateway", &["gateway", "up"]);
    assert_eq!(east.entry("peers/cam1"), "");
    assert_eq!(east.site.state_of("cam1"), "none");
    east.site.done("mobile1", &["join", &line]);
    assert!(east.entry("peers/cam2").contains("public_key"));
    east.site.wait_for_state("mobile1", "connected");
    east.site.echo(1);
}

#[test]
fn a_registry_of_another_gateway_or_with_a_wrong_password_is_refused() {
    if !can_test() {
        return;
    }
    let east = Registered::create(1);
    east.configure("another word");
    let refused = east
        .site
        .refused("gateway", 2, &["invite", "--name", "cam1"]);
    assert!(refused.contains("invalid user ID or password"), "{refused}");
    east.configure(ACCOUNT.password);
    // Another gateway with the same prefix.
    east.site.done("gateway", &["gateway", "down"]);
    fs::remove_dir_all(east.of_gateway("peers")).unwrap();
    fs::remove_file(east.of_gateway("gateway.key")).unwrap();
    let key = east.of_gateway("gateway.key");
    let made = Command::new(PROGRAM).arg("keygen").arg(key).output();
    assert!(made.unwrap().status.success());
    let refused = east
        .site
        .refused("gateway", 2, &["invite", "--name", "cam1"]);
    assert!(refused.contains("list of another gateway"), "{refused}");
}
