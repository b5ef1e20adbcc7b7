//! A restart of this program in its own namespaces: its mounts, its processes, `/run` and `/mnt` in memory are
//! invisible to others, and disappear when it ends.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{peers, setting};
use crate::failure::Failure;
use xtask::shell::Shell;

/// The shell is the first process there: when it ends, even by Ctrl-C, the kernel ends all others and undoes all
/// mounts.
const START: &str = "trap 'exit 130' INT TERM; mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /mnt && \
    \"$@\" & wait $!";

/// Programs and the Debian packages that hold them.
const NEEDED: [(&str, &str); 1] = [("unshare", "util-linux")];

/// Options of a command that measures the product in its own namespaces.
#[derive(Debug, clap::Args)]
pub(crate) struct Alone {
    /// Measure this program instead of a newly built one
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The program, for a process that runs in its own namespaces already
    #[arg(long, hide = true)]
    alone: Option<PathBuf>,
}

impl Alone {
    /// Returns the program. Elsewhere than in namespaces of its own, this builds the program and starts the process
    /// there again, after `prepare`; it returns only if that fails.
    pub(crate) fn enter(
        &self,
        shell: &Shell,
        prepare: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<&Path, Failure> {
        if let Some(program) = &self.alone {
            println!("{}\n", setting::describe(shell)?);
            return Ok(program);
        }
        peers::provide(shell, &NEEDED)?;
        prepare()?;
        let program = setting::program(shell, self.program.as_deref())?;
        Err(become_alone(&["--alone"], &program))
    }
}

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
