//! A program without root's rights creates its own network. It has no test harness, since a user namespace cannot be
//! entered once there are threads.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::process::ExitCode;

use edges::namespace::{Namespace, UserNamespaceError, enter_user_namespace};
use edges::netlink::Netlink;
use edges::undo::UndoLog;

/// The user "nobody" of most systems.
const NOBODY: u32 = 65_534;

fn main() -> ExitCode {
    if let Err(error) = std::env::set_current_dir("/") {
        eprintln!("cannot go to /: {error}");
        return ExitCode::FAILURE;
    }
    give_up_root();
    match enter_user_namespace() {
        Ok(()) => {}
        Err(error @ UserNamespaceError::Forbidden(_)) if std::env::var_os("CI").is_none() => {
            println!("skipped: {error}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("failed: {error}");
            return ExitCode::FAILURE;
        }
    }
    use_the_namespace();
    println!("test an_unprivileged_user_has_a_network_of_its_own ... ok");
    ExitCode::SUCCESS
}

fn give_up_root() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    // SAFETY: plain system calls without pointers in a process of one thread.
    unsafe {
        assert_eq!(libc::setresgid(NOBODY, NOBODY, NOBODY), 0);
        assert_eq!(libc::setresuid(NOBODY, NOBODY, NOBODY), 0);
        // Without this, a process that changed its user does not own its files in /proc.
        assert_eq!(libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
    }
}

fn use_the_namespace() {
    let mut netlink = Netlink::open().unwrap();
    assert_eq!(
        netlink
            .links()
            .unwrap()
            .iter()
            .filter(|link| link.name == "lo" && link.up)
            .count(),
        1
    );
    netlink.create_veth("left", "right").unwrap();
    let far = Namespace::create().unwrap();
    netlink.move_link("right", &far).unwrap();
    let seen = far
        .run(|| Netlink::open().unwrap().link("right").unwrap().name)
        .unwrap();
    assert_eq!(seen, "right");
    assert!(std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").is_ok());

    let folder = tempfile::tempdir().unwrap();
    let (mut log, recoveries) = UndoLog::open(folder.path(), "nobody").unwrap();
    assert!(recoveries.is_empty());
    log.add_address("left", "10.1.0.1/24".parse().unwrap())
        .unwrap();
    log.undo().unwrap();
    assert!(netlink.addresses("left").unwrap().is_empty());
    assert!(matches!(
        enter_user_namespace_from_thread(),
        Err(UserNamespaceError::Threads)
    ));
}

fn enter_user_namespace_from_thread() -> Result<(), UserNamespaceError> {
    std::thread::scope(|scope| scope.spawn(enter_user_namespace).join().unwrap())
}
