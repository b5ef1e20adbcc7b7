//! What is left to a thread that has dropped its privileges: each system call that must not work is tried.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::process::Command;

use runtime::privileges::{Remains, User, drop_all_but};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{PidfdFlags, getpid, pidfd_open};
use rustix::thread::{CapabilitySet, Uid, set_thread_res_uid};
use socket2::{Domain, Protocol, Socket, Type};

#[track_caller]
fn refused<T>(result: io::Result<T>) {
    let error = result.err().expect("it was refused");
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
}

#[test]
fn nothing_is_left_but_what_remains() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root has privileges to drop");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    // In Linux all of this belongs to a thread.
    let thread = std::thread::spawn(move || {
        let remains = Remains {
            capabilities: CapabilitySet::empty(),
            read: &["/etc".as_ref()],
        };
        drop_all_but(&User::find(None).unwrap(), &remains).unwrap();
        refused(fs::read("/etc/shadow"));
        fs::read("/etc/passwd").unwrap();
        refused(fs::read("/proc/self/status"));
        refused(fs::write("/etc/cron.d/lasthop", "* * * * * root true"));
        refused(fs::write(file, ""));
        refused(fs::write("/tmp/lasthop_refused", ""));
        refused(Command::new("/bin/true").status());
        refused(Command::new("/usr/sbin/nft").arg("--version").status());
        let root = Uid::from_raw(0);
        refused(set_thread_res_uid(root, root, root).map_err(io::Error::from));
        refused(Socket::new(Domain::PACKET, Type::RAW, None));
        refused(Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4)));
        // Any user may do these where only the filter of system calls forbids them.
        refused(memfd_create("memory", MemfdFlags::CLOEXEC).map_err(io::Error::from));
        refused(pidfd_open(getpid(), PidfdFlags::empty()).map_err(io::Error::from));
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        refused(socket.set_ip_transparent_v4(true));
        refused(socket.set_mark(7));
        UdpSocket::bind("127.0.0.1:0").unwrap();
        std::thread::spawn(|| refused(fs::read("/etc/shadow")))
            .join()
            .unwrap();
    });
    thread.join().unwrap();
}
