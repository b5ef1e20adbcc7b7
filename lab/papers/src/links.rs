//! The links of the papers' networks, as plans describe them.

use channel::errors::ErrorConfig;
use channel::{DirectionConfig, Link, LinkConfig, Medium, QueueBound, Rate, StepConfig};
use serde::Deserialize;
use simulator::Line;
use units::{Bytes, Duration};

use crate::recordings;

/// The wired network.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wire {
    /// Rate of its slowest link.
    rate: Rate,
    /// Bytes added to each packet.
    framing: Bytes,
    /// One-way delay.
    delay: Duration,
    queue: QueueBound,
}

impl Wire {
    /// Returns it as a link.
    pub(crate) fn line(&self) -> Result<Line, String> {
        let each = DirectionConfig::steady(self.rate, self.delay, self.queue);
        let line = Line::wire(each).map_err(|error| error.to_string())?;
        Ok(line.with_framing(self.framing))
    }
}

/// The hop.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Air {
    rate: Rate,
    medium: Medium,
    /// Time that each packet takes besides its bytes.
    access: Duration,
    /// Bytes of a frame besides its packet; errors can hit them too.
    framing: Bytes,
    delay: Duration,
    queue: QueueBound,
    /// Rate of the return direction, if it has a medium of its own.
    return_rate: Option<Rate>,
    /// Variation of the delay, if it is not constant.
    swing: Option<Swing>,
}

/// A delay that jumps between two values.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Swing {
    /// Added delay, alternately on and off.
    delay: Duration,
    /// Time between two jumps.
    every: Duration,
}

impl Air {
    /// Returns the limit of the queue at each end.
    pub(crate) fn queue(&self) -> QueueBound {
        self.queue
    }

    /// Returns one direction at `rate`, without its errors.
    fn direction(&self, rate: Rate) -> DirectionConfig {
        let steady = DirectionConfig::steady(rate, self.delay, self.queue);
        let Some(swing) = &self.swing else {
            return steady;
        };
        let jump = StepConfig {
            at: swing.every,
            rate: None,
            delay: Some(self.delay + swing.delay),
            queue: None,
            mtu: None,
        };
        DirectionConfig {
            schedule: vec![jump],
            repeat: Some(swing.every * 2),
            ..steady
        }
    }

    /// Returns it as a link, with losses from the random stream of `seed`.
    pub(crate) fn line(&self, errors: &ErrorConfig, seed: u64) -> Result<Line, String> {
        let config = LinkConfig {
            medium: self.medium,
            access: self.access,
            down: Some(self.direction(self.rate)),
            up: Some(self.direction(self.return_rate.unwrap_or(self.rate))),
            errors: Some(errors.clone()),
            ..LinkConfig::default()
        };
        let link = Link::from_config(config, "air", &recordings::read);
        let link = link.map_err(|error| error.to_string())?;
        Ok(Line::hop(&link, seed).with_framing(self.framing))
    }
}
