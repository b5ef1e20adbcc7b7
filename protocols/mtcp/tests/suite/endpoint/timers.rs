//! Tests of ticks, the retransmission timeout, delayed acknowledgements, and giving up.

use mtcp::{Input, Reason};
use units::{Bytes, Duration, Instant};

use super::pipe::{GATEWAY, MOBILE, Pipe, carries_data, paper, wide};

#[test]
fn the_timeout_is_the_smoothed_round_trip_and_four_deviations() {
    let mut config = paper();
    config.acknowledging.delayed = false;
    config.timing.minimum_timeout = Duration::ZERO;
    let (mut pipe, [asked, _]) = Pipe::connected(&config);
    assert_eq!(
        pipe.status(GATEWAY, asked).timeout,
        Duration::from_secs(1),
        "no sample yet"
    );
    // Samples of 22, 22 and 32 ms: nothing but the length of the way.
    pipe.wire.rate = units::BitRate::from_megabits(1_000_000);
    let mut estimate: Option<(f64, f64)> = None;
    for (number, millis) in [22_u64, 22, 32, 27].into_iter().enumerate() {
        pipe.wire.delay = Duration::from_millis(millis) / 2;
        pipe.write(GATEWAY, asked, number * 10..number * 10 + 10);
        pipe.run(Duration::from_millis(100));
        let sample = millis as f64;
        let (mean, deviation) = match estimate {
            None => (sample, sample / 2.0),
            Some((mean, deviation)) => {
                let error = sample - mean;
                (
                    mean + error / 8.0,
                    deviation + (error.abs() - deviation) / 4.0,
                )
            }
        };
        estimate = Some((mean, deviation));
        let status = pipe.status(GATEWAY, asked);
        let round_trip = status.round_trip.expect("a sample").as_secs_f64() * 1e3;
        assert!((round_trip - mean).abs() < 0.01, "{round_trip} {mean}");
        let timeout = status.timeout.as_secs_f64() * 1e3;
        assert!(
            (timeout - (mean + 4.0 * deviation)).abs() < 0.02,
            "{timeout}"
        );
    }
}

/// Returns the times at which the first packet was sent; all its transmissions but the last are lost.
fn transmissions(config: &mtcp::Config, lost: usize) -> Vec<Instant> {
    let (mut pipe, [asked, arrived]) = Pipe::connected(config);
    pipe.write(GATEWAY, asked, 0..100);
    pipe.run(Duration::from_secs(1));
    pipe.wire.log.clear();
    let numbers: Vec<usize> = (1..=lost).collect();
    pipe.lose(GATEWAY, &numbers);
    pipe.write(GATEWAY, asked, 100..200);
    pipe.run(Duration::from_secs(30));
    assert_eq!(pipe.told(MOBILE, arrived).received.len(), 200);
    pipe.data_of(GATEWAY).iter().map(|(at, _)| *at).collect()
}

#[test]
fn timers_go_off_at_ticks_and_do_not_back_off() {
    let config = paper();
    let times = transmissions(&config, 6);
    assert_eq!(times.len(), 7);
    for at in &times[1..] {
        assert_eq!(at.as_nanos() % config.timing.tick.as_nanos(), 0, "{at}");
    }
    let gaps: Vec<u64> = times
        .windows(2)
        .map(|pair| pair[1].since(pair[0]).as_millis())
        .collect();
    // A delayed acknowledgement was part of the only sample, so the timeout is a few ticks.
    assert!(gaps[1..].iter().all(|gap| *gap == gaps[1]), "{gaps:?}");
    assert!((200..=1_000).contains(&gaps[1]));
}

#[test]
fn no_timer_runs_for_less_than_a_tick() {
    let mut config = paper();
    config.acknowledging.delayed = false;
    config.timing.minimum_timeout = Duration::ZERO;
    // A round trip of 22 ms, and a packet that is sent in the middle between two ticks.
    let (mut pipe, [asked, _]) = Pipe::connected(&config);
    pipe.write(GATEWAY, asked, 0..100);
    pipe.run(Duration::from_millis(200));
    assert!(pipe.status(GATEWAY, asked).timeout < Duration::from_millis(100));
    pipe.lose(GATEWAY, &[1]);
    pipe.write(GATEWAY, asked, 100..200);
    pipe.run(Duration::from_secs(1));
    let times: Vec<_> = pipe.data_of(GATEWAY).iter().map(|(at, _)| *at).collect();
    let wait = times[2].since(times[1]);
    assert!(wait >= config.timing.tick, "{wait:?}");
    assert!(wait < config.timing.tick * 2, "{wait:?}");
}

#[test]
fn acknowledgements_wait_for_a_second_packet_or_the_tick() {
    let (mut pipe, [asked, _]) = Pipe::connected(&paper());
    pipe.write(GATEWAY, asked, 0..3_000);
    pipe.run(Duration::from_millis(500));
    let acknowledgments = pipe.acknowledgments_of(MOBILE);
    assert_eq!(acknowledgments.len(), 2);
    assert!(acknowledgments[0].0 < Instant::from_millis(200));
    assert_eq!(
        acknowledgments[1].0,
        Instant::from_millis(200),
        "the third at the tick"
    );
}

#[test]
fn in_the_wide_profile_they_wait_as_long_as_the_next_packet_takes() {
    // A packet takes 8 ms, more than a tick of 5 ms.
    let (mut pipe, [asked, _]) = Pipe::connected(&wide());
    pipe.wire.rate = units::BitRate::from_megabits(1);
    pipe.grants = true;
    pipe.write(GATEWAY, asked, 0..40_000);
    pipe.run(Duration::from_secs(2));
    let acknowledgments = pipe.acknowledgments_of(MOBILE);
    assert!((20..=22).contains(&acknowledgments.len()));
    // Of four at once the first follows a silence and waits for a tick's time; the last one waits for twice as long as
    // it took. The timer knows of both.
    pipe.wire.log.clear();
    pipe.grants = false;
    pipe.input(GATEWAY, Input::Room(1 << 20));
    pipe.write(GATEWAY, asked, 40_000..44_000);
    pipe.run(Duration::from_secs(2));
    let sent = pipe.data_of(GATEWAY);
    assert_eq!(sent.len(), 4);
    let packet = pipe.wire.rate.time_for(Bytes::new(1_028));
    let arrives = sent[0].0 + packet * 4 + pipe.wire.delay;
    let acknowledged = pipe.acknowledgments_of(MOBILE)[2].0;
    assert_eq!(acknowledged.since(arrives), packet * 2);
}

/// Returns the times of acknowledgements of a mobile host with this configuration, for 400 packets, one in 82 us.
fn acknowledged_fast(mobile: &mtcp::Config) -> Vec<Instant> {
    let (mut pipe, [asked, arrived]) = Pipe::connected_between(&wide(), mobile);
    pipe.wire.rate = units::BitRate::from_megabits(100);
    pipe.grants = true;
    pipe.write(GATEWAY, asked, 0..400_000);
    pipe.run(Duration::from_secs(1));
    assert_eq!(pipe.told(MOBILE, arrived).received.len(), 400_000);
    let acknowledgments = pipe.acknowledgments_of(MOBILE);
    acknowledgments.iter().map(|(at, _)| *at).collect()
}

#[test]
fn in_the_wide_profile_packets_that_come_fast_are_acknowledged_once_in_a_while() {
    let times = acknowledged_fast(&wide());
    assert!((30..=45).contains(&times.len()), "{}", times.len());
    let spacing = wide().acknowledging.spacing;
    assert!(
        times
            .windows(2)
            .all(|pair| pair[1].since(pair[0]) >= spacing)
    );
    // More often if the spacing would close a small window: each third packet makes a 32nd of it;
    let mut small = wide();
    small.receive_buffer = Bytes::kibi(64);
    let often = acknowledged_fast(&small).len();
    assert!((130..=140).contains(&often), "{often}");
    // and each second one if the spacing would need a timer.
    let mut lean = wide();
    lean.lean = true;
    let often = acknowledged_fast(&lean).len();
    assert!((190..=210).contains(&often), "{often}");
}

#[test]
fn in_the_wide_profile_one_packet_alone_asks_for_its_acknowledgement() {
    let (mut pipe, [asked, _]) = Pipe::connected(&wide());
    for packet in 0..5 {
        pipe.write(GATEWAY, asked, packet * 1_000..(packet + 1) * 1_000);
        pipe.run(Duration::from_secs(1));
        let [sent, answered] = [
            pipe.data_of(GATEWAY)[packet].0,
            pipe.acknowledgments_of(MOBILE)[packet].0,
        ];
        assert!(answered.since(sent) < pipe.wire.delay + Duration::from_millis(1));
    }
    assert_eq!(pipe.data_of(GATEWAY).len(), 5);
}

#[test]
fn in_the_wide_profile_the_timer_goes_by_the_round_trip() {
    let (mut pipe, [asked, arrived]) = Pipe::connected(&wide());
    pipe.write(GATEWAY, asked, 0..60_000);
    pipe.run(Duration::from_secs(2));
    let status = pipe.status(GATEWAY, asked);
    pipe.wire.log.clear();
    let end = pipe.clock.now + Duration::from_millis(110);
    pipe.lose_all();
    pipe.write(GATEWAY, asked, 60_000..62_000);
    pipe.run(end.since(pipe.clock.now));
    pipe.lose_none();
    pipe.run(Duration::from_secs(2));
    assert_eq!(pipe.told(MOBILE, arrived).received.len(), 62_000);
    let times: Vec<_> = pipe.data_of(GATEWAY).iter().map(|(at, _)| *at).collect();
    let waits = wide().acknowledging.spacing;
    assert_eq!(times[2].since(times[1]), status.timeout + waits);
    // From then on each round trip, without any back-off.
    let round_trip = status.round_trip.expect("a sample");
    for pair in times[2..].windows(2).take(3) {
        assert_eq!(pair[1].since(pair[0]), round_trip);
    }
}

#[test]
fn while_packets_go_out_the_next_one_shows_a_loss_and_no_timer_does() {
    let (mut pipe, [asked, arrived]) = Pipe::connected(&wide());
    pipe.grants = true;
    pipe.write(GATEWAY, asked, 0..20_000);
    pipe.run(Duration::from_secs(1));
    let timeout = pipe.status(GATEWAY, asked).timeout;
    // Packets 20 to 99 are lost, which takes longer than the timeout.
    let lost: Vec<usize> = (20..100).collect();
    let span = pipe.wire.rate.time_for(Bytes::new(80 * 1_028));
    assert!(span > timeout, "{timeout:?}");
    pipe.lose(GATEWAY, &lost);
    pipe.write(GATEWAY, asked, 20_000..140_000);
    pipe.run(Duration::from_secs(2));
    assert_eq!(pipe.told(MOBILE, arrived).received.len(), 140_000);
    let traffic = pipe.ends[GATEWAY].counters().traffic;
    assert_eq!((traffic.timeouts, traffic.sent.repairs), (0, 80));
}

#[test]
fn a_lost_end_of_a_burst_is_sent_again_whole() {
    // Nothing arrives beyond it, so only the timer detects it: the paper's profile repeats all unacknowledged data.
    let (mut pipe, [asked, arrived]) = Pipe::connected(&paper());
    pipe.lose(GATEWAY, &[5, 6, 7]);
    pipe.write(GATEWAY, asked, 0..8_000);
    pipe.run(Duration::from_secs(3));
    assert_eq!(pipe.told(MOBILE, arrived).received.len(), 8_000);
    let sent = pipe.data_of(GATEWAY);
    assert_eq!(sent.len(), 11);
    assert_eq!(sent[8].0, sent[10].0, "at once");
    // The wide one repeats the oldest packet, and the answer reports the rest.
    let (mut pipe, [asked, arrived]) = Pipe::connected(&wide());
    pipe.lose(GATEWAY, &[5, 6, 7]);
    pipe.write(GATEWAY, asked, 0..8_000);
    pipe.run(Duration::from_secs(3));
    assert_eq!(pipe.told(MOBILE, arrived).received.len(), 8_000);
    let sent = pipe.data_of(GATEWAY);
    assert!(
        sent[9].0.since(sent[8].0) < Duration::from_millis(25),
        "one round trip later"
    );
    assert_eq!(sent.len(), 11);
}

#[test]
fn a_fade_longer_than_any_timeout_is_survived() {
    for config in [paper(), wide()] {
        let (mut pipe, [asked, arrived]) = Pipe::connected(&config);
        pipe.write(GATEWAY, asked, 0..60_000);
        pipe.run(Duration::from_millis(15));
        pipe.lose_all();
        pipe.run(Duration::from_secs(3_600));
        pipe.lose_none();
        let end = pipe.clock.now;
        pipe.run(Duration::from_secs(2));
        assert_eq!(pipe.told(MOBILE, arrived).received.len(), 60_000);
        let first = pipe
            .data_of(GATEWAY)
            .iter()
            .find(|(at, _)| *at >= end)
            .map(|(at, _)| *at);
        assert!(first.expect("it goes on").since(end) <= Duration::from_secs(1));
    }
}

#[test]
fn an_end_without_room_on_the_hop_hardly_wakes() {
    let (mut pipe, [asked, arrived]) = Pipe::connected(&wide());
    pipe.write(GATEWAY, asked, 0..60_000);
    // The hop is gone, and its driver reports that.
    pipe.lose_all();
    pipe.input(GATEWAY, Input::Room(0));
    let before = pipe.ends[GATEWAY].counters().traffic;
    pipe.run(Duration::from_secs(3_600));
    let after = pipe.ends[GATEWAY].counters().traffic;
    assert_eq!(after.sent.data_packets, before.sent.data_packets);
    // It polls every five seconds, so that it can give up in the end.
    assert!(after.timeouts <= before.timeouts + 725, "{after:?}");
    pipe.lose_none();
    pipe.input(GATEWAY, Input::Room(1 << 20));
    pipe.run(Duration::from_secs(2));
    assert_eq!(pipe.told(MOBILE, arrived).received.len(), 60_000);
}

#[test]
fn repairs_go_first_where_room_is_scarce() {
    let (mut pipe, [asked, _]) = Pipe::connected(&wide());
    pipe.lose(GATEWAY, &[0]);
    pipe.input(GATEWAY, Input::Room(3_000));
    pipe.write(GATEWAY, asked, 0..60_000);
    pipe.run(Duration::from_millis(100));
    assert_eq!(pipe.data_of(GATEWAY).len(), 3, "room for three packets");
    pipe.input(GATEWAY, Input::Room(2_000));
    let first = pipe.data_of(GATEWAY)[0].1.sequence;
    let places: Vec<u32> = pipe
        .data_of(GATEWAY)
        .iter()
        .map(|(_, data)| data.sequence - first)
        .collect();
    assert_eq!(places, [0, 1_000, 2_000, 0, 3_000]);
}

#[test]
fn an_end_that_never_answers_is_given_up_with_an_error() {
    let mut config = paper();
    config.timing.give_up = Duration::from_secs(10);
    config.timing.keep_alive = Duration::from_secs(60);
    // While data wait for an acknowledgement.
    let (mut pipe, [asked, arrived]) = Pipe::connected(&config);
    pipe.lose_all();
    pipe.write(GATEWAY, asked, 0..100);
    pipe.run(Duration::from_secs(12));
    assert_eq!(pipe.told(GATEWAY, asked).reset, Some(Reason::TimedOut));
    // While the connection is idle.
    assert_eq!(pipe.told(MOBILE, arrived).reset, None);
    pipe.run(Duration::from_secs(65));
    assert_eq!(pipe.told(MOBILE, arrived).reset, Some(Reason::TimedOut));
    assert!(!pipe.told(MOBILE, arrived).finished);
}

#[test]
fn a_silent_connection_is_kept_alive() {
    let mut config = paper();
    config.timing.give_up = Duration::from_secs(10);
    config.timing.keep_alive = Duration::from_secs(60);
    let (mut pipe, [asked, arrived]) = Pipe::connected(&config);
    pipe.run(Duration::from_secs(1_000));
    assert_eq!(pipe.told(GATEWAY, asked).reset, None);
    let packets = pipe.wire.log.len();
    assert!((10..100).contains(&packets), "{packets}");
    pipe.write(GATEWAY, asked, 0..100);
    pipe.run(Duration::from_secs(1));
    assert_eq!(pipe.told(MOBILE, arrived).received.len(), 100);
}

/// Returns the time for 16 MiB at 50 Mbit/s over 300 ms, with `loss` percent of packets lost, and the repairs.
fn long_hop(config: &mtcp::Config, loss: u64) -> (Duration, u64) {
    let (mut pipe, [asked, arrived]) = Pipe::connected(config);
    pipe.wire.delay = Duration::from_millis(150);
    pipe.wire.rate = units::BitRate::from_megabits(50);
    pipe.grants = true;
    let mut random = machine::RandomStream::named(3, "losses");
    pipe.lose_where(move |_, packet, _| carries_data(packet) && random.below(100) < loss);
    let bytes = 16 << 20;
    let start = pipe.clock.now;
    pipe.write(GATEWAY, asked, 0..bytes);
    pipe.input(GATEWAY, Input::Close(asked));
    while !pipe.told(MOBILE, arrived).finished {
        let end = pipe.clock.now + Duration::from_secs(100);
        assert!(pipe.step(end), "it goes on");
    }
    let sent = pipe.ends[GATEWAY].counters().traffic.sent;
    (pipe.clock.now.since(start), sent.repairs)
}

#[test]
fn a_window_of_four_products_fills_a_long_hop_in_the_wide_profile() {
    let mut config = wide();
    config.receive_buffer = Bytes::mebi(8);
    config.send_buffer = Bytes::mebi(32);
    for (loss, most) in [(0, 3_100), (1, 3_400), (5, 3_800)] {
        let (took, repairs) = long_hop(&config, loss);
        assert!(
            took < Duration::from_millis(most),
            "{loss} %: {took:?}, {repairs} repairs"
        );
        // 16,778 packets; no more repairs than losses, and those of repairs.
        let losses = 16_778 * loss / (100 - loss);
        assert!(repairs <= losses * 11 / 10, "{loss} %: {repairs} repairs");
    }
}
