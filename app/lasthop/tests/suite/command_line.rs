//! The commands as a user types them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

fn lasthop(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lasthop"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("LASTHOP_LOG")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What a run says that must end with exit code 2.
fn refusal(arguments: &[&str], folder: &Path) -> String {
    let output = lasthop(arguments, folder);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty());
    said
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn help_has_examples_and_the_version_is_known() {
    let folder = tempfile::tempdir().unwrap();
    for command in [
        &["--help"][..],
        &["gateway", "--help"],
        &["check", "--help"],
        &["reload", "--help"],
        &["keygen", "--help"],
        &["mount", "--help"],
        &["unmount", "--help"],
        &["signals", "--help"],
        &["web", "--help"],
    ] {
        let output = lasthop(command, folder.path());
        assert!(output.status.success());
        assert!(text(&output.stdout).contains("Examples:"));
    }
    let version = text(&lasthop(&["--version"], folder.path()).stdout);
    assert_eq!(version, format!("lasthop {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn keygen_makes_closed_files_and_shows_only_public_keys() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("a.key");
    let made = lasthop(&["keygen", "a.key"], folder.path());
    assert!(made.status.success());
    assert!(text(&made.stdout).starts_with("lasthop-pk1-"));
    assert_eq!(mode(&key), 0o600);
    assert!(
        fs::read_to_string(&key)
            .unwrap()
            .starts_with("lasthop-sk1-")
    );
    let shown = lasthop(&["keygen", "--public", "a.key"], folder.path());
    assert_eq!(shown.stdout, made.stdout);
    let secret = lasthop(&["keygen", "--preshared", "a.psk"], folder.path());
    assert!(secret.status.success() && secret.stdout.is_empty());
    assert_eq!(mode(&folder.path().join("a.psk")), 0o600);
    assert!(
        fs::read_to_string(folder.path().join("a.psk"))
            .unwrap()
            .starts_with("lasthop-psk1-")
    );
}

#[test]
fn keygen_never_overwrites_unless_told() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("a.key");
    assert!(
        lasthop(&["keygen", "a.key"], folder.path())
            .status
            .success()
    );
    let before = fs::read(&key).unwrap();
    assert!(refusal(&["keygen", "a.key"], folder.path()).contains("--force"));
    assert_eq!(fs::read(&key).unwrap(), before);
    assert!(
        lasthop(&["keygen", "--force", "a.key"], folder.path())
            .status
            .success()
    );
    assert_ne!(fs::read(&key).unwrap(), before);
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "no draft is left"
    );
}

#[test]
fn a_key_file_is_read_only_if_it_is_one_and_closed() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("a.key");
    let shown = || refusal(&["keygen", "--public", "a.key"], folder.path());
    assert!(shown().contains("lasthop keygen a.key"));
    assert!(
        lasthop(&["keygen", "a.key"], folder.path())
            .status
            .success()
    );
    fs::set_permissions(&key, PermissionsExt::from_mode(0o640)).unwrap();
    let said = shown();
    assert!(
        said.contains("mode 0640") && said.contains("chmod 600 a.key"),
        "{said}"
    );
    fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    fs::write(&key, "secret nonsense").unwrap();
    let said = shown();
    assert!(said.contains("a.key: this is not a key"), "{said}");
    assert!(
        !said.contains("nonsense"),
        "what may be a secret is not repeated"
    );
    fs::write(&key, vec![b'x'; 100_000]).unwrap();
    assert!(shown().contains("not a key"));
}

#[test]
fn a_wrong_configuration_ends_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let said = refusal(&["gateway", "--config", "none.toml"], folder.path());
    assert!(
        said.contains("cannot read the configuration none.toml"),
        "{said}"
    );
    fs::write(
        folder.path().join("a.toml"),
        "private_key_file = \"a.key\"\nspeed = 3\n",
    )
    .unwrap();
    for part in ["gateway", "mobile"] {
        let said = refusal(&[part, "--config", "a.toml"], folder.path());
        assert!(
            said.contains("error: a.toml:2:1: unknown field `speed`"),
            "{said}"
        );
    }
    assert!(refusal(&["gateway"], folder.path()).contains("--config"));
}

#[test]
fn a_wrong_log_filter_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_lasthop"))
        .args(["gateway", "--config", "none.toml"])
        .env("LASTHOP_LOG", "lasthop=loud")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("LASTHOP_LOG is 'lasthop=loud'"));
    let output = Command::new(env!("CARGO_BIN_EXE_lasthop"))
        .args(["gateway", "--config", "none.toml"])
        .env("LASTHOP_LOG_FORMAT", "xml")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("LASTHOP_LOG_FORMAT is 'xml'; use text or json"));
}

#[test]
fn status_says_when_nobody_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    assert!(refusal(&["status", "--state-dir", at], folder.path()).contains("no daemon runs here"));
    assert!(refusal(&["top", "--state-dir", at], folder.path()).contains("needs a terminal"));
    let named = ["status", "--name", "tablet", "--state-dir", at];
    assert!(refusal(&named, folder.path()).contains("no daemon of that name"));
    drop(std::os::unix::net::UnixListener::bind(folder.path().join("tablet.sock")).unwrap());
    assert!(refusal(&named, folder.path()).contains("is dead"));
    drop(std::os::unix::net::UnixListener::bind(folder.path().join("other.sock")).unwrap());
    let said = refusal(&["status", "--state-dir", at], folder.path());
    assert!(said.contains("--name: other, tablet"), "{said}");
}

#[test]
fn check_finds_what_the_daemon_would_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let key = |name: &str| {
        let made = lasthop(&["keygen", name], folder.path());
        text(&made.stdout).trim().to_owned()
    };
    let [gateway, mobile] = ["gateway.key", "mobile.key"].map(key);
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let own = "private_key_file = \"gateway.key\"\n[tun]\naddresses = [\"10.73.0.1/24\"]\n";
    let peer = |key: &str| {
        format!(
            "[[peers]]\nname = \"tablet7\"\npublic_key = \"{key}\"\naddresses = [\"10.73.0.2\"]\n"
        )
    };
    write("gateway.toml", &format!("{own}{}", peer(&mobile)));
    let other = format!(
        "private_key_file = \"mobile.key\"\n[gateway]\nendpoint = \"gateway.example.org:1\"\n\
         public_key = \"{gateway}\"\n[tun]\naddresses = [\"10.73.0.2/24\"]\n"
    );
    write("mobile.toml", &other);
    for (file, said) in [
        ("gateway.toml", "gateway.toml: a gateway; peers: 1\n"),
        ("mobile.toml", "mobile.toml: a mobile host\n"),
    ] {
        let checked = lasthop(&["check", file], folder.path());
        assert!(checked.status.success(), "{}", text(&checked.stderr));
        assert_eq!(text(&checked.stdout), said);
    }
    let wrong = [
        (
            format!("{own}{}", peer(&gateway)),
            "this is the gateway's own key",
        ),
        (
            format!("{own}{}{}", peer(&mobile), peer(&mobile)),
            "another name",
        ),
        (
            format!("{own}{}preshared_key_file = \"none.psk\"\n", peer(&mobile)),
            "none.psk",
        ),
        (
            format!("user = \"nobody-there\"\n{own}"),
            "there is no user",
        ),
        (
            format!("{own}[caps]\ntotal = \"64 MiB\"\n{}", peer(&mobile)),
            "`total` of [caps]",
        ),
        (own.replace("gateway.key", "missing.key"), "missing.key"),
        (own.replace("[tun]", "[tunnel]"), "tunnel"),
        (other.replace("[tun]", "[tunnel]"), "tunnel"),
        ("what = is [this".into(), "wrong.toml:1"),
    ];
    for (configuration, why) in wrong {
        write("wrong.toml", &configuration);
        let said = refusal(&["check", "wrong.toml"], folder.path());
        assert!(said.contains(why), "{said}");
    }
    refusal(&["check", "missing.toml"], folder.path());
    let state = folder.path().join("none");
    let said = refusal(
        &["reload", "--state-dir", state.to_str().unwrap()],
        folder.path(),
    );
    assert!(said.contains("no daemon runs here"), "{said}");
}

#[test]
fn help_has_the_width_of_the_terminal() {
    let widest = |columns: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
        command.args(["gateway", "up", "--help"]);
        let help = command.env("COLUMNS", columns).output().unwrap();
        let help = text(&help.stdout);
        help.lines().map(|line| line.chars().count()).max().unwrap()
    };
    assert!((50..=60).contains(&widest("60")), "{}", widest("60"));
    assert!((100..=120).contains(&widest("120")), "{}", widest("120"));
}

#[test]
fn a_secret_may_be_a_credential_of_the_service() {
    let folder = tempfile::tempdir().unwrap();
    let passed = folder.path().join("passed");
    fs::create_dir(&passed).unwrap();
    let made = lasthop(&["keygen", "private.key"], &passed);
    assert!(made.status.success());
    fs::write(
        folder.path().join("gateway.toml"),
        "private_key_file = \"$CREDENTIALS_DIRECTORY/private.key\"\n[tun]\naddresses = [\"10.73.0.1/24\"]\n",
    )
    .unwrap();
    let said = refusal(&["check", "gateway.toml"], folder.path());
    assert!(said.contains("LoadCredential="), "{said}");
    let checked = Command::new(env!("CARGO_BIN_EXE_lasthop"))
        .args(["check", "gateway.toml"])
        .current_dir(folder.path())
        .env("CREDENTIALS_DIRECTORY", &passed)
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", text(&checked.stderr));
}
