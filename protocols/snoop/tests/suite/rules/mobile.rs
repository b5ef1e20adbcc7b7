//! Tests of the mobile host's part.

use machine::{Machine, conformance};
use snoop::{AirLoss, TcpSegmentOptions};
use snoop::{Header, Limits, Mobile, MobileConfig, MobileInput, MobileOutput};
use units::{Bytes, Duration, Instant};

use super::script::{Probe, ack, data, marked, number, ranges, sack, stamped, turned};

struct Host {
    mobile: Mobile<Probe>,
    now: Instant,
}

fn to_air(place: u32, priority: bool) -> MobileOutput<Probe> {
    MobileOutput::ToAir {
        packet: turned(data(place)),
        priority,
    }
}

fn to_host(probe: &Probe) -> MobileOutput<Probe> {
    MobileOutput::ToHost(probe.clone())
}

fn request(missing: &[(u32, u32)]) -> Probe {
    let options = TcpSegmentOptions {
        cause: Some(number(9)),
        air_loss: AirLoss::Ranges(ranges(missing)),
        ..TcpSegmentOptions::default()
    };
    let header = Header {
        options,
        ..turned(ack(0)).header
    };
    Probe { header, copy: 0 }
}

/// RFC 7323 §5: as the agent's repairs.
#[test]
fn repairs_have_timestamps_that_the_fixed_host_takes() {
    let mobile = Mobile::new(MobileConfig::default());
    let now = Instant::ZERO;
    let mut host = Host { mobile, now };
    for place in 0..2 {
        host.input(MobileInput::FromHost(stamped(turned(data(place)), 7, 0)));
    }
    host.air_brings(stamped(turned(ack(0)), 1, 9));
    let packet = stamped(turned(data(0)), 9, 0);
    let priority = true;
    assert_eq!(
        host.air_brings(request(&[(0, 1)])),
        [MobileOutput::ToAir { packet, priority }]
    );
}

impl Host {
    /// Returns a host that has sent the places before `count`, none of them acknowledged by the fixed host.
    fn with_data(config: MobileConfig, count: u32) -> Self {
        let mobile = Mobile::new(config);
        let now = Instant::ZERO;
        let mut host = Self { mobile, now };
        for place in 0..count {
            let outputs = host.input(MobileInput::FromHost(turned(data(place))));
            assert_eq!(outputs, [to_air(place, false)]);
        }
        let first = turned(ack(0));
        assert_eq!(host.air_brings(first.clone()), [to_host(&first)]);
        host
    }

    fn air_brings(&mut self, probe: Probe) -> Vec<MobileOutput<Probe>> {
        self.input(MobileInput::FromAir(probe))
    }

    fn input(&mut self, input: MobileInput<Probe>) -> Vec<MobileOutput<Probe>> {
        self.mobile.handle_input(self.now, input);
        std::iter::from_fn(|| self.mobile.poll_output()).collect()
    }
}

#[test]
fn what_is_asked_for_is_sent_again_and_the_tcp_above_knows_nothing() {
    let mut host = Host::with_data(MobileConfig::default(), 6);
    let outputs = host.air_brings(request(&[(1, 2), (3, 5)]));
    let expected = [to_air(1, true), to_air(3, true), to_air(4, true)];
    assert_eq!(outputs, expected);
    host.air_brings(turned(ack(4)));
    assert_eq!(host.air_brings(request(&[(3, 5)])), [to_air(4, true)]);
    let counters = host.mobile.counters();
    assert_eq!((counters.asked, counters.repairs), (2, 4));
}

/// An unmodified TCP would take the duplicates for congestion.
#[test]
fn marked_duplicates_are_held_back_once_their_repair_is_on_its_way() {
    let mut host = Host::with_data(MobileConfig::default(), 6);
    host.air_brings(turned(ack(1)));
    let duplicate = marked(turned(ack(1)), AirLoss::Next);
    assert_eq!(
        host.air_brings(duplicate.clone()),
        [to_host(&duplicate)],
        "nothing repaired yet"
    );
    host.air_brings(request(&[(1, 2)]));
    assert_eq!(host.air_brings(duplicate.clone()), []);
    let plain = turned(ack(1));
    assert_eq!(
        host.air_brings(plain.clone()),
        [to_host(&plain)],
        "the wired side"
    );
    let onward = turned(ack(6));
    assert_eq!(host.air_brings(onward.clone()), [to_host(&onward)]);
    assert_eq!(host.mobile.cached_bytes(), 0);
}

/// A SACK sender needs no duplicates to detect a gap: acknowledgements that must pass do not show one that is
/// repaired here.
#[test]
fn what_must_pass_does_not_show_a_gap_under_repair() {
    let mut host = Host::with_data(MobileConfig::default(), 6);
    host.air_brings(request(&[(1, 2)]));
    let onward = marked(turned(sack(1, &[(2, 4)])), AirLoss::Next);
    assert_eq!(host.air_brings(onward), [to_host(&turned(ack(1)))]);
    let unmarked = turned(sack(2, &[(3, 4)]));
    assert_eq!(
        host.air_brings(unmarked.clone()),
        [to_host(&unmarked)],
        "the wired side"
    );
}

/// A TCP that understands the marks gets them.
#[test]
fn marks_pass_where_the_tcp_above_understands_them() {
    let shield = false;
    let config = MobileConfig {
        shield,
        ..MobileConfig::default()
    };
    let mut host = Host::with_data(config, 3);
    host.air_brings(request(&[(0, 1)]));
    let duplicate = marked(turned(ack(0)), AirLoss::Next);
    assert_eq!(host.air_brings(duplicate.clone()), [to_host(&duplicate)]);
}

#[test]
fn what_it_keeps_is_bounded() {
    let limits = Limits {
        flow_bytes: Bytes::new(3_000),
        ..Limits::default()
    };
    let config = MobileConfig {
        limits,
        ..MobileConfig::default()
    };
    let mut host = Host::with_data(config, 6);
    assert_eq!(host.mobile.cached_bytes(), 2 * 1_040);
    assert_eq!(host.air_brings(request(&[(0, 6)])).len(), 2);
}

#[test]
fn the_contract_holds() {
    let mut script = Vec::new();
    for place in 0..40 {
        let wait = Duration::from_millis(70);
        script.push((wait, MobileInput::FromHost(turned(data(place)))));
        let answer = if place % 5 == 0 {
            request(&[(place.saturating_sub(3), place)])
        } else {
            turned(ack(place / 2))
        };
        script.push((wait, MobileInput::FromAir(answer)));
    }
    let build = || Mobile::new(MobileConfig::default());
    conformance::check(build, &script, Duration::from_secs(400));
}
