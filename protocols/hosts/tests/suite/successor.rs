//! A gateway that replaces its key while mobile hosts transfer.

use hosts::{EventKind, Input, OwnKeys};

use crate::members::{NAMES, Net, gateway, mobile};
use crate::support::build;

/// The next key; the former one is accepted, or has ended.
fn keys(is_accepted: bool) -> Input {
    let former = Some(build::private_key(NAMES[0]));
    let (former, ended) = if is_accepted {
        (former, None)
    } else {
        (None, former)
    };
    Input::Keys(Box::new(OwnKeys {
        key: build::private_key("next"),
        former,
        ended,
    }))
}

/// Nobody connects anew, and no packet is lost; who was away meanwhile learns of the key when it comes back.
#[test]
fn a_new_key_of_the_gateway_interrupts_nobody() {
    let next = build::private_key("next").public_key();
    let mut net = Net::new(&gateway(vec![mobile(1), mobile(2)]));
    net.run_until(2_000, &[1, 2]);
    net.input(0, keys(true));
    net.run_until(2_100, &[1, 2]);
    for index in [1, 2] {
        assert_eq!(
            net.claimed[index],
            [(build::private_key(NAMES[0]).public_key(), next)]
        );
    }
    net.run_until(4_000, &[1, 2]);
    let status = net.hosts[0].status(net.clock.now);
    assert!(status.peers.iter().all(|peer| !peer.knows_former_key));
    // One that was away knows the former key still.
    net.input(0, crate::members::admit(mobile(3)));
    net.run_until(12_000, &[1, 2, 3]);
    assert_eq!(net.claimed[3].len(), 1);
    assert!(net.kinds("three").contains(&EventKind::FormerKeyUsed));
    net.input(0, keys(false));
    // Beyond the next renewal of the keys of all.
    net.run_until(140_000, &[1, 2, 3]);
    for name in &NAMES[1..] {
        let kinds = net.kinds(name);
        let fresh = kinds
            .iter()
            .filter(|kind| **kind == EventKind::Established { fresh: true });
        assert_eq!(fresh.count(), 1, "{name}: {kinds:?}");
        assert!(net.is_connected(name));
        let used = kinds
            .iter()
            .filter(|kind| **kind == EventKind::FormerKeyUsed);
        assert_eq!(used.count(), usize::from(name == &"three"), "{name}");
    }
    assert!(net.received[1].in_order && net.received[2].in_order);
}
