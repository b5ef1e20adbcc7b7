//! Programs in hosts that are told what to do, and answer.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use crate::bench::files::hosts::Running;
use xtask::shell::Failure;

/// How long an answer may take that is due at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program that is spoken with by lines; it is killed when this is dropped.
pub(super) struct Talk {
    running: Running,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Talk {
    /// Starts a program and waits until it is ready.
    pub(super) fn start(mut command: Command) -> Result<Self, Failure> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|source| Failure::Start {
            command: format!("{command:?}"),
            source,
        })?;
        let input = child.stdin.take().expect("it has a pipe");
        let output = child.stdout.take().expect("it has a pipe");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let talk = Self {
            running: child.into(),
            input,
            lines,
        };
        talk.hear(PATIENCE)
            .filter(|line| line == "ready")
            .map(|_| talk)
            .ok_or_else(|| Failure::Found(format!("not ready: {command:?}")))
    }

    pub(super) fn id(&self) -> u32 {
        self.running.id()
    }

    /// Tells it something.
    pub(super) fn say(&mut self, word: &str) -> Result<(), Failure> {
        writeln!(self.input, "{word}")
            .map_err(|error| Failure::Found(format!("nobody hears '{word}': {error}")))
    }

    /// What it says next, if it does so in time.
    pub(super) fn hear(&self, within: Duration) -> Option<String> {
        self.lines.recv_timeout(within).ok()
    }

    /// Tells it something and waits for a line that begins as given; gives the rest of it.
    pub(super) fn ask(&mut self, word: &str, begins: &str) -> Result<String, Failure> {
        self.say(word)?;
        loop {
            let Some(line) = self.hear(PATIENCE) else {
                return Err(Failure::Found(format!("no answer to '{word}'")));
            };
            // It may have been done just before.
            if let Some(rest) = line.strip_prefix(begins) {
                return Ok(rest.trim().into());
            }
        }
    }
}
