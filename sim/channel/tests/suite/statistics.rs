//! The error models against their closed forms, at fixed seeds and within 99.9 % intervals.

use channel::{Channel, Direction, Output};

use crate::common::{bursts, drive, link, losses, share};

/// The two-sided 99.9 % point of the normal distribution.
const Z: f64 = 3.29;

/// Fails unless `observed` lies within the interval of a mean over `count` independent draws.
fn assert_mean(observed: f64, expected: f64, deviation: f64, count: f64) {
    let margin = Z * deviation / count.sqrt();
    assert!(
        (observed - expected).abs() <= margin,
        "observed {observed}, expected {expected} ± {margin}"
    );
}

/// Checks the share of independent losses with probability `p`.
fn assert_share(lost: &[bool], p: f64) {
    assert_mean(share(lost), p, (p * (1.0 - p)).sqrt(), lost.len() as f64);
}

#[test]
fn independent_losses_have_their_chance_and_no_memory() {
    let lost = losses("model = 'independent', p = '5 %'", 1, 200_000, 1000);
    assert_share(&lost, 0.05);
    let after_loss: Vec<bool> = lost.windows(2).filter(|w| w[0]).map(|w| w[1]).collect();
    assert_share(&after_loss, 0.05);
    assert!(
        losses("model = 'none'", 1, 1000, 1000)
            .iter()
            .all(|lost| !lost)
    );
}

#[test]
fn errors_at_a_distance_hit_by_size() {
    for size in [60, 1500] {
        let lost = losses("model = 'distance', mean = '64 KiB'", 2, 200_000, size);
        assert_share(&lost, 1.0 - (-(size as f64) / 65536.0).exp());
    }
}

#[test]
fn bursts_destroy_exactly_their_number() {
    let errors = "model = 'burst', packets = 4, spacing = '64 KiB'";
    let lost = losses(errors, 3, 200_000, 1440);
    let q = 1.0 - (-1440.0 / 65536.0_f64).exp();
    // Two bursts touch when the second follows the first at once.
    let lengths = bursts(&lost);
    assert!(lengths.iter().all(|length| length % 4 == 0));
    let count = lengths.iter().sum::<usize>() / 4;
    assert_mean(
        lengths.len() as f64 / count as f64,
        1.0 - q,
        q.sqrt(),
        count as f64,
    );
    // A cycle is four packets and a geometric number of others.
    let cycle = lost.len() as f64 / count as f64;
    assert_mean(
        cycle,
        4.0 + 1.0 / q - 1.0,
        (1.0 - q).sqrt() / q,
        count as f64,
    );
}

#[test]
fn the_bit_chain_has_the_papers_packet_error_rates() {
    // FACTS of Haas and Warkhedi: 1514-byte packets, p_g = 1e-4; the exact rate for each p_b.
    let bits = 1514.0 * 8.0;
    for (p_b, published) in [(1e-6, 0.022), (5e-6, 0.104), (12e-6, 0.228)] {
        let errors = format!("model = 'markov', p_b = {p_b}, p_g = 100e-6");
        let lost = losses(&errors, 4, 300_000, 1514);
        let good: f64 = 1e-4 / (1e-4 + p_b);
        let exact = 1.0 - good * (1.0 - p_b).powf(bits - 1.0);
        assert!((exact - published).abs() < 0.001, "{exact}");
        // Neighbours are correlated: in a lost packet's wake the chain is bad with about 1/(1 + B p_g).
        let correlation = 1.0 / (1.0 + bits * 1e-4);
        let spread = ((1.0 + correlation) / (1.0 - correlation)).sqrt();
        assert_mean(
            share(&lost),
            exact,
            spread * (exact * (1.0 - exact)).sqrt(),
            300_000.0,
        );
    }
}

#[test]
fn the_bit_chain_has_the_papers_burst_length() {
    let lost = losses(
        "model = 'markov', p_b = 1e-7, p_g = 100e-6",
        5,
        4_000_000,
        1514,
    );
    let lengths = bursts(&lost);
    let mean = lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
    // A burst of L bits touches 1 + (L − 1)/B packets in the mean; 1 + 1/(B p_g) in the paper.
    let load = 1514.0 * 8.0 * 1e-4;
    assert_mean(mean, 1.0 + 1.0 / load, 1.2, lengths.len() as f64);
}

#[test]
fn a_faster_link_meets_outages_of_equal_length_in_time() {
    // Haas and Warkhedi, Figure 12b: 110,000 bits are an outage of the link that is 11 times as fast.
    let errors = "model = 'markov', p_b = 1e-6, p_g = 100e-6, bits_per_step = 11";
    let lost = losses(errors, 6, 2_000_000, 1500);
    let bad: f64 = 1e-6 / (1e-6 + 100e-6);
    // 1 + 1/(B p_g) packets of 12,000 bits; the share of lost ones is (B p_g + 1) times that of bad bits.
    let load = 12_000.0 * 1e-4 / 11.0;
    let lengths = bursts(&lost);
    let mean = lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
    let outages = lengths.len() as f64;
    assert_mean(mean, 1.0 + 1.0 / load, 1.0 / load, outages);
    assert_mean(share(&lost), bad * (1.0 + load), 2.0 * bad, outages);
}

#[test]
fn bits_of_both_directions_may_drive_one_chain() {
    // Short packets of one direction alone stay in a burst for long; long packets of the other one end it.
    let errors = |state| format!("model = 'markov', p_b = 1e-5, p_g = 1e-4, state = '{state}'");
    let longest = |state| {
        let text = format!(
            "medium = 'half-duplex'\neach = {{ rate = '100 Mbit/s', delay = '0 s', queue = '10 packets' }}\n\
             errors = {{ {} }}",
            errors(state)
        );
        let mut channel = Channel::new(&link(&text), 7);
        let packets: Vec<_> = (0..40_000)
            .flat_map(|turn: u64| {
                let at = turn * 1_000_000;
                [(at, Direction::Down, 1_500), (at, Direction::Up, 54)]
            })
            .collect();
        let log = drive(&mut channel, &packets, 60_000_000_000);
        let lost = |(_, output): &(u64, Output<usize>)| match output {
            Output::Drop { direction, .. } => (*direction == Direction::Up).then_some(true),
            Output::Deliver { direction, .. } | Output::DeliverCorrupted { direction, .. } => {
                (*direction == Direction::Up).then_some(false)
            }
            Output::State { .. } => None,
        };
        let up: Vec<_> = log.iter().filter_map(lost).collect();
        bursts(&up).into_iter().max().unwrap_or(0)
    };
    let (own, shared) = (longest("own"), longest("shared"));
    assert!(own > 40, "{own} acknowledgements in a row");
    assert!(shared < 20, "{shared} acknowledgements in a row");
}

#[test]
fn loss_follows_the_state_in_time() {
    // 100 bytes take 80 us: short against the periods, so the share of bad time equals the share of losses.
    for distribution in ["uniform", "exponential", "deterministic"] {
        let errors = format!(
            "model = 'temporal', rule = 'instant', \
             good = {{ distribution = '{distribution}', mean = '100 ms' }}, \
             bad = {{ distribution = '{distribution}', mean = '25 ms' }}"
        );
        let lost = losses(&errors, 6, 1_000_000, 100);
        let cycles = 80.0 / 0.125;
        assert_mean(share(&lost), 0.2, 0.25, cycles);
    }
}

#[test]
fn a_transmission_that_touches_a_bad_period_is_lost() {
    // 1000 bytes take 800 us. A packet meets a bad period if it starts within it or 0.8 ms before.
    let errors = |rule: &str| {
        format!(
            "model = 'temporal', rule = '{rule}', \
             good = {{ distribution = 'exponential', mean = '20 ms' }}, \
             bad = {{ distribution = 'exponential', mean = '5 ms' }}"
        )
    };
    let count = 500_000;
    let cycles = count as f64 * 0.8 / 25.0;
    let instant = share(&losses(&errors("instant"), 7, count, 1000));
    assert_mean(instant, 0.2, 0.25, cycles);
    let overlap = share(&losses(&errors("overlap"), 7, count, 1000));
    // Good at the start, and the good period does not end within 0.8 ms.
    assert_mean(overlap, 1.0 - 0.8 * (-0.8 / 20.0_f64).exp(), 0.25, cycles);
}

#[test]
fn each_state_has_its_own_chance_of_loss() {
    let errors = "model = 'temporal', rule = 'instant', loss_good = 0.1, loss_bad = 0.7, \
                  good = { distribution = 'deterministic', mean = '80 ms' }, \
                  bad = { distribution = 'deterministic', mean = '20 ms' }";
    // One packet every 80 us: 1,000 of them in good periods, 250 in bad ones.
    let lost = losses(errors, 8, 500_000, 100);
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (number, lost) in lost.into_iter().enumerate() {
        let state = if number % 1250 < 1000 {
            &mut good
        } else {
            &mut bad
        };
        state.push(lost);
    }
    assert_share(&good, 0.1);
    assert_share(&bad, 0.7);
}
