//! The privileges of running daemons, as the kernel reports them.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Daemon, GATEWAY_OUTSIDE, Hosts, able, fetch};

const NOBODY: &str = "65534";

/// Returns the threads of a daemon, as folders of proc(5).
fn threads(daemon: &Daemon) -> Vec<PathBuf> {
    let folder = format!("/proc/{}/task", daemon.0.id());
    let threads = fs::read_dir(folder).unwrap();
    threads.map(|thread| thread.unwrap().path()).collect()
}

/// Returns a field of `status` in proc(5).
fn field(process: &Path, name: &str) -> String {
    let status = fs::read_to_string(process.join("status")).unwrap();
    let fields = status.lines().filter_map(|line| line.split_once(':'));
    let mut values = fields.filter(|(field, _)| *field == name);
    values.next().unwrap().1.trim().replace('\t', " ")
}

/// Returns the processes whose parent is this daemon.
fn children(daemon: &Daemon) -> Vec<PathBuf> {
    let parent = daemon.0.id().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let is_child = |path: &PathBuf| {
        path.join("status").exists() && path.join("task").exists() && field(path, "PPid") == parent
    };
    let paths = processes.map(|process| process.path());
    let numbered = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.bytes().all(|byte| byte.is_ascii_digit())
    };
    paths.filter(numbered).filter(is_child).collect()
}

/// `CAP_NET_ADMIN`.
const NETWORK_ADMINISTRATION: u64 = 1 << 12;

/// `CAP_CHOWN`, `CAP_DAC_OVERRIDE`, `CAP_FOWNER`, and `CAP_SYS_ADMIN`.
const FILES_AND_MOUNTS: u64 = 1 | 1 << 1 | 1 << 3 | 1 << 21;

#[test]
fn a_running_daemon_has_no_privilege() {
    if !able() {
        return;
    }
    for tcp in ["arq", "split"] {
        let hosts = Hosts::create();
        hosts.configure_more("gateway", "public_key", &format!("tcp = \"{tcp}\""));
        let daemons = hosts.start_both();
        assert_eq!(fetch(&hosts, 1 << 20), GATEWAY_OUTSIDE);
        for (daemon, part) in daemons.iter().zip(["gateway", "mobile"]) {
            // CAP_NET_RAW and CAP_NET_BIND_SERVICE, for sockets with mobile hosts' addresses.
            let is_splitting_gateway = (tcp, part) == ("split", "gateway");
            let capabilities = if is_splitting_gateway {
                1 << 13 | 1 << 10
            } else {
                0
            };
            assert!(threads(daemon).len() > 1, "the log has a thread");
            for thread in threads(daemon) {
                let field = |name| field(&thread, name);
                let all = [NOBODY; 4].join(" ");
                assert_eq!((field("Uid"), field("Gid")), (all.clone(), all), "{part}");
                assert_eq!(field("Groups"), "", "{part}");
                for set in ["CapEff", "CapPrm", "CapBnd"] {
                    assert_eq!(field(set), format!("{capabilities:016x}"), "{part}: {set}");
                }
                for set in ["CapInh", "CapAmb"] {
                    assert_eq!(field(set), format!("{:016x}", 0), "{part}: {set}");
                }
                assert_eq!(field("NoNewPrivs"), "1", "{part}");
                assert_eq!(field("Seccomp"), "2", "{part}");
            }
            // The mobile host's second one sets the resolver.
            let mut expected = vec![NETWORK_ADMINISTRATION];
            if part == "mobile" {
                expected.push(FILES_AND_MOUNTS);
            }
            let mut held = Vec::new();
            for helper in children(daemon) {
                assert_eq!(field(&helper, "NoNewPrivs"), "1", "{part}");
                assert_eq!(field(&helper, "CapBnd"), field(&helper, "CapEff"), "{part}");
                held.push(u64::from_str_radix(&field(&helper, "CapEff"), 16).unwrap());
            }
            held.sort_unstable_by_key(|&set| set != NETWORK_ADMINISTRATION);
            assert_eq!(held, expected, "{part}");
        }
    }
}

/// The helper takes back what a killed daemon has added.
#[test]
fn a_killed_daemon_leaves_nothing() {
    if !able() {
        return;
    }
    for tcp in ["arq", "split"] {
        let hosts = Hosts::create();
        hosts.configure_more("gateway", "public_key", &format!("tcp = \"{tcp}\""));
        let before = hosts.traces();
        let daemons = hosts.start_both();
        assert_ne!(hosts.traces(), before);
        for daemon in &daemons {
            let pid = i32::try_from(daemon.0.id()).unwrap();
            kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
        }
        hosts.wait_until("all is taken back", || hosts.traces() == before);
        // It is no obstacle to the next start, which may come before the helper has ended.
        let daemons = hosts.start_both();
        assert_eq!(fetch(&hosts, 1 << 20), GATEWAY_OUTSIDE);
        for daemon in daemons {
            assert!(daemon.terminate().success(), "{}", hosts.logs());
        }
        assert_eq!(hosts.traces(), before);
    }
}

/// A daemon that is started again at once neither loses its own changes to the helper of the killed one, nor fails.
#[test]
fn a_killed_daemon_can_be_started_again_at_once() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let before = hosts.traces();
    let mut gateway = hosts.start("gateway");
    let mobile = hosts.start("mobile");
    hosts.wait_until_connected();
    for _ in 0..5 {
        let pid = i32::try_from(gateway.0.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
        gateway.0.wait().unwrap();
        gateway = hosts.start("gateway");
        hosts.wait_until("it answers", || !hosts.status("gateway").is_null());
    }
    hosts.wait_until("the mobile is connected", || {
        !hosts.peer("gateway")["keys_age"].is_null()
    });
    assert_eq!(fetch(&hosts, 1 << 20), GATEWAY_OUTSIDE);
    assert!(mobile.terminate().success());
    assert!(gateway.terminate().success(), "{}", hosts.logs());
    assert_eq!(hosts.traces(), before);
}

#[test]
fn a_user_that_does_not_exist_is_an_error_of_the_setting() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let before = hosts.traces();
    for (user, expected) in [("nobody_has_this_name", "useradd"), ("root", "is root")] {
        let file = hosts.folder.path().join("gateway.toml");
        let text = fs::read_to_string(&file).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with("user"));
        let text = lines.collect::<Vec<_>>().join("\n");
        fs::write(&file, format!("user = \"{user}\"\n{text}")).unwrap();
        let (code, said) = hosts.start("gateway").end();
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    }
    assert_eq!(hosts.traces(), before);
}
