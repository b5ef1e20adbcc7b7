//! Whatever the hop does, streams arrive whole or end in an error; whatever arrives, nothing panics.

use machine::{Machine, RandomStream, conformance};
use mtcp::packet::{Addresses, Cid, Control, Data, Flags, Hole, Holes, Kind, Packet, Profile};
use mtcp::{
    AutoBuffer, Clock, Config, ConnectionId, Endpoint, Input, OnTimeout, Output, Reason, Selective,
};
use proptest::prelude::*;
use redirector::Count;
use units::{Bytes, Duration, Instant};

use super::pipe::{Fate, GATEWAY, MOBILE, Pipe, address, addresses, content, is_wide, paper, wide};

/// A configuration drawn from `random`.
fn drawn(random: &mut RandomStream, profile: Profile, lean: bool) -> Config {
    let mut coin = || random.below(2) == 0;
    let mut config = match profile {
        Profile::Paper => paper(),
        Profile::Wide => wide(),
    };
    config.lean = lean;
    config.repair.request = coin();
    config.repair.cycles = coin() || lean;
    config.repair.next_hole = coin();
    config.repair.follow_repairs = coin();
    config.repair.repeat_answers = coin();
    let grows = coin();
    config.acknowledging.delayed = coin();
    config.repair.on_timeout = if coin() {
        OnTimeout::Burst
    } else {
        OnTimeout::Oldest
    };
    config.repair.selective =
        [Selective::Burst, Selective::Cumulative, Selective::Smart][random.below(3) as usize];
    config.repair.further_holes = random.below(8) as usize;
    config.receive_buffer = Bytes::new(1_100 + random.below(30_000));
    config.send_buffer = Bytes::new(1_100 + random.below(60_000));
    config.auto_buffer = grows.then(|| AutoBuffer {
        start: Bytes::new(1_100 + random.below(5_000)),
        total: Bytes::mebi(32),
    });
    config.packet = [200, 600, 1_016, 1_100][random.below(4) as usize];
    config.timing.phase = Duration::from_millis(random.below(200));
    let mut clock = || [Clock::Ticks, Clock::Measured][random.below(2) as usize];
    (config.acknowledging.clock, config.timing.clock) = (clock(), clock());
    config.repair.news_only = random.below(2) == 0;
    config.acknowledging.spacing = Duration::from_millis(random.below(4));
    config
}

/// Returns the fates of packets: some are lost, repeated, damaged, or late.
fn fates(random: &mut RandomStream, seed: u64, late: bool) -> super::pipe::Decision {
    let (loss, repeat, damage) = (random.below(40), random.below(10), random.below(10));
    let late = random.below(10) * u64::from(late);
    let mut chance = RandomStream::named(seed, "hop");
    Box::new(move |_, _, _| {
        let draw = chance.below(100);
        if draw < loss {
            Fate::Lost
        } else if draw < loss + repeat {
            Fate::Twice
        } else if draw < loss + repeat + damage {
            Fate::Damaged
        } else if draw < loss + repeat + damage + late {
            Fate::Late(Duration::from_millis(chance.below(100)))
        } else {
            Fate::Arrives
        }
    })
}

/// One run: two configurations, a hop that loses, repeats, delays and damages, and both streams written in parts.
fn run(seed: u64) {
    let mut random = RandomStream::named(seed, "model");
    let profiles = [Profile::Paper, Profile::Wide];
    let profile = profiles[random.below(2) as usize];
    let lean = random.below(4) == 0;
    let gateway = drawn(&mut random, profile, false);
    let mobile = drawn(&mut random, profile, lean);
    let mut pipe = Pipe::new(&gateway, &mobile);
    pipe.wire.delay = Duration::from_millis(random.below(200));
    // The mobile host's program may know the paper's packets only. Its 16 bits need a hop that keeps the order.
    let narrow = random.below(4) == 0;
    let late = profile == Profile::Wide && !narrow;
    let mut fate = fates(&mut random, seed, late);
    pipe.wire.decide = Box::new(move |from, packet, number| {
        if narrow && is_wide(packet) {
            Fate::Lost
        } else {
            fate(from, packet, number)
        }
    });
    pipe.open(GATEWAY, 1);
    let mut ids = [ConnectionId::Opened(1), ConnectionId::Arrived(0)];
    let moves = random.below(2) == 0;
    let mut written = [0, 0];
    for _ in 0..=random.below(30) {
        let end = random.below(2) as usize;
        let more = random.below(9_000) as usize;
        let exists = pipe.phase(end, ids[end]).is_some();
        if exists {
            pipe.write(end, ids[end], written[end]..written[end] + more);
            written[end] += more;
        }
        pipe.run(Duration::from_millis(random.below(400)));
        let end = random.below(2) as usize;
        let moved = moves && random.below(4) == 0;
        if let Some(state) = moved.then(|| pipe.suspend(end, ids[end])).flatten() {
            pipe.run(Duration::from_millis(random.below(1_000)));
            ids[end] = pipe.resume(end, ids[end], &state);
        }
    }
    let aborts = random.below(20) == 0;
    if aborts {
        pipe.input(MOBILE, Input::Abort(ids[MOBILE], Reason::Aborted));
    }
    pipe.input(GATEWAY, Input::Close(ids[GATEWAY]));
    pipe.run(Duration::from_secs(30));
    pipe.input(MOBILE, Input::Close(ids[MOBILE]));
    pipe.run(Duration::from_secs(2_000));
    check(
        &pipe,
        seed,
        &Ends {
            ids,
            written,
            aborts,
        },
    );
}

/// Expected results of a run.
struct Ends {
    ids: [ConnectionId; 2],
    written: [usize; 2],
    aborts: bool,
}

/// Checks that each end received the data that the other one wrote, complete or with an error.
fn check(pipe: &Pipe, seed: u64, known: &Ends) {
    let Ends {
        ids,
        written,
        aborts,
    } = *known;
    if pipe.told[MOBILE].len() > 1 {
        // The answer to the first SYN was given up, and a later SYN opened another connection.
        return;
    }
    for end in [GATEWAY, MOBILE] {
        let told = pipe.told[end].get(&ids[end]).cloned().unwrap_or_default();
        let whole = content(0, written[1 - end]);
        assert!(
            whole.starts_with(&told.received),
            "seed {seed}: what arrives is what was sent"
        );
        if told.finished {
            assert_eq!(
                told.received.len(),
                whole.len(),
                "seed {seed}: no stream ends short"
            );
        }
        let never = told == super::pipe::Told::default();
        let status = pipe.ends[end].status(ids[end]);
        let ended = never || (aborts && end == MOBILE) || told.finished || told.reset.is_some();
        assert!(ended, "seed {seed}, end {end}: {status:?}");
        let left = pipe.ends[end].connections();
        assert_eq!(left, 0, "seed {seed}, end {end}: {status:?}");
    }
}

#[test]
fn streams_arrive_whole_or_end_in_an_error() {
    for seed in 0..1_000 {
        run(seed);
    }
}

/// Sequence numbers near those of the connection, mostly.
fn number(first: u32) -> impl Strategy<Value = u32> {
    prop_oneof![
        6 => (0..40_000_u32).prop_map(move |more| first.wrapping_sub(4_000).wrapping_add(more)),
        1 => any::<u32>(),
    ]
}

/// Returns the connection ID that the endpoint of [`opened`] chooses, and the number of its SYN.
fn named(config: &Config) -> (Cid, u32) {
    let mut endpoint = bare(config);
    let syn = open(&mut endpoint);
    (syn.reverse, syn.sequence)
}

fn bare(config: &Config) -> Endpoint<Count> {
    Endpoint::new(config.clone(), RandomStream::named(1, "names")).expect("a configuration")
}

fn open(endpoint: &mut Endpoint<Count>) -> Control {
    let addresses = addresses();
    endpoint.handle_input(
        Instant::ZERO,
        Input::Open {
            number: 1,
            addresses,
        },
    );
    let Some(Output::Packet(Packet::Control(syn))) = endpoint.poll_output() else {
        panic!("no SYN")
    };
    syn
}

/// Returns an endpoint with one open connection; its ID at the peer is 7, and the peer's SYN had the number 1,000.
fn opened(config: &Config) -> Endpoint<Count> {
    let mut endpoint = bare(config);
    let syn = open(&mut endpoint);
    let answer = Control {
        kind: Kind::SynAck,
        connection: syn.reverse,
        reverse: Cid(7),
        sequence: 1_000,
        acknowledgment: syn.sequence.wrapping_add(1) & mask(config.profile),
        ..syn
    };
    endpoint.handle_input(Instant::ZERO, Input::Packet(Packet::Control(answer)));
    while endpoint.poll_output().is_some() {}
    endpoint
}

fn mask(profile: Profile) -> u32 {
    u32::MAX >> (32 - profile.sequence_bits())
}

fn data(profile: Profile, (own, first): (Cid, u32)) -> impl Strategy<Value = Packet<Count>> {
    let mask = mask(profile);
    let connection = prop_oneof![8 => Just(own), 1 => any::<u16>().prop_map(Cid)];
    let hole = (any::<u16>(), any::<u16>()).prop_map(|(offset, length)| Hole {
        offset: offset.into(),
        length: length.into(),
    });
    let flags = any::<[bool; 4]>();
    let numbers = (number(1_001), number(first.wrapping_add(1)), number(3_000));
    let small = (any::<u16>(), any::<u16>(), any::<u16>(), 0..2_000_u64);
    let further = prop::collection::vec(hole, 0..3);
    (connection, flags, numbers, small, further).prop_map(
        move |(connection, flags, numbers, small, further)| {
            let mut holes = Holes::default();
            for hole in further {
                holes.push(hole);
            }
            Packet::Data(Data {
                profile,
                flags: Flags {
                    request: flags[0],
                    fin: flags[1] && small.3 < 200,
                    poll: flags[2],
                    cause: flags[3],
                },
                connection,
                sequence: numbers.0 & mask,
                acknowledgment: numbers.1 & mask,
                window: small.0,
                negative: numbers.2 & mask,
                further: if profile == Profile::Wide {
                    holes
                } else {
                    Holes::default()
                },
                cycle: small.1,
                reply: small.2,
                content: Count(small.3),
            })
        },
    )
}

fn control(profile: Profile, (own, first): (Cid, u32)) -> impl Strategy<Value = Packet<Count>> {
    let kind = prop::sample::select(vec![
        Kind::Syn,
        Kind::SynAck,
        Kind::Reset(Reason::Aborted),
        Kind::Pending,
        Kind::Listen,
        Kind::Listening,
        Kind::Unlisten(Reason::Busy),
    ]);
    let names = (0..3_u16, 0..10_u16);
    let numbers = (number(1_001), number(first.wrapping_add(1)));
    let sizes = (any::<u32>(), any::<u16>(), 0..4_u8, any::<bool>());
    (kind, names, numbers, sizes).prop_map(move |(kind, names, numbers, sizes)| {
        Packet::Control(Control {
            profile,
            kind,
            lean: sizes.3,
            connection: if names.0 == 0 { own } else { Cid(names.0 - 1) },
            reverse: Cid(names.1),
            sequence: numbers.0 & mask(profile),
            acknowledgment: numbers.1 & mask(profile),
            buffer: sizes.0 & mask(profile),
            packet: sizes.1,
            shift: if profile == Profile::Wide { sizes.2 } else { 0 },
            addresses: Addresses::new(address(1, 80), address(sizes.2, 9)).expect("one family"),
        })
    })
}

fn input(config: &Config) -> impl Strategy<Value = Input<Count>> + use<> {
    let (profile, named) = (config.profile, named(config));
    let id = prop_oneof![
        4 => Just(ConnectionId::Opened(1)),
        1 => (0..4_u64).prop_map(ConnectionId::Arrived),
    ];
    let driver = (id, 0..8_u8, any::<u16>()).prop_map(|(id, what, count)| match what {
        0 => Input::Accept(id),
        1 => Input::Refuse(id, Reason::Refused),
        2..=4 => Input::Write(id, Count(count.into())),
        5 => Input::Read(id, count.into()),
        6 => Input::Close(id),
        _ if count > 60_000 => Input::Abort(id, Reason::Aborted),
        _ => Input::Room(count.into()),
    });
    prop_oneof![
        8 => data(profile, named).prop_map(Input::Packet),
        4 => control(profile, named).prop_map(Input::Packet),
        6 => driver,
        1 => Just(Input::Damaged),
    ]
}

fn configs() -> impl Strategy<Value = Config> {
    (any::<u64>(), any::<bool>(), any::<bool>()).prop_map(|(seed, is_wide, lean)| {
        let profile = if is_wide {
            Profile::Wide
        } else {
            Profile::Paper
        };
        drawn(
            &mut RandomStream::named(seed, "configuration"),
            profile,
            lean,
        )
    })
}

fn tape() -> impl Strategy<Value = (Config, Vec<(Duration, Input<Count>)>)> {
    configs().prop_flat_map(|config| {
        let step = (0..700_u64, input(&config))
            .prop_map(|(wait, input)| (Duration::from_millis(wait), input));
        (Just(config), prop::collection::vec(step, 0..60))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn nothing_that_arrives_makes_it_panic_or_talk_without_end((config, tape) in tape()) {
        let mut endpoint = opened(&config);
        let mut now = Instant::ZERO;
        for (wait, input) in tape {
            now += wait;
            endpoint.handle_timeout(now);
            endpoint.handle_input(now, input);
            // At most a window of packets, and the outputs that come with it.
            let outputs = std::iter::from_fn(|| endpoint.poll_output()).take(2_000).count();
            prop_assert!(outputs < 2_000);
            prop_assert!(endpoint.poll_timeout().is_none_or(|due| due >= now));
        }
    }

    #[test]
    fn the_contract_holds((config, tape) in tape()) {
        conformance::check(|| opened(&config), &tape, Duration::from_secs(60));
    }
}

#[test]
fn many_connections_share_a_hop() {
    let mut pipe = Pipe::new(&paper(), &paper());
    let mut random = RandomStream::named(2, "many");
    pipe.lose_where(move |_, _, _| random.below(20) == 0);
    for number in 0..1_000 {
        pipe.open(GATEWAY, number);
        pipe.write(GATEWAY, ConnectionId::Opened(number), 0..700);
        pipe.input(GATEWAY, Input::Close(ConnectionId::Opened(number)));
    }
    pipe.run(Duration::from_secs(60));
    let whole = pipe.told[MOBILE].values().filter(|told| told.finished);
    assert_eq!(
        whole
            .filter(|told| told.received == content(0, 700))
            .count(),
        1_000
    );
}
