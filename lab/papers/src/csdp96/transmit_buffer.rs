//! The card's memory for the frame that it sends.

use channel::Frame;
use units::{BitRate, Duration, Instant};

use super::packet::Carried;

/// Memory for one frame. To send another frame the driver copies it over the previous one; to send the same one again
/// costs nothing (the paper, on implementation complexity).
#[derive(Debug)]
pub(crate) struct TransmitBuffer<P> {
    /// Copy rate of the driver; `None` if copying takes no time.
    rate: Option<BitRate>,
    /// Mobile host and number of the frame that it holds.
    holds: Option<(u16, u64)>,
    /// Frame that is being copied, and the time at which it is ready.
    copying: Option<(Instant, Frame<Carried<P>>)>,
}

impl<P> TransmitBuffer<P> {
    /// Creates an empty buffer.
    pub(crate) fn new(rate: Option<BitRate>) -> Self {
        Self {
            rate,
            holds: None,
            copying: None,
        }
    }

    /// Loads a frame to send.
    pub(crate) fn load(&mut self, now: Instant, frame: Frame<Carried<P>>) {
        let wanted = match frame.payload {
            Carried::Packet { number, .. } => Some((frame.mobile, number)),
            Carried::Probe => None,
        };
        let is_there = wanted.is_some() && self.holds == wanted;
        let takes = match self.rate {
            Some(rate) if !is_there => rate.time_for(frame.size),
            _ => Duration::ZERO,
        };
        self.holds = wanted;
        self.copying = Some((now + takes, frame));
    }

    /// Returns the frame that is ready to send.
    pub(crate) fn ready(&mut self, now: Instant) -> Option<Frame<Carried<P>>> {
        let (_, frame) = self.copying.take_if(|(ready, _)| *ready <= now)?;
        Some(frame)
    }

    /// Returns the time at which the next frame is ready.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.copying.as_ref().map(|(ready, _)| *ready)
    }
}
