//! Lifetime, limits and scheduling of processes.

use std::io;
use std::process::Command;

use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit,
};

/// Makes the process that `command` starts be killed when the thread that starts it ends, in any way.
pub fn end_with_parent(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let ask = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(ask) };
}

/// Raises the limit of open files and sockets to `count`, or as far as allowed; returns the resulting limit.
///
/// # Errors
/// System errors.
pub fn allow_open_files(count: u64) -> io::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(count, |most| count.min(most));
    // No value means no limit.
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(limit.current.unwrap_or(u64::MAX));
    }
    let raised = Rlimit {
        current: Some(wanted),
        ..limit
    };
    setrlimit(Resource::Nofile, raised)?;
    Ok(wanted)
}

/// Schedules the calling thread before all others that are not real-time threads (`SCHED_RR`, sched(7)), for work that
/// must be on time and needs little processor time.
///
/// # Errors
/// Without root's rights or `CAP_SYS_NICE`.
pub fn go_first() -> io::Result<()> {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: the call reads one structure that lives through it; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const lowest) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
