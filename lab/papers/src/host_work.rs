//! What a host's processor has to do for what crosses its network card, by counting.

use serde::Deserialize;
use units::Duration;

/// What each thing costs. It is a model, not a measurement: what is counted stands beside it in every table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Costs {
    /// A frame, in or out: interrupt, driver, buffers.
    pub(crate) frame: Duration,
    /// IP, for each packet that has it.
    pub(crate) internet: Duration,
    /// The transport, for each packet.
    pub(crate) transport: Duration,
    /// A byte that is copied, or summed up for a checksum.
    pub(crate) byte: Duration,
    /// Copies of each byte between application and card, where TCP carries it.
    pub(crate) copies: u64,
    /// The same where MTCP does: one, says its paper.
    pub(crate) copies_mtcp: u64,
    /// A timer's tick, whether anything is due or not.
    pub(crate) tick: Duration,
}

impl Default for Costs {
    /// A Pentium's, as we guess them.
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

/// What has crossed a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Card {
    /// Frames that came in, damaged ones included.
    pub(crate) frames_in: u64,
    /// Frames that went out.
    pub(crate) frames_out: u64,
    /// Data in frames, in or out, that were right, in bytes.
    pub(crate) data: u64,
    /// Data in frames that were damaged: they are summed up and dropped.
    pub(crate) damaged: u64,
}

/// A host's protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stack {
    /// MTCP in place of TCP and IP.
    pub(crate) mtcp: bool,
    /// Ticks of its timers.
    pub(crate) ticks: u64,
}

impl Costs {
    /// What the processor was busy for.
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
