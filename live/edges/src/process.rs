//! Lifetime, limits and scheduling of processes.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit,
};

/// Folders of programs on systems where the search path of users does not contain them.
const USUAL_FOLDERS: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];

/// Returns the path of a program, if this host has it.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&search_path).chain(USUAL_FOLDERS.map(PathBuf::from));
    let mut programs = folders.map(|folder| folder.join(name));
    programs.find(|program| program.is_file())
}

/// Makes the process that `command` starts be killed when the thread that starts it ends, in any way.
pub fn end_with_parent(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let ask = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(ask) };
}

/// Makes the process that `command` starts ignore the signals that end a daemon, as its handlers do not pass on to it.
pub(crate) fn outlive_signals(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let ignore = || {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
            // SAFETY: ignoring a signal runs no code of ours.
            if unsafe { libc::signal(signal, libc::SIG_IGN) } == libc::SIG_ERR {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes three system calls and allocates nothing.
    unsafe { command.pre_exec(ignore) };
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
    // The structure of the kernel has this field only. musl's function does nothing.
    let lowest: libc::c_int = 1;
    // SAFETY: the call reads one structure that lives through it; 0 is the calling thread.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            libc::SCHED_RR,
            &raw const lowest,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_outlives_the_signals_that_end_a_daemon() {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "kill -TERM $$; kill -INT $$; kill -HUP $$; echo it lives",
        ]);
        outlive_signals(&mut command);
        let output = command.output().unwrap();
        assert_eq!(output.stdout, b"it lives\n", "{}", output.status);
    }
}
