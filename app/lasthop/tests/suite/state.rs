//! What the folder of `lasthop gateway up` may come to: damage, another version, a full or read-only file system.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::join::Site;
use crate::support::{PROGRAM, able};

#[test]
fn damaged_state_is_named() {
    if !able() {
        return;
    }
    let site = Site::create();
    site.up();
    let cam = site.invite("cam1");
    let peers = site.state("gateway/gateway/peers");
    // Somebody has written nonsense into the file of one mobile host.
    let path = peers.join("cam1.toml");
    let sound = fs::read_to_string(&path).unwrap();
    fs::write(&path, "addresses = [\"10.0.0.300\"]\n").unwrap();
    let text = site.refused("gateway", 2, &["invite", "--name", "cam2"]);
    assert!(text.contains("cam1.toml:1:13"), "{text}");
    // The gateway runs on, and a host that joins now gets words.
    let text = site.refused("mobile0", 2, &["join", &cam]);
    assert!(
        text.contains("the gateway cannot store this host's key"),
        "{text}"
    );
    fs::write(&path, sound).unwrap();
    site.done("mobile0", &["join", &cam]);
    // Two files with one address.
    fs::copy(&path, peers.join("cam3.toml")).unwrap();
    let text = site.refused("gateway", 2, &["peers"]);
    assert!(text.contains("has this key too"), "{text}");
    fs::remove_file(peers.join("cam3.toml")).unwrap();
    let text = site.refused("gateway", 2, &["invite", "--name", "../x"]);
    assert!(text.contains("not a valid name"), "{text}");
    fs::write(site.state("gateway/version"), "2\n").unwrap();
    let text = site.refused("gateway", 2, &["gateway", "up"]);
    assert!(text.contains("is of version 2"), "{text}");
    fs::write(site.state("gateway/version"), "x\n").unwrap();
    let text = site.refused("gateway", 2, &["gateway", "up"]);
    assert!(text.contains("damaged"), "{text}");
    fs::write(site.state("gateway/version"), "1\n").unwrap();
    // A folder that is none.
    let text = refused_at(&site, Path::new("/dev/null/x"));
    assert!(text.contains("cannot"), "{text}");
}

/// A command that meets a full file system changes nothing, and says what to do.
#[test]
fn a_full_or_read_only_file_system_is_named() {
    if !able() {
        return;
    }
    let site = Site::create();
    let folder = site.state("small");
    fs::create_dir(&folder).unwrap();
    let fill = "head -c 1M /dev/zero >\"$1/fill\"";
    for (options, prepare, remedy) in [
        ("size=4k", fill, "free some space"),
        ("ro", "true", "choose a folder that can be written"),
    ] {
        let command = "\"$0\" gateway up --state \"$1\"";
        let (code, text) = on_a_file_system(&site, &folder, options, prepare, command);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(remedy), "{text}");
        let begun = site.state("small/gateway");
        assert!(!begun.exists(), "{}", begun.display());
    }
    site.up();
    site.invite("cam1");
    let peers = site.state("gateway/gateway/peers");
    let (copy, state) = (site.state("copy"), site.state("gateway"));
    let (copy, state) = (copy.display(), state.display());
    let mut copying = Command::new("cp");
    copying.arg("-r").arg(&peers).arg(site.state("copy"));
    assert!(copying.status().unwrap().success());
    let prepare = format!("cp {copy}/* \"$1\"; {fill}");
    let command = format!(
        "\"$0\" invite --name cam2 --state {state}; code=$?; \"$0\" peers --state {state} >&2; exit $code"
    );
    let (code, text) = on_a_file_system(&site, &peers, "size=64k", &prepare, &command);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("free some space"), "{text}");
    assert!(text.contains("cam1") && !text.contains("cam2 "), "{text}");
}

/// Runs a command on the gateway while a file system of its own stands in the place of `folder`; returns its exit code
/// and what it has written to standard error. In both texts `$0` is the program, and `$1` the folder.
fn on_a_file_system(
    site: &Site,
    folder: &Path,
    options: &str,
    prepare: &str,
    command: &str,
) -> (Option<i32>, String) {
    let script =
        format!("mount -t tmpfs -o {options} tmpfs \"$1\"; {prepare} 2>/dev/null; {command}");
    let mut shell = Command::new("unshare");
    shell.args(["--mount", "sh", "-c", &script, PROGRAM]);
    shell.arg(folder);
    let output = site.gateway.run(|| shell.output().unwrap()).unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), text)
}

/// Returns the message of `gateway up` with this state folder, in a mobile host.
fn refused_at(site: &Site, folder: &Path) -> String {
    let mut command = Command::new(PROGRAM);
    command.args(["gateway", "up", "--state"]).arg(folder);
    let output = site.mobiles[1].run(|| command.output().unwrap()).unwrap();
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).unwrap()
}
