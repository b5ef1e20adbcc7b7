//! A link that does with each packet what the test wants.

use units::{BitRate, Bytes, Duration, Instant};

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

/// What was decided on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// When the wire is free again.
    pub sent: Instant,
    /// What becomes of the packet.
    pub fate: Fate,
    /// When the packet arrives, if it does.
    pub arrives: Instant,
}

impl Passage {
    /// Number of times that something arrives.
    pub fn copies(self) -> usize {
        match self.fate {
            Fate::Lost => 0,
            Fate::Twice => 2,
            Fate::Arrives | Fate::Late(_) | Fate::Damaged => 1,
        }
    }
}

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
    free_at: [Instant; 2],
}

impl<P> Wire<P> {
    /// Returns a wire on which everything arrives.
    pub fn new(delay: Duration, rate: BitRate) -> Self {
        Self {
            delay,
            rate,
            decide: Box::new(|_, _, _| Fate::Arrives),
            log: Vec::new(),
            data_sent: [0; 2],
            free_at: [Instant::ZERO; 2],
        }
    }

    /// Sends a packet of `length`, which carries data or does not.
    pub fn send(&mut self, now: Instant, from: usize, packet: P, of: (Bytes, bool)) -> Passage {
        let (length, carries_data) = of;
        let fate = (self.decide)(from, &packet, self.data_sent[from]);
        self.data_sent[from] += usize::from(carries_data);
        let at = now;
        self.log.push(Sighting { at, from, packet });
        let sent = now.max(self.free_at[from]) + self.rate.time_for(length);
        self.free_at[from] = sent;
        let late = match fate {
            Fate::Late(more) => more,
            _ => Duration::ZERO,
        };
        Passage {
            sent,
            fate,
            arrives: sent + self.delay + late,
        }
    }

    /// Returns whether an end may send at once.
    pub fn is_free(&self, end: usize, now: Instant) -> bool {
        self.free_at[end] <= now
    }

    /// Lets become of packets what `fate` says if `is_meant` says so; the others arrive. It is asked as a [`Decision`]
    /// is.
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

    /// Returns what `end` has sent.
    pub fn sent_by(&self, end: usize) -> impl Iterator<Item = &Sighting<P>> {
        self.log.iter().filter(move |sighting| sighting.from == end)
    }
}
