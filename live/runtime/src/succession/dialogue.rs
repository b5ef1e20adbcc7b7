//! The dialogue of two gateways on different machines, one of which hands its split connections over. They speak by the
//! standard input and output of a command that the other one has started, such as `ssh`:
//!
//! ```text
//! ends                              begins
//!   | lasthop hands over 1            |       it can
//!   |-------------------------------->|
//!   | go                              |       everything is ready there
//!   |<--------------------------------|
//!   | connections 4711, and the bytes |       the former process has ended
//!   |-------------------------------->|
//!   | taken                           |
//!   |<--------------------------------|
//! ```

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::{Succession, broken};

/// What is said, each in a line.
const READY: &str = "lasthop hands over 1";
const GO: &str = "go";
const CONNECTIONS: &str = "connections";
const TAKEN: &str = "taken";

/// Length of the longest line, and of the longest content, in bytes.
const LONGEST_LINE: usize = 256;
const LONGEST_CONTENT: usize = 2 << 30;
/// Size of a read, in bytes.
const PIECE: usize = 1 << 16;
/// Time that the other one may be silent once connections stand still.
const PATIENCE: Duration = Duration::from_secs(30);

/// An end of a dialogue.
#[derive(Debug)]
pub struct Dialogue {
    input: File,
    output: File,
    /// Time that the other end may be silent; `None` for any.
    patience: Option<Duration>,
}

impl Dialogue {
    /// Returns an end that hears by one descriptor and speaks by another.
    ///
    /// # Errors
    /// System errors.
    pub fn new(input: OwnedFd, output: OwnedFd) -> io::Result<Self> {
        for end in [&input, &output] {
            fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
        }
        Ok(Self {
            input: input.into(),
            output: output.into(),
            patience: None,
        })
    }

    /// Says that connections can be handed over, and waits until the other end is ready.
    ///
    /// # Errors
    /// `UnexpectedEof` if it has gone; system errors.
    pub fn offer(&mut self) -> io::Result<()> {
        self.say(READY)?;
        self.expect(GO)?;
        self.patience = Some(PATIENCE);
        Ok(())
    }

    /// Sends connections as [`Transfer::bytes`](super::transfer::Transfer::bytes), and waits until the other end has
    /// taken them.
    ///
    /// # Errors
    /// `TimedOut` or `UnexpectedEof` if it does not say so; system errors.
    pub fn give(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.say(&format!("{CONNECTIONS} {}", bytes.len()))?;
        self.write(bytes)?;
        self.expect(TAKEN)
    }

    /// Waits for an [`offer`](Self::offer).
    fn hear_offer(&mut self) -> io::Result<()> {
        self.expect(READY)
    }

    /// Has the other end give its connections.
    fn take(&mut self) -> io::Result<Vec<u8>> {
        self.patience = Some(PATIENCE);
        self.say(GO)?;
        let line = self.hear()?;
        let length = line.strip_prefix(CONNECTIONS).map(str::trim);
        let length = length.and_then(|length| length.parse().ok());
        let length = length.filter(|length: &usize| *length <= LONGEST_CONTENT);
        let mut left = length.ok_or_else(|| unexpected(&line))?;
        let mut bytes = Vec::new();
        let mut piece = vec![0; PIECE];
        while left > 0 {
            let part = left.min(piece.len());
            let count = self.read(&mut piece[..part])?;
            bytes.extend_from_slice(&piece[..count]);
            left -= count;
        }
        Ok(bytes)
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        self.write(format!("{line}\n").as_bytes())
    }

    fn expect(&mut self, expected: &str) -> io::Result<()> {
        let line = self.hear()?;
        if line == expected {
            return Ok(());
        }
        Err(unexpected(&line))
    }

    fn hear(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        loop {
            let mut byte = [0];
            self.read(&mut byte)?;
            match byte {
                [b'\n'] => return Ok(String::from_utf8_lossy(&line).trim_end().to_owned()),
                [byte] if line.len() < LONGEST_LINE => line.push(byte),
                _ => return Err(unexpected(&String::from_utf8_lossy(&line))),
            }
        }
    }

    /// Reads at least one byte.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.input.read(buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if waits(&error) => wait(&self.input, PollFlags::IN, self.patience)?,
                read => return read,
            }
        }
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.output.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if waits(&error) => wait(&self.output, PollFlags::OUT, self.patience)?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn waits(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, WouldBlock};
    matches!(error.kind(), Interrupted | WouldBlock)
}

fn wait(descriptor: impl AsFd, flags: PollFlags, patience: Option<Duration>) -> io::Result<()> {
    let limit = patience.map(Timespec::try_from).transpose();
    let limit = limit.map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(&descriptor, flags)], limit.as_ref()) {
        Ok(0) => Err(io::ErrorKind::TimedOut.into()),
        Err(rustix::io::Errno::INTR) | Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn unexpected(line: &str) -> io::Error {
    let line: String = line.chars().take(80).collect();
    broken(format!("the other gateway says {line:?}"))
}

/// A gateway on another machine that hands its connections over when it is told to.
#[derive(Debug)]
pub struct Predecessor {
    command: Child,
    dialogue: Dialogue,
}

impl Predecessor {
    /// Runs a command of the shell, by which it speaks, and waits for its offer without a limit: it may ask the user
    /// for a password.
    ///
    /// # Errors
    /// `UnexpectedEof` if it ends, `InvalidData` if it says something else; system errors.
    pub fn start(command: &str) -> io::Result<Self> {
        let mut command = Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
        let output = command.stdin.take().ok_or_else(missing)?;
        let input = command.stdout.take().ok_or_else(missing)?;
        let mut dialogue = Dialogue::new(input.into(), output.into())?;
        dialogue.hear_offer()?;
        Ok(Self { command, dialogue })
    }

    /// Has it end, and goes on with its connections, as [`Succession::restore`] does; none if it had none. It
    /// needs `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// `UnexpectedEof` or `TimedOut` if it does not hand them over, and those of [`Succession::restore`].
    pub fn succeed(mut self, transparent: bool) -> io::Result<Option<Succession>> {
        let bytes = self.dialogue.take()?;
        let is_none = bytes.is_empty();
        let succession = (!is_none)
            .then(|| Succession::restore(&bytes, transparent))
            .transpose()?;
        self.dialogue.say(TAKEN)?;
        self.command.wait()?;
        Ok(succession)
    }
}

#[cfg(test)]
mod tests {
    use std::io::pipe;
    use std::thread;

    use super::*;

    /// The two ends of a dialogue.
    fn ends() -> [Dialogue; 2] {
        let (there, back) = (pipe().unwrap(), pipe().unwrap());
        [
            Dialogue::new(there.0.into(), back.1.into()).unwrap(),
            Dialogue::new(back.0.into(), there.1.into()).unwrap(),
        ]
    }

    #[test]
    fn content_crosses_when_both_are_ready() {
        let [mut gives, mut takes] = ends();
        let content = vec![7; 3 << 20];
        let given = content.clone();
        let giver = thread::spawn(move || {
            gives.offer()?;
            gives.give(&given)
        });
        takes.hear_offer().unwrap();
        assert_eq!(takes.take().unwrap(), content);
        takes.say(TAKEN).unwrap();
        giver.join().unwrap().unwrap();
    }

    #[test]
    fn an_end_that_goes_away_has_taken_nothing() {
        let [mut gives, mut takes] = ends();
        let giver = thread::spawn(move || {
            gives.offer()?;
            gives.give(b"all")
        });
        takes.hear_offer().unwrap();
        assert_eq!(takes.take().unwrap(), b"all");
        drop(takes);
        let error = giver.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn what_no_gateway_says_is_refused() {
        for (said, words) in [
            ("Welcome to east!\n", "says \"Welcome to east!\""),
            (&*"x".repeat(1_000), "says \"xxx"),
        ] {
            let [mut other, mut takes] = ends();
            other.write(said.as_bytes()).unwrap();
            let error = takes.hear_offer().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(error.to_string().contains(words), "{error}");
        }
        for length in ["-1", "9999999999", "many", ""] {
            let [mut other, mut takes] = ends();
            other.say(&format!("{CONNECTIONS} {length}")).unwrap();
            let error = takes.take().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{length}");
        }
        let [mut other, mut takes] = ends();
        other.say(&format!("{CONNECTIONS} 10")).unwrap();
        other.output = File::create("/dev/null").unwrap();
        let error = takes.take().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
