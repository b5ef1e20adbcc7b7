//! The cost of a datagram and of a handshake.

use divan::{Bencher, counter::BytesCount};
use machine::RandomStream;
use session::{
    Config, DATA_HEADER_BYTES, DATA_OVERHEAD_BYTES, Endpoint, INITIATION_BYTES, Limits, Output,
    PeerConfig, PeerId, PrivateKey, Received, Role,
};
use units::Instant;

const NOW: Instant = Instant::ZERO;
const LENGTHS: [usize; 2] = [40, 1_400];

fn main() {
    divan::main();
}

fn host(name: &'static str) -> Endpoint {
    let mut stream = RandomStream::named(1, name);
    let mut entropy = move |buffer: &mut [u8]| stream.fill(buffer);
    let config = Config {
        private_key: PrivateKey::generate(&mut entropy),
        wall_clock_at_origin: 1,
        limits: Limits {
            handshakes_per_second: u32::MAX,
            handshake_burst: u32::MAX,
            ..Limits::default()
        },
    };
    Endpoint::new(config, Box::new(entropy))
}

/// Returns a mobile host and a gateway that are peers.
fn pair() -> ([Endpoint; 2], [PeerId; 2]) {
    let mut hosts = [host("mobile"), host("gateway")];
    let peers = [Role::Initiator, Role::Responder].map(|role| {
        let own = usize::from(role == Role::Responder);
        let config = PeerConfig {
            public_key: hosts[1 - own].public_key(),
            preshared_key: None,
            role,
            features: 0,
        };
        hosts[own].add_peer(config).expect("the keys differ")
    });
    (hosts, peers)
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

/// Runs one handshake up to the confirmation.
fn shake(hosts: &mut [Endpoint; 2], peers: [PeerId; 2]) {
    hosts[0].disconnect(peers[0]).expect("an initiator");
    hosts[0].connect(NOW, peers[0]).expect("an initiator");
    let mut initiation = next_datagram(&mut hosts[0]);
    hosts[1].handle_datagram(NOW, &mut initiation);
    let mut response = next_datagram(&mut hosts[1]);
    hosts[0].handle_datagram(NOW, &mut response);
    let mut confirmation = next_datagram(&mut hosts[0]);
    hosts[1].handle_datagram(NOW, &mut confirmation);
    while hosts[1].poll_output().is_some() {}
}

#[divan::bench(args = LENGTHS)]
fn seal(bencher: Bencher, length: usize) {
    let (mut hosts, peers) = pair();
    shake(&mut hosts, peers);
    let mut buffer = vec![0; length + DATA_OVERHEAD_BYTES];
    bencher
        .counter(BytesCount::new(length))
        .bench_local(|| hosts[0].seal(NOW, peers[0], &mut buffer));
}

#[divan::bench(args = LENGTHS)]
fn seal_and_open(bencher: Bencher, length: usize) {
    let (mut hosts, peers) = pair();
    shake(&mut hosts, peers);
    let mut buffer = vec![0; length + DATA_OVERHEAD_BYTES];
    bencher.counter(BytesCount::new(length)).bench_local(|| {
        hosts[0]
            .seal(NOW, peers[0], &mut buffer)
            .expect("a session");
        let received = hosts[1].handle_datagram(NOW, &mut buffer);
        assert!(matches!(received, Received::Data { .. }));
    });
}

#[divan::bench(args = LENGTHS)]
fn open_forged(bencher: Bencher, length: usize) {
    let (mut hosts, peers) = pair();
    shake(&mut hosts, peers);
    let mut buffer = vec![0; length + DATA_OVERHEAD_BYTES];
    hosts[0]
        .seal(NOW, peers[0], &mut buffer)
        .expect("a session");
    buffer[DATA_HEADER_BYTES] ^= 1;
    bencher.bench_local(|| {
        let _ = divan::black_box(hosts[1].handle_datagram(NOW, &mut buffer));
    });
}

#[divan::bench]
fn refuse_initiation_without_mac(bencher: Bencher) {
    let (mut hosts, _) = pair();
    let mut initiation = [0; INITIATION_BYTES];
    initiation[..2].copy_from_slice(&[1, 1]);
    bencher.bench_local(|| {
        let _ = divan::black_box(hosts[1].handle_datagram(NOW, &mut initiation));
    });
}

#[divan::bench]
fn handshake_of_both_sides(bencher: Bencher) {
    let (mut hosts, peers) = pair();
    bencher.bench_local(|| shake(&mut hosts, peers));
}
