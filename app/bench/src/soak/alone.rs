//! A restart of this program in its own namespaces: its mounts, its processes, `/run` and `/mnt` in memory are
//! invisible to others, and disappear when it ends.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::failure::Failure;

/// The shell is the first process there: when it ends, even by Ctrl-C, the kernel ends all others and undoes all
/// mounts.
const START: &str = "trap 'exit 130' INT TERM; mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /mnt && \
    \"$@\" & wait $!";

/// Replaces this process by the same program with its arguments and `more`; returns only if that fails.
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
