//! Tests of the limits of an agent's memory.

use snoop::{Config, Limits};
use units::Bytes;

use super::script::{Probe, SIZE, Script, ack, data, down, up};

fn limited(limits: Limits) -> Config {
    Config {
        limits,
        ..Config::tcp_aware()
    }
}

fn of_flow(mut probe: Probe, port: u16) -> Probe {
    probe.header.destination.set_port(port);
    probe
}

/// FACTS: beyond the high-water mark only packets that fill gaps are cached.
#[test]
fn beyond_the_high_water_mark_only_gaps_are_filled() {
    let mut script = Script::new(limited(Limits {
        flow_bytes: Bytes::new(5 * 1_040),
        high_water: Bytes::new(3 * 1_040),
        ..Limits::default()
    }));
    for place in [0, 2, 3, 5] {
        script.fixed_sends(data(place));
    }
    assert_eq!(script.agent.cached_bytes(), 3 * 1_040);
    for place in [1, 4] {
        script.fixed_sends(data(place));
    }
    assert_eq!(script.agent.cached_bytes(), 5 * 1_040);
    assert_eq!(script.agent.counters().uncached, 1);
    script.mobile_sends(ack(5));
    for _ in 0..3 {
        assert_eq!(
            script.mobile_sends(ack(5)),
            [up(ack(5))],
            "left to the sender"
        );
    }
}

#[test]
fn all_connections_share_one_bound() {
    let bytes = Bytes::new(3 * 1_040);
    let mut script = Script::new(limited(Limits {
        bytes,
        ..Limits::default()
    }));
    for port in 1..10 {
        let probe = of_flow(data(0), port);
        assert_eq!(script.fixed_sends(probe.clone()), [down(probe)]);
    }
    assert_eq!(script.agent.cached_bytes(), bytes.get());
    assert_eq!(script.agent.counters().uncached, 6);
}

#[test]
fn a_connection_beyond_the_limit_passes_until_another_was_quiet() {
    let flows = 2;
    let mut script = Script::new(limited(Limits {
        flows,
        ..Limits::default()
    }));
    for port in 1..4 {
        let probe = of_flow(data(0), port);
        assert_eq!(script.fixed_sends(probe.clone()), [down(probe)]);
    }
    assert_eq!(script.agent.counters().ignored.refused, 1);
    script.wait(6_000);
    script.fixed_sends(of_flow(data(1), 2));
    script.fixed_sends(of_flow(data(0), 3));
    assert_eq!(script.agent.flows(), flows);
    assert_eq!(
        script.agent.cached_bytes(),
        3 * 1_040,
        "the first had to go"
    );
}

#[test]
fn a_new_syn_starts_the_connection_anew() {
    let mut script = Script::with_data(Config::tcp_aware(), 5);
    let mut syn = data(90);
    syn.header.payload = 0;
    syn.header.flags = wire::tcp::TcpFlags::SYN;
    assert_eq!(script.fixed_sends(syn.clone()), [down(syn)]);
    assert_eq!(script.agent.cached_bytes(), 0);
    let mut first = data(90);
    first.header.sequence = first.header.sequence + 1;
    script.fixed_sends(first);
    assert_eq!(script.agent.cached_bytes(), u64::from(SIZE) + 40);
}
