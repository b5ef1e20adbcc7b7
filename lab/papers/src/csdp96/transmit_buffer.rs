//! The card's memory for the frame that it sends.

use channel::Frame;
use units::{BitRate, Duration, Instant};

use super::packet::Carried;

/// Holds one frame. To send another one the driver copies it over the one before; to send the same again costs nothing
/// (the paper, on implementation complexity).
#[derive(Debug)]
pub(crate) struct TransmitBuffer<P> {
    /// How fast the driver copies; nothing where that takes no time.
    rate: Option<BitRate>,
    /// Whose frame it holds, and that frame's number.
    holds: Option<(u16, u64)>,
    /// A frame that is being copied, and until when.
    copying: Option<(Instant, Frame<Carried<P>>)>,
}

impl<P> TransmitBuffer<P> {
    /// An empty one.
    pub(crate) fn new(rate: Option<BitRate>) -> Self {
        Self {
            rate,
            holds: None,
            copying: None,
        }
    }

    /// The driver wants this frame to be sent.
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

    /// The frame that is ready to be sent.
    pub(crate) fn ready(&mut self, now: Instant) -> Option<Frame<Carried<P>>> {
        let (_, frame) = self.copying.take_if(|(ready, _)| *ready <= now)?;
        Some(frame)
    }

    /// When one will be.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.copying.as_ref().map(|(ready, _)| *ready)
    }
}
