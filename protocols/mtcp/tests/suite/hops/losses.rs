//! Tests that losses and fades of every kind cost their own time, and little more. `--nocapture` shows the costs.

use mtcp::Config;
use units::{BitRate, Bytes, Duration};

use super::hop::{Hop, Outcome, Run};

/// The chance of a bad state per bit in units of 10⁻⁷; with [`BAD_BITS`] these lose 0, 1, 5, 10 and 20 % of frames of
/// 1,514 bytes (Haas and Warkhedi 2000, equation 4).
const PER_BIT: [u64; 5] = [0, 5, 25, 50, 100];
/// Bits in the bad state on average.
const BAD_BITS: u64 = 10_000;
const SEEDS: u64 = 3;

/// Returns the wide profile with a window of four bandwidth-delay products.
fn wide(hop: &Hop) -> Config {
    let window = hop.products(4, &Config::wide());
    Config {
        receive_buffer: window,
        send_buffer: Bytes::mebi(16),
        ..Config::wide()
    }
}

/// Measurements on a hop.
#[derive(Debug, Clone, Copy)]
struct Measured {
    /// Bytes per second.
    rate: f64,
    /// The share of data packets that was lost.
    loss: f64,
    /// Timeouts per second.
    timeouts: f64,
    /// Fades per second, and the share of time in them.
    fades: f64,
    faded: f64,
}

fn measure(hop: Hop, config: &Config, span: Duration) -> Measured {
    let warm_up = Duration::from_secs(2);
    let runs: Vec<Outcome> = (0..SEEDS)
        .map(|seed| Run::new(hop, config, seed).transfer(warm_up, span))
        .collect();
    let mean = |what: fn(&Outcome) -> f64| runs.iter().map(what).sum::<f64>() / SEEDS as f64;
    let seconds = (warm_up + span).as_secs_f64();
    Measured {
        rate: mean(Outcome::rate),
        loss: mean(Outcome::loss),
        timeouts: mean(|run| run.sender.traffic.timeouts as f64) / seconds,
        fades: mean(|run| run.fades as f64) / seconds,
        faded: mean(|run| run.faded.as_secs_f64()) / seconds,
    }
}

#[test]
fn at_most_a_twentieth_is_lost_to_waiting_where_bits_change_the_channel() {
    for (half_duplex, delay) in [(true, 1), (false, 1), (false, 10)] {
        // Longest transfers of the paper's two configurations.
        for (kilobits, seconds) in [(700, 400), (8_000, 50)] {
            let clean = Hop {
                half_duplex,
                ..Hop::clean(
                    BitRate::from_kilobits(kilobits),
                    Duration::from_millis(delay),
                )
            };
            let config = wide(&clean);
            let mut best = 0.0;
            for per_bit in PER_BIT {
                let hop = Hop {
                    bits: (per_bit > 0).then(|| [10_000_000 / per_bit, BAD_BITS]),
                    ..clean
                };
                let found = measure(hop, &config, Duration::from_secs(seconds));
                best = found.rate.max(best);
                let share = found.rate / best / (1.0 - found.loss);
                println!(
                    "{kilobits} kbit/s, {delay} ms, shared {half_duplex}: PER {:.1} %, {share:.3}, {:.1} timeouts/s",
                    found.loss * 100.0,
                    found.timeouts
                );
                assert!(share >= 0.94, "{hop:?}: {share}");
            }
        }
    }
}

#[test]
fn a_fade_costs_its_time_and_a_round_trip() {
    for (megabits, delay) in [(10, 25), (100, 25), (50, 150)] {
        let clean = Hop::clean(
            BitRate::from_megabits(megabits),
            Duration::from_millis(delay),
        );
        let config = wide(&clean);
        let span = Duration::from_secs(10);
        let best = measure(clean, &config, span).rate;
        for fade in [80, 400] {
            let fades = [Duration::from_secs(1), Duration::from_millis(fade)];
            let hop = Hop {
                fades: Some(fades),
                ..clean
            };
            let found = measure(hop, &config, span);
            // Cost of a fade besides its own time: a round trip, and half of the timeout.
            let cost = (1.0 - found.rate / best - found.faded) / found.fades;
            let cost = cost / hop.round_trip(&config).as_secs_f64();
            println!(
                "{megabits} Mbit/s, {delay} ms, fades of {fade} ms: {:.3}, {cost:.2} trips each, {:.1} timeouts/s",
                found.rate / best / (1.0 - found.faded),
                found.timeouts
            );
            assert!(cost <= 2.0, "{hop:?}: {cost}");
        }
    }
}

#[test]
fn single_losses_cost_what_they_take() {
    for (megabits, delay, per_ten_thousand) in [
        (100, 25, 100),
        (100, 25, 500),
        (50, 150, 100),
        (50, 150, 500),
    ] {
        let clean = Hop::clean(
            BitRate::from_megabits(megabits),
            Duration::from_millis(delay),
        );
        let config = wide(&clean);
        let hop = Hop {
            independent: per_ten_thousand,
            ..clean
        };
        let span = Duration::from_secs(10);
        let best = measure(clean, &config, span).rate;
        let found = measure(hop, &config, span);
        let share = found.rate / best / (1.0 - found.loss);
        let of_rate = found.rate * 8.0 / clean.rate.bits_per_second() as f64;
        println!(
            "{megabits} Mbit/s, {delay} ms, {per_ten_thousand} of 10,000 lost: {share:.3}, {of_rate:.3} of the rate"
        );
        assert!(share >= 0.95, "{hop:?}: {share}");
    }
}
