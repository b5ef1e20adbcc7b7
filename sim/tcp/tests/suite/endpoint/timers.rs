//! Timers: retransmission with back-off, Karn's rule, persist.

use tcp::{Config, Input, Output, Policy};
use units::{Bytes, Duration, Instant};
use wire::TcpSegment;
use wire::tcp::{TcpFlags, TcpSegmentOptions};

use super::pipe::{CLIENT, Fate, Pipe, SERVER, address, config, connection};

fn sent_at(pipe: &Pipe) -> Vec<u64> {
    let data = pipe
        .wire
        .log
        .iter()
        .filter(|sighting| sighting.packet.payload > 0);
    data.map(|sighting| sighting.at.since_origin().as_millis())
        .collect()
}

/// Ticks of 500 ms, two of them at least, then doubled, up to 64 s.
#[test]
fn timeouts_fall_on_ticks_and_double() {
    let mut pipe = Pipe::connected(&config(Policy::Reno));
    pipe.run(Duration::from_millis(9_200));
    assert_eq!(pipe.clock.now, Instant::from_millis(10_200));
    // Samples of no tick bring the timeout down to its minimum.
    for _ in 0..40 {
        pipe.write(CLIENT, 1_000);
        pipe.run(Duration::from_millis(100));
    }
    pipe.wire.log.clear();
    let start = pipe.clock.now.since_origin().as_millis();
    assert_eq!(start, 14_200);
    pipe.wire.decide = Box::new(|_, _, _| Fate::Lost);
    pipe.write(CLIENT, 1_000);
    pipe.run(Duration::from_secs(700));
    let times = sent_at(&pipe);
    // 4.4BSD's integers come down to three ticks, not two, and stay: no tick of error leaves three quarters of
    // a tick of deviation as they are.
    assert_eq!(times[..2], [14_200, 15_500]);
    let gaps: Vec<_> = times[1..]
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .collect();
    assert_eq!(
        gaps,
        [
            3_000, 6_000, 12_000, 24_000, 48_000, 64_000, 64_000, 64_000, 64_000, 64_000, 64_000
        ]
    );
    assert_eq!(pipe.ends[CLIENT].counters().recovered.timeouts, 13);
    assert_eq!(
        pipe.told[CLIENT].last(),
        Some(&Output::Reset),
        "the other end is given up"
    );
}

/// A window that is taken back turns retransmissions into probes, and their number ends no connection.
#[test]
fn a_closed_window_holds_a_sender() {
    let mut pipe = Pipe::connected(&config(Policy::Reno));
    pipe.wire.decide = Box::new(|_, _, _| Fate::Lost);
    pipe.write(CLIENT, 1_000);
    let advertised = |window| TcpSegment {
        source: address(SERVER),
        destination: address(CLIENT),
        sequence: connection(SERVER).initial_sequence + 1,
        acknowledgment: connection(CLIENT).initial_sequence + 1,
        flags: TcpFlags::ACK,
        window,
        payload: 0,
        options: TcpSegmentOptions::default(),
    };
    pipe.input(CLIENT, Input::Segment(advertised(0)));
    pipe.run(Duration::from_secs(7_000));
    assert!(!pipe.told[CLIENT].contains(&Output::Reset));
    assert!(pipe.ends[CLIENT].counters().sent.window_probes > 100);
    pipe.wire.decide = Box::new(|_, _, _| Fate::Arrives);
    pipe.input(CLIENT, Input::Segment(advertised(9_000)));
    pipe.run(Duration::from_secs(1));
    assert_eq!(pipe.received(SERVER), 1_000);
}

#[test]
fn hosts_tick_at_their_own_phase() {
    let mut config = config(Policy::Reno);
    config.timing.phase = Duration::from_millis(130);
    let mut pipe = Pipe::connected(&config);
    pipe.wire.decide_on(Fate::Lost, CLIENT, &[0]);
    pipe.write(CLIENT, 1_000);
    pipe.drain_client();
    let times = sent_at(&pipe);
    assert_eq!((times[1] - 130) % 500, 0);
}

/// The backed-off timeout stays until a segment that was sent once is acknowledged.
#[test]
fn karn_keeps_the_timeout_until_there_is_a_clean_sample() {
    let mut pipe = Pipe::connected(&config(Policy::Reno));
    let before = pipe.ends[CLIENT].retransmission_timeout();
    pipe.wire.decide_on(Fate::Lost, CLIENT, &[0, 1]);
    pipe.write(CLIENT, 1_000);
    pipe.drain_client();
    assert_eq!(pipe.ends[CLIENT].retransmission_timeout(), before * 4);
    pipe.write(CLIENT, 1_000);
    pipe.drain_client();
    assert!(pipe.ends[CLIENT].retransmission_timeout() <= before);
}

#[test]
fn fine_timers_follow_the_round_trip() {
    let mut config = Config::modern().with_policy(Policy::NewReno);
    config.timestamps = false;
    config.acknowledging.delayed = false;
    config.send_buffer = Bytes::kibi(60);
    let mut pipe = Pipe::connected(&config);
    pipe.wire.delay = Duration::from_millis(30);
    pipe.write(CLIENT, 3_000_000);
    pipe.drain_client();
    let smoothed = pipe.ends[CLIENT].smoothed_round_trip().unwrap().as_millis();
    assert!((60..150).contains(&smoothed), "{smoothed}");
    let timeout = pipe.ends[CLIENT].retransmission_timeout().as_millis();
    assert!((200..600).contains(&timeout), "{timeout}");
}

#[test]
fn timestamps_give_a_sample_with_each_acknowledgement() {
    let mut config = Config::modern();
    config.timestamps = true;
    let mut pipe = Pipe::connected(&config);
    pipe.wire.decide_on(Fate::Lost, CLIENT, &[3]);
    pipe.write(CLIENT, 300_000);
    pipe.drain_client();
    let smoothed = pipe.ends[CLIENT].smoothed_round_trip().unwrap().as_millis();
    assert!((20..200).contains(&smoothed), "{smoothed}");
    assert_eq!(pipe.received(SERVER), 300_000);
}

#[test]
fn after_a_timeout_the_window_starts_from_one_segment() {
    let mut pipe = Pipe::connected(&config(Policy::Reno));
    pipe.wire
        .decide_on(Fate::Lost, CLIENT, &(20..32).collect::<Vec<_>>());
    pipe.write(CLIENT, 30_000);
    let mut end = pipe.clock.now + Duration::from_secs(100);
    while pipe.ends[CLIENT].counters().recovered.timeouts == 0 {
        assert!(pipe.step(end));
    }
    assert_eq!(pipe.ends[CLIENT].congestion_window(), 1_000);
    assert!(pipe.ends[CLIENT].slow_start_threshold().unwrap() >= 2_000);
    end += Duration::from_secs(1_000);
    while !pipe.ends[CLIENT].is_drained() {
        assert!(pipe.step(end));
    }
    assert_eq!(pipe.received(SERVER), 30_000);
}

/// A closed window is probed at growing intervals, and its opening starts the flow at once.
#[test]
fn a_closed_window_is_probed() {
    let mut pipe = Pipe::to_a_closing_window(Policy::Reno, 4_000);
    pipe.write(CLIENT, 20_000);
    pipe.run(Duration::from_secs(200));
    assert_eq!(pipe.received(SERVER), 4_000);
    let counters = pipe.ends[CLIENT].counters();
    assert!(
        (4..10).contains(&counters.sent.window_probes),
        "{counters:?}"
    );
    assert_eq!(counters.recovered.timeouts, 0);
    pipe.reads[SERVER] = true;
    let start = pipe.clock.now;
    pipe.input(SERVER, Input::Read(4_000));
    pipe.drain_client();
    assert_eq!(pipe.received(SERVER), 20_000);
    assert!(pipe.clock.now.since(start) < Duration::from_secs(2));
}

/// The update that opens the window is lost: the next probe finds out.
#[test]
fn a_lost_window_update_is_found_out_by_a_probe() {
    let mut pipe = Pipe::to_a_closing_window(Policy::Sack, 4_000);
    pipe.write(CLIENT, 20_000);
    pipe.run(Duration::from_secs(30));
    pipe.reads[SERVER] = true;
    let mut updates = 0;
    pipe.wire.decide = Box::new(move |from, _, _| {
        updates += usize::from(from == SERVER);
        let first = from == SERVER && updates == 1;
        if first { Fate::Lost } else { Fate::Arrives }
    });
    pipe.input(SERVER, Input::Read(4_000));
    pipe.drain_client();
    assert_eq!(pipe.received(SERVER), 20_000);
}

/// After a pause longer than the timeout the window is not used as it was.
#[test]
fn a_pause_starts_slowly() {
    let mut pipe = Pipe::connected(&config(Policy::Reno));
    pipe.write(CLIENT, 30_000);
    pipe.drain_client();
    assert!(pipe.ends[CLIENT].congestion_window() > 10_000);
    pipe.run(Duration::from_secs(10));
    pipe.wire.log.clear();
    pipe.write(CLIENT, 30_000);
    assert_eq!(pipe.data_of(CLIENT).len(), 1);
    pipe.drain_client();
}

/// Every segment gets through at its second try only: the timeout stays backed off (Karn), but the other end lives.
#[test]
fn slow_progress_is_no_reason_to_give_up() {
    let mut config = config(Policy::Reno);
    config.receive_buffer = Bytes::new(1_000);
    let mut pipe = Pipe::connected(&config);
    let mut seen = std::collections::BTreeSet::new();
    pipe.wire.decide = Box::new(move |from, segment, _| {
        let first = from == CLIENT && segment.payload > 0 && seen.insert(segment.sequence.0);
        if first { Fate::Lost } else { Fate::Arrives }
    });
    pipe.write(CLIENT, 30_000);
    pipe.drain_client();
    assert_eq!(pipe.ends[CLIENT].counters().recovered.timeouts, 30);
    assert!(!pipe.told[CLIENT].contains(&Output::Reset));
}
