//! Packets that belong to no connection.

use mtcp::packet::{Cid, Control, Kind, Packet, Profile};
use units::Duration;

use super::pipe::{GATEWAY, Pipe, addresses, wide};

/// Returns the answer to a request that the end never made.
fn stray(number: u16) -> Control {
    Control {
        profile: Profile::Wide,
        kind: Kind::SynAck,
        lean: false,
        connection: Cid(number),
        reverse: Cid(number),
        sequence: number.into(),
        acknowledgment: 1,
        buffer: 16_384,
        packet: 1_500,
        shift: 0,
        addresses: addresses(),
    }
}

#[test]
fn a_flood_of_strays_gets_few_answers_and_later_ones_get_answers_again() {
    let mut pipe = Pipe::new(&wide(), &wide());
    let answered = |pipe: &mut Pipe| {
        let before = pipe.wire.log.len();
        for number in 1..=100 {
            pipe.inject(GATEWAY, &Packet::Control(stray(number)));
        }
        pipe.run(Duration::from_secs(2));
        pipe.wire.log.len() - before
    };
    let first = answered(&mut pipe);
    assert!((1..=64).contains(&first), "{first} answers to 100 strays");
    for _ in 0..5 {
        assert_eq!(answered(&mut pipe), first);
    }
}
