//! An association keeps the contract of a core.

use arq::Config;
use association::{
    Association, Input, Output, Profile, StreamAddresses, StreamConfig, StreamId, StreamRequest,
    TcpConfig, TcpMethod,
};
use machine::{Machine, RandomStream, conformance};
use simulator::testing::{Clock, Next};
use units::{Bytes, Duration, Instant};
use wire::packet::{Packet, PacketBuffer};

const DELAY: Duration = Duration::from_millis(15);
/// Nothing is recorded later.
const END: Instant = Instant::from_nanos(3_000_000_000 - 1);

fn association(end: usize) -> Association {
    let tcp = TcpConfig {
        method: TcpMethod::Snoop,
        at_gateway: end == 1,
        cache: Bytes::mebi(1),
    };
    let streams = StreamConfig {
        profile: Profile::Wide,
        receive_buffer: None,
        connections: 4,
        lean: false,
        random: RandomStream::named(end as u64, "names"),
    };
    let association = Association::new(Config::new(1_400, 60), None, &tcp);
    association.with_streams(streams).expect("a configuration")
}

/// A datagram of UDP over IPv4 from one end's address.
fn packet(end: usize) -> Packet {
    let mut bytes = vec![0x45, 0, 4, 0, 0, 0, 0x40, 0, 64, 17, 0, 0];
    let ends = [[10, 9, 0, 2], [192, 0, 2, 1]];
    bytes.extend(ends[end]);
    bytes.extend(ends[1 - end]);
    bytes.extend([0x9c, 0x40, 0, 80, 3, 0xec, 0, 0]);
    bytes.resize(1_024, 7);
    Packet::new(PacketBuffer::copy_of(&bytes))
}

/// Returns what both ends are given: packets of both, a stream, and a time in which `unlinked` has no link.
fn usual(unlinked: usize) -> Clock<(usize, Input)> {
    let mut given = Clock::new(Instant::ZERO);
    for step in 0..300_u64 {
        let end = step as usize % 2;
        given.add(moment(step * 5), (end, Input::Packet(packet(end))));
    }
    let address = |text: &str| text.parse().expect("an address");
    let addresses = StreamAddresses::new(address("192.0.2.1:80"), address("10.9.0.2:5000"));
    let addresses = addresses.expect("one family");
    let open = StreamRequest::Open {
        number: 1,
        addresses,
    };
    given.add(moment(100), (0, Input::Streams(open)));
    let close = StreamRequest::Close(StreamId::Opened(1));
    given.add(moment(500), (0, Input::Streams(close)));
    given.add(moment(700), (unlinked, Input::Link(false)));
    given.add(moment(900), (unlinked, Input::Link(true)));
    given
}

fn moment(milliseconds: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(milliseconds)
}

/// Returns what one end is given in a run of both, with the delay before each; each tenth frame is lost.
fn recorded(recorded: usize) -> Vec<(Duration, Input)> {
    let mut ends = [association(0), association(1)];
    let mut given = usual(recorded);
    let (mut script, mut last, mut frames) = (Vec::new(), Instant::ZERO, 0);
    loop {
        let deadlines = ends.iter().filter_map(Machine::poll_timeout);
        let next = given.advance(END, deadlines.min());
        let now = given.now;
        match next {
            Next::Event((end, input)) => {
                if end == recorded {
                    script.push((now.since(last), input.clone()));
                    last = now;
                }
                ends[end].handle_input(now, input);
            }
            Next::Deadline => ends.iter_mut().for_each(|end| end.handle_timeout(now)),
            Next::End => return script,
        }
        for end in [0, 1] {
            while let Some(output) = ends[end].poll_output() {
                frames += 1;
                if let Output::Frame { frame, ecn } = output
                    && frames % 10 > 0
                {
                    let arrived = now + DELAY;
                    let frame = Input::Frame {
                        arrived,
                        frame,
                        ecn,
                    };
                    given.add(arrived, (1 - end, frame));
                }
            }
        }
    }
}

#[test]
fn it_keeps_the_contract_of_a_core() {
    for end in [0, 1] {
        let script = recorded(end);
        let frames = script
            .iter()
            .filter(|(_, input)| matches!(input, Input::Frame { .. }));
        assert!(frames.count() > 50);
        conformance::check(|| association(end), &script, Duration::from_secs(60));
    }
}
