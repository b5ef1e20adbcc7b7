//! The opening and closing of connections.

use machine::Machine;
use tcp::{Config, Endpoint, Input, Output, Policy, State};
use units::{Bytes, Duration, Instant, SeqNumber};
use wire::tcp::TcpFlags;

use super::pipe::{CLIENT, Fate, Pipe, SERVER, config, connection};

#[test]
fn three_segments_open_a_connection() {
    let config = config(Policy::Reno);
    let mut pipe = Pipe::new(&config, &config);
    pipe.input(CLIENT, Input::Connect);
    pipe.run(Duration::from_secs(1));
    let flags: Vec<_> = pipe
        .wire
        .log
        .iter()
        .map(|sighting| sighting.packet.flags)
        .collect();
    assert_eq!(
        flags,
        [TcpFlags::SYN, TcpFlags::SYN | TcpFlags::ACK, TcpFlags::ACK]
    );
    assert!(pipe.told.iter().all(|told| told[0] == Output::Connected));
    assert_eq!(pipe.told[CLIENT][1], Output::Writable(32 << 10));
}

#[test]
fn lost_segments_of_the_handshake_come_again() {
    for lost in 0..3 {
        let config = config(Policy::Reno);
        let mut pipe = Pipe::new(&config, &config);
        let mut count = 0;
        pipe.wire.decide = Box::new(move |_, _, _| {
            count += 1;
            if count == lost + 1 {
                Fate::Lost
            } else {
                Fate::Arrives
            }
        });
        pipe.input(CLIENT, Input::Connect);
        pipe.write(CLIENT, 5_000);
        pipe.drain_client();
        assert_eq!(pipe.received(SERVER), 5_000, "with segment {lost} lost");
    }
}

#[test]
fn both_may_open_at_once() {
    let config = config(Policy::Reno);
    let mut pipe = Pipe::new(&config, &config);
    pipe.ends[SERVER] = Endpoint::new(connection(SERVER), config).unwrap();
    pipe.input(CLIENT, Input::Connect);
    pipe.input(SERVER, Input::Connect);
    pipe.write(CLIENT, 3_000);
    pipe.write(SERVER, 4_000);
    pipe.run(Duration::from_secs(60));
    assert_eq!(
        (pipe.received(SERVER), pipe.received(CLIENT)),
        (3_000, 4_000)
    );
}

#[test]
fn options_are_used_where_both_offer_them() {
    for (client, server) in [(true, true), (true, false), (false, true)] {
        let with = |on: bool| {
            let mut config = if on {
                Config::modern()
            } else {
                config(Policy::Reno)
            };
            config.receive_buffer = Bytes::kibi(256);
            config
        };
        let mut pipe = Pipe::new(&with(client), &with(server));
        pipe.input(CLIENT, Input::Connect);
        pipe.write(CLIENT, 400_000);
        pipe.drain_client();
        let answer = pipe.wire.log[1].packet.options;
        let both = client && server;
        assert_eq!(answer.timestamps.is_some(), both);
        assert_eq!(answer.window_scale, both.then_some(3));
        assert_eq!(pipe.wire.log[4].packet.options.timestamps.is_some(), both);
        let widest = pipe
            .wire
            .log
            .iter()
            .skip(2)
            .map(|sighting| u64::from(sighting.packet.window) << if both { 3 } else { 0 });
        assert_eq!(widest.max().unwrap() > 65_535, both);
        assert_eq!(pipe.received(SERVER), 400_000);
    }
}

#[test]
fn either_end_may_finish_first() {
    for first in [CLIENT, SERVER] {
        let mut pipe = Pipe::connected(&config(Policy::Reno));
        pipe.write(CLIENT, 2_500);
        pipe.input(first, Input::Close);
        pipe.run(Duration::from_secs(1));
        let second = 1 - first;
        assert_eq!(pipe.ends[first].state(), State::FinWait2);
        assert_eq!(pipe.ends[second].state(), State::CloseWait);
        assert!(pipe.told[second].contains(&Output::Finished));
        // The other direction continues.
        pipe.write(SERVER, 1_500 * second as u64);
        pipe.input(second, Input::Close);
        pipe.run(Duration::from_secs(1));
        assert_eq!(pipe.ends[first].state(), State::TimeWait);
        assert_eq!(pipe.ends[second].state(), State::Closed);
        assert_eq!(pipe.received(SERVER), 2_500);
        assert_eq!(pipe.received(CLIENT), 1_500 * second as u64);
        pipe.run(Duration::from_secs(61));
        assert_eq!(pipe.ends[first].state(), State::Closed);
        assert!(
            !pipe
                .told
                .iter()
                .flatten()
                .any(|told| *told == Output::Reset)
        );
    }
}

#[test]
fn both_may_finish_at_once_and_fins_may_be_lost() {
    for lost in [None, Some(CLIENT), Some(SERVER)] {
        let mut pipe = Pipe::connected(&config(Policy::NewReno));
        let mut left = 1;
        pipe.wire.decide = Box::new(move |from, segment, _| {
            let meant = Some(from) == lost && segment.flags.contains(TcpFlags::FIN) && left > 0;
            left -= i32::from(meant);
            if meant { Fate::Lost } else { Fate::Arrives }
        });
        pipe.write(CLIENT, 10_000);
        pipe.input(CLIENT, Input::Close);
        pipe.input(SERVER, Input::Close);
        pipe.run(Duration::from_secs(200));
        for end in [CLIENT, SERVER] {
            assert_eq!(pipe.ends[end].state(), State::Closed);
            assert!(pipe.told[end].contains(&Output::Finished));
        }
        assert_eq!(pipe.received(SERVER), 10_000);
    }
}

#[test]
fn a_close_before_the_connection_stands_waits_for_the_data() {
    let config = config(Policy::Reno);
    let mut pipe = Pipe::new(&config, &config);
    pipe.input(CLIENT, Input::Connect);
    pipe.write(CLIENT, 100_000);
    pipe.input(CLIENT, Input::Close);
    pipe.drain_client();
    pipe.run(Duration::from_secs(1));
    assert_eq!(pipe.received(SERVER), 100_000);
    assert_eq!(pipe.ends[CLIENT].state(), State::FinWait2);
}

#[test]
fn an_abort_resets_the_other_end() {
    let mut pipe = Pipe::connected(&config(Policy::Reno));
    pipe.write(CLIENT, 9_000);
    pipe.input(CLIENT, Input::Abort);
    pipe.run(Duration::from_secs(100));
    assert_eq!(pipe.told[SERVER].last(), Some(&Output::Reset));
    assert!(pipe.ends.iter().all(|end| end.state() == State::Closed));
    assert_eq!(pipe.next(), None, "nothing is left to wait for");
}

#[test]
fn a_reset_must_have_the_exact_number() {
    let mut pipe = Pipe::connected(&config(Policy::Reno));
    let mut reset = pipe.ends[SERVER].connection().initial_sequence;
    let mut segment = {
        pipe.write(SERVER, 10);
        pipe.wire.log.last().unwrap().packet
    };
    pipe.run(Duration::from_secs(1));
    reset = reset + 1 + 500; // within the window, but a guess
    (segment.flags, segment.payload, segment.sequence) = (TcpFlags::RST, 0, reset);
    pipe.input(CLIENT, Input::Segment(segment));
    assert_eq!(pipe.ends[CLIENT].state(), State::Established);
    let challenge = pipe.wire.log.last().unwrap().packet;
    assert_eq!(challenge.flags, TcpFlags::ACK);
    segment.sequence = challenge.acknowledgment;
    pipe.input(CLIENT, Input::Segment(segment));
    assert_eq!(pipe.ends[CLIENT].state(), State::Closed);
    assert_eq!(pipe.told[CLIENT].last(), Some(&Output::Reset));
}

#[test]
fn nobody_answers() {
    let config = config(Policy::Reno);
    let mut pipe = Pipe::new(&config, &config);
    pipe.wire.decide = Box::new(|_, _, _| Fate::Lost);
    pipe.input(CLIENT, Input::Connect);
    pipe.run(Duration::from_secs(2_000));
    assert_eq!(pipe.told[CLIENT], [Output::Reset]);
    assert_eq!(pipe.wire.log.len(), 13, "the SYN and twelve repetitions");
}

#[test]
fn a_closed_end_answers_with_a_reset_and_strangers_are_ignored() {
    let config = config(Policy::Reno);
    let mut pipe = Pipe::connected(&config);
    pipe.write(CLIENT, 10);
    let data = pipe.wire.log.last().unwrap().packet;
    let mut closed = Endpoint::new(connection(SERVER), config).unwrap();
    closed.handle_input(Instant::ZERO, Input::Segment(data));
    let Some(Output::Segment(reset)) = closed.poll_output() else {
        panic!("no answer")
    };
    assert_eq!(
        (reset.flags, reset.sequence),
        (TcpFlags::RST, data.acknowledgment)
    );
    let mut stranger = data;
    stranger.source.set_port(1);
    stranger.sequence = SeqNumber(0);
    closed.handle_input(Instant::ZERO, Input::Segment(stranger));
    assert_eq!(closed.poll_output(), None);
    assert_eq!(closed.counters().received.foreign, 1);
}

/// A blocked writer waits for the room of a cluster, so that an 8 KiB buffer holds four to five segments, not always
/// five: in the comparison's smallest setting this decides whether a loss has three duplicates.
#[test]
fn a_waiting_writer_waits_for_the_low_water_mark() {
    let flights = |low_water, whole_segments| {
        let mut config = Config::bsd();
        config.whole_segments = whole_segments;
        config.acknowledging.delayed = false;
        config.congestion.initial_window = 10;
        (config.send_buffer, config.receive_buffer) = (Bytes::kibi(8), Bytes::kibi(8));
        config.send_low_water = low_water;
        let mut pipe = Pipe::connected(&config);
        pipe.write(CLIENT, 1_000_000);
        let start = pipe.clock.now;
        let mut sizes = std::collections::BTreeSet::new();
        while pipe.step(start + Duration::from_secs(1)) {
            sizes.insert(pipe.ends[CLIENT].flight() / 1_400);
        }
        sizes.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(flights(Bytes::ZERO, false), [5]);
    assert_eq!(flights(Bytes::kibi(2), false), [4, 5]);
    assert_eq!(flights(Bytes::ZERO, true), [6], "rounded up");
}

#[test]
fn a_writer_that_keeps_to_the_room_is_told_of_more() {
    let mut pipe = Pipe::connected(&Config::bsd());
    let (mut left, mut heard) = (200_000, 0);
    let end = pipe.clock.now + Duration::from_secs(100);
    while left > 0 || !pipe.ends[CLIENT].is_drained() {
        let news = pipe.told[CLIENT][heard..].to_vec();
        heard += news.len();
        for output in news {
            if let Output::Writable(room) = output {
                assert!((2_048..=32_768).contains(&room), "{room}");
                let bytes = room.min(left);
                left -= bytes;
                pipe.write(CLIENT, bytes);
            }
        }
        assert!(pipe.step(end) || left == 0, "nobody tells of room");
    }
    assert_eq!(pipe.received(SERVER), 200_000);
}
