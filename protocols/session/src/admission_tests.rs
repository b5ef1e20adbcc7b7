//! The parts of the budget.

use super::*;

#[test]
fn senders_are_remembered_for_two_seconds_at_most() {
    let limits = Limits::default();
    let mut budget = Budget::new(&limits);
    let (mut taken, mut most) = (0, 0);
    for number in 0..1_000_000_u32 {
        let now = Instant::ZERO + Duration::from_micros(10) * u64::from(number);
        let from = HopAddress::Udp((number.to_be_bytes(), 9).into());
        taken += u32::from(budget.take_proven(now, from));
        most = most.max(budget.senders.iter().map(BTreeMap::len).sum());
    }
    assert!((7_500..=7_600).contains(&taken), "{taken}");
    let bound = 2 * limits.handshakes_per_second + limits.handshake_burst;
    assert!(most <= bound as usize, "{most}");
}

#[test]
fn ports_and_a_network_are_one_sender() {
    let at = |text: &str| sender(HopAddress::Udp(text.parse().expect("an address")));
    assert_eq!(at("192.0.2.1:1"), at("192.0.2.1:2"));
    assert_ne!(at("192.0.2.1:1"), at("192.0.2.2:1"));
    assert_eq!(at("[2001:db8::1]:1"), at("[2001:db8::2]:9"));
    assert_ne!(at("[2001:db8::1]:1"), at("[2001:db8:0:1::1]:1"));
}
