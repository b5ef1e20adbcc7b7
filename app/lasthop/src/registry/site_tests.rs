//! A site in virtual time whose home has its list from a modelled etcd, which is away at times.

use std::collections::BTreeSet;
use std::sync::Arc;

use hosts::{ClaimRefusal, EventKind, Input, OwnKeys, Resolvers};
use machine::RandomStream;
use runtime::KeyClaim;
use session::PublicKey;
use sites::MOBILE;
use sites::build::private_key;
use sites::roaming::{HOME, NAMES, Roaming, Setting};
use units::Duration;

use super::mirror_tests::{Machine, key};
use super::model::{AWAY, Etcd, Faults};
use super::{Registry, host_of};
use crate::config::gateway::GatewayConfig;
use crate::daemon::{Member, differences, members, unix_seconds};
use crate::state::store_claim;

const SECOND: Duration = Duration::from_secs(1);

/// A site and its etcd.
struct Registered {
    site: Roaming,
    etcd: Arc<Etcd>,
    home: Machine,
    /// Peers of the home.
    members: Vec<Member>,
    random: RandomStream,
}

impl Registered {
    /// Starts a site whose other gateways, and whose mobile host, know the home alone.
    fn new(seed: u64) -> Self {
        let etcd = Arc::new(Etcd::new(seed));
        let own = |name| private_key(name).public_key();
        etcd.put("peers/mobile", &mobile(own("mobile"), 2));
        for (gateway, name) in NAMES.into_iter().enumerate().skip(2) {
            let key = own(name);
            let text = format!("public_key = \"{key}\"\nendpoint = \"10.0.0.{gateway}:5000\"\n");
            etcd.put(&format!("gateways/{name}"), &text);
        }
        let setting = Setting {
            seed,
            is_told: true,
            ..Setting::default()
        };
        let mut registered = Self {
            site: Roaming::new(setting),
            home: Machine::with(&etcd, &private_key(NAMES[HOME]), "10.9.0.1/24"),
            etcd,
            members: Vec::new(),
            random: RandomStream::named(seed, "registered"),
        };
        assert!(registered.refresh());
        registered.site.run(SECOND * 3, true);
        registered
    }

    /// Has the home take what its registry has, as its daemon does at a reload. Without an answer it goes on with its
    /// copy, and this returns false.
    fn refresh(&mut self) -> bool {
        let answers = self.home.mirror().refresh().is_ok();
        let source = self.home.source();
        let config = GatewayConfig::load(&source).unwrap();
        let next = members(&config, &source, &Resolvers::default()).unwrap();
        let former = config.former_keys(unix_seconds()).into_iter().collect();
        let (inputs, _) = differences(&self.members, &next, &former);
        for input in inputs {
            self.site.input(HOME, input);
        }
        self.members = next;
        answers
    }

    /// Has the keys stored that peers of the home have claimed, as its daemon does.
    fn store_claims(&mut self) {
        for (gateway, of, key) in std::mem::take(&mut self.site.asked.claims) {
            assert_eq!(gateway, HOME);
            let stored = store_claim(&mut self.home.members(), &KeyClaim { of, key });
            if stored.is_err() {
                let reason = ClaimRefusal::Failed;
                self.site.input(HOME, Input::ClaimRefused { of, reason });
            }
        }
    }

    /// Has somebody add a mobile host, or remove one that he has added; or etcd go away, or come back.
    fn disturb(&mut self) {
        let number = self.random.below(5) as u8;
        let host = format!("peers/cam{number}");
        match self.random.below(4) {
            0 | 1 => {
                let key = key(u64::from(number));
                self.etcd.put(&host, &mobile(key, 10 + number));
            }
            2 => self.etcd.remove(&host),
            _ => {
                let before = self.etcd.set_faults(AWAY);
                if before.answers > 0 {
                    self.etcd.set_faults(Faults::default());
                }
            }
        }
    }

    /// Checks that the home has exactly the peers of the list.
    fn is_up_to_date(&self) {
        let keys = self.etcd.entries().into_keys();
        let listed: BTreeSet<_> = keys.map(|key| host_of(&key).unwrap().1.0).collect();
        let peers = self.site.peers_of(HOME).into_iter();
        assert_eq!(peers.collect::<BTreeSet<_>>(), listed);
    }

    /// Checks that all packets have come, once and in order.
    fn is_whole(&mut self) {
        self.site.run(SECOND * 3, true);
        for flow in &self.site.flows {
            assert!(flow.received.in_order && flow.came() == flow.sent);
        }
    }

    fn moves(&self) -> usize {
        let events = self.site.events.iter();
        let moves = events.filter(|(_, host, kind)| {
            let is_move = matches!(kind, EventKind::Attached { .. } | EventKind::Relays { .. });
            *host == MOBILE && is_move
        });
        moves.count()
    }
}

fn mobile(key: PublicKey, address: u8) -> String {
    format!("public_key = \"{key}\"\naddresses = [\"10.9.0.{address}\"]\n")
}

#[test]
fn a_registry_that_is_away_hinders_no_move_and_is_caught_up() {
    let mut away = 0;
    for seed in 0..6 {
        let mut registered = Registered::new(seed);
        let moves = registered.moves();
        for _ in 0..12 {
            registered.disturb();
            let gateway = HOME + registered.random.below(3) as usize;
            registered.site.move_to(gateway);
            let pause = Duration::from_millis(400 + registered.random.below(800));
            registered.site.run(pause, false);
            away += u32::from(!registered.refresh());
        }
        registered.is_whole();
        let moves = registered.moves() - moves;
        assert!(moves > 4, "seed {seed}: {moves} moves");
        registered.etcd.set_faults(Faults::default());
        assert!(registered.refresh());
        registered.is_up_to_date();
    }
    assert!(away > 20, "{away}");
}

#[test]
fn a_mobile_host_that_was_revoked_while_the_registry_was_away_is_refused_when_it_is_back() {
    for (gateway, name) in NAMES.into_iter().enumerate().skip(HOME) {
        let mut registered = Registered::new(gateway as u64);
        registered.site.move_to(gateway);
        registered.site.run(SECOND, false);
        registered.etcd.set_faults(AWAY);
        registered.etcd.remove("peers/mobile");
        assert!(!registered.refresh());
        registered.site.run(SECOND, false);
        registered.is_whole();
        assert_eq!(registered.site.serving(), name);
        registered.etcd.set_faults(Faults::default());
        assert!(registered.refresh());
        registered.site.run(SECOND * 5, false);
        registered.is_up_to_date();
        let came = |site: &Roaming| [0, 1].map(|flow: usize| site.flows[flow].came());
        let before = came(&registered.site);
        registered.site.move_to(HOME);
        registered.site.run(SECOND * 5, false);
        for knows in HOME..NAMES.len() {
            assert!(registered.site.mobile_at(knows).is_none(), "{knows}");
        }
        assert_eq!(came(&registered.site), before);
    }
}

/// The mobile host claims a key for itself, which is to take the place of its own, and moves meanwhile.
#[test]
fn a_key_that_is_claimed_while_the_registry_is_away_is_taken_when_it_is_back() {
    let mut registered = Registered::new(1);
    let [own, next] = ["mobile", "next"].map(private_key);
    let keys = [own.public_key(), next.public_key()];
    for (is_away, counts) in [(true, keys[0]), (false, keys[1])] {
        let faults = if is_away { AWAY } else { Faults::default() };
        registered.etcd.set_faults(faults);
        let next_key = OwnKeys {
            key: next.clone(),
            former: None,
            ended: None,
        };
        let next_key = Input::NextKey(Box::new(next_key));
        registered.site.input(MOBILE, next_key);
        registered.site.run(SECOND, false);
        assert_eq!(registered.site.asked.claims, [(HOME, keys[0], keys[1])]);
        registered.store_claims();
        assert_eq!(registered.refresh(), !is_away);
        registered.site.run(SECOND * 12, false);
        let list = registered.etcd.entries();
        assert!(list["peers/mobile"].contains(&counts.to_string()));
        let came = registered.site.flows[1].came();
        for gateway in [HOME + 1, HOME] {
            registered.site.move_to(gateway);
            registered.site.run(SECOND, false);
            assert_eq!(registered.site.serving_host(), Some(gateway));
        }
        assert!(registered.site.flows[1].came() > came + 100);
    }
    let events = registered.site.events.iter();
    let of_claims = events.filter(|(_, host, kind)| {
        let is_of_claim = matches!(
            kind,
            EventKind::ClaimRefused { .. } | EventKind::OwnKeyReplaced { .. }
        );
        *host == MOBILE && is_of_claim
    });
    let of_claims: Vec<_> = of_claims.map(|(.., kind)| kind.clone()).collect();
    let reason = ClaimRefusal::Failed;
    let replaced = EventKind::OwnKeyReplaced { key: keys[1] };
    assert_eq!(of_claims, [EventKind::ClaimRefused { reason }, replaced]);
}
