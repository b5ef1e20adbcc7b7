//! Processes: whom they end with, and who goes first.

use std::io;
use std::process::Command;

use rustix::process::{Signal, set_parent_process_death_signal};

/// Lets what `command` starts be killed when the thread that starts it ends, however it ends.
pub fn end_with_parent(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let ask = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(ask) };
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
