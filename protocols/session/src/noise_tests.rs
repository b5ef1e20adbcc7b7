//! The handshake and the data cipher against another implementation: boringtun, which speaks
//! `WireGuard`. Only prologue, payload and framing differ between the two protocols.

use boringtun::noise::{Tunn, TunnResult};
use boringtun::x25519;
use machine::RandomStream;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use zeroize::Zeroizing;

use super::{Local, initiator, responder, set_preshared_key, split};
use crate::keys::{PresharedKey, PrivateKey};
use crate::message::Mac1Key;

const WIREGUARD_PROLOGUE: &[u8] = b"WireGuard v1 zx2c4 Jason@zx2c4.com";
const OUR_INDEX: [u8; 4] = [1, 2, 3, 4];

fn drawn(name: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    RandomStream::named(1, name).fill(&mut bytes);
    bytes
}

fn local(private_key: &PrivateKey) -> Local<'_> {
    Local {
        private_key,
        prologue: WIREGUARD_PROLOGUE,
        ephemeral: Zeroizing::new(drawn("ephemeral")),
    }
}

fn boringtun(ours: &PrivateKey, shared: [u8; 32]) -> Tunn {
    Tunn::new(
        x25519::StaticSecret::from(drawn("theirs")),
        x25519::PublicKey::from(*ours.public_key().bytes()),
        Some(shared),
        None,
        9,
        None,
    )
}

fn written(result: TunnResult<'_>) -> &[u8] {
    match result {
        TunnResult::WriteToNetwork(datagram) => datagram,
        other => panic!("{other:?}"),
    }
}

/// An IPv4 header with nothing behind it: boringtun carries only IP.
fn ip_packet() -> Vec<u8> {
    let mut packet = vec![0; 20];
    packet[0] = 0x45;
    packet[3] = 20;
    packet
}

fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&number.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

fn cipher(key: &[u8; 32]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).unwrap())
}

#[test]
fn boringtun_answers_our_initiation_and_opens_our_data() {
    let ours = PrivateKey::from_bytes(drawn("ours"));
    let theirs = PrivateKey::from_bytes(drawn("theirs")).public_key();
    let shared = PresharedKey::from_bytes(drawn("shared"));
    let mut tunnel = boringtun(&ours, drawn("shared"));
    let mut buffer = [0; 2_048];

    let mut state = initiator(&local(&ours), &theirs, &shared);
    let mut initiation = [0; 148];
    initiation[0] = 1;
    initiation[4..8].copy_from_slice(&OUR_INDEX);
    let tai64n = [0x40, 0, 0, 0, 0x65, 0, 0, 0, 0, 0, 0, 0];
    state
        .write_message(&tai64n, &mut initiation[8..116])
        .unwrap();
    Mac1Key::new(&theirs).sign(&mut initiation);

    let response = written(tunnel.decapsulate(None, &initiation, &mut buffer)).to_vec();
    assert_eq!(response.len(), 92);
    assert_eq!(response[8..12], OUR_INDEX);
    assert!(Mac1Key::new(&ours.public_key()).verify(&response));
    state.read_message(&response[12..60], &mut []).unwrap();

    let [send, _] = split(&mut state);
    let mut data = vec![4, 0, 0, 0];
    data.extend_from_slice(&response[4..8]);
    data.extend_from_slice(&0_u64.to_le_bytes());
    let mut sealed = ip_packet();
    cipher(&send)
        .seal_in_place_append_tag(nonce(0), Aad::empty(), &mut sealed)
        .unwrap();
    data.extend_from_slice(&sealed);
    let opened = tunnel.decapsulate(None, &data, &mut buffer);
    assert!(matches!(opened, TunnResult::WriteToTunnelV4(packet, _) if *packet == *ip_packet()));
}

#[test]
fn we_answer_the_initiation_of_boringtun_and_open_its_data() {
    let ours = PrivateKey::from_bytes(drawn("ours"));
    let theirs = PrivateKey::from_bytes(drawn("theirs")).public_key();
    let mut tunnel = boringtun(&ours, drawn("shared"));
    let mut buffer = [0; 2_048];
    let initiation = written(tunnel.format_handshake_initiation(&mut buffer, false)).to_vec();
    assert!(Mac1Key::new(&ours.public_key()).verify(&initiation));

    let mut state = responder(&local(&ours));
    state
        .read_message(&initiation[8..116], &mut [0; 12])
        .unwrap();
    assert_eq!(state.get_remote_static(), Some(&theirs.bytes()[..]));
    set_preshared_key(&mut state, &PresharedKey::from_bytes(drawn("shared")));
    let mut response = [0; 92];
    response[0] = 2;
    response[4..8].copy_from_slice(&OUR_INDEX);
    response[8..12].copy_from_slice(&initiation[4..8]);
    state.write_message(&[], &mut response[12..60]).unwrap();
    Mac1Key::new(&theirs).sign(&mut response);

    let keepalive = written(tunnel.decapsulate(None, &response, &mut buffer)).to_vec();
    assert_eq!(keepalive[..8], [[4, 0, 0, 0], OUR_INDEX].concat());
    let [receive, _] = split(&mut state);
    let mut sealed = keepalive[16..].to_vec();
    let opened = cipher(&receive).open_in_place(nonce(0), Aad::empty(), &mut sealed);
    assert_eq!(opened.map(|plaintext| plaintext.len()), Ok(0));
}
