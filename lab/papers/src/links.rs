//! The links of the papers' networks, as plans state them.

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
    /// Of its slowest link.
    rate: Rate,
    /// What each packet costs there besides its bytes.
    framing: Bytes,
    /// One way.
    delay: Duration,
    queue: QueueBound,
}

impl Wire {
    /// It as a link.
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
    /// What each packet takes besides its bytes.
    access: Duration,
    /// Bytes of a frame besides its packet; errors meet them too.
    framing: Bytes,
    delay: Duration,
    queue: QueueBound,
    /// Of the way back, where it has a medium of its own.
    return_rate: Option<Rate>,
    /// The delay changes all the time.
    swing: Option<Swing>,
}

/// A delay that jumps.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Swing {
    /// By so much, up and down again.
    delay: Duration,
    /// So long after the last jump.
    every: Duration,
}

impl Air {
    /// What may wait at each end.
    pub(crate) fn queue(&self) -> QueueBound {
        self.queue
    }

    /// One direction at `rate`, without its errors.
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

    /// It as a link, with the losses that `seed` draws.
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
