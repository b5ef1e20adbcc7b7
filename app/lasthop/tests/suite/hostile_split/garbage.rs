//! What no mobile host says.

use std::net::SocketAddr;
use std::time::Duration;

use machine::RandomStream;
use mtcp::packet::{Cid, Control, Data, Flags, Kind};
use mtcp::{Packet, Reason};

use super::intruder::{Intruder, bytes};

/// Says all of it; `target` is a fixed host that sends without end.
pub(crate) fn send_all(intruder: &mut Intruder, target: SocketAddr) {
    let mut random = RandomStream::named(6, "garbage");
    damaged(intruder, &mut random, target);
    foreign(intruder, target);
    guessed(intruder);
    greedy(intruder, target);
    half_open(intruder, target, 0);
}

/// Packets that nobody can read: noise, those that are cut off, and those with a wrong checksum.
fn damaged(intruder: &mut Intruder, random: &mut RandomStream, target: SocketAddr) {
    let good = intruder.syn(1, 5_000, target);
    let noise = (0..2_000).map(|_| {
        let mut packet = vec![0; 1 + random.below(200) as usize];
        random.fill(&mut packet);
        packet
    });
    let noise: Vec<_> = noise.collect();
    intruder.send(noise);
    intruder.send((1..good.len()).map(|length| good[..length].to_vec()));
    let wrong = (0..good.len() * 8).map(|bit| {
        let mut packet = good.clone();
        packet[bit / 8] ^= 1 << (bit % 8);
        packet
    });
    let wrong: Vec<_> = wrong.collect();
    intruder.send(wrong);
}

/// In the name of the other mobile host, and as if it listened at hundreds of addresses.
fn foreign(intruder: &mut Intruder, target: SocketAddr) {
    let source = "10.73.0.2:5000".parse().unwrap();
    let syn = intruder.syn_from(60_000, source, target);
    intruder.send([syn]);
    let listens = (1..2_000).map(|port| {
        let here = SocketAddr::from(([10, 73, 0, 9], port));
        bytes(&Packet::Control(Control {
            kind: Kind::Listen,
            addresses: mtcp::Addresses::new(here, here).unwrap(),
            ..intruder.control(Cid::NONE)
        }))
    });
    let listens: Vec<_> = listens.collect();
    intruder.send(listens);
    intruder.listen(Duration::from_millis(50));
    let reasons = intruder.answers().into_iter().map(|answer| answer.kind);
    assert!(
        reasons
            .into_iter()
            .any(|kind| kind == Kind::Unlisten(Reason::Refused))
    );
}

/// All names that connections can have, once with data that ask for an answer, and once with resets. What comes back is
/// less than what was sent.
fn guessed(intruder: &mut Intruder) {
    intruder.bytes = [0; 2];
    let polls = (1..=u16::MAX).map(|name| {
        bytes(&Packet::Data(Data {
            flags: Flags {
                poll: true,
                request: true,
                ..Flags::default()
            },
            ..intruder.data(Cid(name), vec![7])
        }))
    });
    let polls: Vec<_> = polls.collect();
    intruder.send(polls);
    let resets = (1..=u16::MAX).map(|name| {
        bytes(&Packet::Control(Control {
            kind: Kind::Reset(Reason::Aborted),
            ..intruder.control(Cid(name))
        }))
    });
    let resets: Vec<_> = resets.collect();
    intruder.send(resets);
    intruder.listen(Duration::from_millis(50));
    let [sent, came] = intruder.bytes;
    assert!(came * 4 < sent, "{came} bytes came of {sent}");
}

/// On a connection that stands: what is beyond the window, acknowledgements of what was never sent, resets with wrong
/// numbers, and requests for everything again and again.
fn greedy(intruder: &mut Intruder, target: SocketAddr) {
    let answer = intruder.ask(&[target])[0].unwrap();
    assert_eq!(answer.kind, Kind::SynAck);
    let (name, next) = (answer.reverse, answer.sequence.wrapping_add(1));
    let data = |intruder: &Intruder, content| Data {
        acknowledgment: next,
        ..intruder.data(name, content)
    };
    // Nothing was sent yet.
    let impossible = Data {
        acknowledgment: next.wrapping_add(0x2000_7000),
        ..data(intruder, Vec::new())
    };
    let first = intruder.first(&answer);
    intruder.send([bytes(&Packet::Data(impossible)), first]);
    intruder.listen(Duration::from_millis(50));
    let beyond = Data {
        sequence: 1_001 + 32_700,
        ..data(intruder, vec![7; 100])
    };
    let reset = Control {
        kind: Kind::Reset(Reason::Aborted),
        sequence: 1_000_000_000,
        ..intruder.control(name)
    };
    intruder.send([Packet::Data(beyond), Packet::Control(reset)].map(|packet| bytes(&packet)));
    for reply in 0..2_000 {
        let request = Data {
            flags: Flags {
                request: true,
                poll: true,
                ..Flags::default()
            },
            negative: 30_000,
            reply,
            cycle: reply,
            ..data(intruder, Vec::new())
        };
        intruder.send([bytes(&Packet::Data(request))]);
    }
    intruder.listen(Duration::from_millis(50));
}

/// More connections than there may be, none of which it goes on with.
pub(crate) fn half_open(intruder: &mut Intruder, target: SocketAddr, round: u16) {
    let nobody = SocketAddr::from(([198, 18, 0, 1], target.port()));
    let first = round * 6_000;
    let asked = (first + 1..first + 6_000).map(|name| {
        intruder.syn(
            10_000 + name,
            name,
            if name % 2 == 0 { nobody } else { target },
        )
    });
    let asked: Vec<_> = asked.collect();
    intruder.send(asked);
    intruder.listen(Duration::from_millis(100));
}
