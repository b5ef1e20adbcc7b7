//! The known behaviour of each policy, on textbook losses.

use tcp::{Config, Counters, Policy};
use units::{Bytes, Duration};

use super::pipe::{CLIENT, Fate, Pipe, SERVER, config};

/// Result of a transfer.
struct Outcome {
    counters: Counters,
    /// The smallest congestion window after the first loss was seen, in segments.
    least: u64,
    took: Duration,
}

/// Sends 200 segments through a window that has opened to about 16 segments when these numbers are lost.
fn transfer(config: &Config, numbers: &[usize], fate: Fate) -> Outcome {
    let mut pipe = Pipe::connected(config);
    pipe.wire.delay = Duration::from_millis(50);
    pipe.wire.decide_on(fate, CLIENT, numbers);
    pipe.write(CLIENT, 200_000);
    let start = pipe.clock.now;
    let mut least = u64::MAX;
    while !pipe.ends[CLIENT].is_drained() {
        assert!(
            pipe.step(start + Duration::from_secs(500)),
            "the transfer never ends"
        );
        let recovered = pipe.ends[CLIENT].counters().recovered;
        if recovered.fast_retransmissions + recovered.timeouts > 0 {
            least = least.min(pipe.ends[CLIENT].congestion_window() / 1_000);
        }
    }
    assert_eq!(pipe.received(SERVER), 200_000);
    Outcome {
        counters: pipe.ends[CLIENT].counters(),
        least,
        took: pipe.clock.now.since(start),
    }
}

/// The window is 32 segments from here on; the numbers lie in one flight.
const FIRST: usize = 70;

/// Policies that repair several losses of one flight without a timeout.
const OF_SEVERAL: [Policy; 5] = [
    Policy::NewReno,
    Policy::Smart,
    Policy::Sack,
    Policy::SackNew,
    Policy::SackEln,
];

fn lossy(policy: Policy, offsets: &[usize], fate: Fate) -> Outcome {
    let numbers: Vec<_> = offsets.iter().map(|offset| FIRST + offset).collect();
    transfer(&config(policy), &numbers, fate)
}

#[test]
fn one_loss_halves_the_window_and_costs_no_timeout() {
    for policy in Policy::ALL {
        let outcome = lossy(policy, &[0], Fate::Lost);
        let recovered = outcome.counters.recovered;
        assert_eq!(
            (recovered.timeouts, recovered.fast_retransmissions),
            (0, 1),
            "{policy:?}"
        );
        assert_eq!(
            outcome.counters.sent.retransmitted_segments, 1,
            "{policy:?}"
        );
        assert!(
            (14..=18).contains(&outcome.least),
            "{policy:?}: {}",
            outcome.least
        );
    }
}

#[test]
fn a_marked_loss_leaves_the_window_where_losses_are_told() {
    for policy in Policy::ALL {
        let outcome = lossy(policy, &[0], Fate::Damaged);
        let recovered = outcome.counters.recovered;
        let understands = matches!(policy, Policy::Eln | Policy::ElnRxmt | Policy::SackEln);
        assert_eq!(
            recovered.without_reduction,
            u64::from(understands),
            "{policy:?}"
        );
        assert_eq!(
            outcome.least >= 30,
            understands,
            "{policy:?}: {}",
            outcome.least
        );
        assert_eq!(recovered.timeouts, 0);
    }
}

/// Two losses in a flight: Reno halves twice, `NewReno` and the selective ones once.
#[test]
fn two_losses_halve_reno_twice() {
    // The peer's window leaves room for the segments that the duplicates let out.
    let mut config = config(Policy::Reno);
    (config.send_buffer, config.receive_buffer) = (Bytes::new(60_000), Bytes::new(60_000));
    let reno = transfer(&config, &[40, 46], Fate::Lost);
    let recovered = reno.counters.recovered;
    assert_eq!((recovered.timeouts, recovered.fast_retransmissions), (0, 2));
    assert!(reno.least <= 12, "{}", reno.least);
    for policy in OF_SEVERAL {
        let outcome = lossy(policy, &[0, 6], Fate::Lost);
        assert_eq!(
            outcome.counters.recovered.fast_retransmissions, 1,
            "{policy:?}"
        );
        assert!(outcome.least >= 14, "{policy:?}: {}", outcome.least);
        assert_eq!(outcome.counters.sent.retransmitted_segments, 2);
    }
}

/// Many losses in a flight: Reno waits for its timer, the others do not.
#[test]
fn a_burst_stops_only_reno_and_its_kin() {
    let offsets = [0, 2, 4, 6, 8];
    for policy in [Policy::Reno, Policy::Eln] {
        let outcome = lossy(policy, &offsets, Fate::Lost);
        assert!(outcome.counters.recovered.timeouts > 0, "{policy:?}");
    }
    for policy in OF_SEVERAL {
        let outcome = lossy(policy, &offsets, Fate::Lost);
        assert_eq!(outcome.counters.recovered.timeouts, 0, "{policy:?}");
        assert_eq!(
            outcome.counters.sent.retransmitted_segments, 5,
            "{policy:?}"
        );
    }
}

/// Returns the time of each retransmission of a burst, in round trips of 100 ms after the first.
fn rounds(policy: Policy, offsets: &[usize], fate: Fate) -> Vec<u64> {
    let mut pipe = Pipe::connected(&config(policy));
    pipe.wire.delay = Duration::from_millis(50);
    let numbers: Vec<_> = offsets.iter().map(|offset| FIRST + offset).collect();
    pipe.wire.decide_on(fate, CLIENT, &numbers);
    pipe.write(CLIENT, 200_000);
    pipe.drain_client();
    let data = pipe
        .wire
        .log
        .iter()
        .filter(|sighting| sighting.packet.payload > 0);
    let mut seen = std::collections::BTreeSet::new();
    let again = data.filter(|sighting| !seen.insert(sighting.packet.sequence.0));
    let times: Vec<_> = again.map(|sighting| sighting.at).collect();
    times
        .iter()
        .map(|at| at.since(times[0]).as_millis() / 95)
        .collect()
}

#[test]
fn new_reno_repairs_one_in_a_round_trip_and_sack_several() {
    let offsets = [0, 3, 6, 9];
    assert_eq!(rounds(Policy::NewReno, &offsets, Fate::Lost), [0, 1, 2, 3]);
    for policy in [Policy::Sack, Policy::SackNew, Policy::Smart] {
        assert_eq!(rounds(policy, &offsets, Fate::Lost), [0; 4], "{policy:?}");
    }
    assert_eq!(rounds(Policy::SackEln, &offsets, Fate::Damaged), [0; 4]);
}

/// A window of five segments and a loss at its end give few duplicates.
fn small_window(policy: Policy, offset: usize, fate: Fate) -> Outcome {
    let mut config = config(policy);
    config.receive_buffer = Bytes::new(5_000);
    transfer(&config, &[50 + offset], fate)
}

#[test]
fn in_a_small_window_it_matters_how_few_duplicates_are_enough() {
    // A single loss in a window of five causes four duplicates: enough for all.
    for policy in Policy::ALL {
        let outcome = small_window(policy, 0, Fate::Damaged);
        assert_eq!(outcome.counters.recovered.timeouts, 0, "{policy:?}");
    }
    // A window of three causes two.
    let two = |policy: Policy, fate| {
        let mut config = config(policy);
        config.receive_buffer = Bytes::new(3_000);
        transfer(&config, &[50], fate).counters.recovered.timeouts
    };
    for policy in Policy::ALL {
        let waits = !matches!(policy, Policy::Smart | Policy::ElnRxmt | Policy::SackEln);
        assert_eq!(two(policy, Fate::Damaged), u64::from(waits), "{policy:?}");
    }
}

/// 4.4BSD takes the inflation back only after more duplicates than it asks for.
#[test]
fn a_recovery_by_exactly_three_duplicates_may_leave_the_window_inflated() {
    let least = |policy, segments: u64, late_deflation| {
        let mut config = config(policy);
        config.recovery.late_deflation = late_deflation;
        config.receive_buffer = Bytes::new(1_000 * segments);
        let outcome = transfer(&config, &[50], Fate::Lost);
        assert_eq!(outcome.counters.recovered.fast_retransmissions, 1);
        outcome.least
    };
    // Half of four, and one for the acknowledgement that ends the recovery.
    assert_eq!(least(Policy::Reno, 4, false), 3);
    assert_eq!(least(Policy::Reno, 4, true), 5);
    // With a fourth duplicate, or a policy that detects the end of a recovery, no inflation is left.
    assert_eq!(least(Policy::Reno, 5, true), 3);
    assert_eq!(least(Policy::NewReno, 4, true), 3);
}

/// The peer's window has room, the congestion window has not: new segments on the first duplicates bring the proof.
#[test]
fn new_segments_prove_a_loss_in_a_small_congestion_window() {
    let run = |policy| {
        let mut config = config(policy);
        config.congestion.initial_window = 3;
        transfer(&config, &[0], Fate::Lost).counters
    };
    let sack = run(Policy::Sack);
    assert_eq!(sack.recovered.timeouts, 1);
    let new = run(Policy::SackNew);
    assert_eq!(
        (new.recovered.timeouts, new.recovered.fast_retransmissions),
        (0, 1)
    );
}

/// The number of marked duplicates that show a loss is a setting.
#[test]
fn marked_duplicates_can_be_asked_to_repeat() {
    let mut config = config(Policy::ElnRxmt);
    config.receive_buffer = Bytes::new(3_000);
    config.recovery.marked_duplicates = 2;
    let outcome = transfer(&config, &[50], Fate::Damaged);
    assert_eq!(outcome.counters.recovered.timeouts, 0);
    config.recovery.marked_duplicates = 3;
    let outcome = transfer(&config, &[50], Fate::Damaged);
    assert_eq!(outcome.counters.recovered.timeouts, 1);
}

/// A loss that is congestion among losses on the air reduces the window.
#[test]
fn congestion_is_seen_among_losses_on_the_air() {
    let mut pipe = Pipe::connected(&config(Policy::SackEln));
    pipe.wire.delay = Duration::from_millis(50);
    pipe.wire.decide = Box::new(
        |from, segment, number| match (from, segment.payload, number) {
            (CLIENT, 1.., 70 | 74) => Fate::Damaged,
            (CLIENT, 1.., 77) => Fate::Lost,
            _ => Fate::Arrives,
        },
    );
    pipe.write(CLIENT, 200_000);
    pipe.drain_client();
    let counters = pipe.ends[CLIENT].counters();
    assert_eq!(counters.sent.retransmitted_segments, 3);
    assert_eq!(counters.recovered.timeouts, 0);
    let threshold = pipe.ends[CLIENT].slow_start_threshold();
    assert!(
        threshold.is_some_and(|threshold| threshold < 20_000),
        "{threshold:?}"
    );
}

/// ELN without an end of its recovery at partial acknowledgements repairs several losses.
#[test]
fn eln_may_hold_on_partial_acknowledgements() {
    let mut config = config(Policy::Eln);
    let offsets: Vec<_> = [0, 2, 4, 6, 8]
        .iter()
        .map(|offset| FIRST + offset)
        .collect();
    config.recovery.hold_on_partial = true;
    let outcome = transfer(&config, &offsets, Fate::Damaged);
    assert_eq!(outcome.counters.recovered.timeouts, 0);
    assert_eq!(outcome.counters.recovered.without_reduction, 1);
}

/// After a timeout, a careful sender ignores old duplicates.
#[test]
fn a_careful_sender_halves_less_often() {
    let run = |careful| {
        let mut config = config(Policy::Reno);
        config.recovery.careful = careful;
        let numbers: Vec<_> = (0..12).map(|offset| FIRST + 2 * offset).collect();
        transfer(&config, &numbers, Fate::Lost)
            .counters
            .recovered
            .fast_retransmissions
    };
    assert!(run(true) <= run(false), "{} {}", run(true), run(false));
}

/// A selective sender whose receiver sends no blocks works like `NewReno`.
#[test]
fn selective_senders_manage_without_selective_receivers() {
    let mut receiver = config(Policy::Reno);
    receiver.congestion.initial_window = 1;
    for policy in [Policy::Sack, Policy::SackNew, Policy::SackEln] {
        let mut pipe = Pipe::new(&config(policy), &receiver);
        pipe.wire.delay = Duration::from_millis(50);
        pipe.wire.decide_on(Fate::Lost, CLIENT, &[70, 73, 76]);
        pipe.input(CLIENT, tcp::Input::Connect);
        pipe.write(CLIENT, 200_000);
        pipe.drain_client();
        let recovered = pipe.ends[CLIENT].counters().recovered;
        let expected = (0, 1);
        let seen = (recovered.timeouts, recovered.fast_retransmissions);
        if policy == Policy::SackEln {
            // Without marks or blocks it sees no gap at all, and waits for its timer.
            assert!(recovered.timeouts > 0);
        } else {
            assert_eq!(seen, expected, "{policy:?}");
        }
        assert_eq!(pipe.received(SERVER), 200_000);
    }
}

#[test]
fn who_repairs_sooner_is_faster() {
    let took = |policy, fate| lossy(policy, &[0, 2, 4, 6, 8], fate).took;
    assert!(took(Policy::NewReno, Fate::Lost) < took(Policy::Reno, Fate::Lost));
    assert!(took(Policy::Sack, Fate::Lost) < took(Policy::NewReno, Fate::Lost));
    let (marked, plain) = (
        took(Policy::SackEln, Fate::Damaged),
        took(Policy::Sack, Fate::Lost),
    );
    assert!(marked < plain, "{marked} {plain}");
}

/// 4.4BSD's eighth of a segment with each acknowledgement.
#[test]
fn the_extra_eighth_widens_the_window_faster() {
    let grown = |extra_eighth| {
        let mut config = config(Policy::Reno);
        config.congestion.extra_eighth = extra_eighth;
        let mut pipe = Pipe::connected(&config);
        pipe.wire.delay = Duration::from_millis(50);
        pipe.wire.decide_on(Fate::Lost, CLIENT, &[20]);
        pipe.write(CLIENT, 100_000);
        pipe.drain_client();
        pipe.ends[CLIENT].congestion_window()
    };
    let (plain, extra) = (grown(false), grown(true));
    assert!(extra > plain + 5_000, "{plain} {extra}");
}
