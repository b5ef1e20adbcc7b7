//! Tests of data from the mobile host.

use snoop::{AirLoss, TcpSegmentOptions};
use snoop::{Config, ExplicitLoss, Header, Output};
use units::SeqNumber;

use wire::tcp::TcpFlags;

use super::script::{
    Probe, Script, WINDOW, ack, data, down, marked, number, ranges, sack, turned, up,
};

/// Returns an agent that sends requests, after the fixed host has acknowledged everything before the stream.
fn asking(explicit_loss: ExplicitLoss) -> Script {
    let mut script = Script::new(Config {
        negative_acknowledgments: true,
        explicit_loss,
        ..Config::tcp_aware()
    });
    send(&mut script, &[0]);
    let first = turned(ack(0));
    assert_eq!(script.fixed_sends(first.clone()), [down(first)]);
    script
}

/// Sends segments of the mobile host, which are all forwarded. Returns the requests.
fn send(script: &mut Script, places: &[u32]) -> Vec<Output<Probe>> {
    let mut requests = Vec::new();
    for place in places {
        let mut outputs = script.mobile_sends(turned(data(*place)));
        assert_eq!(outputs.pop(), Some(up(turned(data(*place)))));
        requests.append(&mut outputs);
    }
    requests
}

/// Returns the request for these places; the segment that ends at `until` showed that they are missing.
fn request(until: u32, missing: &[(u32, u32)]) -> Output<Probe> {
    let options = TcpSegmentOptions {
        cause: Some(number(until)),
        air_loss: AirLoss::Ranges(ranges(missing)),
        ..TcpSegmentOptions::default()
    };
    let header = Header {
        options,
        ..turned(ack(0)).header
    };
    let packet = Probe { header, copy: 0 };
    assert!(header.is_negative_acknowledgment());
    Output::ToMobile {
        packet,
        priority: true,
    }
}

/// FACTS: the agent detects gaps in the mobile host's data and requests them.
#[test]
fn a_gap_is_asked_for_at_once() {
    let mut script = asking(ExplicitLoss::Off);
    assert_eq!(send(&mut script, &[1, 2]), []);
    assert_eq!(send(&mut script, &[5]), [request(6, &[(3, 5)])]);
    assert_eq!(send(&mut script, &[6]), []);
    assert_eq!(send(&mut script, &[8]), [request(9, &[(7, 8)])]);
    let counters = script.agent.counters().upload;
    assert_eq!((counters.gaps, counters.asked), (2, 2));
}

#[test]
fn what_is_still_missing_is_asked_for_again_but_not_for_ever() {
    let mut script = asking(ExplicitLoss::Off);
    send(&mut script, &[4]);
    assert_eq!(send(&mut script, &[2]), []);
    let again = request(5, &[(1, 2), (3, 4)]);
    assert_eq!(script.wait(200), std::slice::from_ref(&again));
    let rest = script.wait(10_000);
    assert_eq!(rest.len(), 6);
    assert!(rest.iter().all(|output| *output == again));
}

#[test]
fn what_has_come_or_was_acknowledged_is_not_asked_for() {
    let mut script = asking(ExplicitLoss::Off);
    send(&mut script, &[2, 4]);
    send(&mut script, &[1]);
    script.fixed_sends(turned(ack(4)));
    assert_eq!(script.wait(10_000), []);
}

/// RFC 8985 §6.2: the handshake shows the hop's round trip, and that a gap was filled too soon for its repair.
#[test]
fn after_a_late_arrival_a_gap_is_asked_for_only_when_it_has_lasted() {
    let mut script = Script::new(Config {
        negative_acknowledgments: true,
        expects_reordering: true,
        ..Config::tcp_aware()
    });
    let mut open = ack(0);
    open.header.flags = TcpFlags::SYN;
    script.mobile_sends(open);
    let mut answer = turned(ack(0));
    answer.header.flags = TcpFlags::SYN | TcpFlags::ACK;
    script.fixed_sends(answer);
    script.pause(40);
    send(&mut script, &[0]);
    script.fixed_sends(turned(ack(0)));
    assert_eq!(send(&mut script, &[2]), [request(3, &[(1, 2)])]);
    script.pause(8);
    assert_eq!(send(&mut script, &[1, 4]), []);
    script.pause(9);
    assert_eq!(script.wait(1), [request(5, &[(3, 4)])]);
}

/// The agent requests by repeating the fixed host's acknowledgement: never more than it acknowledged.
#[test]
fn a_request_acknowledges_nothing_new() {
    let mut script = asking(ExplicitLoss::Off);
    send(&mut script, &[1, 2]);
    let outputs = send(&mut script, &[4]);
    let [Output::ToMobile { packet, .. }] = &outputs[..] else {
        panic!("one request: {outputs:?}");
    };
    assert_eq!(packet.header.acknowledgment, number(0));
    assert_eq!(packet.header.window, WINDOW);
}

/// A request that a fixed host forges is no request when it reaches the hop.
#[test]
fn only_the_agent_asks() {
    let mut script = asking(ExplicitLoss::Off);
    let Output::ToMobile { packet, .. } = request(5, &[(0, 1)]) else {
        unreachable!("a request goes to the mobile host");
    };
    assert_eq!(script.fixed_sends(packet), [down(turned(ack(0)))]);
}

/// The comparison, discussion: the base station marks acknowledgements that request data lost on the air.
#[test]
fn duplicates_for_a_gap_are_marked() {
    let mut script = asking(ExplicitLoss::Next);
    send(&mut script, &[2, 3, 4]);
    let asks = turned(ack(1));
    let shown = marked(asks.clone(), AirLoss::Next);
    for _ in 0..4 {
        assert_eq!(script.fixed_sends(asks.clone()), [down(shown.clone())]);
    }
    // Three segments were forwarded before the gap was filled; its duplicates still arrive after that.
    let mut script = asking(ExplicitLoss::Next);
    send(&mut script, &[2, 3, 4]);
    script.fixed_sends(asks.clone());
    send(&mut script, &[1]);
    for _ in 0..3 {
        assert_eq!(script.fixed_sends(asks.clone()), [down(shown.clone())]);
    }
    let wired = "a fourth is due to the loss of the repair on the wired side";
    assert_eq!(script.fixed_sends(asks.clone()), [down(asks)], "{wired}");
}

/// SACK blocks show exactly if a duplicate was caused before or after the gap was filled.
#[test]
fn a_duplicate_caused_after_the_fill_is_not_marked() {
    let mut script = asking(ExplicitLoss::Next);
    send(&mut script, &[2, 3, 4]);
    script.fixed_sends(turned(ack(1)));
    send(&mut script, &[1, 5]);
    let before = turned(sack(1, &[(2, 4)]));
    let shown = marked(before.clone(), AirLoss::Next);
    assert_eq!(script.fixed_sends(before), [down(shown)]);
    let after = turned(sack(1, &[(2, 6)]));
    assert_eq!(script.fixed_sends(after.clone()), [down(after)]);
}

#[test]
fn a_loss_on_the_wired_side_is_never_marked() {
    for mode in [ExplicitLoss::Next, ExplicitLoss::Ranges] {
        let mut script = asking(mode);
        send(&mut script, &[1, 2, 3, 4]);
        for _ in 0..4 {
            let asks = turned(ack(2));
            assert_eq!(script.fixed_sends(asks.clone()), [down(asks)]);
        }
    }
}

#[test]
fn several_gaps_are_named_in_one_mark() {
    let mut script = asking(ExplicitLoss::Ranges);
    send(&mut script, &[2, 4, 5]);
    let asks = turned(ack(1));
    let lost = AirLoss::Ranges(ranges(&[(1, 2), (3, 4)]));
    assert_eq!(script.fixed_sends(asks.clone()), [down(marked(asks, lost))]);
}

/// Both directions at once: each has its own state, and a segment with data and an old number is no duplicate.
#[test]
fn both_directions_are_repaired_at_once() {
    let mut script = asking(ExplicitLoss::Off);
    for place in 0..4 {
        script.fixed_sends(data(place));
    }
    let mut upload = turned(data(2));
    upload.header.acknowledgment = number(0);
    let outputs = script.mobile_sends(upload.clone());
    assert_eq!(outputs.len(), 2, "a request and the segment");
    assert_eq!(outputs[1], up(upload));
    script.mobile_sends(ack(0));
    assert_eq!(script.mobile_sends(ack(0)), [super::script::repair(0)]);
}

/// The memory of a flood of gaps is limited.
#[test]
fn gaps_are_bounded() {
    let mut script = asking(ExplicitLoss::Off);
    let mut step = 0;
    while step < 2_000 {
        let mut upload = turned(data(0));
        upload.header.sequence = SeqNumber(0xffff_f000) + 1_000 + step * 10;
        upload.header.payload = 1;
        script.mobile_sends(upload);
        step += 1;
    }
    assert_eq!(script.agent.counters().upload.gaps, 32);
}
