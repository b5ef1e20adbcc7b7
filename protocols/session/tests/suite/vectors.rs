//! Tests of the vectors in `docs/session.md`: made here, and compared with the document.

use std::fmt::Write as _;

use session::{
    Config, DATA_HEADER_BYTES, DATA_OVERHEAD_BYTES, Decline, Endpoint, KEY_BYTES, Limits, Output,
    PeerConfig, PresharedKey, PrivateKey, Received, Role,
};
use units::Instant;

use crate::declined::keyed;

const DOCUMENT: &str = include_str!("../../../../docs/session.md");

/// Each draw is filled with one byte, which grows by one from draw to draw.
fn host(key: u8, first_draw: u8) -> Endpoint {
    let mut draw = first_draw - 1;
    let config = Config {
        private_key: PrivateKey::from_bytes([key; KEY_BYTES]),
        wall_clock_at_origin: 1_700_000_000_000_000_000,
        limits: Limits::default(),
    };
    let entropy = move |buffer: &mut [u8]| {
        draw += 1;
        buffer.fill(draw);
    };
    Endpoint::new(config, Box::new(entropy))
}

fn next_datagram(host: &mut Endpoint) -> Vec<u8> {
    loop {
        match host.poll_output() {
            Some(Output::Transmit { datagram, .. }) => return datagram,
            Some(Output::Event(_)) => {}
            None => panic!("no datagram"),
        }
    }
}

fn hexadecimal(name: &str, bytes: &[u8]) -> String {
    let mut text = format!("{name}, {} bytes\n", bytes.len());
    for line in bytes.chunks(32) {
        for byte in line {
            let _ = write!(text, "{byte:02x}");
        }
        text.push('\n');
    }
    text
}

#[test]
fn the_document_shows_what_the_code_sends() {
    let mut mobile = host(0xa1, 0x01);
    let mut gateway = host(0xb1, 0x11);
    let shared = PresharedKey::from_bytes([0xc1; KEY_BYTES]);
    let mut texts = vec![
        format!("{}\n", *PrivateKey::from_bytes([0xa1; KEY_BYTES]).to_text()),
        format!("{}\n", mobile.public_key()),
        format!("{}\n", *PrivateKey::from_bytes([0xb1; KEY_BYTES]).to_text()),
        format!("{}\n", gateway.public_key()),
        format!("{}\n", *shared.to_text()),
    ];
    let to_gateway = PeerConfig {
        public_key: gateway.public_key(),
        preshared_key: Some(shared.clone()),
        role: Role::Initiator,
        features: 0,
    };
    let to_mobile = PeerConfig {
        public_key: mobile.public_key(),
        preshared_key: Some(shared),
        role: Role::Responder,
        features: 0,
    };
    let peer = mobile.add_peer(to_gateway).unwrap();
    gateway.add_peer(to_mobile).unwrap();

    let now = Instant::ZERO;
    mobile.connect(now, peer).unwrap();
    let mut initiation = next_datagram(&mut mobile);
    texts.push(hexadecimal("initiation", &initiation));
    gateway.handle_datagram(now, &mut initiation);
    let mut response = next_datagram(&mut gateway);
    texts.push(hexadecimal("response", &response));
    mobile.handle_datagram(now, &mut response);
    let mut confirmation = next_datagram(&mut mobile);
    texts.push(hexadecimal("confirmation", &confirmation));
    gateway.handle_datagram(now, &mut confirmation);
    texts.push(hexadecimal("its answer", &next_datagram(&mut gateway)));
    let mut data = vec![0; DATA_OVERHEAD_BYTES + 5];
    data[DATA_HEADER_BYTES..][..5].copy_from_slice(b"hello");
    assert_eq!(mobile.seal(now, peer, &mut data), Ok(1));
    texts.push(hexadecimal("\"hello\"", &data));
    let received = gateway.handle_datagram(now, &mut data);
    assert!(
        matches!(received, Received::Data { number: 1, plaintext, .. } if plaintext == b"hello")
    );

    let missing: Vec<&String> = texts
        .iter()
        .filter(|text| !DOCUMENT.contains(*text))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/session.md lacks:\n{}",
        texts.concat()
    );
}

#[test]
fn the_document_shows_what_a_former_key_and_another_version_are_told() {
    let mut mobile = host(0xa1, 0x01);
    let mut gateway = host(0xb1, 0x11);
    let to_gateway = PeerConfig {
        public_key: gateway.public_key(),
        preshared_key: None,
        role: Role::Initiator,
        features: 0,
    };
    let peer = mobile.add_peer(to_gateway).unwrap();
    gateway.decline(mobile.public_key(), Decline::Revoked);
    mobile.connect(Instant::ZERO, peer).unwrap();
    let initiation = next_datagram(&mut mobile);
    let told = |received: Received<'_>| match received {
        Received::Reply(reply) => reply.to_vec(),
        other => panic!("{other:?}"),
    };
    let declined = told(gateway.handle_datagram(Instant::ZERO, &mut initiation.clone()));
    // Nothing but type and macs is read of another version.
    let mut later = [0; 160];
    (later[0], later[1]) = (1, 9);
    let mac1 = keyed(*b"mac1----", &gateway, &later[..128]);
    later[128..144].copy_from_slice(&mac1);
    let version = told(gateway.handle_datagram(Instant::ZERO, &mut later));
    let texts = [
        hexadecimal("declined", &declined),
        hexadecimal("version reply", &version),
    ];
    for text in &texts {
        assert!(
            DOCUMENT.contains(text),
            "docs/session.md lacks:\n{}",
            texts.concat()
        );
    }
}
