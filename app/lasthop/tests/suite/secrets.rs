//! Secrets that somebody types or pastes into the wrong place: no command repeats them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::PROGRAM;

const SYMBOLS: &str = "m6gt38d1m6gt38d1m6gt38d1m6gt38d1m6gt38d1m6gt38d1m6gn4z2rag";

/// Returns what a command says that must fail.
fn complaint(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(PROGRAM);
    let output = command
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert_ne!(output.status.code(), Some(0), "{arguments:?}");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    assert!(!said.contains(&SYMBOLS[..12]), "{said}");
    said
}

#[test]
fn no_command_repeats_a_secret() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let [private, preshared, line] =
        ["sk1", "psk1", "join1"].map(|kind| format!("lasthop-{kind}-{SYMBOLS}"));
    for secret in [&private, &preshared, &line] {
        let arguments: [&[&str]; 8] = [
            &[secret],
            &["invite", "--state", ".", "--name", secret],
            &["invite", "--name", "tablet", "--expires", secret],
            &["revoke", "--state", ".", secret],
            &["status", "--name", secret],
            &["check", secret],
            &["keygen", "--public", secret],
            &["gateway", "up", "--port", secret],
        ];
        for arguments in arguments {
            complaint(folder, arguments);
        }
    }
    let root = rustix::process::geteuid().is_root();
    if root {
        let said = complaint(folder, &["join", "--state", ".", &private]);
        assert!(
            said.contains("this is a private key, not a join line"),
            "{said}"
        );
        let said = complaint(folder, &["join", "--state", ".", &line]);
        assert!(said.contains("mistyped or cut short"), "{said}");
    }
}

#[test]
fn key_files_with_another_kind_of_key_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let write = |name: &str, kind: &str| {
        let path = folder.join(name);
        fs::write(&path, format!("lasthop-{kind}-{SYMBOLS}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    };
    write("shared.key", "psk1");
    let said = complaint(folder, &["keygen", "--public", "shared.key"]);
    assert!(
        said.contains("this is a preshared key; a private key is wanted here"),
        "{said}"
    );
    // A second `sk1-` makes it longer than a key is.
    write("mistyped.key", "sk1-sk1");
    let said = complaint(folder, &["keygen", "--public", "mistyped.key"]);
    assert!(said.contains("this private key has 62 symbols"), "{said}");
    write("own.key", "pk1");
    let config = "private_key_file = \"own.key\"\n[tun]\naddresses = [\"10.9.0.1/24\"]\n";
    fs::write(folder.join("gateway.toml"), config).unwrap();
    let said = complaint(folder, &["check", "gateway.toml"]);
    assert!(
        said.contains("this is a public key; a private key is wanted here"),
        "{said}"
    );
}
