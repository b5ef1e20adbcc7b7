//! One file over one connection, and the results of both of its ends.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::rig::{ConnectionOpener, Pair};
use crate::soak::random::Random;
use crate::soak::watch::Fault;

/// Confirmation of a receiver that received all of it.
const THANKS: &[u8] = b"it is here\n";
/// Time limit without progress. A killed daemon is back before, and reports it; but a mobile host without data to send
/// does not contact its gateway before its keys are two minutes old.
const SILENCE: Duration = Duration::from_secs(150);

/// A file to transfer, and its form.
#[derive(Debug, Clone)]
pub(super) struct Transfer {
    /// True if it goes to the mobile host.
    pub(super) down: bool,
    /// True if its length goes first; otherwise the end of the stream marks its end.
    pub(super) framed: bool,
    pub(super) asker: ConnectionOpener,
    pub(super) content: Arc<Vec<u8>>,
}

/// Result for one end.
#[derive(Debug)]
pub(super) enum Ending {
    /// All of it crossed.
    Whole,
    /// The transfer ended with an error, so that all know that something is missing.
    Failed,
}

impl Transfer {
    /// Returns a random file of at most `most` bytes: short ones are as frequent as long ones, and some are empty.
    pub(super) fn draw(random: &mut Random, down: bool, framed: bool, most: u64) -> Self {
        let bits = 64 - most.leading_zeros();
        let bound = 1 << random.below(u64::from(bits) + 1);
        let length = random.below(bound).min(most);
        Self {
            down,
            framed,
            asker: random.one_of(&[ConnectionOpener::Mobile, ConnectionOpener::Fixed]),
            content: Arc::new(random.bytes(length as usize)),
        }
    }

    /// Returns the sending end, and the receiving one.
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

    /// Sends it, and waits for the confirmation.
    ///
    /// # Errors
    /// Returns an error if the confirmation ended early without an error, or if there is no progress.
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

    /// Receives it, counts its bytes in `received`, and sends the confirmation.
    ///
    /// # Errors
    /// Returns an error if the file ended early without an error, differs from the sent one, or if there is no
    /// progress.
    pub(super) fn receive(
        &self,
        mut stream: TcpStream,
        received: &AtomicU64,
    ) -> Result<Ending, Fault> {
        let wanted = self.content.len();
        let header = if self.framed { size_of::<u64>() } else { 0 };
        let mut all = Vec::with_capacity(header + wanted);
        let mut buffer = [0; 16_384];
        // A receiver that knows the length does not wait for the end of the stream.
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

/// Returns the result for an error: a failed transfer, unless it is a timeout.
fn failed(error: &io::Error) -> Result<Ending, Fault> {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            Err(format!("nothing happened for long: {error}"))
        }
        _ => Ok(Ending::Failed),
    }
}
