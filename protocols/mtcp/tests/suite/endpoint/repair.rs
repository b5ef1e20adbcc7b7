//! Tests of each mechanism of the paper by its name.

use mtcp::packet::Data;
use mtcp::{Config, ConnectionId, Selective};
use redirector::{Chunks, Content};
use units::{Duration, Instant};

use super::pipe::{Fate, GATEWAY, MOBILE, Pipe, content, paper, wide};

/// Returns a connection on which the gateway sends `bytes`, with losses of the packets under these numbers.
fn losing(config: &Config, bytes: usize, lost: &[usize]) -> (Pipe, [ConnectionId; 2]) {
    let (mut pipe, ids) = Pipe::connected(config);
    pipe.lose(GATEWAY, lost);
    pipe.write(GATEWAY, ids[GATEWAY], 0..bytes);
    pipe.run(Duration::from_secs(10));
    let received = &pipe.told[MOBILE][&ids[MOBILE]].received;
    assert_eq!(received.len(), bytes);
    assert_eq!(received, &content(0, bytes));
    (pipe, ids)
}

/// Returns the requests that the mobile host sent.
fn requests(pipe: &Pipe) -> Vec<(Instant, Data<Chunks>)> {
    let mut requests = pipe.acknowledgments_of(MOBILE);
    requests.retain(|(_, data)| data.flags.request);
    requests
}

/// Returns the data packets that the gateway sent, as thousands of bytes from the start.
fn order(pipe: &Pipe) -> Vec<usize> {
    let sent = pipe.data_of(GATEWAY);
    let first = sent[0].1.sequence;
    let place = |data: &Data<Chunks>| match data.profile {
        mtcp::Profile::Paper => (data.sequence.wrapping_sub(first) & 0xffff) as usize,
        mtcp::Profile::Wide => data.sequence.wrapping_sub(first) as usize,
    };
    sent.iter().map(|(_, data)| place(data) / 1_000).collect()
}

#[test]
fn the_first_arrival_out_of_order_causes_a_request() {
    for config in [paper(), wide()] {
        let (pipe, _) = losing(&config, 8_000, &[2]);
        // One packet beyond the hole is enough, and the missing data go out at once.
        let (asked, request) = &requests(&pipe)[0];
        assert_eq!(request.negative, 1_000);
        let packet_time = pipe.wire.rate.time_for(units::Bytes::from(1_016 + 12));
        let sent = pipe.data_of(GATEWAY);
        assert!(asked.since(sent[0].0) <= pipe.wire.delay + packet_time * 5);
        let repair = sent
            .iter()
            .position(|(at, _)| *at > *asked)
            .expect("a repair");
        assert_eq!(order(&pipe)[repair], 2);
        assert!(sent[repair].0.since(*asked) <= pipe.wire.delay + packet_time);
        assert_eq!(pipe.ends[GATEWAY].counters().traffic.sent.repairs, 1);
    }
}

/// RFC 8985 §6.2: what came late once is waited for, in the wide profile, and a loss is still repaired.
#[test]
fn what_is_late_again_and_again_is_repaired_once() {
    let (mut pipe, ids) = Pipe::connected(&wide());
    let lost = 150;
    pipe.wire.decide = Box::new(move |from, packet, number| match packet {
        mtcp::Packet::Data(data) if from == GATEWAY && data.content.length() > 0 => match number {
            number if number == lost => Fate::Lost,
            number if number % 4 == 0 => Fate::Late(Duration::from_millis(8)),
            _ => Fate::Arrives,
        },
        mtcp::Packet::Data(_) | mtcp::Packet::Control(_) => Fate::Arrives,
    });
    pipe.write(GATEWAY, ids[GATEWAY], 0..200_000);
    pipe.run(Duration::from_secs(10));
    let received = &pipe.told[MOBILE][&ids[MOBILE]].received;
    assert_eq!(received, &content(0, 200_000));
    let sent = pipe.ends[GATEWAY].counters().traffic.sent;
    assert!((1..6).contains(&sent.repairs), "{sent:?}");
}

#[test]
fn without_requests_the_third_duplicate_tells() {
    let mut config = paper();
    config.repair.request = false;
    let (pipe, _) = losing(&config, 8_000, &[2]);
    assert!(requests(&pipe).is_empty());
    let duplicates: Vec<_> = pipe.acknowledgments_of(MOBILE);
    let showing: Vec<_> = duplicates
        .iter()
        .filter(|(_, data)| data.negative > 0)
        .collect();
    assert!(showing.len() >= 3);
    let sent = pipe.data_of(GATEWAY);
    let repair = sent.last().expect("a repair").0;
    assert!(repair > showing[2].0 && repair < showing[2].0 + pipe.wire.delay * 2);
    assert_eq!(pipe.ends[GATEWAY].counters().traffic.timeouts, 0);
}

#[test]
fn the_negative_acknowledgement_asks_for_exactly_the_burst() {
    let (pipe, _) = losing(&paper(), 10_000, &[2, 3]);
    assert!(
        requests(&pipe)
            .iter()
            .all(|(_, data)| data.negative <= 2_000)
    );
    assert_eq!(requests(&pipe)[0].1.negative, 2_000);
    assert_eq!(order(&pipe)[10..], [2, 3]);
}

#[test]
fn lost_requests_do_not_enlarge_the_burst() {
    // Figure 6a: two of three requests are lost, and the third still requests packets 2 and 3 only.
    for (selective, repeated) in [
        (Selective::Burst, vec![2, 3]),
        (Selective::Smart, vec![2, 3, 4, 5]),
    ] {
        let mut config = paper();
        config.repair.selective = selective;
        let (mut pipe, [asked, arrived]) = Pipe::connected(&config);
        let mut requests = 0;
        pipe.lose_where(move |from, packet, number| {
            let mtcp::Packet::Data(data) = packet else {
                return false;
            };
            let data_lost = from == GATEWAY && [2, 3].contains(&number);
            requests += usize::from(data.flags.request);
            data_lost || (data.flags.request && requests <= 2)
        });
        pipe.write(GATEWAY, asked, 0..7_000);
        pipe.run(Duration::from_secs(5));
        assert_eq!(pipe.told(MOBILE, arrived).received.len(), 7_000);
        assert_eq!(order(&pipe)[7..], repeated, "{selective:?}");
    }
}

#[test]
fn a_cumulative_acknowledgement_repairs_one_packet_of_a_burst_at_a_time() {
    let mut config = paper();
    config.repair.selective = Selective::Cumulative;
    let (pipe, _) = losing(&config, 16_000, &[2, 3]);
    assert!(requests(&pipe).iter().all(|(_, data)| data.negative == 0));
    let burst = losing(&paper(), 16_000, &[2, 3]).0;
    let last = |pipe: &Pipe| pipe.data_of(GATEWAY).last().expect("packets").0;
    assert!(last(&pipe) > last(&burst) + pipe.wire.delay);
}

/// Returns the times at which the packet at `place` was sent.
fn transmissions_of(pipe: &Pipe, place: usize) -> Vec<Instant> {
    let sent = pipe.data_of(GATEWAY);
    let places = order(pipe).into_iter().zip(&sent);
    places
        .filter(|(at, _)| *at == place)
        .map(|(_, (at, _))| *at)
        .collect()
}

/// Figure 7: packet 2 is lost, and its repair; packet 8 follows. Returns the time from that packet to the second
/// repair.
fn second_repair(config: &Config) -> Duration {
    let (mut pipe, ids) = Pipe::connected(config);
    pipe.lose(GATEWAY, &[2, 8]);
    pipe.write(GATEWAY, ids[GATEWAY], 0..8_000);
    pipe.run(Duration::from_millis(35));
    assert_eq!(transmissions_of(&pipe, 2).len(), 2, "it was repaired once");
    pipe.write(GATEWAY, ids[GATEWAY], 8_000..9_000);
    pipe.run(Duration::from_secs(2));
    assert_eq!(pipe.told[MOBILE][&ids[MOBILE]].received, content(0, 9_000));
    let repairs = transmissions_of(&pipe, 2);
    assert_eq!(repairs.len(), 3, "{:?}", order(&pipe));
    repairs[2].since(transmissions_of(&pipe, 8)[0])
}

#[test]
fn a_lost_repair_is_repeated_within_a_round_trip_by_its_cycle() {
    let round_trip = Duration::from_millis(20 + 2);
    let with = second_repair(&paper());
    assert!(with <= round_trip, "{with:?}");
    let mut config = paper();
    config.repair.cycles = false;
    let without = second_repair(&config);
    assert!(without >= Duration::from_millis(150), "{without:?}");
}

#[test]
fn only_the_request_that_knows_of_the_repair_is_followed() {
    let (pipe, _) = losing(&paper(), 8_000, &[2]);
    let received = pipe.ends[GATEWAY].counters().traffic.received;
    assert_eq!(
        (received.followed, received.ignored),
        (1, 4),
        "packets 3 to 7 each asked"
    );
    assert_eq!(order(&pipe), [0, 1, 2, 3, 4, 5, 6, 7, 2]);
}

#[test]
fn a_sender_that_fills_the_window_needs_a_follower_to_see_that_a_repair_is_lost() {
    for (follow, limit) in [(true, 25), (false, 1_000)] {
        let mut config = paper();
        config.repair.follow_repairs = follow;
        // Packets 16 and 17 go out before the request comes; the repair is the 19th.
        let (pipe, _) = losing(&config, 40_000, &[2, 18]);
        let repairs = transmissions_of(&pipe, 2);
        assert_eq!(repairs.len(), 3);
        let wait = repairs[2].since(repairs[1]);
        assert!(wait <= Duration::from_millis(limit), "{wait:?}");
        assert!(follow || wait >= Duration::from_millis(200));
    }
}

#[test]
fn a_question_that_comes_again_is_answered_as_often_as_answers_were_lost() {
    // Three acknowledgements, the answers to the first repair and its poll, and that to the second repair.
    for (repeat, answers) in [(true, 6), (false, 1)] {
        let mut config = wide();
        config.repair.repeat_answers = repeat;
        let (mut pipe, [asked, arrived]) = Pipe::connected(&config);
        let mut heard = 0;
        pipe.lose_where(move |from, _, _| {
            heard += usize::from(from == MOBILE);
            from == MOBILE && heard <= 6
        });
        pipe.write(GATEWAY, asked, 0..6_000);
        pipe.run(Duration::from_secs(5));
        assert_eq!(pipe.told(MOBILE, arrived).received.len(), 6_000);
        let sent = pipe.acknowledgments_of(MOBILE);
        assert_eq!(sent.len(), 6 + answers);
    }
}

#[test]
fn only_a_loss_that_is_news_is_asked_for_at_once() {
    for (news_only, most) in [(true, 15), (false, 30)] {
        let mut config = wide();
        config.repair.news_only = news_only;
        let (pipe, _) = losing(&config, 20_000, &[2, 9]);
        assert_eq!(order(&pipe)[20..], [2, 9]);
        // Each hole is detected by the arrival behind it.
        let lengths: Vec<_> = requests(&pipe)
            .iter()
            .map(|(_, data)| data.negative)
            .collect();
        assert_eq!(lengths[0], 1_000);
        let sent = pipe.acknowledgments_of(MOBILE).len();
        assert!(sent <= most, "{news_only}: {sent}");
        assert!(news_only || sent > 20, "every arrival asks: {sent}");
    }
}

#[test]
fn a_request_that_is_lost_is_repeated_by_the_next_acknowledgement() {
    let (mut pipe, [asked, arrived]) = Pipe::connected(&wide());
    let mut requests = 0;
    pipe.lose_where(move |from, packet, number| {
        let mtcp::Packet::Data(data) = packet else {
            return false;
        };
        requests += usize::from(data.flags.request);
        let first_request = data.flags.request && requests == 1;
        first_request || (from == GATEWAY && number == 2)
    });
    pipe.write(GATEWAY, asked, 0..12_000);
    pipe.run(Duration::from_secs(5));
    assert_eq!(pipe.told(MOBILE, arrived).received.len(), 12_000);
    assert_eq!(order(&pipe)[12..], [2]);
    assert_eq!(pipe.ends[GATEWAY].counters().traffic.timeouts, 0);
}

#[test]
fn the_answer_to_a_repair_shows_that_all_behind_it_is_lost() {
    // Packets 2 to 5 are lost, with no packets after them. The timer sends the first of them, and its follower is
    // lost.
    let (mut pipe, [asked, arrived]) = Pipe::connected(&wide());
    pipe.lose_where(move |from, packet, number| {
        let poll = matches!(packet, mtcp::Packet::Data(data) if data.flags.poll);
        from == GATEWAY && ((2..6).contains(&number) || poll)
    });
    pipe.write(GATEWAY, asked, 0..6_000);
    pipe.run(Duration::from_secs(5));
    assert_eq!(pipe.told(MOBILE, arrived).received.len(), 6_000);
    assert_eq!(order(&pipe), [0, 1, 2, 3, 4, 5, 2, 3, 4, 5]);
    assert_eq!(pipe.ends[GATEWAY].counters().traffic.timeouts, 1);
}
