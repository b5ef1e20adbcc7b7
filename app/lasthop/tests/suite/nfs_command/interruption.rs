//! Ctrl-C, and going on.

use std::fs;
use std::process::Child;

use fileserver::{Config, Fault, Input};
use rustix::process::{Pid, Signal, kill_process};
use units::Duration;

use super::rig::{Ended, Rig, content, wait_until};

fn interrupt(child: Child) -> Ended {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    child.wait_with_output().unwrap().into()
}

/// A server that takes its time, so that something is left to interrupt.
fn slow() -> Config {
    let mut config = Config::default();
    config.service.per_byte = Duration::from_nanos(300);
    config
}

#[test]
fn a_download_goes_on_where_it_was() {
    let rig = Rig::new("udp", slow());
    let content = content(10_000_000, 1);
    rig.add("large", &content);
    let child = rig.start(&["cp", &rig.url("large"), "back"]);
    let part = rig.path(".back.lasthop-part");
    wait_until("the copy grows", || {
        part.metadata().is_ok_and(|part| part.len() > 2_000_000)
    });
    rig.server.input(Input::Fault(Fault::Silent(true)));
    let ended = interrupt(child);
    assert!(ended.refusal(130).contains("go on with it by --resume"));
    assert!(!rig.path("back").exists());
    // Reading it would change the time by which it is known.
    let there = part.metadata().unwrap().len();

    rig.server.input(Input::Fault(Fault::Silent(false)));
    let report = rig
        .run(&["cp", "--resume", "--json", &rig.url("large"), "back"])
        .json();
    assert_eq!(report["resumed_bytes"], there);
    assert_eq!(report["bytes"], content.len() as u64 - there);
    assert_eq!(fs::read(rig.path("back")).unwrap(), content);
}

#[test]
fn an_upload_goes_on_from_what_is_safe() {
    let rig = Rig::new("udp", Config::default());
    let content = content(100_000_000, 2);
    rig.write("large", &content);
    let mut child = rig.start(&["cp", "large", &rig.url("")]);
    let noted = || {
        let length = rig.server.with(|server| {
            let there = server.stored(".large.lasthop-part");
            there.map_or(0, |there| there.len())
        });
        length >= 64 << 20
    };
    wait_until("something is noted", || {
        noted() || child.try_wait().unwrap().is_some()
    });
    let ended = interrupt(child);
    if ended.code == Some(0) {
        // It was faster than we are.
        return;
    }
    assert!(ended.refusal(130).contains("--resume"), "{}", ended.said);
    assert_eq!(rig.stored("large"), None);
    // What is not safe is lost, and the file is whole all the same.
    rig.server.input(Input::Restart);
    let report = rig
        .run(&["cp", "--resume", "--json", "large", &rig.url("")])
        .json();
    let resumed = report["resumed_bytes"].as_u64().unwrap();
    assert_eq!(resumed + report["bytes"].as_u64().unwrap(), 100_000_000);
    assert!(rig.stored("large") == Some(content), "{report}");
}

#[test]
fn another_version_of_the_source_is_copied_from_its_beginning() {
    let rig = Rig::new("udp", slow());
    rig.add("large", &content(10_000_000, 3));
    let child = rig.start(&["cp", &rig.url("large"), "back"]);
    let part = rig.path(".back.lasthop-part");
    wait_until("the copy grows", || {
        part.metadata().is_ok_and(|part| part.len() > 1_000_000)
    });
    rig.server.input(Input::Fault(Fault::Silent(true)));
    interrupt(child).refusal(130);
    rig.server.input(Input::Fault(Fault::Silent(false)));
    let fresh = content(10_000_001, 4);
    rig.add("large", &fresh);
    let report = rig
        .run(&["cp", "--resume", "--json", &rig.url("large"), "back"])
        .json();
    assert_eq!(report["resumed_bytes"], 0);
    assert_eq!(fs::read(rig.path("back")).unwrap(), fresh);
}

#[test]
fn a_silent_server_cannot_hold_us() {
    let rig = Rig::new("udp", Config::default());
    rig.add("file", b"content");
    rig.server.input(Input::Fault(Fault::Silent(true)));
    for arguments in [&["ls"][..], &["cat"], &["rm"], &["stat"]] {
        let url = rig.url("file");
        let child = rig.start(&[arguments, &[&url]].concat());
        std::thread::sleep(std::time::Duration::from_millis(300));
        let begun = std::time::Instant::now();
        assert!(interrupt(child).refusal(130).contains("interrupted"));
        assert!(begun.elapsed() < std::time::Duration::from_secs(20));
    }
    let ended = rig.run(&["--connect-time", "1 s", "ls", &rig.url("")]);
    assert!(
        ended.refusal(1).contains("no answer from UDP port"),
        "{}",
        ended.said
    );
}

#[test]
fn a_soft_client_gives_up() {
    let rig = Rig::new("udp", Config::default());
    let content = content(30_000_000, 5);
    rig.add("large", &content);
    let child = rig.start(&["--soft", "1 s", "cp", &rig.url("large"), "back"]);
    wait_until("the copy grows", || {
        let part = rig.path(".back.lasthop-part").metadata();
        part.is_ok_and(|part| part.len() > 0) || rig.path("back").exists()
    });
    rig.server.input(Input::Fault(Fault::Silent(true)));
    let ended: Ended = child.wait_with_output().unwrap().into();
    if ended.code != Some(0) {
        assert!(ended.refusal(1).contains("--soft"), "{}", ended.said);
    }
}
