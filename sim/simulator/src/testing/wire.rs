//! A link that does with each packet what the test wants.

use units::{BitRate, Bytes, Duration, Instant};

use super::Clock;

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It arrives in its turn.
    Arrives,
    /// It arrives so much later than in its turn.
    Late(Duration),
    /// It arrives twice.
    Twice,
    /// It vanishes.
    Lost,
    /// Something arrives that is not what was sent; the test says what its receiver sees.
    Damaged,
}

/// A packet that was sent.
#[derive(Debug, Clone, Copy)]
pub struct Sighting<P> {
    /// When.
    pub at: Instant,
    /// The end that sent it.
    pub from: usize,
    /// The packet.
    pub packet: P,
}

/// What decides: the sender, the packet, and how many packets with data that end has sent before.
pub type Decision<P> = Box<dyn FnMut(usize, &P, usize) -> Fate>;

/// A wire between two ends, with a rate and a delay and without a bound on what waits for it. It keeps what was sent.
pub struct Wire<P> {
    /// From the end of a packet at one end to its arrival at the other.
    pub delay: Duration,
    /// Of each direction.
    pub rate: BitRate,
    /// Decides on each packet.
    pub decide: Decision<P>,
    /// All packets that were sent.
    pub log: Vec<Sighting<P>>,
    /// Number of packets with data that each end has sent.
    pub data_sent: [usize; 2],
    carries_data: fn(&P) -> bool,
    free_at: [Instant; 2],
}

impl<P: 'static> Wire<P> {
    /// Returns a wire on which everything arrives; `carries_data` says which packets are counted.
    pub fn new(delay: Duration, rate: BitRate, carries_data: fn(&P) -> bool) -> Self {
        Self {
            delay,
            rate,
            carries_data,
            decide: Box::new(|_, _, _| Fate::Arrives),
            log: Vec::new(),
            data_sent: [0; 2],
            free_at: [Instant::ZERO; 2],
        }
    }

    /// Sends a packet of this length: adds what arrives of it to the clock's events, as `arrival` has it of a packet
    /// that is damaged or not. Returns when the wire is free again.
    pub fn send<E>(
        &mut self,
        clock: &mut Clock<E>,
        from: usize,
        packet: P,
        length: Bytes,
        arrival: impl Fn(bool) -> E,
    ) -> Instant {
        let fate = (self.decide)(from, &packet, self.data_sent[from]);
        self.data_sent[from] += usize::from((self.carries_data)(&packet));
        let at = clock.now;
        self.log.push(Sighting { at, from, packet });
        let sent = at.max(self.free_at[from]) + self.rate.time_for(length);
        self.free_at[from] = sent;
        let arrives = sent + self.delay;
        match fate {
            Fate::Arrives => clock.add(arrives, arrival(false)),
            Fate::Late(more) => clock.add(arrives + more, arrival(false)),
            Fate::Twice => (0..2).for_each(|_| clock.add(arrives, arrival(false))),
            Fate::Lost => {}
            Fate::Damaged => clock.add(arrives, arrival(true)),
        }
        sent
    }

    /// Returns whether an end may send at once.
    pub fn is_free(&self, end: usize, now: Instant) -> bool {
        self.free_at[end] <= now
    }

    /// Gives `fate` to the packets that are meant; the others arrive.
    pub fn decide_where(
        &mut self,
        fate: Fate,
        mut is_meant: impl FnMut(usize, &P, usize) -> bool + 'static,
    ) {
        self.decide = Box::new(move |from, packet, number| {
            if is_meant(from, packet, number) {
                fate
            } else {
                Fate::Arrives
            }
        });
    }

    /// Gives `fate` to the packets with data that `end` sends under these numbers, from 0 on; each transmission counts.
    pub fn decide_on(&mut self, fate: Fate, end: usize, numbers: &[usize]) {
        let (numbers, carries_data) = (numbers.to_vec(), self.carries_data);
        self.decide_where(fate, move |from, packet, number| {
            from == end && carries_data(packet) && numbers.contains(&number)
        });
    }

    /// Returns what `end` has sent.
    pub fn sent_by(&self, end: usize) -> impl Iterator<Item = &Sighting<P>> {
        self.log.iter().filter(move |sighting| sighting.from == end)
    }
}
