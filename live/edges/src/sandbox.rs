//! The sandbox of a daemon that has been set up: it opens no files but the named ones, starts no programs, and calls
//! only the part of the kernel that its loop needs (Landlock and seccomp of Linux).

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use planted::Bug;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Operator,
    SeccompCondition, SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

/// Newest version of Landlock that is used; older kernels enforce the part of it that they know.
const LANDLOCK: ABI = ABI::V6;

/// What a process may still do with files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Files<'a> {
    /// Files, and folders with all that they contain, to read. Missing ones are left out.
    pub read: &'a [&'a Path],
    /// The same to read and run programs.
    pub run: &'a [&'a Path],
    /// The same to read, write and remove.
    pub write: &'a [&'a Path],
}

/// Confines the calling thread, and all that it starts from now on, to these files. Returns false if this kernel has no
/// Landlock, or not all of it (Linux 6.12).
///
/// # Errors
/// System errors.
pub fn confine_files(files: &Files<'_>) -> io::Result<bool> {
    let allow = |rules: RulesetCreated, paths: &[&Path], access| {
        paths
            .iter()
            .try_fold(rules, |rules, path| match PathFd::new(path) {
                Ok(descriptor) => rules.add_rule(PathBeneath::new(descriptor, access)),
                Err(_) => Ok(rules),
            })
    };
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(LANDLOCK))
        .and_then(|rules| rules.scope(Scope::from_all(LANDLOCK)))
        .and_then(Ruleset::create)
        .and_then(|rules| allow(rules, files.read, read))
        .and_then(|rules| allow(rules, files.run, read | AccessFs::Execute))
        .and_then(|rules| {
            let write = AccessFs::WriteFile | AccessFs::Truncate;
            let change = AccessFs::MakeReg | AccessFs::RemoveFile;
            allow(rules, files.write, read | write | change)
        })
        .and_then(RulesetCreated::restrict_self);
    let status = status.map_err(io::Error::other)?;
    Ok(status.ruleset == RulesetStatus::FullyEnforced)
}

/// Returns true if this kernel has Landlock, and it is on.
pub fn has_landlock() -> bool {
    // The flag asks for the version of Landlock alone (LANDLOCK_CREATE_RULESET_VERSION).
    let (none, flags) = (std::ptr::null::<libc::c_void>(), 1_u32);
    // SAFETY: with this flag the call reads no memory, and creates nothing.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, flags) };
    version >= 1
}

/// Confines the calling thread, and all threads that it starts from now on, to the system calls of a daemon's loop;
/// others fail with `EPERM`. Returns false if there is no filter for this processor.
///
/// # Errors
/// System errors.
pub fn confine_calls() -> io::Result<bool> {
    let Ok(target) = TargetArch::try_from(std::env::consts::ARCH) else {
        return Ok(false);
    };
    let install = |rules, otherwise, action| {
        let filter = SeccompFilter::new(rules, otherwise, action, target);
        let program = filter.and_then(BpfProgram::try_from);
        program
            .map_err(io::Error::other)
            .and_then(|program| apply_filter(&program).map_err(io::Error::other))
    };
    let refuse = |error: i32| SeccompAction::Errno(error.unsigned_abs());
    // The flags of this call cannot be examined. The C library then uses `clone`.
    let unknown = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let calls = calls().map_err(io::Error::other)?;
    // The second one forbids to install any more.
    install(unknown, SeccompAction::Allow, refuse(libc::ENOSYS))?;
    let others = if planted::is(Bug::CallsAreOnlyLogged) {
        SeccompAction::Log
    } else {
        refuse(libc::EPERM)
    };
    install(calls, others, SeccompAction::Allow)?;
    Ok(true)
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Returns the permitted system calls, some of them only with certain arguments.
fn calls() -> seccompiler::Result<Rules> {
    let mut rules: Rules = CALLS.iter().map(|call| (*call, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    rules.extend(OLD_CALLS.iter().map(|call| (*call, Vec::new())));
    let masked = |argument, mask: u32, value: i32| {
        let (mask, value) = (mask.into(), value.unsigned_abs().into());
        SeccompCondition::new(argument, Length::Dword, Operator::MaskedEq(mask), value)
    };
    let whole = |argument, value: i32| masked(argument, u32::MAX, value);
    let mut sockets = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM] {
            sockets.push(SeccompRule::new(vec![
                whole(0, family)?,
                masked(1, 0xf, kind)?,
            ])?);
        }
    }
    sockets.push(SeccompRule::new(vec![whole(0, libc::AF_UNIX)?])?);
    let routes = vec![whole(0, libc::AF_NETLINK)?, whole(2, libc::NETLINK_ROUTE)?];
    sockets.push(SeccompRule::new(routes)?);
    rules.insert(libc::SYS_socket, sockets);
    // Threads, but no processes; memory, but no new code.
    let thread = vec![masked(0, libc::CLONE_THREAD as u32, libc::CLONE_THREAD)?];
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(thread)?]);
    // The other filter refuses it with another error.
    rules.insert(libc::SYS_clone3, Vec::new());
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        let data = vec![masked(2, libc::PROT_EXEC as u32, 0)?];
        rules.insert(call, vec![SeccompRule::new(data)?]);
    }
    Ok(rules)
}

/// System calls of the loop, its threads, the memory allocator, name resolution, and the end of the process.
const CALLS: &[i64] = &[
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_brk,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_close,
    libc::SYS_connect,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_faccessat,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getpeername,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_getuid,
    libc::SYS_ioctl,
    libc::SYS_listen,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_ppoll,
    libc::SYS_prctl,
    libc::SYS_pread64,
    libc::SYS_prlimit64,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmmsg,
    libc::SYS_recvmsg,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sendmmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_set_robust_list,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    libc::SYS_sigaltstack,
    libc::SYS_socketpair,
    libc::SYS_statx,
    libc::SYS_tgkill,
    libc::SYS_uname,
    libc::SYS_unlinkat,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_write,
    libc::SYS_writev,
];

/// System calls that newer processors do not have any more.
#[cfg(target_arch = "x86_64")]
const OLD_CALLS: &[i64] = &[
    libc::SYS_access,
    libc::SYS_epoll_wait,
    libc::SYS_open,
    libc::SYS_pipe2,
    libc::SYS_poll,
    libc::SYS_stat,
    libc::SYS_unlink,
];

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::UdpSocket;
    use std::os::unix::net::{UnixDatagram, UnixStream};
    use std::process::Command;
    use std::thread;

    use super::*;
    use crate::parcel::{Parcel, Space};

    /// Runs `test` in a thread of its own, which alone is confined.
    fn confined(confine: impl FnOnce() + Send + 'static, test: impl FnOnce() + Send + 'static) {
        let run = move || {
            rustix::thread::set_no_new_privs(true).unwrap();
            confine();
            test();
        };
        thread::spawn(run).join().unwrap();
    }

    fn is_refused<T>(result: io::Result<T>) -> bool {
        result.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    }

    #[test]
    fn files_are_out_of_reach_but_the_named_ones() {
        let folder = tempfile::tempdir().unwrap();
        let [own, other] = ["own", "other"].map(|name| folder.path().join(name));
        for file in [&own, &other] {
            fs::write(file, "text").unwrap();
        }
        let confine = {
            let own = own.clone();
            move || {
                let files = Files {
                    read: &[&own, Path::new("/nobody/has/this")],
                    ..Files::default()
                };
                confine_files(&files).unwrap();
            }
        };
        confined(confine, move || {
            assert_eq!(fs::read_to_string(&own).unwrap(), "text");
            assert!(is_refused(fs::write(&own, "another")));
            assert!(is_refused(fs::read(&other)));
            for file in ["/etc/shadow", "/etc/passwd", "/proc/1/environ"] {
                assert!(is_refused(fs::read(file)), "{file}");
            }
            assert!(is_refused(fs::write("/etc/cron.d/lasthop", "")));
            assert!(is_refused(Command::new("/bin/true").status()));
        });
    }

    #[test]
    fn calls_are_refused_but_those_of_the_loop() {
        let confine = || assert!(confine_calls().unwrap());
        let space = Space::new().unwrap();
        confined(confine, move || {
            // What it needs works: threads, memory, time, sockets, and at the end a parcel.
            let sum = thread::spawn(|| vec![1_u8; 1 << 20].len()).join().unwrap();
            assert_eq!(sum, 1 << 20);
            drop(UdpSocket::bind("127.0.0.1:0").unwrap());
            drop(UnixDatagram::unbound().unwrap());
            let null = fs::File::open("/dev/null").unwrap();
            let parcel = space.pack(b"state", vec![null.into()]).unwrap();
            let (ours, theirs) = UnixStream::pair().unwrap();
            parcel.send(&ours).unwrap();
            let parcel = Parcel::receive(&theirs).unwrap().unwrap();
            assert_eq!(parcel.unpack().unwrap().0, b"state");

            assert!(is_refused(Command::new("/bin/true").status()));
            let raw = |domain, kind| socket2::Socket::new(domain, kind, None);
            assert!(is_refused(raw(
                socket2::Domain::PACKET,
                socket2::Type::DGRAM
            )));
            assert!(is_refused(raw(socket2::Domain::IPV4, socket2::Type::RAW)));
            assert!(is_refused(fs::create_dir("/tmp/lasthop_refused")));
            assert!(is_refused(fs::rename("/tmp/a", "/tmp/b")));
            // SAFETY: each call is refused before it looks at its arguments.
            let results = unsafe {
                [
                    libc::syscall(libc::SYS_ptrace, 0, 0, 0, 0),
                    libc::syscall(libc::SYS_execve, 0, 0, 0),
                    libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0),
                    libc::syscall(libc::SYS_kill, 1, 0),
                    libc::syscall(libc::SYS_bpf, 0, 0, 0),
                    libc::syscall(libc::SYS_io_uring_setup, 1, 0),
                    libc::syscall(libc::SYS_setns, -1, 0),
                    libc::syscall(libc::SYS_unshare, 0),
                    libc::syscall(libc::SYS_mount, 0, 0, 0, 0, 0),
                    libc::syscall(libc::SYS_process_vm_readv, 1, 0, 0, 0, 0, 0),
                ]
            };
            let last = io::Error::last_os_error().raw_os_error();
            assert_eq!((results, last), ([-1; 10], Some(libc::EPERM)));
        });
    }
}
