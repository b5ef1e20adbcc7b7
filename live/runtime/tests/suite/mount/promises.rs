//! Guarantees of the mount in case of faults.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fileserver::{FalseAnswer, Fault, Input};
use nfs::{Procedure, Status};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use super::rig::{Rig, Setup};

fn raw(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap()
}

#[test]
fn what_was_synchronized_survives_a_restart_of_the_server() {
    let Some(rig) = Rig::usual() else { return };
    let (first, second) = (vec![7; 100_000], vec![8; 100_000]);
    let mut file = File::create(rig.path("file")).unwrap();
    file.write_all(&first).unwrap();
    file.sync_all().unwrap();
    assert!(rig.served.lock().stored("file").unwrap() == first);
    file.write_all(&second).unwrap();
    rig.served.input(Input::Restart);
    drop(file);
    assert!(rig.served.lock().stored("file").unwrap() == [first, second].concat());
}

#[test]
fn directories_can_be_synchronized() {
    let Some(rig) = Rig::usual() else { return };
    File::open(rig.point()).unwrap().sync_all().unwrap();
}

#[test]
fn a_full_disk_is_told_when_the_file_is_closed_or_synchronized() {
    let Some(rig) = Rig::usual() else { return };
    let full = || Fault::Refuse {
        procedure: Procedure::Write,
        status: Status::NoSpace,
        calls: 1_000,
    };
    rig.served.fault(full());
    let mut file = File::create(rig.path("synchronized")).unwrap();
    let written = file.write_all(b"content");
    let error = written.and_then(|()| file.sync_all()).unwrap_err();
    assert_eq!(raw(&error), Errno::NOSPC);
    drop(file);
    rig.served.fault(full());
    let copied = Command::new("dd")
        .args(["if=/dev/zero", "bs=1000", "count=1"])
        .arg(format!("of={}", rig.path("closed").display()))
        .output()
        .unwrap();
    assert!(!copied.status.success());
    let told = String::from_utf8_lossy(&copied.stderr);
    assert!(told.contains("No space left on device"), "{told}");
}

#[test]
fn a_mapped_file_is_written_back() {
    let Some(rig) = Rig::usual() else { return };
    let path = rig.path("mapped");
    fs::write(&path, vec![b'.'; 10_000]).unwrap();
    let script = "import mmap,sys
f = open(sys.argv[1], 'r+b')
m = mmap.mmap(f.fileno(), 0)
m[5000:5005] = b'hello'
f.close()
m.flush()
m[9000:9005] = b'world'
m.close()";
    let Ok(outcome) = Command::new("python3")
        .args(["-c", script])
        .arg(&path)
        .status()
    else {
        eprintln!("skipped: no python3 to map a file with");
        return;
    };
    assert!(outcome.success());
    let content = fs::read(&path).unwrap();
    assert_eq!(&content[4_999..5_006], b".hello.");
    assert_eq!(&content[8_999..9_006], b".world.");
}

/// Reads the status of a file in a process of its own.
fn look(rig: &Rig, name: &str) -> Child {
    Command::new("stat")
        .arg(rig.path(name))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_signal_ends_what_waits_for_a_silent_server() {
    let Some(rig) = Rig::usual() else { return };
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        rig.served.fault(Fault::Silent(true));
        let mut child = look(&rig, &format!("a name of its own {}", signal.as_raw()));
        wait_until(|| rig.system.waiting().requests == 1);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(signal.as_raw()));
        rig.served.fault(Fault::Silent(false));
    }
    assert_eq!(rig.system.waiting().requests, 0);
    assert!(
        fs::metadata(rig.path("nothing")).is_err(),
        "the mount lives"
    );
}

#[test]
fn another_signal_does_not_make_a_call_fail() {
    let Some(rig) = Rig::usual() else { return };
    rig.served.lock().add_file("file", b"x").unwrap();
    rig.served.fault(Fault::Silent(true));
    // A shell that catches SIGUSR1 and tests the file by a system call of its own (test -e).
    let script = "trap : USR1; test -s \"$0\"";
    let mut child = Command::new("bash")
        .args(["-c", script])
        .arg(rig.path("file"))
        .spawn()
        .unwrap();
    wait_until(|| rig.system.waiting().requests == 1);
    kill_process(Pid::from_child(&child), Signal::USR1).unwrap();
    // Longer than the mount takes to check the process again.
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(rig.system.waiting().requests, 1);
    rig.served.fault(Fault::Silent(false));
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_later_signal_ends_what_an_earlier_one_did_not() {
    let Some(rig) = Rig::usual() else { return };
    rig.served.fault(Fault::Silent(true));
    let mut child = Command::new("bash")
        .args(["-c", "trap : USR1; test -s \"$0\""])
        .arg(rig.path("file"))
        .spawn()
        .unwrap();
    wait_until(|| rig.system.waiting().requests == 1);
    let process = Pid::from_child(&child);
    kill_process(process, Signal::USR1).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    kill_process(process, Signal::KILL).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

#[test]
fn a_soft_mount_gives_up_in_time_and_keeps_what_was_written() {
    let files = files::Config {
        patience: Some(units::Duration::from_secs(2)),
        ..files::Config::default()
    };
    let setup = Setup {
        files,
        ..Setup::default()
    };
    let Some(rig) = Rig::new(setup) else { return };
    let mut file = File::create(rig.path("file")).unwrap();
    file.write_all(b"content").unwrap();
    rig.served.fault(Fault::Silent(true));
    let error = fs::metadata(rig.path("another")).unwrap_err();
    assert_eq!(raw(&error), Errno::TIMEDOUT);
    assert_eq!(raw(&file.sync_all().unwrap_err()), Errno::TIMEDOUT);
    rig.served.fault(Fault::Silent(false));
    file.sync_all().unwrap();
    assert_eq!(rig.served.lock().stored("file").unwrap(), b"content");
}

#[test]
fn lies_of_the_server_do_not_reach_programs() {
    let Some(rig) = Rig::new(Setup::without_memory()) else {
        return;
    };
    for number in 0..200 {
        rig.served
            .lock()
            .add_file(&format!("file {number}"), &[1; 5_000])
            .unwrap();
    }
    let names = || -> std::io::Result<usize> {
        let names = fs::read_dir(rig.point())?.map(|entry| Ok(entry?.file_name()));
        let names: Vec<_> = names.collect::<std::io::Result<_>>()?;
        assert!(names.iter().all(|name| name.len() <= 255));
        Ok(names.len())
    };
    let error = |lie, result: std::io::Result<usize>| {
        let error = result.expect_err(&format!("{lie:?} went through"));
        assert_eq!(raw(&error), Errno::IO, "{lie:?}");
    };
    for lie in [FalseAnswer::SlashNames, FalseAnswer::LongNames] {
        rig.served.fault(Fault::FalseAnswer(Some(lie)));
        let seen = names();
        assert!(matches!(seen, Ok(0) | Err(_)), "{lie:?}: {seen:?}");
    }
    for lie in [FalseAnswer::CookieLoop, FalseAnswer::EmptyPages] {
        rig.served.fault(Fault::FalseAnswer(Some(lie)));
        error(lie, names());
    }
    rig.served
        .fault(Fault::FalseAnswer(Some(FalseAnswer::HugeFiles)));
    let huge = fs::metadata(rig.path("file 1")).map(|metadata| metadata.len() as usize);
    error(FalseAnswer::HugeFiles, huge);
    for lie in [
        FalseAnswer::HugeCounts,
        FalseAnswer::TooMuchData,
        FalseAnswer::NoData,
    ] {
        rig.served.fault(Fault::FalseAnswer(Some(lie)));
        let name = format!("file {}", 10 + lie as usize);
        error(lie, fs::read(rig.path(&name)).map(|content| content.len()));
    }
    rig.served.fault(Fault::FalseAnswer(None));
    assert_eq!(names().unwrap(), 200);
    assert_eq!(fs::read(rig.path("file 100")).unwrap(), [1; 5_000]);
}

#[test]
fn a_stale_handle_is_said_to_be_one() {
    let Some(rig) = Rig::usual() else { return };
    let handle = rig.served.lock().add_file("file", b"x").unwrap();
    let file = OpenOptions::new()
        .write(true)
        .open(rig.path("file"))
        .unwrap();
    rig.served.fault(Fault::Stale(handle));
    let mut writing = &file;
    let error = writing
        .write_all(b"more")
        .and_then(|()| file.sync_all())
        .unwrap_err();
    assert_eq!(raw(&error), Errno::STALE);
}

#[test]
fn losses_are_repaired_below_programs() {
    let chance = |text: &str| text.parse().unwrap();
    let faults = fileserver::Faults {
        lost_requests: chance("5 %"),
        repeated_requests: chance("5 %"),
        lost_replies: chance("5 %"),
        try_later: chance("2 %"),
        short_transfers: chance("5 %"),
        ..fileserver::Faults::default()
    };
    let Some(rig) = Rig::usual() else { return };
    rig.served.fault(Fault::Chances(faults));
    let content = vec![9; 500_000];
    for number in 0..5 {
        let (first, second) = (
            rig.path(&format!("first {number}")),
            rig.path(&format!("second {number}")),
        );
        fs::write(&first, &content).unwrap();
        fs::rename(&first, &second).unwrap();
        assert!(fs::read(&second).unwrap() == content);
        fs::remove_file(&second).unwrap();
    }
    assert_eq!(fs::read_dir(rig.point()).unwrap().count(), 0);
}
