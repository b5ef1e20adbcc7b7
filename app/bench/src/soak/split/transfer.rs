//! One file over one connection, and what both of its ends come to think of it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::rig::{Asker, Pair};
use crate::soak::random::Random;
use crate::soak::watch::Fault;

/// What who received all of it says.
const THANKS: &[u8] = b"it is here\n";
/// How long an end may hear nothing. A daemon that was killed is back before, and tells; but a mobile host that has
/// nothing to send does not ask who is there before its keys are two minutes old.
const SILENCE: Duration = Duration::from_secs(150);

/// What crosses, and how.
#[derive(Debug, Clone)]
pub(super) struct Transfer {
    /// Whether it goes to the mobile host.
    pub(super) down: bool,
    /// Whether its length goes first; otherwise only the end of the stream tells it.
    pub(super) framed: bool,
    pub(super) asker: Asker,
    pub(super) content: Arc<Vec<u8>>,
}

/// How it ended for one end.
#[derive(Debug)]
pub(super) enum Ending {
    /// All of it crossed.
    Whole,
    /// With an error, and everybody knows that something is missing.
    Failed,
}

impl Transfer {
    /// One of so many bytes at most that chance decides: short ones are as usual as long ones, and some are empty.
    pub(super) fn draw(random: &mut Random, down: bool, framed: bool, most: u64) -> Self {
        let bits = 64 - most.leading_zeros();
        let bound = 1 << random.below(u64::from(bits) + 1);
        let length = random.below(bound).min(most);
        Self {
            down,
            framed,
            asker: random.one_of(&[Asker::Mobile, Asker::Fixed]),
            content: Arc::new(random.bytes(length as usize)),
        }
    }

    /// The sending end, and the receiving one.
    pub(super) fn ends(&self, pair: Pair) -> io::Result<(TcpStream, TcpStream)> {
        for stream in [&pair.mobile, &pair.fixed] {
            stream.set_read_timeout(Some(SILENCE))?;
            stream.set_write_timeout(Some(SILENCE))?;
        }
        Ok(if self.down {
            (pair.fixed, pair.mobile)
        } else {
            (pair.mobile, pair.fixed)
        })
    }

    /// Sends it, and waits for thanks.
    ///
    /// # Errors
    /// That the answer ended early, as if it were whole; or that nothing happens.
    pub(super) fn send(&self, mut stream: TcpStream) -> Result<Ending, Fault> {
        let mut write = || {
            if self.framed {
                stream.write_all(&(self.content.len() as u64).to_be_bytes())?;
            }
            stream.write_all(&self.content)?;
            if !self.framed {
                stream.shutdown(Shutdown::Write)?;
            }
            let mut thanks = Vec::new();
            stream.read_to_end(&mut thanks)?;
            Ok(thanks)
        };
        match write() {
            Ok(thanks) if thanks == THANKS => Ok(Ending::Whole),
            Ok(thanks) => Err(format!(
                "the answer ended cleanly after {} of {} bytes",
                thanks.len(),
                THANKS.len()
            )),
            Err(error) => failed(&error),
        }
    }

    /// Receives it, counting its bytes in `received`, and says thanks.
    ///
    /// # Errors
    /// That it ended early, as if it were whole, or is not what was sent; or that nothing happens.
    pub(super) fn receive(
        &self,
        mut stream: TcpStream,
        received: &AtomicU64,
    ) -> Result<Ending, Fault> {
        let wanted = self.content.len();
        let header = if self.framed { size_of::<u64>() } else { 0 };
        let mut all = Vec::with_capacity(header + wanted);
        let mut buffer = [0; 16_384];
        // Who knows the length does not wait for the end of the stream.
        while !self.framed || all.len() < header + wanted {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => all.extend_from_slice(&buffer[..count]),
                Err(error) => return failed(&error),
            }
            received.store(all.len().saturating_sub(header) as u64, Ordering::Relaxed);
        }
        if all.len() < header + wanted {
            let got = all.len();
            return Err(format!(
                "the stream ended cleanly after {got} of {} bytes",
                header + wanted
            ));
        }
        if all[header..] != self.content[..] {
            let got = all.len() - header;
            return Err(format!("{got} bytes in the place of {wanted} others"));
        }
        match stream.write_all(THANKS) {
            Ok(()) => Ok(Ending::Whole),
            Err(error) => failed(&error),
        }
    }
}

/// An error is an honest end; that nothing happens for long is none.
fn failed(error: &io::Error) -> Result<Ending, Fault> {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            Err(format!("nothing happened for long: {error}"))
        }
        _ => Ok(Ending::Failed),
    }
}
