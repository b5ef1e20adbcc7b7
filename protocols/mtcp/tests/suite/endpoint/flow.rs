//! Tests of flow control: the receiver sets the window, and the sender keeps to it.

use mtcp::packet::Packet;
use mtcp::{AutoBuffer, Config, ConnectionId, Input, Limits, Profile};
use redirector::Content;
use units::{Bytes, Duration};

use super::pipe::{GATEWAY, MOBILE, Pipe, content, paper, wide};

/// Checks that the window which the mobile host had announced before each packet of the gateway is never exceeded.
fn assert_window_kept(config: &Config) {
    let (mut pipe, [asked, arrived]) = Pipe::connected(config);
    pipe.reads[MOBILE] = false;
    pipe.write(GATEWAY, asked, 0..150_000);
    for round in 1..1_000 {
        pipe.run(Duration::from_millis(40));
        if pipe.told(MOBILE, arrived).received.len() == 150_000 {
            break;
        }
        assert!(pipe.told(MOBILE, arrived).readable <= config.receive_buffer.get());
        pipe.input(MOBILE, Input::Read(arrived, 100 * (round % 70)));
    }
    assert_eq!(pipe.told(MOBILE, arrived).received, content(0, 150_000));
    let mut edge = 0;
    for sighting in &pipe.wire.log {
        let Packet::Data(data) = &sighting.packet else {
            continue;
        };
        let shift = data
            .profile
            .window_shift(config.receive_buffer.get() as u32);
        if sighting.from == MOBILE {
            let window = u32::from(data.window) << shift;
            edge = data.acknowledgment.wrapping_add(window);
        } else if edge > 0 && data.content.length() > 0 {
            let end = data.sequence.wrapping_add(data.content.length() as u32);
            let room = match data.profile {
                Profile::Paper => (edge.wrapping_sub(end) as u16).cast_signed() >= 0,
                Profile::Wide => edge.wrapping_sub(end).cast_signed() >= 0,
            };
            // The first window is the buffer that the handshake announced, and no packet since has announced another
            // one.
            assert!(room || edge == 0, "beyond the window at {}", sighting.at);
        }
    }
    let received = pipe.ends[MOBILE].counters().traffic.received;
    assert_eq!(received.violations, 0);
}

#[test]
fn the_window_is_never_exceeded() {
    assert_window_kept(&paper());
    let mut small = wide();
    small.receive_buffer = Bytes::kibi(9);
    assert_window_kept(&small);
    let mut scaled = wide();
    scaled.receive_buffer = Bytes::kibi(100);
    assert_window_kept(&scaled);
}

#[test]
fn a_closed_window_that_opens_unheard_is_asked_for() {
    for config in [paper(), wide()] {
        let mut config = config;
        config.receive_buffer = Bytes::kibi(8);
        let (mut pipe, [asked, arrived]) = Pipe::connected(&config);
        pipe.reads[MOBILE] = false;
        pipe.write(GATEWAY, asked, 0..30_000);
        pipe.run(Duration::from_secs(3));
        assert_eq!(pipe.status(GATEWAY, asked).flight, 0);
        assert!(
            pipe.ends[GATEWAY].counters().traffic.sent.polls > 2,
            "it asks"
        );
        // The packets that announce the open window are lost.
        pipe.lose_where(|from, _, _| from == MOBILE);
        pipe.reads[MOBILE] = true;
        pipe.input(MOBILE, Input::Read(arrived, 1 << 20));
        pipe.lose_none();
        pipe.run(Duration::from_secs(20));
        assert_eq!(pipe.told(MOBILE, arrived).received.len(), 30_000);
    }
}

#[test]
fn sixteen_bit_numbers_wrap_many_times() {
    let (mut pipe, [asked, arrived]) = Pipe::connected(&paper());
    pipe.lose(GATEWAY, &[5, 60, 61, 130, 200, 201, 350]);
    let bytes = 500_000;
    pipe.write(GATEWAY, asked, 0..bytes);
    pipe.run(Duration::from_secs(60));
    assert!(
        pipe.told(MOBILE, arrived).received == content(0, bytes),
        "eight times around"
    );
}

#[test]
fn the_send_buffer_says_what_finds_room() {
    let (mut pipe, [asked, arrived]) = Pipe::connected(&paper());
    assert_eq!(pipe.told(GATEWAY, asked).writable, 16_384);
    pipe.reads[MOBILE] = false;
    pipe.write(GATEWAY, asked, 0..16_384);
    pipe.run(Duration::from_secs(1));
    assert_eq!(
        pipe.told(GATEWAY, asked).writable,
        16_384,
        "all of it was acknowledged"
    );
    pipe.write(GATEWAY, asked, 16_384..20_000);
    pipe.told(GATEWAY, asked).writable = 0;
    pipe.run(Duration::from_secs(1));
    assert_eq!(pipe.told(GATEWAY, asked).writable, 0, "back-pressure");
    pipe.reads[MOBILE] = true;
    pipe.input(MOBILE, Input::Read(arrived, 16_384));
    pipe.run(Duration::from_secs(10));
    assert_eq!(pipe.told(GATEWAY, asked).writable, 16_384);
}

#[test]
fn both_directions_at_once() {
    for config in [paper(), wide()] {
        let (mut pipe, [asked, arrived]) = Pipe::connected(&config);
        let mut count = 0;
        pipe.lose_where(move |_, _, _| {
            count += 1;
            count % 9 == 0
        });
        pipe.write(GATEWAY, asked, 0..200_000);
        pipe.write(MOBILE, arrived, 7..150_007);
        pipe.input(GATEWAY, Input::Close(asked));
        pipe.input(MOBILE, Input::Close(arrived));
        pipe.run(Duration::from_secs(120));
        assert!(pipe.told(MOBILE, arrived).received == content(0, 200_000));
        assert!(pipe.told(GATEWAY, asked).received == content(7, 150_000));
        assert!(pipe.told(MOBILE, arrived).closed && pipe.told(GATEWAY, asked).closed);
    }
}

/// A buffer of 16 KiB that may grow to 4 MiB, and 1 MiB by which those of 1,000 connections may grow in all.
fn growing() -> Config {
    Config {
        receive_buffer: Bytes::mebi(4),
        auto_buffer: Some(AutoBuffer {
            start: Bytes::kibi(16),
            total: Bytes::kibi(16 * 1_000 + 1_024),
        }),
        limits: Limits {
            connections: 1_000,
            half_open: 1_000,
            ..Limits::default()
        },
        ..wide()
    }
}

#[test]
fn a_buffer_that_grows_begins_small_and_takes_all_that_it_announces() {
    let (mut pipe, [asked, arrived]) = Pipe::connected(&growing());
    assert_eq!(pipe.status(MOBILE, arrived).receive_buffer, 16 << 10);
    pipe.wire.rate = units::BitRate::from_megabits(100);
    pipe.wire.delay = Duration::from_millis(30);
    pipe.write(GATEWAY, asked, 0..2_000_000);
    pipe.run(Duration::from_secs(10));
    assert_eq!(pipe.told(MOBILE, arrived).received.len(), 2_000_000);
    let grown = pipe.status(MOBILE, arrived).receive_buffer;
    assert!(grown > 400 << 10, "{grown}");
    // An announced window stays, even if the application does not read.
    pipe.reads[MOBILE] = false;
    pipe.write(GATEWAY, asked, 2_000_000..4_000_000);
    pipe.run(Duration::from_secs(1));
    assert!(pipe.told(MOBILE, arrived).readable + 2_000 >= grown);
    assert_eq!(pipe.ends[MOBILE].counters().traffic.received.violations, 0);
}

#[test]
fn a_slow_reader_gets_no_larger_buffer() {
    let (mut pipe, [asked, arrived]) = Pipe::connected(&growing());
    pipe.wire.rate = units::BitRate::from_megabits(100);
    pipe.reads[MOBILE] = false;
    pipe.write(GATEWAY, asked, 0..1_000_000);
    for _ in 0..500 {
        pipe.run(Duration::from_millis(20));
        pipe.input(MOBILE, Input::Read(arrived, 1_000));
    }
    assert_eq!(pipe.told(MOBILE, arrived).received.len(), 500_000);
    assert_eq!(pipe.status(MOBILE, arrived).receive_buffer, 16 << 10);
}

#[test]
fn the_buffers_of_many_connections_share_what_there_is() {
    let mut pipe = Pipe::new(&growing(), &growing());
    pipe.wire.rate = units::BitRate::from_megabits(1_000);
    let asked = |number| ConnectionId::Opened(number);
    let buffers = |pipe: &Pipe| {
        let arrived = (0..1_000).map(ConnectionId::Arrived);
        let statuses = arrived.filter_map(|id| pipe.ends[MOBILE].status(id));
        statuses.map(|status| status.receive_buffer).sum::<u64>()
    };
    for number in 0..1_000 {
        pipe.open(GATEWAY, number);
    }
    pipe.run(Duration::from_secs(1));
    assert_eq!(buffers(&pipe), 1_000 * (16 << 10));
    // One after the other, so that each could use it all.
    for number in 0..40 {
        pipe.write(GATEWAY, asked(number), 0..200_000);
        pipe.run(Duration::from_secs(1));
    }
    assert_eq!(
        buffers(&pipe),
        1_000 * (16 << 10) + (1 << 20),
        "all of it, and no more"
    );
    // Others may use the memory that closed connections free.
    for number in 0..40 {
        pipe.input(GATEWAY, Input::Close(asked(number)));
        pipe.input(MOBILE, Input::Close(ConnectionId::Arrived(number)));
    }
    pipe.run(Duration::from_secs(20));
    assert_eq!(buffers(&pipe), 960 * (16 << 10));
    pipe.write(GATEWAY, asked(500), 0..200_000);
    pipe.run(Duration::from_secs(1));
    assert!(buffers(&pipe) > 960 * (16 << 10));
}

#[test]
fn the_window_of_the_papers_profile_is_static() {
    let narrow = Config {
        profile: Profile::Paper,
        ..growing()
    };
    let (mut pipe, [asked, arrived]) = Pipe::connected(&narrow);
    pipe.write(GATEWAY, asked, 0..200_000);
    pipe.run(Duration::from_secs(10));
    assert_eq!(pipe.status(MOBILE, arrived).receive_buffer, 16 << 10);
}

#[test]
fn connections_take_turns_where_room_is_scarce() {
    let (mut pipe, _) = Pipe::connected(&wide());
    let ids: Vec<_> = (1..=20).map(ConnectionId::Opened).collect();
    for number in 2..=20 {
        pipe.open(GATEWAY, number);
    }
    pipe.run(Duration::from_millis(100));
    pipe.input(GATEWAY, Input::Room(0));
    for id in &ids {
        pipe.write(GATEWAY, *id, 0..100_000);
    }
    // Whatever is granted at a time, no connection gets more than a turn ahead of the others.
    for grant in [1_500, 64 << 10, 4 << 10, 16 << 10, 300 << 10, 1] {
        pipe.input(GATEWAY, Input::Room(grant));
        let flights = ids.iter().map(|id| pipe.status(GATEWAY, *id).flight);
        let flights: Vec<u64> = flights.collect();
        let (least, most) = (flights.iter().min(), flights.iter().max());
        assert!(
            most <= least.map(|least| least + 4_000).as_ref(),
            "{flights:?}"
        );
    }
}
