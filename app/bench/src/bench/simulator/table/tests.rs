use super::*;

fn run(packets: u64, seconds: f64) -> Run {
    Run {
        packets,
        seconds,
        processor_seconds: seconds,
        peak_kib: 2048,
    }
}

/// One turn in which each case takes a second more than the one before it.
fn turn() -> Vec<Run> {
    (1_u32..)
        .map(|seconds| run(1200, seconds.into()))
        .take(CASES.len())
        .collect()
}

#[test]
fn each_case_has_a_line() {
    let text = of(&[turn(), turn()]);
    assert_eq!(
        text.lines().filter(|line| line.contains("| 2.0 |")).count(),
        CASES.len()
    );
    assert!(
        text.contains("| ns-2 | 1 | – | 1200 | 1200 (1200 – 1200) | 2.0 |"),
        "{text}"
    );
    assert!(
        text.contains("| lasthop | 1 | whole packets | 1200 | 120 (120 – 120) | 2.0 |"),
        "{text}"
    );
}

#[test]
fn ratios_are_taken_within_a_turn() {
    let text = of(&[turn()]);
    assert!(
        text.contains("| packets/s, of ns-2's | ≥ 0.5 | 0.33 (0.33 – 0.33) |"),
        "{text}"
    );
    assert!(
        text.contains("| time of 100 flows, of one flow's | ≤ 1.3 | 2.00 (2.00 – 2.00) |"),
        "{text}"
    );
}

#[test]
fn the_places_are_those_of_the_cases() {
    for (place, program, flows) in [
        (NS2, Program::Ns2, 1),
        (NS3, Program::Ns3, 1),
        (OURS, Program::Ours, 1),
        (NS2_FLOWS, Program::Ns2, 100),
        (NS3_FLOWS, Program::Ns3, 100),
        (OURS_FLOWS, Program::Ours, 100),
    ] {
        assert_eq!((CASES[place].program, CASES[place].flows), (program, flows));
    }
    assert_eq!(CASES[OURS_HEADERS].captured, Some(HEADERS));
    assert_eq!(CASES[OURS_WHOLE].captured, Some(WHOLE));
    assert_eq!(CASES[OURS_LONGER].longer, 10);
}
