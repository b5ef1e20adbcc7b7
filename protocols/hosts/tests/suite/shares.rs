//! A download beside other people's on one hop: which share each gets, and what is left when they stop.

use std::ops::RangeInclusive;

use channel::Link;
use rivals::Kind::{self, Bbr, Cubic};
use units::{BitRate, Duration, Instant};

use crate::support::tunnels::Tunnels;
use crate::support::{Pair, Traffic};

const SEED: u64 = 7;
const SECOND: Duration = Duration::from_secs(1);
/// The others begin so long after the download.
const ALONE: Duration = Duration::from_secs(3);
/// From when they all are there to what is counted.
const SETTLING: Duration = Duration::from_secs(5);

/// A hop, and who is on it besides.
#[derive(Debug, Clone)]
struct Cell {
    /// In Mbit/s.
    rate: u64,
    /// The round trip, in milliseconds.
    trip: u64,
    /// Quarters of a bandwidth-delay product that may wait.
    quarters: u64,
    others: Vec<Kind>,
}

impl Cell {
    fn new((rate, trip, quarters): (u64, u64, u64), others: &[Kind]) -> Self {
        let others = others.to_vec();
        Self {
            rate,
            trip,
            quarters,
            others,
        }
    }

    fn link(&self) -> Link {
        let Self { rate, trip, .. } = self;
        let product = BitRate::from_megabits(*rate).bytes_in(Duration::from_millis(*trip));
        let packets = product.get() * self.quarters / 4 / 1_514;
        let delay = trip / 2;
        let text = format!(
            "each = {{ rate = '{rate} Mbit/s', delay = '{delay} ms', queue = '{packets} packets' }}"
        );
        Link::from_toml(&text, "shares.toml").expect("a link")
    }

    /// A download and the others, who stay for so long; up to when they go.
    fn run(&self, span: Duration) -> (Pair, Outcome) {
        let mut pair = Pair::over(self.link(), SEED, 0);
        pair.add(Traffic::bulk(1));
        let from = Instant::ZERO + ALONE;
        let until = from + SETTLING + span;
        for kind in &self.others {
            pair.add_rival(*kind, from..until);
        }
        pair.run_until(from + SETTLING);
        let before = delivered(&pair);
        pair.run_until(until);
        assert!(pair.received(1).in_order);
        let (shares, all) = fair_shares(&before, &delivered(&pair));
        let carried = BitRate::from_megabits(self.rate).bytes_in(span).get();
        let (own, used) = (shares[0], all as f64 / carried as f64);
        (pair, Outcome { own, used })
    }

    fn name(&self) -> String {
        let Self {
            rate,
            trip,
            quarters,
            others,
        } = self;
        let count = |kind: Kind| others.iter().filter(|other| **other == kind).count();
        let (cubic, bbr) = (count(Cubic), count(Bbr));
        let depth = *quarters as f64 / 4.0;
        format!("{rate:>3} Mbit/s {trip:>2} ms {depth:>4} products, {cubic} cubic {bbr} bbr")
    }
}

/// Results of a run.
struct Outcome {
    /// Bytes of the download, in fair shares.
    own: f64,
    /// Bytes of all, as a share of the hop's capacity.
    used: f64,
}

/// Returns the bytes of each from `before` to `after`, in fair shares, and of all together, in bytes.
fn fair_shares(before: &[u64], after: &[u64]) -> (Vec<f64>, u64) {
    let got = after
        .iter()
        .zip(before)
        .map(|(after, before)| after - before);
    let all: u64 = got.clone().sum();
    let fair = all as f64 / after.len() as f64;
    (got.map(|got| got as f64 / fair).collect(), all)
}

/// Bytes of the download, and of each of the others.
fn delivered(pair: &Pair) -> Vec<u64> {
    let others = (0..pair.rivals.len()).map(|number| pair.rival_delivered(number));
    std::iter::once(pair.received(1).payload)
        .chain(others)
        .collect()
}

const AIM: RangeInclusive<f64> = 0.7..=1.25;
/// With what is before it, a minute.
const COUNTED: Duration = Duration::from_secs(52);

/// Round trips in milliseconds, and the queue in quarters of a bandwidth-delay product.
const HOPS: [(u64, u64); 6] = [(20, 1), (20, 4), (20, 16), (80, 1), (80, 4), (80, 16)];

/// Each hop, with so many others of each kind.
fn matrix(rate: u64) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (trip, quarters) in HOPS {
        let hop = (rate, trip, quarters);
        for kind in [Cubic, Bbr] {
            cells.extend([1, 2, 4, 8].map(|count| Cell::new(hop, &vec![kind; count])));
        }
        cells.push(Cell::new(hop, &[Cubic, Bbr]));
    }
    cells
}

fn print_matrix(rate: u64) {
    let cells = matrix(rate);
    let mut fair = 0;
    for cell in &cells {
        let Outcome { own, used } = cell.run(COUNTED).1;
        let is_fair = AIM.contains(&own);
        fair += usize::from(is_fair);
        let mark = if is_fair { "" } else { " *" };
        println!(
            "{}: {own:.2} fair shares, all {used:.2} of the hop{mark}",
            cell.name()
        );
    }
    println!("{fair} of {} within {AIM:?}", cells.len());
}

#[test]
#[ignore = "takes minutes"]
fn all_shares_at_20_megabits() {
    print_matrix(20);
}

#[test]
#[ignore = "takes minutes"]
fn all_shares_at_100_megabits() {
    print_matrix(100);
}

/// The first rows are within the aim of 0.7 to 1.25 fair shares. The others miss it, as most of the matrix does. Beside
/// CUBIC it takes too much where the queue is short, and too little where not; beside BBR far too little, unless the
/// queue is long or the others are many.
#[test]
fn beside_others_it_gets_a_share() {
    let rows = [
        (Cell::new((20, 20, 1), &[Bbr; 4]), AIM),
        (Cell::new((20, 80, 16), &[Cubic, Bbr]), AIM),
        (Cell::new((20, 80, 16), &[Cubic; 4]), 0.7..=1.4),
        (Cell::new((20, 20, 1), &[Cubic]), 0.7..=1.8),
        (Cell::new((20, 20, 4), &[Cubic]), 0.45..=1.25),
        (Cell::new((20, 80, 4), &[Cubic]), 0.4..=1.25),
        (Cell::new((20, 20, 4), &[Bbr]), 0.15..=1.25),
        (Cell::new((20, 80, 4), &[Bbr]), 0.13..=1.25),
    ];
    for (cell, bounds) in rows {
        let Outcome { own, used } = cell.run(COUNTED).1;
        let told = format!(
            "{}: {own:.2} fair shares, all {used:.2} of the hop",
            cell.name()
        );
        println!("{told}");
        assert!(bounds.contains(&own), "{told}");
        assert!(used > 0.8, "{told}");
    }
}

/// Three seconds after they have stopped the queue is as on a steady hop.
#[test]
fn when_the_others_stop_their_queue_goes() {
    let rows = [
        Cell::new((20, 20, 16), &[Bbr]),
        Cell::new((20, 80, 16), &[Cubic, Bbr]),
        Cell::new((50, 40, 4), &[Cubic; 4]),
        Cell::new((20, 20, 16), &[Cubic]),
        Cell::new((20, 80, 16), &[Cubic]),
        Cell::new((50, 40, 16), &[Cubic, Bbr]),
    ];
    for cell in rows {
        let (mut pair, _) = cell.run(SECOND * 5);
        pair.run_for(SECOND * 3);
        let (waits, good) = pair.watch_queue(SECOND, BitRate::from_megabits(cell.rate));
        let told = format!("{}: {waits} after 3 s", cell.name());
        println!("{told}");
        assert!(good, "{told}");
    }
}

/// In fair shares, what each tunnel gets of a hop in half a minute, if they begin one after the other before that.
fn among_tunnels(hop: (u64, u64, u64), count: usize) -> Vec<f64> {
    let cell = Cell::new(hop, &[]);
    let mut tunnels = Tunnels::new(&cell.link(), SEED, (count, SECOND * 3));
    tunnels.run_until(Instant::ZERO + SECOND * 15);
    let before = tunnels.received();
    tunnels.run_until(Instant::ZERO + SECOND * 45);
    let (shares, _) = fair_shares(&before, &tunnels.received());
    println!("{}, {count} tunnels: {shares:.2?}", cell.name());
    shares
}

#[test]
fn tunnels_share_a_hop_among_themselves() {
    for (hop, count) in [((20, 20, 4), 2), ((20, 80, 1), 2), ((20, 80, 4), 4)] {
        let shares = among_tunnels(hop, count);
        assert!(
            shares.iter().all(|share| AIM.contains(share)),
            "{hop:?}: {shares:.2?}"
        );
    }
}

/// At 100 Mbit/s and 20 ms the aim is missed with every queue: with a quarter of a product two get 0.2 and 1.8, and
/// with longer ones up to 1.4.
#[test]
#[ignore = "takes minutes"]
fn all_shares_among_tunnels() {
    for rate in [20, 100] {
        for (trip, quarters) in HOPS {
            for count in [2, 4] {
                among_tunnels((rate, trip, quarters), count);
            }
        }
    }
}
