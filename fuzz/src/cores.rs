//! Cores that receive bytes from a peer.

use std::fmt::Debug;
use std::net::SocketAddr;

use arq::{Arq, Config};
use hosts::{Host, Membership, Peer, ResolverTerms, Role};
use machine::{Machine, RandomStream};
use session::{
    DATA_HEADER_BYTES, DATA_OVERHEAD_BYTES, Endpoint, Entropy, Limits, Output, PeerConfig, PeerId,
    PrivateKey, Received,
};
use units::{Bytes, Duration, Instant};
use wire::address::HopAddress;
use wire::flow::{Class, FlowKey};
use wire::hop::Frame;
use wire::ip::Ecn;
use wire::ip::Protocol;
use wire::packet::{Packet, PacketBuffer};

use crate::outcome::note;

pub(crate) fn entropy(name: &str) -> Box<dyn Entropy> {
    let mut stream = RandomStream::named(1, name);
    Box::new(move |buffer: &mut [u8]| stream.fill(buffer))
}

pub(crate) fn key(name: &str) -> PrivateKey {
    PrivateKey::generate(&mut *entropy(name))
}

/// Handles the timeouts that are due within `span`, up to a limit.
fn run<M: Machine<Output: Debug>>(machine: &mut M, now: &mut Instant, span: Duration) {
    let end = *now + span;
    for _ in 0..100 {
        while let Some(output) = machine.poll_output() {
            note(&output);
        }
        let Some(due) = machine.poll_timeout().filter(|due| *due <= end) else {
            break;
        };
        *now = due.max(*now);
        machine.handle_timeout(*now);
    }
    while machine.poll_output().is_some() {}
    *now = end.max(*now);
}

/// Runs packets, grants, waits and frames, in any order; a frame may be any bytes.
pub fn arq_tape(bytes: &[u8]) {
    let mut arq = Arq::new(Config::new(1_400, 60));
    let mut now = Instant::from_millis(1);
    for piece in crate::pieces(bytes) {
        let Some((kind, rest)) = piece.split_first() else {
            continue;
        };
        let number = rest.first().copied().unwrap_or_default();
        match kind % 8 {
            0 => run(
                &mut arq,
                &mut now,
                Duration::from_millis(u64::from(number) * 9),
            ),
            1 => arq.handle_input(
                now,
                arq::Input::AirFree(Bytes::new(u64::from(number) * 100)),
            ),
            kind @ (2 | 3) => {
                let flow = FlowKey {
                    protocol: Protocol::TCP,
                    source: [10, 0, 0, 1].into(),
                    destination: [10, 0, 0, 2].into(),
                    source_port: 1,
                    destination_port: u16::from(number),
                };
                let packet = Packet::new(PacketBuffer::copy_of(rest));
                let class = if kind == 2 { Class::Held } else { Class::Brief };
                let key = flow;
                arq.handle_input(now, arq::Input::Packet { packet, key, class });
            }
            _ => {
                // The version and the beginning of a number, so that most frames are valid.
                let mut frame = vec![0x10, 0, 0, 0];
                frame.extend(rest);
                let frame = PacketBuffer::copy_of(&frame);
                arq.handle_input(
                    now,
                    arq::Input::Frame {
                        arrived: now,
                        frame,
                        ecn: Ecn::CongestionExperienced,
                    },
                );
            }
        }
        while let Some(output) = arq.poll_output() {
            note(&output);
            if let arq::Output::Frame { frame, .. } = output {
                let frame = Frame::parse(&frame).expect("it sends frames");
                frame.chunks().for_each(|chunk| note(&chunk));
            }
        }
        run(&mut arq, &mut now, Duration::ZERO);
    }
    run(&mut arq, &mut now, Duration::from_secs(5));
    assert!(arq.held() <= Bytes::mebi(16));
}

/// Creates an endpoint with one known peer; `initiates` is true for the initiator.
fn endpoint(names: [&str; 2], initiates: bool) -> (Endpoint, PeerId) {
    let config = session::Config {
        private_key: key(names[0]),
        wall_clock_at_origin: 1_800_000_000_000_000_000,
        limits: Limits::default(),
    };
    let mut endpoint = Endpoint::new(config, entropy(&format!("{} draws", names[0])));
    let peer = PeerConfig {
        public_key: key(names[1]).public_key(),
        preshared_key: None,
        role: if initiates {
            session::Role::Initiator
        } else {
            session::Role::Responder
        },
        features: 0,
    };
    let id = endpoint.add_peer(peer).expect("the keys differ");
    (endpoint, id)
}

/// Exchanges handshake messages in both directions until there are none.
fn connect(ends: &mut [Endpoint; 2], now: Instant) {
    for round in 0..8 {
        while let Some(output) = ends[round % 2].poll_output() {
            if let Output::Transmit { mut datagram, .. } = output {
                ends[1 - round % 2].handle_datagram(now, &mut datagram);
            }
        }
    }
}

/// Returns a host whose initiation is in flight, and the cookie reply of a gateway under load.
fn asking(now: Instant) -> (Endpoint, Vec<u8>) {
    let (mut asking, peer) = endpoint(["tablet", "busy"], true);
    asking.connect(now, peer).expect("an initiator");
    let limits = Limits {
        handshake_burst: 0,
        ..Limits::default()
    };
    let config = session::Config {
        private_key: key("busy"),
        wall_clock_at_origin: 1,
        limits,
    };
    let mut busy = Endpoint::new(config, entropy("busy draws"));
    let Some(Output::Transmit { mut datagram, .. }) = asking.poll_output() else {
        panic!("no initiation");
    };
    let from = HopAddress::Udp(([192, 0, 2, 1], 9).into());
    match busy.handle_datagram_from(now, Some(from), &mut datagram) {
        Received::Reply(reply) => (asking, reply.to_vec()),
        other => panic!("{other:?}"),
    }
}

/// Runs a session on datagrams of strangers, and genuine ones that were changed in transit; each piece chooses.
pub fn session_datagrams(bytes: &[u8]) {
    let now = Instant::from_millis(1);
    let (mobile, gateway) = (
        endpoint(["mobile", "gateway"], true),
        endpoint(["gateway", "mobile"], false),
    );
    let peer = mobile.1;
    let mut ends = [mobile.0, gateway.0];
    ends[0].connect(now, peer).expect("an initiator");
    connect(&mut ends, now);
    let (mut asking, reply) = asking(now);
    for piece in crate::pieces(bytes) {
        let mut foreign = piece.to_vec();
        note(&ends[1].handle_datagram(now, &mut foreign));
        let mut genuine = vec![7; DATA_HEADER_BYTES + 40 + DATA_OVERHEAD_BYTES];
        ends[0]
            .seal(now, peer, &mut genuine)
            .expect("there are keys");
        let mut changed = genuine.clone();
        changed
            .iter_mut()
            .zip(piece)
            .for_each(|(byte, bits)| *byte ^= bits);
        let changes = changed != genuine;
        let received = ends[1].handle_datagram(now, &mut changed);
        note(&received);
        let opened = matches!(received, Received::Data { .. });
        assert!(!(opened && changes), "a changed datagram was opened");
        let mut goodbye = vec![1; 1 + DATA_OVERHEAD_BYTES];
        ends[0]
            .seal(now, peer, &mut goodbye)
            .expect("there are keys");
        goodbye
            .iter_mut()
            .zip(piece)
            .for_each(|(byte, bits)| *byte ^= bits);
        let mut cookie = reply.clone();
        cookie
            .iter_mut()
            .zip(piece)
            .for_each(|(byte, bits)| *byte ^= bits);
        let changes = cookie != reply;
        let received = asking.handle_datagram(now, &mut cookie);
        note(&received);
        assert!(changes || received == Received::CookieReply, "{received:?}");
        assert!(
            !changes || received != Received::CookieReply,
            "a changed cookie"
        );
        let touched = piece.iter().take(goodbye.len()).any(|bits| *bits != 0);
        if touched {
            note(&ends[1].handle_datagram(now, &mut goodbye));
        }
    }
    let known = ends[1].expires_at(gateway.1);
    assert!(known.is_some(), "a changed goodbye ended the session");
    while ends[1].poll_output().is_some() {}
}

/// Sends datagrams and packets to a gateway without connected hosts, which must stay silent.
pub fn host_datagrams(bytes: &[u8]) {
    let peer = Peer {
        name: "mobile".into(),
        public: key("mobile").public_key(),
        preshared: None,
        endpoint: None,
        prefixes: vec![([10, 9, 0, 2].into(), 32)],
        tcp: hosts::TcpTerms::Follow,
        split: hosts::SplitTerms::Never,
        caps: hosts::Caps::default(),
        resolver: ResolverTerms::Silent,
        tls_port: None,
        membership: Membership::default(),
        weight: 1,
    };
    let config = hosts::Config {
        role: Role::Gateway,
        key: key("gateway"),
        peers: vec![peer],
        bearer_mtu: hosts::BearerMtu::up_to(1_500),
        mobile: hosts::MobileTerms::default(),
        exits: hosts::GuestExits::None,
        shared_air: None,
        rate: None,
        snoop_cache: Bytes::mebi(1),
        memory: None,
        streams: None,
        split: None,
    };
    let mut host = Host::new(config, entropy("gateway draws")).expect("a host");
    let mut now = Instant::from_millis(1);
    for (place, piece) in crate::pieces(bytes).enumerate() {
        let buffer = PacketBuffer::copy_of(piece);
        let input = if place % 2 == 0 {
            hosts::Input::Datagram {
                from: SocketAddr::from(([203, 0, 113, 1], 9)).into(),
                arrived: now,
                ecn: Ecn::NotCapable,
                buffer,
            }
        } else {
            hosts::Input::Packet(Packet::new(buffer))
        };
        host.handle_input(now, input);
        while let Some(output) = host.poll_output() {
            note(&output);
            let answers = matches!(output, hosts::Output::Datagram { .. });
            assert!(!answers || place % 2 == 1, "a stranger got an answer");
        }
        now += Duration::from_millis(1);
    }
    run(&mut host, &mut now, Duration::from_secs(1));
    let dropped = host.status(now).datagrams_dropped;
    for (cause, _) in &dropped {
        note(cause);
    }
}
