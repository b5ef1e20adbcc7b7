//! Tests of data from the fixed host.

use snoop::{Config, Output};
use wire::tcp::TcpFlags;

use super::script::{Script, ack, data, down, repair, stamped, up};

/// FACTS: a new packet in sequence is cached and forwarded.
#[test]
fn new_data_are_cached_and_forwarded() {
    let script = Script::with_data(Config::tcp_aware(), 3);
    assert_eq!(script.agent.counters().cached, 3);
    assert_eq!(script.agent.cached_bytes(), 3 * 1_040);
}

/// FACTS: out of sequence and cached, beyond the last acknowledgement: forward, and count its repairs anew.
#[test]
fn what_the_sender_repeats_is_forwarded_and_takes_the_place_of_a_repair() {
    let mut script = Script::with_data(Config::tcp_aware(), 5);
    let mut again = data(0);
    again.copy = 2;
    assert_eq!(script.fixed_sends(again.clone()), [down(again.clone())]);
    assert_eq!(script.agent.counters().sender_repeats, 1);
    assert_eq!(script.mobile_sends(ack(0)), []);
    let repaired = script.mobile_sends(ack(0));
    let newest = Output::ToMobile {
        packet: again,
        priority: true,
    };
    assert_eq!(
        repaired,
        [newest],
        "the newest copy is the one to repair with"
    );
}

/// FACTS: out of sequence, below the last acknowledgement: the source gets the last acknowledgement again.
#[test]
fn what_has_arrived_is_answered_for_the_mobile_host() {
    let mut script = Script::with_data(Config::tcp_aware(), 5);
    script.mobile_sends(ack(3));
    assert_eq!(script.fixed_sends(data(1)), [up(ack(3))]);
    assert_eq!(script.agent.counters().answered, 1);
}

/// LL is a link layer: it forwards every segment (the comparison: 90 % of lost packets are sent again by both source
/// and base station).
#[test]
fn a_plain_link_layer_forwards_what_has_arrived() {
    let mut script = Script::with_data(Config::link_layer(), 5);
    script.mobile_sends(ack(3));
    assert_eq!(script.fixed_sends(data(1)), [down(data(1))]);
}

/// FACTS: out of sequence and not cached: forward, and mark as retransmitted by the sender. Its duplicates then show
/// congestion and pass.
#[test]
fn a_gap_from_the_wired_side_is_left_to_the_sender() {
    let mut script = Script::with_data(Config::tcp_aware(), 2);
    script.mobile_sends(ack(2));
    for place in [3, 4, 5] {
        assert_eq!(script.fixed_sends(data(place)), [down(data(place))]);
    }
    for _ in 0..3 {
        assert_eq!(
            script.mobile_sends(ack(2)),
            [up(ack(2))],
            "not in the cache"
        );
    }
    assert_eq!(script.fixed_sends(data(2)), [down(data(2))]);
    assert_eq!(script.mobile_sends(ack(2)), [up(ack(2))], "it came late");
    assert_eq!(script.agent.counters().repairs, 0);
}

#[test]
fn segments_cut_anew_replace_what_they_overlap() {
    let mut script = Script::with_data(Config::tcp_aware(), 4);
    let mut wide = data(1);
    wide.header.payload = 1_500;
    script.fixed_sends(wide);
    assert_eq!(script.agent.cached_bytes(), 2 * 1_040 + 1_540);
    script.mobile_sends(ack(1));
    for _ in 0..3 {
        assert_eq!(script.mobile_sends(ack(1)), [up(ack(1))], "it came late");
    }
}

#[test]
fn a_lost_fin_is_repaired_like_data() {
    let mut script = Script::with_data(Config::tcp_aware(), 1);
    let mut fin = data(1);
    fin.header.payload = 0;
    fin.header.flags = TcpFlags::ACK | TcpFlags::FIN;
    assert_eq!(script.fixed_sends(fin.clone()), [down(fin.clone())]);
    script.mobile_sends(ack(1));
    let repaired = Output::ToMobile {
        packet: fin,
        priority: true,
    };
    assert_eq!(script.wait(200), [repaired]);
}

#[test]
fn the_connection_is_forgotten_when_both_ends_have_closed() {
    let mut script = Script::with_data(Config::tcp_aware(), 2);
    let mut fin = data(2);
    fin.header.flags = TcpFlags::ACK | TcpFlags::FIN;
    script.fixed_sends(fin);
    let mut answer = ack(3);
    answer.header.acknowledgment = answer.header.acknowledgment + 1;
    answer.header.flags = TcpFlags::ACK | TcpFlags::FIN;
    script.mobile_sends(answer);
    assert_eq!(script.agent.flows(), 1);
    let mut last = data(3);
    last.header.payload = 0;
    last.header.sequence = last.header.sequence + 1;
    last.header.acknowledgment = last.header.acknowledgment + 1;
    assert_eq!(script.fixed_sends(last.clone()), [down(last)]);
    assert_eq!(script.agent.flows(), 0);
}

#[test]
fn a_reset_ends_the_connection() {
    let mut script = Script::with_data(Config::tcp_aware(), 3);
    let mut reset = data(3);
    reset.header.flags = TcpFlags::RST;
    reset.header.payload = 0;
    assert_eq!(script.fixed_sends(reset.clone()), [down(reset)]);
    assert_eq!((script.agent.flows(), script.agent.cached_bytes()), (0, 0));
    assert_eq!(script.mobile_sends(ack(0)), [up(ack(0))]);
}

/// Tracking may start in the middle of a connection; the first acknowledgement is then simply noted.
#[test]
fn a_connection_is_met_in_its_middle() {
    let mut script = Script::new(Config::tcp_aware());
    for place in 10..14 {
        script.fixed_sends(data(place));
    }
    assert_eq!(script.mobile_sends(ack(11)), [up(ack(11))]);
    assert_eq!(script.mobile_sends(ack(11)), []);
    assert_eq!(script.mobile_sends(ack(11)), [repair(11)]);
}

/// RFC 7323 §5: the receiver drops a segment whose timestamp is older than the last that it has echoed, which may be
/// that of a repeat by the sender, of data before.
#[test]
fn repairs_have_timestamps_that_the_receiver_takes() {
    const WRAPS: u32 = u32::MAX - 1;
    let mut script = Script::new(Config::tcp_aware());
    for place in 0..4 {
        let first = stamped(data(place), WRAPS, 0);
        assert_eq!(script.fixed_sends(first.clone()), [down(first)]);
    }
    let repeated = stamped(data(0), 5, 0);
    assert_eq!(script.fixed_sends(repeated.clone()), [down(repeated)]);
    script.mobile_sends(stamped(ack(1), 1, 5));
    script.mobile_sends(stamped(ack(1), 2, 5));
    let repairs = script.mobile_sends(stamped(ack(1), 3, 5));
    let packet = stamped(data(1), 5, 0);
    let priority = true;
    assert_eq!(repairs, [Output::ToMobile { packet, priority }]);
}
