//! What goes wrong on the way and at the server, and leaves no trace.

use fileserver::{Config, Fault, Faults, Input};
use nfs::{Procedure, Status};
use units::{Duration, Probability};

use super::rig::{Rig, content, local_tree, wait_until};

fn chance(percent: u32) -> Probability {
    format!("{percent} %").parse().unwrap()
}

#[test]
fn losses_duplicates_and_delays() {
    let faults = Faults {
        lost_requests: chance(5),
        lost_replies: chance(5),
        repeated_requests: chance(5),
        delayed_replies: chance(5),
        delay: Duration::from_millis(20),
        wrong_transactions: chance(1),
        try_later: chance(1),
        short_transfers: chance(5),
        ..Faults::default()
    };
    let rig = Rig::new(
        "udp",
        Config {
            faults,
            seed: 5,
            ..Config::default()
        },
    );
    for number in 0..40 {
        rig.write(&format!("tree/{number}"), &content(number * 1_009, 3));
    }
    rig.write("tree/large", &content(3_000_000, 4));
    rig.done(&["cp", "-r", "--verify", "tree", &rig.url("")]);
    rig.done(&["cp", "-r", &rig.url("tree"), "back"]);
    assert_eq!(local_tree(&rig.path("back")), local_tree(&rig.path("tree")));
    rig.done(&["rm", "-r", &rig.url("tree")]);
    assert!(rig.tree().is_empty());
}

#[test]
fn a_server_that_wants_more_time_before_it_says_what_it_can_do() {
    let rig = Rig::new("udp", Config::default());
    rig.write("file", &content(1_000, 9));
    rig.server.input(Input::Fault(Fault::Refuse {
        procedure: Procedure::FileSystemInfo,
        status: Status::TryLater,
        calls: 1,
    }));
    rig.done(&["cp", "file", &rig.url("")]);
    assert_eq!(rig.stored("file"), Some(content(1_000, 9)));
}

#[test]
fn a_server_that_restarts_while_it_is_written_to() {
    let mut config = Config::default();
    config.service.per_byte = Duration::from_nanos(20);
    let rig = Rig::new("udp", config);
    let content = content(20_000_000, 6);
    rig.write("large", &content);
    let mut child = rig.start(&["cp", "large", &rig.url("")]);
    for part in 1..=5 {
        let wanted = part * 3_000_000;
        wait_until("the file grows", || {
            let path = ".large.lasthop-part";
            let there = rig.server.with(|server| server.content(path));
            there.is_some_and(|there| there.len() >= wanted) || child.try_wait().unwrap().is_some()
        });
        rig.server.input(Input::Restart);
    }
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(rig.stored("large"), Some(content));
}

#[test]
fn a_server_that_is_silent_for_a_while() {
    let rig = Rig::new("udp", Config::default());
    let content = content(30_000_000, 7);
    rig.add("large", &content);
    let child = rig.start(&["cp", &rig.url("large"), "back"]);
    wait_until("the copy grows", || {
        let part = rig.path(".back.lasthop-part").metadata();
        part.is_ok_and(|part| part.len() > 0) || rig.path("back").exists()
    });
    rig.server.input(Input::Fault(Fault::Silent(true)));
    // Longer than it takes for the client to say so.
    std::thread::sleep(std::time::Duration::from_secs(6));
    rig.server.input(Input::Fault(Fault::Silent(false)));
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    if !said.is_empty() {
        assert!(said.contains("is silent, retrying"), "{said}");
        assert!(said.contains("answers again after"), "{said}");
    }
    assert_eq!(std::fs::read(rig.path("back")).unwrap(), content);
}

#[test]
fn what_the_server_refuses_is_said_with_the_remedy() {
    let rig = Rig::new("udp", Config::default());
    rig.write("file", &content(100_000, 8));
    rig.add("there", b"content");
    let refuse = |procedure, status| {
        let fault = Fault::Refuse {
            procedure,
            status,
            calls: 1_000,
        };
        rig.server.input(Input::Fault(fault));
    };
    let copy = || rig.run(&["cp", "file", &rig.url("")]);
    for (status, words) in [
        (Status::NoSpace, "make room"),
        (Status::QuotaExceeded, "quota"),
        (Status::AccessDenied, "--caller"),
    ] {
        refuse(Procedure::Write, status);
        let ended = copy();
        assert!(ended.refusal(1).contains(words), "{}", ended.said);
        assert_eq!(
            rig.stored("file"),
            None,
            "nothing takes the name before it is whole"
        );
    }
    refuse(Procedure::Create, Status::ReadOnly);
    assert!(copy().refusal(1).contains("for reading only"));
    refuse(Procedure::Read, Status::Stale);
    let ended = rig.run(&["cat", &rig.url("there")]);
    assert!(ended.refusal(1).contains("try again"), "{}", ended.said);
    assert!(ended.out.is_empty());
}
