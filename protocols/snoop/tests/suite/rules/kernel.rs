//! Tests of real TCPs' segments that look like a loss and are none, or hide one.

use snoop::Config;
use units::SeqNumber;

use super::script::{
    Probe, SIZE, Script, WINDOW, ack, data, down, number, repair, sack, turned, up,
};

fn with_window(mut probe: Probe, window: u16) -> Probe {
    probe.header.window = window;
    probe
}

/// RFC 5681 §2: the same acknowledgement with another window is a window update.
#[test]
fn a_window_update_is_no_duplicate() {
    let mut script = Script::with_data(Config::tcp_aware(), 4);
    for step in 1..6 {
        let update = with_window(ack(0), WINDOW + step);
        assert_eq!(script.mobile_sends(update.clone()), [up(update)]);
    }
    assert_eq!(script.agent.counters().repairs, 0);
}

/// A window that moves together with new SACK blocks: the sender gets the window and not the blocks.
#[test]
fn a_window_update_with_a_gap_passes_without_the_gap() {
    let mut script = Script::with_data(Config::smart_tcp_aware(), 4);
    let update = with_window(sack(0, &[(1, 2)]), WINDOW - 500);
    let shown = with_window(ack(0), WINDOW - 500);
    assert_eq!(script.mobile_sends(update), [repair(0), up(shown)]);
}

/// SACK senders need no duplicates: the blocks on other acknowledgements are taken off too.
#[test]
fn the_blocks_of_a_gap_under_repair_are_hidden() {
    let mut script = Script::with_data(Config::smart_tcp_aware(), 6);
    assert_eq!(
        script.mobile_sends(sack(2, &[(3, 5)])),
        [repair(2), up(ack(2))]
    );
}

/// With one gap that the agent cannot repair, the sender sees everything.
#[test]
fn the_blocks_of_a_gap_beyond_repair_are_shown() {
    let mut script = Script::with_data(Config::smart_tcp_aware(), 2);
    for place in [2, 4, 5] {
        script.fixed_sends(data(place));
    }
    let blocks = [(5, 6)];
    let outputs = script.mobile_sends(sack(2, &blocks));
    assert_eq!(outputs, [repair(2), repair(4), up(sack(2, &blocks))]);
}

/// RFC 2883: a report of a segment that came twice is no sign of a loss.
#[test]
fn a_report_of_a_repeated_segment_is_no_duplicate() {
    for config in [Config::tcp_aware(), Config::smart_tcp_aware()] {
        let mut script = Script::with_data(config, 6);
        script.mobile_sends(ack(3));
        let report = sack(3, &[(1, 2)]);
        for _ in 0..4 {
            assert_eq!(script.mobile_sends(report.clone()), [up(report.clone())]);
        }
        assert_eq!(script.agent.counters().repairs, 0);
    }
}

/// A sender's probe of the tail (RACK-TLP, RFC 8985 §7) is a cached segment sent again: it goes on.
#[test]
fn a_tail_loss_probe_goes_on() {
    let mut script = Script::with_data(Config::tcp_aware(), 3);
    assert_eq!(script.fixed_sends(data(2)), [down(data(2))]);
}

/// RFC 9293 §3.8.4: a keep-alive, with or without its byte, is for the mobile host to answer; its answer is
/// no duplicate.
#[test]
fn keep_alives_and_their_answers_pass() {
    let mut script = Script::with_data(Config::tcp_aware(), 2);
    script.mobile_sends(ack(2));
    for payload in [0, 1] {
        let mut probe = data(2);
        probe.header.sequence = number(2) - 1;
        probe.header.payload = payload;
        assert_eq!(script.fixed_sends(probe.clone()), [down(probe)]);
        for _ in 0..3 {
            assert_eq!(script.mobile_sends(ack(2)), [up(ack(2))]);
        }
    }
}

/// A closed window: no repair would be accepted, probes and their answers pass.
#[test]
fn a_closed_window_stops_repair() {
    let mut script = Script::with_data(Config::tcp_aware(), 3);
    let closed = with_window(ack(1), 0);
    script.mobile_sends(closed.clone());
    script.pause(5_000);
    for _ in 0..4 {
        assert_eq!(script.mobile_sends(closed.clone()), [up(closed.clone())]);
    }
    let open = ack(1);
    assert_eq!(script.mobile_sends(open.clone()), [up(open)]);
    assert_eq!(script.agent.counters().repairs, 0);
}

/// RFC 5681 §2: data that carry an old number are no duplicate, and are never held back.
#[test]
fn data_with_an_old_number_pass() {
    let mut script = Script::with_data(Config::tcp_aware(), 4);
    for place in 0..5 {
        let mut upload = turned(data(place));
        upload.header.acknowledgment = number(0);
        assert_eq!(script.mobile_sends(upload.clone()), [up(upload)]);
    }
    assert_eq!(script.agent.counters().repairs, 0);
}

/// Data that the mobile host would not accept cannot fill the cache.
#[test]
fn data_outside_of_the_window_pass_uncached() {
    let mut script = Script::with_data(Config::tcp_aware(), 2);
    for place in [700_000, 3_000_000] {
        assert_eq!(script.fixed_sends(data(place)), [down(data(place))]);
    }
    let far = ack(2_000_000);
    assert_eq!(script.mobile_sends(far.clone()), [up(far)]);
    assert_eq!(script.agent.counters().ignored.implausible, 3);
    assert_eq!(script.agent.cached_bytes(), 2 * 1_040);
    assert_eq!(script.mobile_sends(ack(1)), [up(ack(1))]);
}

/// The stream of these tests wraps at 2³² between its fifth and sixth segment.
#[test]
fn sequence_numbers_wrap() {
    assert!(number(0) < number(5) && number(5).0 < number(0).0);
    assert_eq!(number(5), SeqNumber(0xffff_f000) + 5 * SIZE);
    let mut script = Script::with_data(Config::tcp_aware(), 8);
    script.mobile_sends(ack(4));
    script.mobile_sends(ack(4));
    assert_eq!(script.mobile_sends(ack(4)), [repair(4)]);
    assert_eq!(script.mobile_sends(ack(8)), [up(ack(8))]);
    assert_eq!(script.agent.cached_bytes(), 0);
}
