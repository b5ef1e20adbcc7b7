//! pjdfstest on the mount: the requirements of POSIX on file systems.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::rig::Rig;
use crate::bench::setting::{has, target};
use crate::failure::Failure;
use crate::soak::watch::Fault;
use xtask::shell::Shell;

/// The release that is installed if there is none.
const RELEASE: &str = "0.2.2";

/// Tests that cannot pass, with the reasons.
const EXPECTED: [(&str, &str); 1] = [(
    "unlink::open_file_not_freed",
    "it wants a removed file that is open to have no link: at an NFS server it has a name until it is closed",
)];

/// Returns the program; installs it below the folder of builds if it is not found.
pub(super) fn program(shell: &Shell) -> Result<PathBuf, Failure> {
    if has("pjdfstest") {
        return Ok("pjdfstest".into());
    }
    let root = target(shell).join("pjdfstest");
    let program = root.join("bin/pjdfstest");
    if !program.is_file() {
        let mut install = shell.cargo(&["install", "--quiet", "--version", RELEASE, "--root"]);
        install.arg(&root).arg("pjdfstest");
        shell.run(install)?;
    }
    Ok(program)
}

/// Returns its configuration. The server keeps times to the nanosecond, but its clock ticks every few milliseconds. The
/// users are Debian's.
fn configuration() -> String {
    let expected: Vec<_> = EXPECTED
        .iter()
        .map(|(name, _)| format!("{name:?}"))
        .collect();
    format!(
        "[settings]\nnaptime = 0.02\nallow_remount = false\nexpected_failures = [{}]\n[features]\n[dummy_auth]\n\
         entries = [[\"nobody\", \"nogroup\"], [\"daemon\", \"daemon\"], [\"bin\", \"bin\"]]\n",
        expected.join(", ")
    )
}

/// Runs all tests; returns its last line.
pub(super) fn run(rig: &Rig, program: &PathBuf) -> Result<String, Fault> {
    let file = rig.local("pjdfstest.toml");
    fs::write(&file, configuration()).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut command = Command::new(program);
    command.arg("-c").arg(file).arg("-p").arg(rig.mounted(""));
    let output = command.env("NO_COLOR", "1").stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let summary = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("Summary: "));
    match summary {
        Some(summary) if output.status.success() => Ok(summary.into()),
        Some(_) => Err(failures(&text)),
        None => Err(format!(
            "it ended early: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// Returns the tests that failed, with the first line of each one's reason.
fn failures(text: &str) -> Fault {
    let mut told = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.ends_with("FAILED") || line.ends_with("PASSED UNEXPECTEDLY") {
            let reason = lines.peek().map_or("", |reason| reason.trim());
            let words: Vec<_> = line.split_whitespace().collect();
            told.push(format!("{}: {reason}", words.join(" ")));
        }
    }
    format!("{} failed:\n    {}", told.len(), told.join("\n    "))
}
