//! The machine.

use machine::Machine;
use units::Instant;

use crate::{Config, ConfigError, Input, Output, ServerLimits};

/// One end of the conversation with one server of files: the one that asks.
#[derive(Debug, Clone)]
pub struct Client {
    config: Config,
    server: ServerLimits,
    rpc: rpc::Client,
}

impl Client {
    /// A client of a server with these limits. `rpc` is what made the first calls, if there were any: the server knows
    /// it by its port and its transactions.
    ///
    /// # Errors
    /// What is wrong with the configuration ([`Config::check`]).
    pub fn new(
        config: Config,
        server: ServerLimits,
        rpc: rpc::Client,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            server,
            rpc,
        })
    }

    /// What its calls have cost so far.
    pub fn calls(&self) -> rpc::Counters {
        self.rpc.counters()
    }
}

impl Machine for Client {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, _now: Instant, _input: Input) {}

    fn handle_timeout(&mut self, now: Instant) {
        self.rpc.handle_timeout(now);
    }

    fn poll_output(&mut self) -> Option<Output> {
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.rpc.poll_timeout()
    }
}
