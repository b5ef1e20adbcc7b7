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
