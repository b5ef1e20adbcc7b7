//! Processes: whom they end with, and who goes first.

use std::io;
use std::process::Command;

use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit,
};

/// Lets what `command` starts be killed when the thread that starts it ends, however it ends.
pub fn end_with_parent(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let ask = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(ask) };
}

/// Lets this process have so many files and sockets open at once, or as many as it may; says how many these are.
///
/// # Errors
/// Of the system.
pub fn allow_open_files(count: u64) -> io::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(count, |most| count.min(most));
    // Nothing there means no limit.
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

/// Puts the calling thread before all others that are not real-time threads (`SCHED_RR`,
/// sched(7)), for work that must happen at its time and needs little of it.
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
