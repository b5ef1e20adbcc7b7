//! Programs in hosts that take commands and reply.

use std::io::{BufRead, BufReader, Write};
use std::process::ChildStdin;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use rig::Process;

use crate::failure::Failure;

/// Time limit of a reply that is due at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program that exchanges lines with the bench; it is killed when this is dropped.
pub(super) struct Talk {
    process: Process,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Talk {
    /// Waits until a program, which has pipes, is ready.
    pub(super) fn start(mut process: Process) -> Result<Self, Failure> {
        let (input, output) = process.pipes();
        let (input, output) = input.zip(output).expect("it has pipes");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let talk = Self {
            process,
            input,
            lines,
        };
        match talk.hear(PATIENCE) {
            Some(line) if line == "ready" => Ok(talk),
            _ => Err(Failure::Found(format!(
                "not ready: {}",
                talk.process.words()
            ))),
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends it a line.
    pub(super) fn say(&mut self, word: &str) -> Result<(), Failure> {
        writeln!(self.input, "{word}")
            .map_err(|error| Failure::Found(format!("nobody hears '{word}': {error}")))
    }

    /// Returns its next line, or `None` after the time limit.
    pub(super) fn hear(&self, within: Duration) -> Option<String> {
        self.lines.recv_timeout(within).ok()
    }

    /// Sends it a line and waits for a line that begins as given; returns the rest of that line.
    pub(super) fn ask(&mut self, word: &str, begins: &str) -> Result<String, Failure> {
        self.say(word)?;
        loop {
            let Some(line) = self.hear(PATIENCE) else {
                return Err(Failure::Found(format!("no answer to '{word}'")));
            };
            // The line may have come just before.
            if let Some(rest) = line.strip_prefix(begins) {
                return Ok(rest.trim().into());
            }
        }
    }
}
