//! The tools of the contract: random streams, and a conformance check that detects violations.

use machine::{Machine, RandomStream, conformance};
use units::{Duration, Instant};

#[test]
fn a_stream_is_fixed_by_seed_and_name() {
    let draws = |seed, name| {
        let mut stream = RandomStream::named(seed, name);
        [stream.next_u64(), stream.next_u64()]
    };
    assert_eq!(draws(1, "fades"), draws(1, "fades"));
    assert_ne!(draws(1, "fades"), draws(1, "losses"));
    assert_ne!(draws(1, "fades"), draws(2, "fades"));
    // Pinned: a change here changes every table that was ever published.
    assert_eq!(RandomStream::named(7, "pinned").next_u64(), PINNED);
}

const PINNED: u64 = 12_063_844_778_105_900_578;

#[test]
fn exponential_draws_have_their_mean_and_deviation() {
    let mut stream = RandomStream::named(1, "exponential");
    let draws: Vec<f64> = (0..200_000)
        .map(|_| stream.exponential(1_000_000) as f64)
        .collect();
    let mean = draws.iter().sum::<f64>() / draws.len() as f64;
    let variance = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / draws.len() as f64;
    assert!((mean / 1e6 - 1.0).abs() < 0.01, "mean {mean}");
    assert!(
        (variance.sqrt() / 1e6 - 1.0).abs() < 0.02,
        "deviation {}",
        variance.sqrt()
    );
    let below_mean = draws.iter().filter(|d| **d < 1e6).count() as f64 / draws.len() as f64;
    assert!(
        (below_mean - 0.632).abs() < 0.005,
        "P(X < mean) = {below_mean}"
    );
}

#[test]
fn uniform_draws_reach_both_ends() {
    let mut stream = RandomStream::named(1, "uniform");
    let (low, high) = (Duration::from_nanos(3), Duration::from_nanos(6));
    let seen: std::collections::BTreeSet<_> =
        (0..1000).map(|_| stream.uniform(low, high)).collect();
    assert_eq!(seen.len(), 4);
    assert_eq!((seen.first(), seen.last()), (Some(&low), Some(&high)));
    let _ = stream.uniform(Duration::ZERO, Duration::MAX);
}

/// Echoes each number after a delay; `flaw` breaks one rule.
struct Echo {
    flaw: Option<Flaw>,
    pending: Vec<(Instant, u32)>,
    ready: Vec<u32>,
    calls: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum Flaw {
    CountsTimeouts,
    Spins,
}

impl Machine for Echo {
    type Input = u32;
    type Output = u32;

    fn handle_input(&mut self, now: Instant, input: u32) {
        self.pending.push((now + Duration::from_millis(10), input));
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.calls += 1;
        let extra = if self.flaw == Some(Flaw::CountsTimeouts) {
            self.calls
        } else {
            0
        };
        if self.flaw != Some(Flaw::Spins) {
            let (due, waiting) = self.pending.drain(..).partition(|(at, _)| *at <= now);
            self.pending = waiting;
            self.ready
                .extend::<Vec<u32>>(due.into_iter().map(|(_, n): (_, u32)| n + extra).collect());
        }
    }

    fn poll_output(&mut self) -> Option<u32> {
        self.ready.pop()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.pending.iter().map(|(at, _)| *at).min()
    }
}

fn check_echo(flaw: Option<Flaw>) {
    let build = || Echo {
        flaw,
        pending: Vec::new(),
        ready: Vec::new(),
        calls: 0,
    };
    let script = [
        (Duration::ZERO, 1),
        (Duration::from_millis(3), 2),
        (Duration::from_millis(30), 3),
    ];
    conformance::check(build, &script, Duration::from_secs(1));
}

#[test]
fn an_honest_machine_conforms() {
    check_echo(None);
}

#[test]
#[should_panic(expected = "rule 3")]
fn counting_timeouts_is_found() {
    check_echo(Some(Flaw::CountsTimeouts));
}

#[test]
#[should_panic(expected = "rule 5")]
fn spinning_is_found() {
    check_echo(Some(Flaw::Spins));
}
