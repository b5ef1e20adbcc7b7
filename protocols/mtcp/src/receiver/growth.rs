//! A receive buffer that grows to what the hop and the application need (as dynamic right-sizing does for TCP: Fisk and
//! Feng 2001).

use units::{Duration, Instant};

/// Window in bandwidth-delay products. This many let repairs be lost several times before the window is used up. Four
/// are too few if every fifth packet is lost: data that wait behind losses are missing in the measurement.
const PRODUCTS: u64 = 8;
/// Number of round trips after which an old minimum is forgotten.
const ROUNDS_REMEMBERED: u32 = 64;

/// Round trip in measurement.
#[derive(Debug, Clone, Copy)]
struct Round {
    /// Number of the packet whose echo ends it.
    mark: u64,
    began: Instant,
    /// Bytes that had arrived before it began.
    before: u64,
}

/// Estimator of the buffer size. It needs packets with their own numbers, as in the wide profile.
#[derive(Debug, Clone, Default)]
pub(crate) struct Growth {
    round: Option<Round>,
    /// Shortest round trip of the current period, and of the one before.
    shortest: Option<Duration>,
    shortest_before: Option<Duration>,
    rounds: u32,
}

impl Growth {
    /// Notes that the packet `mark` goes out after `arrived` bytes have arrived: begins a round trip unless one is in
    /// measurement.
    pub(crate) fn sent(&mut self, mark: u64, arrived: u64, now: Instant) {
        self.round.get_or_insert(Round {
            mark,
            began: now,
            before: arrived,
        });
    }

    /// Notes that the peer has received the packet `heard`, after `arrived` bytes have arrived here, in order or not.
    /// At the end of a round trip, returns the buffer size: a multiple of the bytes that arrived in it. Bytes that
    /// the application has not read (`unread`) do not count, and a queue on the way does not enlarge the buffer.
    pub(crate) fn heard(
        &mut self,
        heard: u64,
        arrived: u64,
        unread: u64,
        now: Instant,
    ) -> Option<u64> {
        let round = self.round.take_if(|round| round.mark <= heard)?;
        let span = now.since(round.began);
        if span.is_zero() {
            return None;
        }
        let shortest = self.shorten(span);
        let counts = (arrived - round.before).saturating_sub(unread);
        let product = u128::from(counts) * u128::from(shortest.as_nanos());
        let product = product / u128::from(span.as_nanos());
        Some(product as u64 * PRODUCTS)
    }

    /// Returns the shortest round trip, with the new sample `span`.
    fn shorten(&mut self, span: Duration) -> Duration {
        self.rounds += 1;
        if self.rounds == ROUNDS_REMEMBERED {
            self.rounds = 0;
            self.shortest_before = self.shortest.take();
        }
        let shortest = self.shortest.map_or(span, |known| known.min(span));
        self.shortest = Some(shortest);
        self.shortest_before
            .map_or(shortest, |before| before.min(shortest))
    }
}
