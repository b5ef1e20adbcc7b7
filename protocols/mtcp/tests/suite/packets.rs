//! Tests of packets: the document's vectors, round trips, and no panic on any bytes.

use mtcp::Reason;
use mtcp::packet::{
    Addresses, Cid, Control, Data, Flags, Hole, Holes, Kind, Malformed, Packet, Profile,
};
use proptest::prelude::*;
use redirector::Chunks;

fn syn(profile: Profile) -> Control {
    Control {
        profile,
        kind: Kind::Syn,
        lean: false,
        connection: Cid::NONE,
        reverse: Cid(0x1234),
        sequence: 1_000,
        acknowledgment: 0,
        buffer: 16_384,
        packet: 1_500,
        shift: 0,
        addresses: Addresses::new(([192, 0, 2, 1], 80).into(), ([10, 9, 0, 2], 40_000).into())
            .expect("one family"),
    }
}

fn wide_syn() -> Control {
    Control {
        sequence: 100_000,
        buffer: 4 << 20,
        ..syn(Profile::Wide)
    }
}

fn v6() -> Addresses {
    let host = |last| [0x2001, 0xdb8, 0, 0, 0, 0, 0, last];
    Addresses::new((host(1), 80).into(), (host(2), 40_000).into()).expect("one family")
}

fn data(profile: Profile, content: &'static [u8]) -> Data<Chunks> {
    Data {
        profile,
        flags: Flags::default(),
        connection: Cid(0x5678),
        sequence: 1_001,
        acknowledgment: 2_001,
        window: 16_384,
        negative: 0,
        further: Holes::default(),
        cycle: 0,
        reply: 0,
        content: Chunks::from(bytes::Bytes::from_static(content)),
    }
}

/// Returns the packets of the document, in its order.
fn packets() -> Vec<Packet<Chunks>> {
    let controls = controls().into_iter().map(Packet::Control);
    controls
        .chain(datas().into_iter().map(Packet::Data))
        .collect()
}

fn controls() -> [Control; 6] {
    let paper = syn(Profile::Paper);
    [
        paper,
        Control {
            kind: Kind::SynAck,
            connection: Cid(0x1234),
            reverse: Cid(0x5678),
            sequence: 2_000,
            acknowledgment: 1_001,
            ..paper
        },
        Control {
            kind: Kind::Reset(Reason::Refused),
            connection: Cid(0x1234),
            reverse: Cid(0x5678),
            sequence: 2_001,
            acknowledgment: 1_001,
            ..paper
        },
        Control {
            kind: Kind::Listen,
            lean: true,
            reverse: Cid::NONE,
            sequence: 0,
            addresses: Addresses::listening(([10, 9, 0, 2], 22).into()),
            ..paper
        },
        wide_syn(),
        Control {
            addresses: v6(),
            ..wide_syn()
        },
    ]
}

fn datas() -> [Data<Chunks>; 5] {
    let mut further = Holes::default();
    further.push(Hole {
        offset: 14_600,
        length: 2_920,
    });
    let request = Flags {
        request: true,
        ..Flags::default()
    };
    [
        Data {
            cycle: 1,
            ..data(Profile::Paper, b"abc")
        },
        Data {
            flags: request,
            negative: 2_920,
            cycle: 1,
            reply: 1,
            ..data(Profile::Paper, b"")
        },
        Data {
            flags: Flags {
                fin: true,
                poll: true,
                ..Flags::default()
            },
            ..data(Profile::Paper, b"z")
        },
        Data {
            sequence: 100_001,
            cycle: 7,
            reply: 9,
            ..data(Profile::Wide, b"abc")
        },
        Data {
            flags: request,
            acknowledgment: 5_000,
            negative: 1_460,
            further,
            cycle: 8,
            reply: 12,
            ..data(Profile::Wide, b"")
        },
    ]
}

fn encode(packet: &Packet<Chunks>) -> Vec<u8> {
    let mut bytes = vec![0; packet.length()];
    packet.write(&mut bytes, |content, out| {
        let chunks: Vec<&[u8]> = content.iter().map(AsRef::as_ref).collect();
        out.copy_from_slice(&chunks.concat());
    });
    bytes
}

fn owned(bytes: &[u8]) -> Chunks {
    Chunks::from(bytes::Bytes::copy_from_slice(bytes))
}

fn hex(bytes: &[u8]) -> String {
    let word = |word: &[u8]| match word {
        [high, low] => format!("{high:02x}{low:02x}"),
        rest => format!("{:02x}", rest[0]),
    };
    bytes.chunks(2).map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_documents_vectors_hold() {
    let document = include_str!("../../../../docs/mtcp-packet.md");
    let vectors: Vec<&str> = document
        .lines()
        .filter(|line| line.starts_with("| paper, ") || line.starts_with("| wide, "))
        .filter_map(|line| line.split('`').nth(1))
        .collect();
    let written: Vec<String> = packets()
        .iter()
        .map(|packet| hex(&encode(packet)))
        .collect();
    assert_eq!(written, vectors);
}

#[test]
fn what_is_written_is_read() {
    for packet in packets() {
        let mut bytes = encode(&packet);
        // The padding of a short Ethernet frame.
        bytes.extend([0; 18]);
        assert_eq!(
            Packet::parse(&bytes).map(|found| found.map(owned)),
            Ok(packet)
        );
    }
}

#[test]
fn the_formats_have_the_papers_sizes() {
    let lengths: Vec<usize> = packets().iter().map(Packet::length).collect();
    assert_eq!(lengths, [28, 28, 28, 28, 36, 60, 19, 16, 17, 31, 36]);
}

/// Returns the same packet with another byte, and a matching checksum.
fn changed(packet: &Packet<Chunks>, place: usize, byte: u8) -> Vec<u8> {
    let mut bytes = encode(packet);
    bytes[place] = byte;
    let checksum_at = match packet {
        Packet::Control(control) if control.profile == Profile::Paper => 10,
        Packet::Control(_)
        | Packet::Data(Data {
            profile: Profile::Paper,
            ..
        }) => 14,
        Packet::Data(_) => 24,
    };
    bytes[checksum_at..checksum_at + 2].fill(0);
    let checksum = wire::checksum::Sum::of(&bytes).checksum();
    bytes[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

#[test]
fn says_what_is_wrong_and_where() {
    let packets = packets();
    let text = |bytes: &[u8]| {
        Packet::parse(bytes)
            .expect_err("it is malformed")
            .to_string()
    };
    assert_eq!(text(&[0]), "MTCP code bits: 1 bytes where it needs 2");
    let whole = encode(&packets[0]);
    assert_eq!(
        text(&whole[..27]),
        "MTCP control packet: 27 bytes where it needs 28"
    );
    let with_data = encode(&packets[6]);
    assert_eq!(
        text(&with_data[..18]),
        "MTCP content of the data packet: 18 bytes where it needs 19"
    );
    let mut damaged = with_data.clone();
    damaged[17] ^= 4;
    assert_eq!(
        text(&damaged),
        "MTCP content of the data packet: the checksum is wrong; it was damaged on its way"
    );
    assert!(
        text(&changed(&packets[0], 1, 0x11)).contains("0x0011"),
        "a reason without need"
    );
    assert!(
        text(&changed(&packets[0], 0, 0x02)).contains("0x0201"),
        "an unknown bit"
    );
    assert!(
        text(&changed(&packets[6], 0, 0x90)).contains("0x9001"),
        "an unknown bit"
    );
    assert!(text(&changed(&packets[4], 23, 5)).contains("address family 5"));
    assert!(text(&changed(&packets[4], 22, 11)).contains("window shift of 11"));
    let nameless = {
        let Packet::Data(data) = packets[6].clone() else {
            panic!("data")
        };
        Packet::Data(Data {
            connection: Cid::NONE,
            ..data
        })
    };
    assert!(text(&encode(&nameless)).contains("connection ID at offset 2 is zero"));
    assert_eq!(
        Packet::parse(&changed(&packets[10], 26, 8)),
        Err(Malformed::Holes(8))
    );
    assert_eq!(
        Packet::parse(&changed(&packets[10], 27, 1)),
        Err(Malformed::Reserved(1))
    );
}

fn control() -> impl Strategy<Value = Control> {
    let kind = prop_oneof![
        Just(Kind::Syn),
        Just(Kind::SynAck),
        prop::sample::select(Reason::ALL.to_vec()).prop_map(Kind::Reset),
        Just(Kind::Pending),
        Just(Kind::Listen),
        Just(Kind::Listening),
        prop::sample::select(Reason::ALL.to_vec()).prop_map(Kind::Unlisten),
    ];
    let numbers = any::<(u32, u32, u32, u16)>();
    let switches = any::<(bool, bool, bool)>();
    (kind, numbers, switches, any::<(u16, u16)>()).prop_map(|(kind, numbers, switches, names)| {
        let profile = if switches.0 {
            Profile::Wide
        } else {
            Profile::Paper
        };
        let mask = u32::MAX >> (32 - profile.sequence_bits());
        let (sequence, acknowledgment, buffer, packet) = numbers;
        let addresses = if switches.0 && switches.1 {
            v6()
        } else {
            syn(profile).addresses
        };
        Control {
            profile,
            kind,
            lean: switches.2,
            connection: Cid(names.0),
            reverse: Cid(names.1),
            sequence: sequence & mask,
            acknowledgment: acknowledgment & mask,
            buffer: buffer & mask,
            packet,
            shift: if switches.0 { (names.0 % 11) as u8 } else { 0 },
            addresses,
        }
    })
}

proptest! {
    #[test]
    fn control_packets_round_trip(control in control()) {
        let packet = Packet::Control(control);
        let bytes = encode(&packet);
        prop_assert_eq!(Packet::parse(&bytes).map(|found| found.map(owned)), Ok(packet));
    }

    #[test]
    fn damage_of_up_to_sixteen_bits_in_a_row_is_seen(
        which in 0..11_usize,
        place: prop::sample::Index,
        damage in 1..=0xffff_u16,
    ) {
        let mut bytes = encode(&packets()[which]);
        let place = place.index(bytes.len() - 1);
        let word = u16::from_be_bytes([bytes[place], bytes[place + 1]]);
        // One's complement has two zeros: a word that turns from one to the other is the same to the sum.
        prop_assume!((word ^ damage == 0xffff || word ^ damage == 0) == (word == 0xffff || word == 0));
        bytes[place..place + 2].copy_from_slice(&(word ^ damage).to_be_bytes());
        if let Ok(found) = Packet::parse(&bytes) {
            // A changed length may end the packet elsewhere, with a sum that matches by chance.
            prop_assert_ne!(found.map(owned).length(), packets()[which].length());
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        if let Ok(packet) = Packet::parse(&bytes) {
            let packet = packet.map(owned);
            let again = encode(&packet);
            prop_assert_eq!(&bytes[..again.len()], &again[..]);
        }
    }
}
