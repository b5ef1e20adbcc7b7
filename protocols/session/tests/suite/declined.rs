//! What a gateway answers to keys that count no more, and to other versions; and that strangers get none of it.

use session::{
    Decline, DropCause, Endpoint, Event, FORMER_KEYS, Limits, Output, PeerConfig, PeerId,
    PrivateKey, RESPONSE_BYTES, Received, Role, VERSION_REPLY_BYTES,
};
use units::{Duration, Instant};

use crate::common::{address, endpoint};

const MOBILE: usize = 0;

/// A mobile host and a gateway without a preshared key; the gateway knows the mobile host only after [`Pair::admit`].
struct Pair {
    mobile: Endpoint,
    gateway: Endpoint,
    to_gateway: PeerId,
    now: Instant,
}

impl Pair {
    fn new() -> Self {
        let mut mobile = endpoint(5, "mobile", Limits::default());
        let gateway = endpoint(5, "gateway", Limits::default());
        let config = PeerConfig {
            public_key: gateway.public_key(),
            preshared_key: None,
            role: Role::Initiator,
            features: 0,
        };
        let to_gateway = mobile.add_peer(config).expect("the keys differ");
        let now = Instant::from_millis(1);
        mobile.connect(now, to_gateway).expect("it initiates");
        Self {
            mobile,
            gateway,
            to_gateway,
            now,
        }
    }

    fn admit(&mut self) -> PeerId {
        let config = PeerConfig {
            public_key: self.mobile.public_key(),
            preshared_key: None,
            role: Role::Responder,
            features: 0,
        };
        self.gateway.add_peer(config).expect("the keys differ")
    }

    /// Returns what the mobile host sends until `at`, and its events.
    fn run_until(&mut self, at: Instant) -> (Vec<Vec<u8>>, Vec<Event>) {
        let (mut sent, mut events) = (Vec::new(), Vec::new());
        loop {
            while let Some(output) = self.mobile.poll_output() {
                match output {
                    Output::Transmit { datagram, .. } => sent.push(datagram),
                    Output::Event(event) => events.push(event),
                }
            }
            match self.mobile.poll_timeout().filter(|due| *due <= at) {
                Some(due) => {
                    self.now = self.now.max(due);
                    self.mobile.handle_timeout(self.now);
                }
                None => break,
            }
        }
        self.now = at;
        (sent, events)
    }

    /// Returns the gateway's answer in place of a datagram.
    fn reply(&mut self, datagram: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = datagram.to_vec();
        let received =
            self.gateway
                .handle_datagram_from(self.now, Some(address(MOBILE)), &mut bytes);
        match received {
            Received::Reply(reply) => Some(reply.to_vec()),
            _ => None,
        }
    }
}

#[test]
fn a_former_key_is_told_why_and_tries_again_seldom() {
    for reason in [Decline::Revoked, Decline::Expired, Decline::Other(99)] {
        let mut pair = Pair::new();
        let key = pair.mobile.public_key();
        let (sent, _) = pair.run_until(Instant::from_millis(1));
        assert_eq!(pair.reply(&sent[0]), None, "a stranger gets no answer");
        let id = pair.admit();
        pair.gateway.remove_peer(id).unwrap();
        pair.gateway.decline(key, reason);
        let mut answer = pair.reply(&sent[0]).expect("it is told");
        assert_eq!(answer.len(), RESPONSE_BYTES);
        assert!(answer.len() < sent[0].len());
        assert_eq!(pair.gateway.counters().dropped(DropCause::Declined), 1);
        let mut forged = answer.clone();
        forged[50] ^= 1;
        let received = pair.mobile.handle_datagram(pair.now, &mut forged);
        assert_eq!(received, Received::Dropped(DropCause::BadMac));
        pair.mobile.handle_datagram(pair.now, &mut answer);
        let (sent, events) = pair.run_until(pair.now + Duration::from_secs(4));
        let peer = pair.to_gateway;
        let clock = 1_700_000_000;
        let told = Event::Declined {
            peer,
            reason,
            clock,
        };
        assert_eq!((sent.len(), events), (0, vec![told]));
        // The operator admits it again.
        pair.admit();
        let (sent, _) = pair.run_until(pair.now + Duration::from_secs(2));
        let mut initiation = sent[0].clone();
        pair.gateway.handle_datagram(pair.now, &mut initiation);
        let Some(Output::Transmit { mut datagram, .. }) = pair.gateway.poll_output() else {
            panic!("a response");
        };
        pair.mobile.handle_datagram(pair.now, &mut datagram);
        let (_, events) = pair.run_until(pair.now);
        assert!(
            matches!(events[..], [Event::Established { .. }]),
            "{events:?}"
        );
    }
}

#[test]
fn the_memory_of_former_keys_is_bounded() {
    let mut pair = Pair::new();
    pair.gateway
        .decline(pair.mobile.public_key(), Decline::Revoked);
    for number in 0..FORMER_KEYS as u64 {
        let mut bytes = [3; 32];
        // The lowest bits of a private key do not count.
        bytes[1..9].copy_from_slice(&number.to_le_bytes());
        let other = PrivateKey::from_bytes(bytes).public_key();
        pair.gateway.decline(other, Decline::Revoked);
    }
    let (sent, _) = pair.run_until(Instant::from_millis(1));
    assert_eq!(pair.reply(&sent[0]), None);
}

#[test]
fn another_version_is_named_to_who_knows_the_public_key() {
    let mut pair = Pair::new();
    let (sent, _) = pair.run_until(Instant::from_millis(1));
    let mut other = sent[0].clone();
    other[1] = 3;
    assert_eq!(pair.reply(&other), None, "its mac1 is wrong now");
    // The mac1 of a later version, as who knows the public key can make it.
    let mut older = Pair::new();
    let (sent, _) = older.run_until(Instant::from_millis(1));
    let mut initiation = sent[0].clone();
    initiation[1] = 1;
    sign(&mut initiation, &older.gateway);
    for length in [99, 64, 36, 1] {
        assert_eq!(older.reply(&initiation[..length]), None);
    }
    let reply = older.reply(&initiation).expect("it is told");
    assert_eq!((reply.len(), reply[0]), (VERSION_REPLY_BYTES, 5));
    // It is about an initiation that this host has not sent.
    let mut copy = reply.clone();
    let received = older.mobile.handle_datagram(older.now, &mut copy);
    assert_eq!(received, Received::Dropped(DropCause::UnexpectedHandshake));
}

#[test]
fn a_mobile_host_tells_an_older_gateway_from_a_later_one() {
    for (versions, is_older) in [([1, 1], true), ([4, 3], false)] {
        let mut pair = Pair::new();
        let (sent, _) = pair.run_until(Instant::from_millis(1));
        let mut reply = vec![5, versions[0], versions[1], 0];
        reply.extend_from_slice(&sent[0][128..144]);
        let mac = keyed(*b"version-", &pair.gateway, &reply);
        reply.extend_from_slice(&mac);
        let mut forged = reply.clone();
        forged[35] ^= 1;
        let received = pair.mobile.handle_datagram(pair.now, &mut forged);
        assert_eq!(received, Received::Dropped(DropCause::BadMac));
        assert_eq!(
            pair.mobile.handle_datagram(pair.now, &mut reply),
            Received::CookieReply
        );
        let peer = pair.to_gateway;
        let (_, events) = pair.run_until(pair.now);
        assert_eq!(events, [Event::OtherVersion { peer, is_older }]);
    }
}

/// Returns a mac under a key that is made of a label and a host's public key, as the document defines it.
pub(crate) fn keyed(label: [u8; 8], host: &Endpoint, covered: &[u8]) -> [u8; 16] {
    use blake2::digest::{Mac, consts::U16};
    use blake2::{Blake2s256, Blake2sMac, Digest};
    let public = host.public_key();
    let key = Blake2s256::new()
        .chain_update(label)
        .chain_update(public.bytes())
        .finalize();
    let mac = Blake2sMac::<U16>::new_from_slice(&key).expect("32 bytes");
    mac.chain_update(covered).finalize().into_bytes().into()
}

/// Writes the mac1 of an initiation.
fn sign(initiation: &mut [u8], receiver: &Endpoint) {
    let mac1 = keyed(*b"mac1----", receiver, &initiation[..128]);
    initiation[128..144].copy_from_slice(&mac1);
}
