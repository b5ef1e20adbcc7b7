//! The stream arrives over any network, and no segment causes a panic.

use std::net::SocketAddrV4;

use machine::{Machine, conformance};
use proptest::prelude::*;
use tcp::{Config, Control, Endpoint, Input, Output, Policy, State};
use units::{Bytes, Duration, Instant, SeqNumber};
use wire::TcpSegment;
use wire::tcp::{AirLoss, SackRanges, SeqRange, TcpFlags, TcpSegmentOptions, Timestamps};

use super::pipe::{CLIENT, Fate, Pipe, SERVER, address, config, connection};

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        12 => Just(Fate::Arrives),
        2 => Just(Fate::Lost),
        2 => Just(Fate::Damaged),
        1 => Just(Fate::Twice),
        2 => (0..200_u64).prop_map(|millis| Fate::Late(Duration::from_millis(millis))),
    ]
}

fn configs() -> impl Strategy<Value = Config> {
    let policy = prop::sample::select(Policy::ALL.to_vec());
    let buffers = (2_000..60_000_u64, 2_000..60_000_u64);
    let switches = any::<[bool; 6]>();
    let control = prop::sample::select(vec![Control::Reno, Control::Cubic, Control::Bbr]);
    let rules = (policy, control);
    (rules, buffers, switches).prop_map(|((policy, control), (send, receive), switches)| {
        let mut config = if switches[0] {
            Config::modern()
        } else {
            config(policy)
        };
        config = config.with_policy(policy);
        if config.feedback.sack_blocks > 0 {
            config.congestion.control = control;
        }
        config.send_buffer = Bytes::new(send);
        config.receive_buffer = Bytes::new(receive);
        config.window_scaling = switches[1];
        config.timestamps = switches[2];
        config.acknowledging.delayed = switches[3];
        config.recovery.careful = switches[4];
        config.recovery.hold_on_partial = switches[4];
        config.no_delay = switches[5];
        config.maximum_segment_size = 1_000;
        // Longer than any timeout, so that no late FIN finds the other end closed.
        config.timing.time_wait = Duration::from_secs(500);
        config
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn both_streams_arrive_whatever_the_network_does(
        client in configs(),
        server in configs(),
        fates in prop::collection::vec(fate(), 1..120),
        writes in prop::collection::vec((any::<bool>(), 1..9_000_u64, 0..400_u64), 1..20),
    ) {
        let mut pipe = Pipe::new(&client, &server);
        let mut count = 0;
        pipe.wire.decide = Box::new(move |_, _, _| {
            count += 1;
            fates.get(count - 1).copied().unwrap_or(Fate::Arrives)
        });
        pipe.input(CLIENT, Input::Connect);
        let mut written = [0; 2];
        for (from_client, bytes, wait) in writes {
            let end = if from_client { CLIENT } else { SERVER };
            written[end] += bytes;
            pipe.write(end, bytes);
            pipe.run(Duration::from_millis(wait));
        }
        pipe.input(CLIENT, Input::Close);
        if pipe.ends[SERVER].state() == State::Listen {
            pipe.run(Duration::from_secs(1_000));
        }
        pipe.input(SERVER, Input::Close);
        pipe.run(Duration::from_secs(10_000));
        prop_assert_eq!(pipe.received(SERVER), written[CLIENT]);
        prop_assert_eq!(pipe.received(CLIENT), written[SERVER]);
        for end in [CLIENT, SERVER] {
            prop_assert!(pipe.told[end].contains(&Output::Finished), "{:?}", pipe.told[end]);
            prop_assert!(!pipe.told[end].contains(&Output::Reset));
            prop_assert_eq!(pipe.ends[end].state(), State::Closed);
        }
    }
}

fn range() -> impl Strategy<Value = SeqRange> {
    (number(), number()).prop_map(|(start, end)| SeqRange { start, end })
}

/// Returns numbers that are mostly near those of the connection.
fn number() -> impl Strategy<Value = SeqNumber> {
    let first = connection(CLIENT).initial_sequence;
    prop_oneof![
        6 => (0..12_000_u32).prop_map(move |more| first - 2_000 + more),
        1 => any::<u32>().prop_map(SeqNumber),
    ]
}

fn options() -> impl Strategy<Value = TcpSegmentOptions> {
    let ranges = prop::collection::vec(range(), 0..4);
    let air_loss = (0..3_u8, prop::collection::vec(range(), 0..3));
    let syn = any::<(Option<u16>, Option<u8>, bool)>();
    let stamps = prop::option::of((0..5_u32, 0..5_u32));
    let cause = prop::option::of(number());
    (ranges, air_loss, syn, stamps, cause).prop_map(|(ranges, air_loss, syn, stamps, cause)| {
        let collected = |ranges: Vec<SeqRange>| ranges.into_iter().collect::<SackRanges>();
        TcpSegmentOptions {
            maximum_segment_size: syn.0,
            window_scale: syn.1,
            sack_permitted: syn.2,
            timestamps: stamps.map(|(value, echo)| Timestamps { value, echo }),
            sack: collected(ranges),
            cause,
            air_loss: match air_loss.0 {
                0 => AirLoss::None,
                1 => AirLoss::Next,
                _ => AirLoss::Ranges(collected(air_loss.1)),
            },
        }
    })
}

fn segment() -> impl Strategy<Value = TcpSegment> {
    let flags = prop_oneof![
        8 => Just(TcpFlags::ACK),
        2 => Just(TcpFlags::SYN),
        2 => Just(TcpFlags::SYN | TcpFlags::ACK),
        2 => Just(TcpFlags::FIN | TcpFlags::ACK),
        1 => any::<u8>().prop_map(TcpFlags),
    ];
    let window = prop_oneof![Just(0), Just(u16::MAX), any::<u16>()];
    let payload = prop_oneof![Just(0), 0..2_000_u16];
    let numbers = (number(), number());
    (numbers, flags, window, payload, options()).prop_map(
        |(numbers, flags, window, payload, options)| TcpSegment {
            source: address(SERVER),
            destination: address(CLIENT),
            sequence: numbers.0,
            acknowledgment: numbers.1,
            flags,
            window,
            payload,
            options,
        },
    )
}

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        20 => segment().prop_map(Input::Segment),
        2 => Just(Input::Connect),
        4 => (0..9_000_u64).prop_map(Input::Write),
        1 => any::<u64>().prop_map(Input::Write),
        3 => any::<u64>().prop_map(Input::Read),
        1 => Just(Input::Close),
        1 => Just(Input::Abort),
        3 => range().prop_map(Input::AirLoss),
    ]
}

/// Returns an endpoint that has opened a connection with a peer that chose these numbers too, or that listens.
fn opened(config: &Config, listens: bool) -> Endpoint {
    let mut endpoint = if listens {
        Endpoint::listening(connection(CLIENT), config.clone())
    } else {
        Endpoint::new(connection(CLIENT), config.clone())
    }
    .expect("a configuration");
    if listens {
        return endpoint;
    }
    endpoint.handle_input(Instant::ZERO, Input::Connect);
    let Some(Output::Segment(syn)) = endpoint.poll_output() else {
        panic!("no SYN")
    };
    let answer = TcpSegment {
        source: syn.destination,
        destination: syn.source,
        acknowledgment: syn.sequence + 1,
        flags: TcpFlags::SYN | TcpFlags::ACK,
        ..syn
    };
    endpoint.handle_input(Instant::ZERO, Input::Segment(answer));
    while endpoint.poll_output().is_some() {}
    endpoint
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn nothing_that_arrives_makes_it_panic_or_talk_without_end(
        config in configs(),
        listens in any::<bool>(),
        steps in prop::collection::vec((input(), 0..2_000_u64), 0..80),
    ) {
        let mut endpoint = opened(&config, listens);
        let mut now = Instant::ZERO;
        for (input, wait) in steps {
            now += Duration::from_millis(wait);
            endpoint.handle_timeout(now);
            endpoint.handle_input(now, input);
            // At most a window of segments, and a few others.
            let outputs = std::iter::from_fn(|| endpoint.poll_output()).take(1_500).count();
            prop_assert!(outputs < 1_500);
            let due = endpoint.poll_timeout();
            prop_assert!(due.is_none_or(|due| due >= now));
        }
    }

    #[test]
    fn the_contract_holds(
        config in configs(),
        steps in prop::collection::vec((input(), 0..700_u64), 0..40),
    ) {
        let script: Vec<_> = steps
            .into_iter()
            .map(|(input, wait)| (Duration::from_millis(wait), input))
            .collect();
        conformance::check(|| opened(&config, false), &script, Duration::from_secs(500));
    }
}

/// A peer that reports many small ranges causes no more memory use.
#[test]
fn what_a_peer_reports_is_bounded() {
    let mut config = config(Policy::Sack);
    config.receive_buffer = Bytes::mebi(1);
    config.window_scaling = true;
    let mut endpoint = opened(&config, false);
    let first = connection(CLIENT).initial_sequence + 1;
    let data = |offset: u32| TcpSegment {
        source: address(SERVER),
        destination: address(CLIENT),
        sequence: first + offset,
        acknowledgment: first,
        flags: TcpFlags::ACK,
        window: 1_000,
        payload: 1,
        options: TcpSegmentOptions::default(),
    };
    for place in 0..5_000 {
        endpoint.handle_input(Instant::ZERO, Input::Segment(data(10 + 2 * place)));
        while endpoint.poll_output().is_some() {}
    }
    assert_eq!(endpoint.counters().received.out_of_order, 256);
    // A foreign connection's segments cost nothing.
    let mut foreign = data(0);
    foreign.source = SocketAddrV4::new([9, 9, 9, 9].into(), 9);
    endpoint.handle_input(Instant::ZERO, Input::Segment(foreign));
    assert_eq!(endpoint.poll_output(), None);
}
