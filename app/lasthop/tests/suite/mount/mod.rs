//! `lasthop mount`, `unmount` and `sync` as a user types them. Needs root and `/dev/fuse`.

mod rig;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};

use fileserver::{Fault, Input};
use nfs::{Procedure, Status};
use rig::{Rig, Writer, lasthop, stderr};
use rustix::process::Signal;

use crate::support::file_server::FileServer;

fn silent(rig: &Rig, silent: bool) {
    rig.server.input(Input::Fault(Fault::Silent(silent)));
}

#[test]
fn a_mount_works_when_the_command_ends_and_goes_away_whole() {
    let Some(rig) = Rig::mounted(&[]) else { return };
    fs::write(rig.path("file"), b"content").unwrap();
    assert_eq!(fs::read(rig.path("file")).unwrap(), b"content");
    let status = rig.status();
    assert_eq!(status["unsafe_files"], 0);
    assert_eq!(status["protocol"], "UDP");
    assert!(status["silent_for_s"].is_null());
    let page = lasthop(&["mount", "--status", rig.point()]);
    let page = String::from_utf8(page.stdout).unwrap();
    assert!(page.contains("not safe  nothing"), "{page}");
    let list = lasthop(&["mount", "--list"]);
    assert!(
        String::from_utf8(list.stdout)
            .unwrap()
            .contains(rig.point())
    );
    let again = lasthop(&["mount", &rig.url(), rig.point()]);
    assert_eq!(again.status.code(), Some(2));
    assert!(
        stderr(&again).contains("is mounted at"),
        "{}",
        stderr(&again)
    );
    let unmounted = lasthop(&["unmount", rig.point()]);
    assert!(unmounted.status.success(), "{}", stderr(&unmounted));
    assert_eq!(fs::read_dir(rig.point()).unwrap().count(), 0);
    assert!(!rig.lives());
    let unknown = lasthop(&["unmount", rig.point()]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("nothing of lasthop is mounted"));
}

#[test]
fn a_mount_is_found_by_any_name_of_its_directory() {
    let Some(rig) = Rig::mounted(&[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(rig.point(), &link).unwrap();
    let around = format!(
        "{}/../{}/",
        rig.point(),
        rig.path("").file_name().unwrap().display()
    );
    for name in [link.to_str().unwrap(), &around] {
        let status = lasthop(&["mount", "--status", name]);
        assert!(status.status.success(), "{}", stderr(&status));
    }
}

#[test]
fn options_hold() {
    let Some(rig) = Rig::mounted(&["-o", "ro,actimeo=0"]) else {
        return;
    };
    rig.server
        .with(|server| server.add_file("file", b"x").unwrap());
    assert_eq!(fs::read(rig.path("file")).unwrap(), b"x");
    let error = fs::write(rig.path("file"), b"y").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
}

#[test]
fn sync_waits_for_the_servers_disk_and_tells_the_truth() {
    let Some(rig) = Rig::mounted(&[]) else { return };
    let mut file = Writer::create(&rig.path("file"));
    file.write(&[b'a'; 1_000]);
    rig.wait_for_unsafe(1_000);
    let synchronized = lasthop(&["sync", rig.point()]);
    assert!(synchronized.status.success(), "{}", stderr(&synchronized));
    let stored = rig.server.with(|server| server.stored("file"));
    assert_eq!(stored.unwrap(), [b'a'; 1_000]);
    rig.server.input(Input::Fault(Fault::Refuse {
        procedure: Procedure::Write,
        status: Status::NoSpace,
        calls: 1_000,
    }));
    file.write(&[b'b'; 1_000]);
    rig.wait_for_unsafe(1_000);
    let failed = lasthop(&["sync", rig.point()]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(stderr(&failed).contains("NOSPC"), "{}", stderr(&failed));
}

#[test]
fn unmounting_waits_for_what_is_written_and_says_what_would_be_lost() {
    let Some(rig) = Rig::mounted(&[]) else { return };
    let mut file = Writer::create(&rig.path("file"));
    file.write(&vec![b'a'; 50_000]);
    rig.wait_for_unsafe(50_000);
    silent(&rig, true);
    file.write(&vec![b'b'; 50_000]);
    rig.wait_for_unsafe(100_000);
    let waiting = rig::start(&["unmount", rig.point()]);
    rig::wait_until(|| rig.status()["requests_of_client"] != 0);
    let broken_off = waiting.end(Signal::INT);
    assert_eq!(broken_off.status.code(), Some(130));
    let told = stderr(&broken_off);
    assert!(
        told.contains("in 1 file") && told.contains("would be lost"),
        "{told}"
    );
    silent(&rig, false);
    let synchronized = lasthop(&["sync", rig.point()]);
    assert!(synchronized.status.success(), "{}", stderr(&synchronized));
    assert!(rig.lives(), "who does not wait any more does not unmount");
    let busy = lasthop(&["unmount", rig.point()]);
    assert_eq!(busy.status.code(), Some(1));
    assert!(stderr(&busy).contains("is busy"), "{}", stderr(&busy));
    assert!(file.close());
    assert!(lasthop(&["unmount", rig.point()]).status.success());
    let stored = rig.server.with(|server| server.stored("file")).unwrap();
    assert!(stored == [vec![b'a'; 50_000], vec![b'b'; 50_000]].concat());
}

/// A container that began meanwhile has a copy of every mount.
#[test]
fn what_another_mount_namespace_has_stays_there() {
    // The copies are of all mounts, also of those that other tests would see gone.
    let Some(rig) = Rig::alone() else { return };
    fs::write(rig.path("file"), "content").unwrap();
    let process = format!("/proc/{}", rig.status()["process"]);
    let mut elsewhere = Command::new("unshare")
        .args(["--mount", "sh", "-c", "echo begun; read line; cat \"$0\""])
        .arg(rig.path("file"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(elsewhere.stdout.take().unwrap());
    said.read_line(&mut String::new()).unwrap();
    let unmounted = lasthop(&["unmount", rig.point()]);
    assert!(unmounted.status.success(), "{}", stderr(&unmounted));
    let told = stderr(&unmounted);
    assert!(told.contains("other mount namespaces"), "{told}");
    assert!(!rig.path("file").exists());
    elsewhere.stdin.take().unwrap().write_all(b"\n").unwrap();
    let mut content = String::new();
    said.read_to_string(&mut content).unwrap();
    assert_eq!(content, "content");
    assert!(elsewhere.wait().unwrap().success());
    rig::wait_until(|| !Path::new(&process).exists());
}

#[test]
fn discarding_says_what_is_lost() {
    let Some(rig) = Rig::mounted(&[]) else { return };
    let mut file = Writer::create(&rig.path("file"));
    silent(&rig, true);
    file.write(&[b'a'; 10_000]);
    rig.wait_for_unsafe(10_000);
    let discarded = lasthop(&["unmount", "--discard", rig.point()]);
    assert!(discarded.status.success(), "{}", stderr(&discarded));
    assert!(
        stderr(&discarded).contains("in 1 file"),
        "{}",
        stderr(&discarded)
    );
    rig::wait_until(|| !rig.lives());
}

#[test]
fn a_signal_ends_the_process_and_all_is_safe() {
    let Some(rig) = Rig::unmounted() else { return };
    let url = rig.url();
    let keeper = rig::start(&["mount", "--foreground", &url, rig.point()]);
    rig::wait_until(|| rig.is_mounted());
    let mut file = Writer::create(&rig.path("file"));
    file.write(&[b'a'; 1_000]);
    rig.wait_for_unsafe(1_000);
    // It is busy as long as the file is open.
    let ended = keeper.end(Signal::TERM);
    assert!(ended.status.success(), "{}", stderr(&ended));
    assert!(!rig.is_mounted());
    let stored = rig.server.with(|server| server.stored("file"));
    assert_eq!(stored.unwrap(), [b'a'; 1_000]);
    file.write(&[b'b'; 1_000]);
    assert!(!file.close());
}

#[test]
fn the_second_signal_does_not_wait() {
    let Some(rig) = Rig::unmounted() else { return };
    let url = rig.url();
    let keeper = rig::start(&["mount", "--foreground", &url, rig.point()]);
    rig::wait_until(|| rig.is_mounted());
    let mut file = Writer::create(&rig.path("file"));
    silent(&rig, true);
    file.write(&[b'a'; 1_000]);
    rig.wait_for_unsafe(1_000);
    keeper.signal(Signal::INT);
    rig::wait_until(|| rig.status()["requests_of_client"] != 0);
    let ended = keeper.end(Signal::INT);
    assert_eq!(ended.status.code(), Some(1));
    assert!(stderr(&ended).contains("lost"), "{}", stderr(&ended));
}

#[test]
fn what_a_dead_process_left_is_removed() {
    let Some(rig) = Rig::mounted(&[]) else { return };
    rig.kill();
    let status = lasthop(&["mount", "--status", rig.point()]);
    assert_eq!(status.status.code(), Some(2));
    assert!(stderr(&status).contains("is gone"), "{}", stderr(&status));
    let mounted = lasthop(&["mount", &rig.url(), rig.point()]);
    assert!(mounted.status.success(), "{}", stderr(&mounted));
    fs::write(rig.path("file"), b"content").unwrap();
    rig.kill();
    assert!(lasthop(&["unmount", rig.point()]).status.success());
    assert!(!rig.is_mounted());
}

#[test]
fn mistakes_are_named_with_what_helps() {
    let Some(rig) = Rig::unmounted() else { return };
    let file = tempfile::NamedTempFile::new().unwrap();
    let file = file.path().to_str().unwrap();
    rig.server
        .with(|server| server.add_file("file", b"x").unwrap());
    let a_file = rig.url().replace("/export", "/export/file");
    let url = &rig.url();
    for (arguments, code, told) in [
        (vec!["mount", url, file], 2, "no directory"),
        (vec!["mount", url, "/nowhere/at/all"], 2, "No such file"),
        (vec!["mount", url, rig.point(), "-o", "sofd"], 2, "unknown"),
        (vec!["mount", "http://x/y", rig.point()], 2, "nfs://"),
        (vec!["mount", &a_file, rig.point()], 2, "no directory"),
        (
            vec![
                "mount",
                "nfs://127.0.0.1:1/x",
                rig.point(),
                "-o",
                "proto=udp,mountport=1",
            ],
            1,
            "refused",
        ),
        (vec!["mount"], 2, "required"),
    ] {
        let output = lasthop(&arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(told), "{arguments:?}: {said}");
        assert!(!rig.is_mounted());
    }
}

#[test]
fn a_silence_is_told_once_and_its_end_too() {
    let Some(rig) = Rig::unmounted() else { return };
    let log = tempfile::NamedTempFile::new().unwrap();
    let option = format!("log={}", log.path().display());
    let mounted = lasthop(&["mount", &rig.url(), rig.point(), "-o", &option]);
    assert!(mounted.status.success(), "{}", stderr(&mounted));
    silent(&rig, true);
    let path = rig.path("nothing");
    let looking = std::thread::spawn(move || fs::metadata(path).is_err());
    let logged = |what: &str| fs::read_to_string(log.path()).unwrap().contains(what);
    rig::wait_until(|| logged("silent for"));
    silent(&rig, false);
    rig::wait_until(|| logged("answers again after"));
    assert!(looking.join().unwrap());
}

#[test]
fn a_mount_in_the_background_waits_for_its_server() {
    let Some(rig) = Rig::unmounted() else { return };
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = datagrams.local_addr().unwrap();
    let streams = TcpListener::bind(address).unwrap();
    let url = format!("nfs://{address}/export?mountport={}", address.port());
    drop((datagrams, streams));
    let mounted = lasthop(&["mount", &url, rig.point(), "-o", "bg,proto=udp"]);
    assert!(mounted.status.success(), "{}", stderr(&mounted));
    assert!(!rig.is_mounted());
    let datagrams = UdpSocket::bind(address).unwrap();
    let streams = TcpListener::bind(address).unwrap();
    let server = FileServer::on(datagrams, streams, fileserver::Config::default()).unwrap();
    server.with(|server| server.add_file("file", b"content").unwrap());
    rig::wait_until(|| rig.is_mounted());
    assert_eq!(fs::read(rig.path("file")).unwrap(), b"content");
    assert!(lasthop(&["unmount", rig.point()]).status.success());
}
