//! Hosts that replace their keys while mobile hosts transfer.

use hosts::{ClaimRefusal, Decline, EventKind, Input, Membership, OwnKeys, Peer};
use session::PublicKey;
use units::Duration;

use crate::members::{NAMES, Net, admit, gateway, mobile};
use crate::site::is_whole;
use crate::support::roaming::{self, Roaming, Setting};
use crate::support::{MOBILE, build};

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
    net.input(0, admit(mobile(3)));
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

/// The driver has stored each key that a mobile host has gone on with.
#[test]
fn a_mobile_host_follows_its_gateway_from_key_to_key() {
    let mut net = Net::new(&gateway(vec![mobile(1)]));
    net.run_until(2_000, &[1]);
    let names = [NAMES[0], "next", "later"];
    for (number, pair) in names.windows(2).enumerate() {
        let keys = OwnKeys {
            key: build::private_key(pair[1]),
            former: Some(build::private_key(pair[0])),
            ended: None,
        };
        net.input(0, Input::Keys(Box::new(keys)));
        net.run_until(20_000 * (number as u64 + 1), &[1]);
    }
    let [first, next, later] = names.map(|name| build::private_key(name).public_key());
    assert_eq!(net.claimed[1], [(first, next), (next, later)]);
}

/// A mobile host that may claim another key.
fn claimant(index: usize) -> Peer {
    Peer {
        membership: Membership {
            may_claim: true,
            ..Membership::default()
        },
        ..mobile(index)
    }
}

fn next_key() -> Input {
    Input::NextKey(Box::new(OwnKeys {
        key: build::private_key("next"),
        former: None,
        ended: None,
    }))
}

/// The key of a mobile host's own, as it says itself.
fn own_key(net: &Net, index: usize) -> String {
    net.hosts[index].status(net.clock.now).public_key
}

/// The gateway gets both a claim and its repetitions, and stores the first; each path loses every 13th datagram. What
/// the mobile host receives goes on, with what was on its way sent again by the transport above.
#[test]
fn a_new_key_of_a_mobile_host_is_in_use_when_the_gateway_has_taken_it() {
    let former = build::private_key(NAMES[1]).public_key();
    let next = build::private_key("next").public_key();
    let mut net = Net::new(&gateway(vec![claimant(1), claimant(2)]));
    net.run_until(2_000, &[1, 2]);
    net.input(1, next_key());
    net.run_until(2_400, &[1, 2]);
    assert_eq!(net.claimed[0], [(former, next)]);
    assert_eq!(own_key(&net, 1), former.to_string());
    // The driver has stored it.
    net.input(0, Input::Revoke(former, Decline::Replaced));
    net.input(
        0,
        admit(Peer {
            public: next,
            ..claimant(1)
        }),
    );
    net.run_until(4_000, &[1, 2]);
    assert_eq!(own_key(&net, 1), next.to_string());
    assert!(net.is_connected(NAMES[1]) && net.is_connected(NAMES[2]));
    let before = net.received[1].packets;
    net.run_until(6_000, &[1, 2]);
    assert!(net.received[1].packets > before);
    assert!(net.received[2].in_order);
    // Nobody claims any more.
    net.run_until(40_000, &[2]);
    assert_eq!(net.claimed[0].len(), 1);
}

/// The mobile host was away, or was killed, when the gateway stored the key.
#[test]
fn the_next_key_is_used_if_the_gateway_knows_no_other() {
    let next = build::private_key("next").public_key();
    let replaced = Peer {
        public: next,
        ..claimant(1)
    };
    let mut net = Net::new(&gateway(vec![replaced]));
    let former = build::private_key(NAMES[1]).public_key();
    net.input(0, Input::Revoke(former, Decline::Replaced));
    net.input(1, next_key());
    net.run_until(10_000, &[1]);
    assert_eq!(own_key(&net, 1), next.to_string());
    assert!(net.is_connected(NAMES[1]));
}

/// A refused claim changes nothing, and is not repeated. Nor does a mobile host leave its key for another reason.
#[test]
fn a_mobile_host_keeps_a_key_that_the_gateway_keeps() {
    let own = |index: usize| build::private_key(NAMES[index]).public_key();
    let mut net = Net::new(&gateway(vec![mobile(1), claimant(2)]));
    net.run_until(2_000, &[1, 2]);
    net.input(1, next_key());
    net.run_until(3_000, &[1, 2]);
    let refused = |reason| EventKind::ClaimRefused { reason };
    assert_eq!(
        net.kinds_at(1, "claim-refused"),
        [refused(ClaimRefusal::Fixed)]
    );
    assert!(net.claimed[0].is_empty());
    net.input(2, next_key());
    net.run_until(3_500, &[1, 2]);
    assert_eq!(net.claimed[0].len(), 1);
    net.input(0, Input::Revoke(own(2), Decline::Revoked));
    net.run_until(6_000, &[1]);
    let keeps = |index: usize, key: PublicKey| own_key(&net, index) == key.to_string();
    assert!(keeps(1, own(1)) && keeps(2, own(2)));
    assert!(net.is_connected(NAMES[1]));
}

/// Has a host of a site go on with another key, while its former one is accepted.
fn rotate(site: &mut Roaming, host: usize) {
    let former = Some(build::private_key(roaming::NAMES[host]));
    let key = build::private_key("next");
    let ended = None;
    let keys = OwnKeys { key, former, ended };
    site.input(host, Input::Keys(Box::new(keys)));
}

/// Returns true if a host has learnt the next key of another one.
fn has_followed(site: &Roaming, host: usize) -> bool {
    let key = build::private_key("next").public_key();
    let is_it = |(_, of, kind): &(_, usize, EventKind)| {
        *of == host && *kind == EventKind::KeyReplaced { key }
    };
    site.events.iter().any(is_it)
}

/// Checks that each gateway of a site serves the mobile host.
fn each_serves(site: &mut Roaming) {
    for to in [2, 3, roaming::HOME, 3, 2] {
        site.move_to(to);
        site.run(Duration::from_secs(1), false);
        assert_eq!(site.serving(), roaming::NAMES[to], "{:?}", site.events);
    }
}

/// Checks that each gateway of a site serves the mobile host, and that nothing of the flows is lost.
fn all_serve(site: &mut Roaming) {
    each_serves(site);
    is_whole(site);
    assert!(site.flows.iter().all(|flow| flow.sent > 100));
}

/// Whoever of a site has another key: nobody joins anew, and all go on.
#[test]
fn a_gateway_of_a_site_has_another_key_and_all_follow_it() {
    for rotated in [roaming::HOME, 2, 3] {
        for wire in [1, 20] {
            let mut site = Roaming::new(Setting {
                is_told: true,
                wire: Duration::from_millis(wire),
                ..Setting::default()
            });
            site.run(Duration::from_secs(2), false);
            site.move_to(2);
            site.run(Duration::from_secs(1), false);
            rotate(&mut site, rotated);
            site.run(Duration::from_secs(1), false);
            assert_eq!(site.serving(), "second", "{:?}", site.events);
            all_serve(&mut site);
            let others = (1..roaming::NAMES.len()).filter(|other| *other != rotated);
            assert!(others.into_iter().all(|other| has_followed(&site, other)));
        }
    }
}

/// It hears of the key when it is in reach again, whichever of the two begins handshakes.
#[test]
fn a_gateway_that_was_cut_off_learns_the_key_of_another_one_later() {
    let home = roaming::HOME;
    for (rotated, away) in [(home, 2), (home, 3), (3, home), (2, 3)] {
        for seconds in [5, 400] {
            let mut site = Roaming::new(Setting {
                is_told: true,
                ..Setting::default()
            });
            site.run(Duration::from_secs(2), true);
            let others = (1..roaming::NAMES.len()).filter(|other| *other != away);
            site.network.cut = others.map(|other| [other, away]).collect();
            rotate(&mut site, rotated);
            site.run(Duration::from_secs(seconds), true);
            site.network.cut.clear();
            site.run(Duration::from_secs(10), true);
            // One that another gateway has told of may be told of anew before it vouches.
            let is_told = ![rotated, away].contains(&home);
            assert!(is_told || has_followed(&site, away), "{:?}", site.events);
            all_serve(&mut site);
        }
    }
}

fn settled(wire: u64) -> Roaming {
    let mut site = Roaming::new(Setting {
        is_told: true,
        wire: Duration::from_millis(wire),
        ..Setting::default()
    });
    site.run(Duration::from_secs(2), false);
    site
}

fn former_key(host: usize) -> PublicKey {
    build::private_key(roaming::NAMES[host]).public_key()
}

/// Who has told of it, or its configuration, may know its former key alone.
#[test]
fn a_gateway_is_revoked_by_its_former_key_too() {
    let mut site = settled(5);
    site.network.cut = vec![[3, roaming::HOME], [3, MOBILE]];
    rotate(&mut site, 3);
    site.run(Duration::from_secs(1), false);
    assert!(has_followed(&site, 2) && !has_followed(&site, roaming::HOME));
    let revoke = Input::Revoke(former_key(3), Decline::Revoked);
    site.input(roaming::HOME, revoke);
    site.run(Duration::from_secs(1), false);
    assert_eq!(site.peers_of(2), ["home", "mobile@home"]);
    // And the home, which the configuration of the second one has.
    rotate(&mut site, roaming::HOME);
    site.run(Duration::from_secs(1), false);
    let is_stored = Input::Revoke(former_key(roaming::HOME), Decline::Replaced);
    site.input(2, is_stored);
    assert_eq!(site.peers_of(2), ["home", "mobile@home"], "it has gone on");
    site.input(
        2,
        Input::Revoke(former_key(roaming::HOME), Decline::Revoked),
    );
    assert!(site.peers_of(2).is_empty());
}

/// A gateway has the key of nobody else, whoever that is.
#[test]
fn a_gateway_that_vouches_for_the_key_of_another_host_changes_nothing() {
    let mut site = settled(5);
    for (host, name) in [(3, "third"), (MOBILE, "mobile")] {
        let known = site.peers_of(2);
        let key = OwnKeys {
            key: build::private_key(name),
            former: Some(build::private_key(roaming::NAMES[roaming::HOME])),
            ended: None,
        };
        site.input(roaming::HOME, Input::Keys(Box::new(key)));
        site.run(Duration::from_secs(1), false);
        assert_eq!(site.peers_of(2), known, "the key of {host}");
        assert!(!site.events.iter().any(|(_, of, kind)| {
            *of == 2 && matches!(kind, EventKind::KeyReplaced { .. } | EventKind::Revoked)
        }));
    }
}

/// Not even of one that was revoked, or is admitted later.
#[test]
fn a_gateway_that_has_had_the_key_of_a_mobile_host_does_not_become_it() {
    let mut site = settled(5);
    let home = roaming::HOME;
    for name in ["late", "later"] {
        let keys = OwnKeys {
            key: build::private_key(name),
            former: Some(build::private_key(roaming::NAMES[home])),
            ended: None,
        };
        site.input(home, Input::Keys(Box::new(keys)));
        site.run(Duration::from_secs(12), false);
    }
    let late = build::peer("late", &[("10.9.0.77", 32)]);
    let key = late.public;
    site.input(2, admit(late));
    assert!(site.peers_of(2).contains(&"home".into()));
    assert!(site.peers_of(2).contains(&"late".into()));
    site.input(2, Input::Revoke(key, Decline::Revoked));
    assert!(site.peers_of(2).contains(&"home".into()));
}

/// The driver has stored a key, and the gateway has gone on to one after it.
#[test]
fn a_gateway_is_listed_by_any_key_that_it_has_had() {
    let mut site = settled(5);
    let home = roaming::HOME;
    let mut former = roaming::NAMES[home];
    for name in ["next", "later"] {
        let keys = OwnKeys {
            key: build::private_key(name),
            former: Some(build::private_key(former)),
            ended: None,
        };
        site.input(home, Input::Keys(Box::new(keys)));
        site.run(Duration::from_secs(12), false);
        former = name;
    }
    let known = site.peers_of(2);
    site.input(2, Input::Revoke(former_key(home), Decline::Replaced));
    let mut stored = roaming::peer(2, home);
    stored.public = build::private_key("next").public_key();
    let key = stored.public;
    site.input(2, admit(stored));
    assert_eq!(site.peers_of(2), known);
    site.input(2, Input::Revoke(key, Decline::Revoked));
    assert!(site.peers_of(2).is_empty());
}

/// One that has many keys in turn costs the others little.
#[test]
fn a_gateway_is_followed_to_one_key_in_ten_seconds() {
    let mut site = settled(5);
    for number in 0..20 {
        let keys = OwnKeys {
            key: build::private_key(&format!("key {number}")),
            former: Some(build::private_key(roaming::NAMES[roaming::HOME])),
            ended: None,
        };
        site.input(roaming::HOME, Input::Keys(Box::new(keys)));
        site.run(Duration::from_millis(50), false);
    }
    let is_it = |(_, of, kind): &&(_, usize, EventKind)| {
        *of == 2 && matches!(kind, EventKind::KeyReplaced { .. })
    };
    assert_eq!(site.events.iter().filter(is_it).count(), 1);
    site.run(Duration::from_secs(130), true);
    all_serve(&mut site);
}

/// Its home knows the former key as long as that has not heard of the next one.
#[test]
fn a_mobile_host_keeps_a_gateway_that_it_has_followed_to_another_key() {
    let mut site = settled(20);
    site.move_to(2);
    site.run(Duration::from_secs(1), false);
    rotate(&mut site, 2);
    site.run(Duration::from_secs(1), false);
    for to in [3, 2, 3] {
        site.move_to(to);
        site.run(Duration::from_secs(1), false);
        assert_eq!(site.serving(), roaming::NAMES[to], "{:?}", site.events);
        assert!(site.peers_of(MOBILE).contains(&"second".into()));
    }
}

/// A gateway that has heard of the next key only sends it elsewhere; at its home it learns that.
#[test]
fn a_mobile_host_that_names_a_key_that_is_unknown_goes_elsewhere() {
    let mut site = settled(20);
    site.move_to(2);
    site.run(Duration::from_secs(1), false);
    // It reaches no other one, for longer than it tries each.
    site.network.cut = vec![[MOBILE, roaming::HOME], [MOBILE, 3]];
    rotate(&mut site, roaming::HOME);
    site.run(Duration::from_secs(1), false);
    let mut home = roaming::peer(2, roaming::HOME);
    home.public = build::private_key("next").public_key();
    site.input(
        2,
        Input::Revoke(former_key(roaming::HOME), Decline::Revoked),
    );
    site.input(2, admit(home));
    site.run(Duration::from_secs(20), true);
    site.network.cut.clear();
    site.run(Duration::from_secs(10), true);
    let is_refused =
        |(_, of, kind): &(_, usize, EventKind)| *of == MOBILE && *kind == EventKind::Drained;
    // Each of the others is tried for 2 s.
    let refused = site.events.iter().filter(|event| is_refused(event)).count();
    assert!((1..20).contains(&refused), "{refused}: {:?}", site.events);
    assert_ne!(site.serving(), "second");
    site.move_to(roaming::HOME);
    site.run(Duration::from_secs(1), false);
    each_serves(&mut site);
    assert!(has_followed(&site, MOBILE), "{:?}", site.events);
}
