//! Recording what a host was given, to show that a second one that is given the same does the same.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use hosts::{Input, Output};
use machine::Machine;
use serde_json::Value;
use session::Entropy;
use split::SplitStatus;
use thiserror::Error;
use units::{Bytes, Instant};

use crate::host::Driven;
use crate::lock;

/// Calls that are recorded at most; what follows is not compared.
const CALLS: usize = 1 << 20;

/// A host that remembers each call, and a digest of what it put out after it.
pub struct Recorder<H> {
    host: H,
    calls: Vec<Call>,
}

/// A call of the driver.
struct Call {
    now: Instant,
    /// What was given; `None` stands for a deadline.
    input: Option<Input>,
    digest: Digest,
}

/// Outputs as one number (FNV-1a over their text).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Digest(u64);

/// The second host did something else.
#[derive(Debug, Error)]
#[error("of {calls} calls, the one numbered {at} had other outputs when it was replayed: {call}")]
pub struct Differs {
    calls: usize,
    at: usize,
    call: String,
}

impl<H: Driven> Recorder<H> {
    /// Returns `host`, recorded from now on.
    pub fn new(host: H) -> Self {
        let calls = Vec::new();
        Self { host, calls }
    }

    fn note(&mut self, now: Instant, input: Option<&Input>) {
        if self.calls.len() < CALLS {
            let digest = Digest::new();
            let input = input.cloned();
            self.calls.push(Call { now, input, digest });
        }
    }

    /// Gives a second host, which must have been made as the first one was, the same; returns the number of calls.
    ///
    /// # Errors
    /// If it does something else.
    pub fn replay(
        self,
        mut second: impl Machine<Input = Input, Output = Output>,
    ) -> Result<usize, Differs> {
        // What followed the last call may not have been recorded.
        let whole = self.calls.len().min(CALLS - 1);
        for (at, call) in self.calls.iter().take(whole).enumerate() {
            match call.input.clone() {
                Some(input) => second.handle_input(call.now, input),
                None => second.handle_timeout(call.now),
            }
            let mut digest = Digest::new();
            while let Some(output) = second.poll_output() {
                digest.add(&output);
            }
            if digest != call.digest {
                let mut call = format!("{:?} at {}", call.input, call.now);
                call.truncate(call.floor_char_boundary(200));
                let calls = self.calls.len();
                return Err(Differs { calls, at, call });
            }
        }
        Ok(whole)
    }
}

impl Digest {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, output: &impl Debug) {
        // Writing here cannot fail.
        let _ = write!(self, "{output:?}");
    }
}

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Ok(())
    }
}

impl<H: Driven> Machine for Recorder<H> {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Instant, input: Input) {
        self.note(now, Some(&input));
        self.host.handle_input(now, input);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.note(now, None);
        self.host.handle_timeout(now);
    }

    fn poll_output(&mut self) -> Option<Output> {
        let output = self.host.poll_output()?;
        if let Some(call) = self.calls.last_mut() {
            call.digest.add(&output);
        }
        Some(output)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.host.poll_timeout()
    }
}

impl<H: Driven> Driven for Recorder<H> {
    fn status(&self, now: Instant) -> Value {
        self.host.status(now)
    }

    fn memory_most(&self) -> Bytes {
        self.host.memory_most()
    }

    fn split_status(&self) -> Option<SplitStatus> {
        self.host.split_status()
    }
}

/// What was drawn of a source of secrets, in the memory of this process alone.
#[derive(Clone, Default)]
pub struct Draws(Arc<Mutex<Vec<u8>>>);

impl Draws {
    /// Returns a source that draws from `fill`, and remembers what it drew.
    pub fn record(&self, fill: fn(&mut [u8])) -> Box<dyn Entropy> {
        let drawn = Arc::clone(&self.0);
        Box::new(move |buffer: &mut [u8]| {
            fill(buffer);
            lock(&drawn).extend_from_slice(buffer);
        })
    }

    /// Returns a source that gives the same once more, and zeros after it.
    pub fn replay(&self) -> Box<dyn Entropy> {
        let (drawn, mut at) = (lock(&self.0).clone(), 0);
        Box::new(move |buffer: &mut [u8]| {
            buffer.fill(0);
            let rest = &drawn[at..];
            let count = rest.len().min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            at += count;
        })
    }
}
