//! This program once more, alone: with mounts, processes, a `/run` and a `/mnt` in memory that nobody else sees, and
//! that are gone with it, however it ends.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::failure::Failure;

/// The shell is the first process there: when it ends, by Ctrl-C too, the kernel ends all others and undoes all mounts.
const START: &str = "trap 'exit 130' INT TERM; mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /mnt && \
    \"$@\" & wait $!";

/// Goes on as another process of the same name, with the same arguments and these; returns only if that fails.
pub(crate) fn become_alone(more: &[&str], program: &Path) -> Failure {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    command.args(["sh", "-c", START, "sh"]);
    let source = match std::env::current_exe() {
        Ok(this) => {
            command.arg(this).args(std::env::args_os().skip(1));
            command.args(more).arg(program).exec()
        }
        Err(source) => source,
    };
    Failure::Found(format!("cannot run `{command:?}`: {source}"))
}
