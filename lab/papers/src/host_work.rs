//! The work of a host's processor for its network card, by counting.

use serde::Deserialize;
use units::Duration;

/// The cost of each operation. It is a model, not a measurement: the counts are beside it in every table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Costs {
    /// A frame, in or out: interrupt, driver, buffers.
    pub(crate) frame: Duration,
    /// IP processing of a packet.
    pub(crate) internet: Duration,
    /// Transport processing of a packet.
    pub(crate) transport: Duration,
    /// Copying a byte, or including it in a checksum.
    pub(crate) byte: Duration,
    /// Number of copies of each byte between application and card with TCP.
    pub(crate) copies: u64,
    /// Number of copies with MTCP: one, according to its paper.
    pub(crate) copies_mtcp: u64,
    /// A timer tick, whether a timer is due or not.
    pub(crate) tick: Duration,
}

impl Default for Costs {
    /// Returns estimates for a Pentium.
    fn default() -> Self {
        Self {
            frame: Duration::from_micros(40),
            internet: Duration::from_micros(10),
            transport: Duration::from_micros(10),
            byte: Duration::from_nanos(15),
            copies: 2,
            copies_mtcp: 1,
            tick: Duration::from_micros(40),
        }
    }
}

/// Counters of a network card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Card {
    /// Frames received, damaged ones included.
    pub(crate) frames_in: u64,
    /// Frames sent.
    pub(crate) frames_out: u64,
    /// Bytes of data in correct frames, received or sent.
    pub(crate) data: u64,
    /// Bytes of data in damaged frames, which are summed and dropped.
    pub(crate) damaged: u64,
}

/// The protocols of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stack {
    /// True for MTCP in place of TCP and IP.
    pub(crate) mtcp: bool,
    /// Number of ticks of its timers.
    pub(crate) ticks: u64,
}

impl Costs {
    /// Returns the processor time spent.
    pub(crate) fn of(&self, card: &Card, stack: Stack) -> Duration {
        let (layers, copies) = if stack.mtcp {
            (self.transport, self.copies_mtcp)
        } else {
            (self.transport + self.internet, self.copies)
        };
        let frames = card.frames_in + card.frames_out;
        let touched = card.data * (copies + 1) + card.damaged;
        (self.frame + layers) * frames + self.byte * touched + self.tick * stack.ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_works_for_frames_layers_bytes_and_ticks() {
        let costs = Costs::default();
        let card = Card {
            frames_in: 2,
            frames_out: 1,
            data: 1_000,
            damaged: 100,
        };
        let tcp = costs.of(
            &card,
            Stack {
                mtcp: false,
                ticks: 10,
            },
        );
        let mtcp = costs.of(
            &card,
            Stack {
                mtcp: true,
                ticks: 0,
            },
        );
        assert_eq!(tcp, Duration::from_nanos(3 * 60_000 + 15 * 3_100 + 400_000));
        assert_eq!(mtcp, Duration::from_nanos(3 * 50_000 + 15 * 2_100));
    }
}
