//! Recording of a host's inputs, to check that a second host with the same inputs behaves equally.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use hosts::{Input, Output, Summary, TapConfig, Tapped, Told};
use machine::{Machine, Step, Tape};
use session::{Entropy, PublicKey};
use split::SplitStatus;
use units::{Bytes, Instant};

use crate::host::DrivenHost;
use crate::lock;

/// Largest number of recorded inputs and deadlines; later ones are not compared.
const CALLS: usize = 1 << 20;

/// A host whose run is recorded.
pub struct Recorder<H> {
    host: H,
    tape: Tape<Input, Output>,
    calls: usize,
}

impl<H: DrivenHost> Recorder<H> {
    /// Returns `host`, recorded from now on.
    pub fn new(host: H) -> Self {
        Self {
            host,
            tape: Tape::default(),
            calls: 0,
        }
    }

    fn record(&mut self, step: impl FnOnce() -> Step<Input, Output>) {
        if self.calls <= CALLS {
            self.tape.record(step());
        }
    }

    /// Replays the run to a second host, which must have been made like the first one; returns the number of outputs.
    ///
    /// # Errors
    /// If an output differs; the error describes the first one.
    pub fn replay(
        &self,
        second: &mut impl Machine<Input = Input, Output = Output>,
    ) -> Result<usize, String> {
        self.tape.replay(second)
    }
}

impl<H: DrivenHost> Machine for Recorder<H> {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Instant, input: Input) {
        self.calls += 1;
        self.record(|| Step::Input(now, input.clone()));
        self.host.handle_input(now, input);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.calls += 1;
        self.record(|| Step::Timeout(now));
        self.host.handle_timeout(now);
    }

    fn poll_output(&mut self) -> Option<Output> {
        let output = self.host.poll_output()?;
        self.record(|| Step::Output(output.clone()));
        Some(output)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.host.poll_timeout()
    }
}

impl<H: DrivenHost> DrivenHost for Recorder<H> {
    type Status = H::Status;

    fn status(&self, now: Instant, from: usize) -> H::Status {
        self.host.status(now, from)
    }

    fn summary(&self, now: Instant, from: usize) -> Option<Summary> {
        self.host.summary(now, from)
    }

    fn memory_most(&self, now: Instant) -> Bytes {
        self.host.memory_most(now)
    }

    fn split_status(&self) -> Option<SplitStatus> {
        self.host.split_status()
    }

    fn set_tap(&mut self, config: Option<TapConfig>) -> bool {
        self.host.set_tap(config)
    }

    fn poll_tapped(&mut self) -> Option<Tapped> {
        self.host.poll_tapped()
    }

    fn is_mobile(&self) -> bool {
        self.host.is_mobile()
    }

    fn gateway_named(&self, name: &str) -> Option<PublicKey> {
        self.host.gateway_named(name)
    }

    fn is_drainable(&self) -> bool {
        self.host.is_drainable()
    }

    fn told(&self) -> Vec<Told> {
        self.host.told()
    }

    fn peer_at(&self, address: IpAddr) -> Option<&str> {
        self.host.peer_at(address)
    }
}

/// Random bytes drawn from a source of secrets, in the memory of this process only.
#[derive(Clone, Default)]
pub struct Draws(Arc<Mutex<Vec<u8>>>);

impl Draws {
    /// Returns a source that draws from `fill`, and records the bytes.
    pub fn record(&self, fill: fn(&mut [u8])) -> Box<dyn Entropy> {
        let drawn = Arc::clone(&self.0);
        Box::new(move |buffer: &mut [u8]| {
            fill(buffer);
            lock(&drawn).extend_from_slice(buffer);
        })
    }

    /// Returns a source that gives the same bytes again, and zeros after them.
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
