//! Hosts as most tests want them.

use std::net::IpAddr;

use hosts::{
    Caps, Config, Host, Input, Membership, Peer, ResolverTerms, Role, SplitTerms, TcpTerms,
};
use machine::RandomStream;
use session::{Entropy, PrivateKey};
use units::{Bytes, Instant};
use wire::address::HopAddress;
use wire::ip::Ecn;
use wire::packet::PacketBuffer;

/// Returns entropy that this seed and name decide.
pub fn entropy(seed: u64, name: &str) -> Box<dyn Entropy> {
    let mut stream = RandomStream::named(seed, name);
    Box::new(move |buffer: &mut [u8]| stream.fill(buffer))
}

/// Returns the private key of the host with this name, which is no secret.
pub fn private_key(name: &str) -> PrivateKey {
    PrivateKey::generate(&mut *entropy(1, name))
}

/// Returns a peer with this name and key, which owns these networks.
pub fn peer(name: &str, networks: &[(&str, u8)]) -> Peer {
    let network = |(text, length): &(&str, u8)| (text.parse().expect("an address"), *length);
    let prefixes: Vec<(IpAddr, u8)> = networks.iter().map(network).collect();
    Peer {
        name: name.into(),
        public: private_key(name).public_key(),
        preshared: None,
        endpoint: None,
        prefixes,
        tcp: TcpTerms::Follow,
        split: SplitTerms::Never,
        caps: Caps::default(),
        resolver: ResolverTerms::Silent,
        tls_port: None,
        membership: Membership::default(),
        weight: 1,
    }
}

/// Returns the configuration of a host with this name and key.
pub fn config(role: Role, name: &str, peers: Vec<Peer>) -> Config {
    Config {
        role,
        key: private_key(name),
        peers,
        bearer_mtu: hosts::BearerMtu::up_to(1_500),
        mobile: hosts::MobileTerms::default(),
        exits: hosts::GuestExits::None,
        shared_air: None,
        rate: None,
        snoop_cache: Bytes::mebi(32),
        memory: None,
        streams: None,
        split: None,
    }
}

/// Returns a host that draws from `entropy`.
pub fn host(config: Config, entropy: Box<dyn Entropy>) -> Host {
    Host::new(config, entropy).expect("a host")
}

/// Returns a datagram that arrives now.
pub fn datagram(from: HopAddress, arrived: Instant, buffer: PacketBuffer) -> Input {
    Input::Datagram {
        from,
        arrived,
        ecn: Ecn::NotCapable,
        buffer,
    }
}
