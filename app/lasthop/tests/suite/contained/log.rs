//! A daemon does not depend on whoever reads its log.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::fs::OFlags;

use crate::support::{GATEWAY_OUTSIDE, Hosts, PROGRAM, able, fetch};

/// Size of the smallest pipe of Linux, in bytes.
const PIPE: usize = 4_096;

/// Starts a gateway whose log goes into a pipe; returns it with the end to read from.
fn gateway_with_pipe(hosts: &Hosts) -> (Child, io::PipeReader, io::PipeWriter) {
    let (reader, writer) = io::pipe().unwrap();
    rustix::pipe::fcntl_setpipe_size(&writer, PIPE).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["gateway", "--config", "gateway.toml"]);
    command
        .current_dir(hosts.folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(writer.try_clone().unwrap());
    let gateway = hosts.gateway.spawn(command).unwrap();
    (gateway, reader, writer)
}

/// Fills a pipe to the last byte, by a descriptor of its own that does not wait.
fn fill(writer: &io::PipeWriter) {
    let path = format!("/proc/self/fd/{}", writer.as_fd().as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let own = rustix::fs::open(path, flags, rustix::fs::Mode::empty()).unwrap();
    let mut own = File::from(own);
    while own.write(b".").is_ok() {}
}

#[test]
fn a_reader_of_the_log_that_stalls_stops_nothing() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let (mut gateway, mut reader, writer) = gateway_with_pipe(&hosts);
    let mobile = hosts.start("mobile");
    hosts.wait_until_connected();
    fill(&writer);
    // The gateway logs this, and that the mobile host is back.
    assert!(mobile.terminate().success());
    let mobile = hosts.start("mobile");
    hosts.wait_until_connected();
    assert_eq!(fetch(&hosts, 1 << 20), GATEWAY_OUTSIDE);
    assert!(!hosts.peer("gateway")["keys_age"].is_null());
    assert!(mobile.terminate().success());
    hosts.wait_until("the gateway knows it", || {
        hosts.peer("gateway")["keys_age"].is_null()
    });

    // The reader is back, and misses no line that had room.
    drop(writer);
    let text = Arc::new(Mutex::new(Vec::new()));
    let read = thread::spawn({
        let text = Arc::clone(&text);
        move || {
            let mut bytes = [0; 1_024];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                text.lock().unwrap().extend(&bytes[..count]);
            }
        }
    });
    let pid = rustix::process::Pid::from_child(&gateway);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(gateway.wait().unwrap().success());
    read.join().unwrap();
    let text = String::from_utf8(text.lock().unwrap().clone()).unwrap();
    let connected = text.matches("tablet7: connected").count();
    assert_eq!(connected, 2, "{text}");
    assert!(text.contains("gateway ended"), "{text}");
}

/// Whoever never reads again does not keep a daemon from its end, nor from removing what it added.
#[test]
fn a_daemon_ends_although_nobody_reads_its_log() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let before = hosts.traces();
    let (mut gateway, _reader, writer) = gateway_with_pipe(&hosts);
    hosts.wait_until("it answers", || !hosts.status("gateway").is_null());
    fill(&writer);
    let pid = rustix::process::Pid::from_child(&gateway);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(gateway.wait().unwrap().success());
    assert_eq!(hosts.traces(), before);
}
