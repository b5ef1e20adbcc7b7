//! A receive buffer that grows to what the hop and the application need (as dynamic right-sizing does for TCP: Fisk and
//! Feng 2001).

use units::{Duration, Instant};

/// A window of so many bandwidth-delay products lets repairs be lost several times before it is used up. With four it
/// settles too low where every fifth packet is lost: what it holds up is missing in what is measured.
const PRODUCTS: u64 = 8;
/// Round trips after which the shortest one of long ago is forgotten.
const ROUNDS_REMEMBERED: u32 = 64;

/// A round trip that is being measured.
#[derive(Debug, Clone, Copy)]
struct Round {
    /// The number of the packet whose echo ends it.
    mark: u64,
    began: Instant,
    /// What had arrived before, in bytes.
    before: u64,
}

/// Measures what a buffer should hold. It needs packets that are told apart, as those of the wide profile.
#[derive(Debug, Clone, Default)]
pub(crate) struct Growth {
    round: Option<Round>,
    /// The shortest round trip of late, and of the time before.
    shortest: Option<Duration>,
    shortest_before: Option<Duration>,
    rounds: u32,
}

impl Growth {
    /// The packet with this number goes out, when so many bytes have `arrived`: a round trip begins unless one is on.
    pub(crate) fn sent(&mut self, mark: u64, arrived: u64, now: Instant) {
        self.round.get_or_insert(Round {
            mark,
            began: now,
            before: arrived,
        });
    }

    /// The other end has heard the packet with the number `heard`, when so many bytes have `arrived`, in order or not.
    /// At the end of a round trip, what the buffer should hold: so many times what arrived in it. What the application
    /// leaves lying does not count (`unread`), and a queue on the way is no reason for more.
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

    /// The shortest round trip, of which this is one.
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
