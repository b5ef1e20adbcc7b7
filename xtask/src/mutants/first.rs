//! Runs of a test program that end at the first test that fails: the later tests show nothing new about a mutant.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use xtask::shell::Failure;

use super::tool::has_failed;

/// Arguments of the hidden command that cargo runs test programs with.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub(super) words: Vec<OsString>,
}

/// Runs a test program and prints what it prints; ends it as soon as a test has failed.
///
/// # Errors
/// Returns an error if a test fails, or if the program cannot be started.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let line = format!("{:?}", options.words);
    let start = |source| Failure::Start {
        command: line.clone(),
        source,
    };
    let mut command = Command::new(&options.words[0]);
    command.args(&options.words[1..]).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(start)?;
    let printed = child.stdout.take().into_iter();
    let lines = printed.flat_map(|output| BufReader::new(output).split(b'\n'));
    for line in lines.map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        if has_failed(&line) {
            child.kill().map_err(start)?;
            break;
        }
    }
    let status = child.wait().map_err(start)?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::Exit {
        command: line,
        how: status.to_string(),
        output: String::new(),
    })
}
