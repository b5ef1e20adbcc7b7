//! Tests of the splitter: it keeps the contract of a core, and connects to the destination before it accepts.

use std::net::SocketAddr;

use association::{Profile, Reason, StreamAddresses, StreamId, StreamNews, StreamRequest};
use bytes::Bytes as Buffer;
use machine::{Machine, conformance};
use redirector::{Chunks, Content};
use sockets::System;
use split::{
    Choice, Config, End, Found, Input, Mobile, Origin, Output, Scope, Side, SocketEvent,
    SocketRequest, Splitter, SystemEvent, SystemRequest,
};
use units::{Bytes, Duration, Instant};
use wire::flow::Ends;
use wire::ip::Transport;
use wire::packet::{Packet, PacketBuffer};
use wire::tcp::TcpFlags;

const MOBILE: &str = "10.9.0.2:5000";
const SERVER: &str = "192.0.2.1:80";

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn ends() -> Ends {
    Ends {
        source: address(MOBILE),
        destination: address(SERVER),
    }
}

fn splitter(end: End) -> Splitter<Chunks> {
    Splitter::new(Config {
        end,
        mobiles: vec![Mobile {
            peer: 3,
            networks: vec!["10.9.0.2/32".parse().expect("a network")],
            scope: Scope::Every,
        }],
        buffer: Bytes::kibi(64),
        connections: 8,
        idle: Duration::from_secs(7_440),
        accepts_at_once: false,
        secret: 1,
    })
}

fn began() -> Input<Chunks> {
    Input::StreamsBegan {
        peer: 3,
        profile: Profile::Wide,
        scope: Scope::Every,
    }
}

/// Returns the result of a splitter for the SYN of an application's connection.
fn request(splitter: &Splitter<Chunks>, origin: Origin) -> Option<Found> {
    let mut system = System::new([]);
    let syn = system.open(address(MOBILE), address(SERVER));
    splitter.examine(origin, &syn, |_| Choice::default())
}

/// Returns a connection of an application, from its request to the end of both directions.
fn script() -> Vec<(Duration, Input<Chunks>)> {
    let mut ready = splitter(End::Mobile);
    ready.handle_input(Instant::ZERO, began());
    let found = request(&ready, Origin::Host).expect("a request");
    let name = StreamId::Opened(0);
    let socket = split::SocketId {
        binding: split::BindingId(0),
        side: Side::Mobile,
    };
    let stream = |news| Input::Stream { peer: 3, news };
    let system = Input::System;
    let on_socket = |event| Input::System(SystemEvent::Socket(socket, event));
    let content = || Chunks::from(Buffer::from_static(b"content"));
    let located = SystemEvent::Located {
        number: 0,
        is_local: false,
    };
    let inputs = [
        began(),
        Input::Found(found.clone()),
        system(located),
        // The kernel repeats the request, since there is no answer yet.
        Input::Found(found),
        stream(StreamNews::Connected(name)),
        system(SystemEvent::Accepted(ends())),
        on_socket(SocketEvent::Writable(100_000)),
        stream(StreamNews::Writable(name, 100_000)),
        stream(StreamNews::Readable(name, 7)),
        stream(StreamNews::Data(name, content())),
        on_socket(SocketEvent::Readable(7)),
        on_socket(SocketEvent::Data(content())),
        stream(StreamNews::Finished(name)),
        on_socket(SocketEvent::Finished),
        on_socket(SocketEvent::Flushed),
        Input::StreamsEnded { peer: 3 },
    ];
    let delay = Duration::from_millis(30);
    inputs.into_iter().map(|input| (delay, input)).collect()
}

#[test]
fn it_keeps_the_contract_of_a_core() {
    let tail = Duration::from_secs(10_000);
    conformance::check(|| splitter(End::Mobile), &script(), tail);
    // A connection that neither side ends is reset when it was idle for long.
    conformance::check(|| splitter(End::Mobile), &script()[..12], tail);
}

#[test]
fn a_connection_is_let_in_when_the_other_host_has_answered_and_ends_whole() {
    let mut splitter = splitter(End::Mobile);
    let (mut let_in, mut written, mut read, mut last) = (Vec::new(), 0, 0, None);
    for (step, (_, input)) in script().into_iter().enumerate() {
        splitter.handle_input(Instant::ZERO, input);
        while let Some(output) = splitter.poll_output() {
            match &output {
                Output::ToHost(_) => let_in.push(step),
                Output::Stream {
                    request: StreamRequest::Write(_, content),
                    ..
                } => written += content.length(),
                Output::System(SystemRequest::Socket(_, SocketRequest::Write(content))) => {
                    read += content.length();
                }
                _ => {}
            }
            last = Some(output);
        }
    }
    assert_eq!(let_in, [4], "when the stream is connected, and once");
    assert_eq!((written, read), (7, 7));
    let released = |output| {
        matches!(
            output,
            Output::System(SystemRequest::Socket(_, SocketRequest::Release))
        )
    };
    assert!(last.is_some_and(released), "nothing is reset");
    let status = splitter.status();
    assert_eq!((status.counters.open, status.counters.finished), (0, 1));
}

#[test]
fn without_streams_a_mobile_host_leaves_connections_alone() {
    let splitter = splitter(End::Mobile);
    assert!(request(&splitter, Origin::Host).is_none());
}

#[test]
fn a_gateway_holds_what_comes_across_the_hop() {
    let splitter = splitter(End::Gateway { transparent: false });
    let found = request(&splitter, Origin::Hop).expect("a request");
    assert!(found.holds_packet());
    // Requests by fixed hosts through address translation are not handled.
    assert!(request(&splitter, Origin::Host).is_none());
}

/// A connection to an address of the gateway itself is forwarded as packets.
#[test]
fn what_is_local_goes_on() {
    let mut gateway = splitter(End::Gateway { transparent: false });
    let found = request(&gateway, Origin::Hop).expect("a request");
    gateway.handle_input(Instant::ZERO, Input::Found(found));
    let asked = gateway.poll_output();
    let locate = SystemRequest::Locate {
        number: 0,
        address: address(SERVER).ip(),
    };
    assert_eq!(asked, Some(Output::System(locate)));
    let located = SystemEvent::Located {
        number: 0,
        is_local: true,
    };
    gateway.handle_input(Instant::ZERO, Input::System(located));
    assert!(matches!(gateway.poll_output(), Some(Output::ToHost(_))));
    assert_eq!(gateway.status().counters.asked, 0);
}

/// The request of a connection may come a second time, late, from the queue of a former path.
#[test]
fn a_second_stream_with_the_same_ends_is_refused() {
    for end in [End::Mobile, End::Gateway { transparent: true }] {
        let mut splitter = splitter(end);
        splitter.handle_input(Instant::ZERO, began());
        let addresses = StreamAddresses::new(address(SERVER), address(MOBILE)).expect("one family");
        for number in 0..2 {
            let name = StreamId::Arrived(number);
            let news = StreamNews::Arrived(name, addresses);
            splitter.handle_input(Instant::ZERO, Input::Stream { peer: 3, news });
            let located = SystemEvent::Located {
                number,
                is_local: end == End::Mobile,
            };
            splitter.handle_input(Instant::ZERO, Input::System(located));
        }
        let mut refused = Vec::new();
        while let Some(output) = splitter.poll_output() {
            if let Output::Stream {
                request: StreamRequest::Refuse(name, reason),
                ..
            } = output
            {
                refused.push((name, reason));
            }
        }
        assert_eq!(refused, [(StreamId::Arrived(1), Reason::Busy)], "{end:?}");
    }
}

/// Returns a splitter of a gateway, to which a mobile host's stream for a fixed host's connection is open; and the ends
/// of that connection.
fn with_stream_to_a_mobile_host() -> (Splitter<Chunks>, Ends) {
    let mut gateway = splitter(End::Gateway { transparent: true });
    gateway.handle_input(Instant::ZERO, began());
    let mut system = System::new([]);
    let syn = system.open(address(SERVER), address(MOBILE));
    let found = gateway.examine(Origin::Host, &syn, |_| Choice::default());
    gateway.handle_input(Instant::ZERO, Input::Found(found.expect("a request")));
    let located = SystemEvent::Located {
        number: 0,
        is_local: false,
    };
    gateway.handle_input(Instant::ZERO, Input::System(located));
    while gateway.poll_output().is_some() {}
    let ends = Ends {
        source: address(SERVER),
        destination: address(MOBILE),
    };
    (gateway, ends)
}

/// Returns the splitter's answer to a segment of the mobile host from the hop, with this acknowledgement number.
fn answer(gateway: &mut Splitter<Chunks>, now: Instant, flags: TcpFlags) -> Option<Output<Chunks>> {
    let mut segment = vec![0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0];
    segment.extend([10, 9, 0, 2, 192, 0, 2, 1, 0x13, 0x88, 0, 80]);
    segment.extend([0, 0, 0, 7, 0, 0, 0, 9, 0x50, flags.0, 1, 0, 0, 0, 0, 0]);
    let packet = Packet::new(PacketBuffer::copy_of(&segment));
    let found = gateway.examine(Origin::Hop, &packet, |_| Choice::default())?;
    assert!(found.holds_packet());
    gateway.handle_input(now, Input::Found(found));
    gateway.poll_output()
}

fn resets(output: Option<Output<Chunks>>, ends: Ends) -> bool {
    let Some(Output::ToHop(packet)) = output else {
        return false;
    };
    let parsed = packet.ip().expect("a packet");
    let Transport::Tcp(tcp) = parsed.transport() else {
        return false;
    };
    assert_eq!((tcp.flags(), tcp.sequence_number().0), (TcpFlags::RST, 9));
    Ends::of(&parsed) == ends
}

/// The mobile host's former process was the other end of that connection for the application, and was killed.
#[test]
fn segments_of_a_connection_whose_stream_has_ended_are_answered_with_a_reset() {
    let (mut gateway, ends) = with_stream_to_a_mobile_host();
    let now = Instant::from_millis(5);
    assert!(
        resets(answer(&mut gateway, now, TcpFlags::ACK), ends),
        "still open"
    );
    gateway.handle_input(now, Input::StreamsEnded { peer: 3 });
    while gateway.poll_output().is_some() {}
    assert!(resets(answer(&mut gateway, now, TcpFlags::ACK), ends));
    let is_forwarded = |output| matches!(output, Some(Output::ToHost(_)));
    assert!(is_forwarded(answer(&mut gateway, now, TcpFlags::RST)));
    // Later nothing is left of it at the gateway, and the fixed host itself answers.
    let later = now + Duration::from_secs(240);
    assert!(is_forwarded(answer(&mut gateway, later, TcpFlags::ACK)));
    // A connection as packets, with the same ends.
    assert!(is_forwarded(answer(
        &mut gateway,
        now,
        TcpFlags::SYN | TcpFlags::ACK
    )));
    assert!(
        answer(&mut gateway, now, TcpFlags::ACK).is_none(),
        "a packet like any other"
    );
}

#[test]
fn a_new_connection_with_the_ends_of_a_former_one_is_not_reset() {
    let (mut gateway, _) = with_stream_to_a_mobile_host();
    gateway.handle_input(Instant::ZERO, Input::StreamsEnded { peer: 3 });
    let mut system = System::new([]);
    let syn = system.open(address(SERVER), address(MOBILE));
    let found = gateway.examine(Origin::Host, &syn, |_| Choice::default());
    gateway.handle_input(Instant::ZERO, Input::Found(found.expect("a request")));
    while gateway.poll_output().is_some() {}
    assert!(answer(&mut gateway, Instant::ZERO, TcpFlags::ACK).is_none());
}

fn connections(splitter: &Splitter<Chunks>) -> u64 {
    splitter.status().counters.open
}

/// Whatever stage it has reached, a connection of a mobile host that leaves ends on both sides.
#[test]
fn connections_of_a_mobile_host_that_leaves_are_reset() {
    let script = script();
    for steps in 1..script.len() {
        let mut splitter = splitter(End::Mobile);
        let (mut sockets, mut ended) = (0, 0);
        let left = Input::MobileLeft { peer: 3 };
        // What was on its way concerns nobody.
        let late = script[steps..].iter().map(|(_, input)| input.clone());
        let before = script[..steps].iter().map(|(_, input)| input.clone());
        for input in before.chain([left]).chain(late) {
            splitter.handle_input(Instant::ZERO, input);
            while let Some(output) = splitter.poll_output() {
                match output {
                    Output::System(SystemRequest::Adopt(..)) => sockets += 1,
                    Output::System(SystemRequest::Socket(
                        _,
                        SocketRequest::Reset | SocketRequest::Release,
                    )) => ended += 1,
                    _ => {}
                }
            }
        }
        assert_eq!(
            (connections(&splitter), sockets),
            (0, ended),
            "after {steps} steps"
        );
        assert!(request(&splitter, Origin::Host).is_none());
        assert!(!splitter.serves(ends().source.ip()));
        assert_eq!(splitter.poll_timeout(), None, "after {steps} steps");
    }
}

#[test]
fn connections_of_a_mobile_host_are_split_once_it_has_joined() {
    let transparent = true;
    let mut splitter = splitter(End::Gateway { transparent });
    splitter.handle_input(Instant::ZERO, Input::MobileLeft { peer: 3 });
    assert!(request(&splitter, Origin::Hop).is_none());
    let mobile = |network: &str| Mobile {
        peer: 4,
        networks: vec![network.parse().expect("a network")],
        scope: Scope::Every,
    };
    for (network, is_split) in [("10.9.0.2/32", true), ("10.9.0.3/32", false)] {
        splitter.handle_input(Instant::ZERO, Input::MobileJoined(mobile(network)));
        assert_eq!(
            request(&splitter, Origin::Hop).is_some(),
            is_split,
            "{network}"
        );
    }
}
