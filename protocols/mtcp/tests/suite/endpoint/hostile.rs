//! Tests of packets from a stranger or a hostile peer: limited, counted, and never trusted.

use machine::RandomStream;
use mtcp::packet::{Addresses, Cid, Control, Data, Flags, Holes, Kind, Packet, Profile};
use mtcp::{Config, ConnectionId, Phase, Reason};
use redirector::Chunks;
use units::{Bytes, Duration};

use super::pipe::{GATEWAY, MOBILE, Pipe, address, chunk, content, paper, wide};

fn syn(number: u32) -> Control {
    Control {
        profile: Profile::Paper,
        kind: Kind::Syn,
        lean: false,
        connection: Cid::NONE,
        reverse: Cid((number % 65_535 + 1) as u16),
        sequence: number & 0xffff,
        acknowledgment: 0,
        buffer: 16_384,
        packet: 1_500,
        shift: 0,
        addresses: Addresses::new(address(9, (number & 0xffff) as u16), address(2, 7))
            .expect("one family"),
    }
}

fn data(connection: Cid) -> Data<Chunks> {
    Data {
        profile: Profile::Paper,
        flags: Flags::default(),
        connection,
        sequence: 0,
        acknowledgment: 0,
        window: 0,
        negative: 0,
        further: Holes::default(),
        cycle: 0,
        reply: 0,
        content: Chunks::default(),
    }
}

#[test]
fn half_open_connections_by_the_thousand_are_refused() {
    let mut pipe = Pipe::new(&paper(), &paper());
    pipe.accepts[GATEWAY] = false;
    for number in 0..10_000 {
        pipe.inject(GATEWAY, &Packet::Control(syn(number)));
    }
    let limits = &paper().limits;
    assert_eq!(pipe.ends[GATEWAY].connections(), limits.half_open);
    let counters = pipe.ends[GATEWAY].counters();
    assert_eq!(counters.refused.busy, 10_000 - limits.half_open as u64);
    // A tick's worth of answers, and no more.
    assert_eq!(pipe.wire.log.len(), 32);
    // They do not stay.
    pipe.run(limits.opening + Duration::from_secs(1));
    assert_eq!(pipe.ends[GATEWAY].connections(), 0);
}

#[test]
fn a_flood_towards_a_listener_leaves_room_for_its_own_connections() {
    let config = Config {
        limits: mtcp::Limits {
            connections: 100,
            half_open: 20,
            ..mtcp::Limits::default()
        },
        ..paper()
    };
    let mut pipe = Pipe::new(&config, &config);
    pipe.accepts[MOBILE] = false;
    for number in 0..1_000 {
        pipe.open(GATEWAY, number);
    }
    pipe.run(Duration::from_millis(100));
    assert_eq!(pipe.ends[GATEWAY].connections(), 20);
    let busy = pipe.told[GATEWAY]
        .values()
        .filter(|told| told.reset == Some(Reason::Busy));
    assert_eq!(busy.count(), 980);
    pipe.open(MOBILE, 1);
    pipe.run(Duration::from_millis(100));
    assert!(pipe.told(MOBILE, ConnectionId::Opened(1)).connected);
}

#[test]
fn answered_connections_that_nobody_completes_are_given_up() {
    let mut pipe = Pipe::new(&paper(), &paper());
    pipe.inject(GATEWAY, &Packet::Control(syn(1)));
    assert_eq!(
        pipe.phase(GATEWAY, ConnectionId::Arrived(0)),
        Some(Phase::Answered)
    );
    // The other end does not know the connection, and answers so.
    pipe.run(Duration::from_millis(100));
    assert_eq!(pipe.ends[GATEWAY].connections(), 0);
    assert_eq!(
        pipe.told(GATEWAY, ConnectionId::Arrived(0)).reset,
        Some(Reason::Unknown)
    );
}

#[test]
fn guessed_names_do_not_disturb_a_stream() {
    let (mut pipe, [asked, arrived]) = Pipe::connected(&paper());
    let mut random = RandomStream::named(11, "guesses");
    pipe.write(GATEWAY, asked, 0..60_000);
    for round in 0..20_000_u32 {
        let mut guess = data(Cid(random.below(65_535) as u16 + 1));
        guess.sequence = random.next_u64() as u32 & 0xffff;
        guess.acknowledgment = random.next_u64() as u32 & 0xffff;
        guess.flags.request = true;
        guess.negative = 20_000;
        pipe.inject(MOBILE, &Packet::Data(guess));
        if round.is_multiple_of(200) {
            pipe.run(Duration::from_millis(10));
        }
    }
    pipe.run(Duration::from_secs(10));
    assert_eq!(pipe.told(MOBILE, arrived).received, content(0, 60_000));
    let counters = pipe.ends[MOBILE].counters();
    assert!(counters.refused.strays > 19_900);
    assert_eq!(pipe.phase(MOBILE, arrived), Some(Phase::Open));
}

#[test]
fn a_reset_needs_proof() {
    for config in [paper(), wide()] {
        let (mut pipe, [asked, arrived]) = Pipe::connected(&config);
        pipe.write(GATEWAY, asked, 0..1_000);
        pipe.run(Duration::from_secs(1));
        let last = pipe.data_of(GATEWAY)[0].1.clone();
        let expected = last.sequence.wrapping_add(1_000);
        let own = pipe.acknowledgments_of(MOBILE)[0].1.connection;
        let reset = |reverse, ahead: u32| {
            let mask = u32::MAX >> (32 - config.profile.sequence_bits());
            Packet::Control(Control {
                profile: config.profile,
                kind: Kind::Reset(Reason::Aborted),
                connection: last.connection,
                reverse,
                sequence: expected.wrapping_add(ahead) & mask,
                ..syn(1)
            })
        };
        // Neither the other ID nor the exact number is known.
        for guess in 1..2_000 {
            pipe.inject(MOBILE, &reset(Cid(own.0 ^ guess as u16), guess));
        }
        // Both IDs, but a number beyond the window, and one before it.
        let beyond = config.receive_buffer.get() as u32 + 5_000;
        pipe.inject(MOBILE, &reset(own, beyond));
        pipe.inject(MOBILE, &reset(own, u32::MAX - 2_000));
        pipe.run(Duration::from_secs(1));
        assert_eq!(pipe.ends[MOBILE].counters().refused.forged_resets, 2_001);
        assert_eq!(pipe.phase(MOBILE, arrived), Some(Phase::Open));
        // Both IDs, and a number in the window: some earlier packets were lost.
        pipe.inject(MOBILE, &reset(own, 3_000));
        assert_eq!(pipe.told(MOBILE, arrived).reset, Some(Reason::Aborted));
        assert!(!pipe.told(MOBILE, arrived).finished);
    }
}

#[test]
fn data_beyond_the_window_or_too_long_are_dropped_and_counted() {
    let (mut pipe, [asked, arrived]) = Pipe::connected(&paper());
    pipe.write(GATEWAY, asked, 0..1_000);
    pipe.run(Duration::from_secs(1));
    let honest = pipe.data_of(GATEWAY)[0].1.clone();
    let next = honest.sequence + 1_000;
    for (offset, length) in [
        (16_000, 500),
        (16_384, 1),
        (20_000, 900),
        (0, 1_100),
        (30_000, 10),
    ] {
        pipe.inject(
            MOBILE,
            &Packet::Data(Data {
                sequence: (next + offset) & 0xffff,
                content: chunk(vec![1; length]),
                ..honest.clone()
            }),
        );
    }
    assert_eq!(pipe.ends[MOBILE].counters().traffic.received.violations, 5);
    let impossible = Data {
        acknowledgment: (honest.acknowledgment + 5_000) & 0xffff,
        ..honest
    };
    pipe.inject(MOBILE, &Packet::Data(impossible));
    assert_eq!(pipe.ends[MOBILE].counters().traffic.received.impossible, 1);
    pipe.write(GATEWAY, asked, 1_000..9_000);
    pipe.run(Duration::from_secs(2));
    assert_eq!(pipe.told(MOBILE, arrived).received, content(0, 9_000));
}

#[test]
fn what_tiny_pieces_cost_is_bounded() {
    let config = Config {
        receive_buffer: Bytes::mebi(1),
        ..wide()
    };
    let (mut pipe, [asked, arrived]) = Pipe::connected(&config);
    pipe.write(GATEWAY, asked, 0..100);
    pipe.run(Duration::from_secs(1));
    let honest = pipe.data_of(GATEWAY)[0].1.clone();
    for place in 0..40_000 {
        pipe.inject(
            MOBILE,
            &Packet::Data(Data {
                sequence: honest.sequence.wrapping_add(200 + 2 * place),
                content: chunk(vec![1]),
                ..honest.clone()
            }),
        );
    }
    let received = pipe.ends[MOBILE].counters().traffic.received;
    assert_eq!(received.out_of_order, (1 << 20) / 64);
    assert_eq!(received.violations, 40_000 - (1 << 20) / 64);
    assert_eq!(pipe.told(MOBILE, arrived).received.len(), 100);
}

#[test]
fn a_stream_that_ends_twice_ends_once() {
    let (mut pipe, [asked, arrived]) = Pipe::connected(&paper());
    pipe.write(GATEWAY, asked, 0..1_000);
    pipe.run(Duration::from_secs(1));
    let honest = pipe.data_of(GATEWAY)[0].1.clone();
    let end = |offset| {
        let mut data = Data {
            sequence: (honest.sequence + offset) & 0xffff,
            content: Chunks::default(),
            ..honest.clone()
        };
        data.flags.fin = true;
        Packet::Data(data)
    };
    pipe.inject(MOBILE, &end(2_000));
    assert!(
        !pipe.told(MOBILE, arrived).finished,
        "a thousand bytes are missing"
    );
    pipe.inject(MOBILE, &end(1_500));
    pipe.inject(MOBILE, &end(3_000));
    assert_eq!(pipe.ends[MOBILE].counters().traffic.received.violations, 2);
    assert!(!pipe.told(MOBILE, arrived).finished);
}

#[test]
fn a_restarted_end_finds_its_old_connections_gone() {
    let (mut pipe, [asked, arrived]) = Pipe::connected(&paper());
    pipe.write(GATEWAY, asked, 0..1_000);
    pipe.run(Duration::from_secs(1));
    // The gateway restarts, and happens to choose the same ID for another connection.
    let old = pipe.status(MOBILE, arrived);
    let random = RandomStream::named(1, "gateway");
    pipe.ends[GATEWAY] = mtcp::Endpoint::new(paper(), random).expect("a configuration");
    pipe.open(GATEWAY, 2);
    pipe.run(Duration::from_secs(5));
    assert_eq!(
        pipe.told(MOBILE, arrived).reset,
        Some(Reason::Unknown),
        "{old:?}"
    );
    assert!(pipe.told(GATEWAY, ConnectionId::Opened(2)).connected);
    assert_eq!(pipe.told(MOBILE, arrived).received.len(), 1_000);
}

/// The paper's mobile host reports its listeners; here it gets a request for each connection.
#[test]
fn what_is_said_of_listeners_is_refused_and_not_kept() {
    let mut pipe = Pipe::new(&paper(), &paper());
    let listen = Control {
        kind: Kind::Listen,
        reverse: Cid::NONE,
        addresses: Addresses::listening(address(1, 80)),
        ..syn(0)
    };
    for _ in 0..100 {
        pipe.inject(GATEWAY, &Packet::Control(listen));
    }
    assert_eq!(pipe.wire.log.len(), 32);
    let refused = |packet: &Packet<Chunks>| match packet {
        Packet::Control(control) => control.kind == Kind::Unlisten(Reason::Refused),
        Packet::Data(_) => false,
    };
    assert!(
        pipe.wire
            .log
            .iter()
            .all(|sighting| refused(&sighting.packet))
    );
    pipe.inject(
        GATEWAY,
        &Packet::Control(Control {
            kind: Kind::Listening,
            ..listen
        }),
    );
    assert_eq!(
        (pipe.wire.log.len(), pipe.ends[GATEWAY].connections()),
        (32, 0)
    );
}
