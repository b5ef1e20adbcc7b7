//! A site of which only the home knows all: the others are told.

use hosts::{
    AdmitError, Decline, EventKind, Input, Peer, Role, SitePart, TcpMethod, TcpTerms, Told,
};
use machine::{Machine, RandomStream};
use serde_json::json;
use session::PublicKey;
use units::{Duration, Instant, Probability};

use crate::members::admit;
use crate::site::is_whole;
use crate::support::build::{self, private_key};
use crate::support::roaming::{HOME, NAMES, Roaming, Setting, peer};
use crate::support::{MOBILE, WALL};

const SECOND: Duration = Duration::from_secs(1);

fn told() -> Setting {
    Setting {
        is_told: true,
        ..Setting::default()
    }
}

/// Returns a site after the first second, in which all are told.
fn begun(setting: Setting) -> Roaming {
    let mut site = Roaming::new(setting);
    site.run(SECOND, true);
    assert_eq!(site.peers_of(MOBILE), ["home", "second", "third"]);
    assert_eq!(site.peers_of(2), ["home", "mobile@home", "third"]);
    assert_eq!(site.peers_of(3), ["home", "mobile@home", "second"]);
    site
}

/// Returns another mobile host with its home at the gateway that admits it.
fn resident(name: &str, address: &str) -> Peer {
    Peer {
        tcp: TcpTerms::Choose(TcpMethod::Arq),
        ..build::peer(name, &[(address, 32)])
    }
}

/// Returns true if the flow to the mobile host goes on, after losses.
fn goes_on(site: &mut Roaming) -> bool {
    let flow = &mut site.flows[0];
    flow.sent = flow.came();
    let came = flow.came();
    site.run(SECOND, false);
    site.flows[0].came() > came + 100
}

/// Returns the names of the peers of a host, in order.
fn sorted(site: &Roaming, host: usize) -> Vec<String> {
    let mut names = site.peers_of(host);
    names.sort_unstable();
    names
}

fn revoke(name: &str) -> Input {
    Input::Revoke(private_key(name).public_key(), Decline::Revoked)
}

#[test]
fn a_mobile_host_moves_between_gateways_that_only_its_home_knows() {
    for percent in [0, 5] {
        let mut site = begun(Setting {
            loss: Probability::ratio(percent, 100),
            ..told()
        });
        site.run(SECOND, false);
        for to in [2, 3, HOME, 3] {
            site.move_to(to);
            site.run(SECOND, false);
            assert_eq!(site.serving(), NAMES[to], "{:?}", site.events);
        }
        is_whole(&mut site);
        assert!(site.flows.iter().all(|flow| flow.sent > 100));
    }
}

/// The hop to its home goes on while a mobile host learns that there are other gateways.
#[test]
fn a_gateway_that_is_added_later_is_told_and_costs_nothing() {
    let mut site = begun(told());
    site.input(HOME, revoke("third"));
    site.run(SECOND, false);
    assert_eq!(site.peers_of(MOBILE), ["home", "second"]);
    assert_eq!(site.peers_of(2), ["home", "mobile@home"]);
    site.input(HOME, admit(peer(HOME, 3)));
    site.run(SECOND, false);
    assert_eq!(site.peers_of(MOBILE), ["home", "second", "third"]);
    assert_eq!(site.peers_of(2), ["home", "mobile@home", "third"]);
    is_whole(&mut site);
    assert!(site.flows.iter().all(|flow| flow.sent > 100));
}

#[test]
fn a_mobile_host_that_its_home_revokes_is_known_nowhere() {
    let mut site = begun(told());
    site.move_to(2);
    site.run(SECOND, false);
    site.input(HOME, revoke("mobile"));
    site.run(SECOND, false);
    for gateway in [2, 3] {
        assert!(!site.peers_of(gateway).contains(&"mobile@home".into()));
    }
    let came = site.flows[0].came();
    site.run(SECOND * 2, false);
    assert_eq!(site.flows[0].came(), came);
}

/// The mobile host that it serves goes on at another gateway.
#[test]
fn a_gateway_that_is_revoked_serves_nobody() {
    let mut site = begun(told());
    site.move_to(2);
    site.run(SECOND, false);
    site.input(HOME, revoke("second"));
    site.run(SECOND * 8, false);
    assert_ne!(site.serving(), "second", "{:?}", site.events);
    assert!(goes_on(&mut site), "{:?}", site.events);
    assert_eq!(site.peers_of(3), ["home", "mobile@home"]);
    // It is told by its home, once that serves it.
    site.move_to(HOME);
    site.run(SECOND, true);
    assert_eq!(site.peers_of(MOBILE), ["home", "third"]);
}

/// The gateway that serves stays until the mobile host has left it, though what told of it is gone.
#[test]
fn a_mobile_host_goes_on_without_the_peer_that_told_of_its_gateway() {
    let mut site = begun(told());
    site.move_to(2);
    site.run(SECOND, false);
    site.input(MOBILE, revoke("home"));
    assert_eq!(site.peers_of(MOBILE), ["second"]);
    // The home comes again in another place, and its former one is empty.
    site.input(MOBILE, admit(peer(MOBILE, 3)));
    site.input(MOBILE, admit(peer(MOBILE, HOME)));
    site.input(MOBILE, revoke("third"));
    site.move_to(HOME);
    site.run(SECOND, false);
    assert_eq!(site.serving(), "home");
    is_whole(&mut site);
}

#[test]
fn what_is_lost_is_told_again_and_what_changed_meanwhile_too() {
    let mut site = Roaming::new(told());
    site.network.cut = vec![[HOME, 2]];
    site.run(SECOND * 5, false);
    site.input(HOME, revoke("third"));
    site.network.cut.clear();
    site.run(SECOND * 20, true);
    assert_eq!(site.peers_of(2), ["home", "mobile@home"]);
    site.network.cut = vec![[HOME, 2]];
    site.input(HOME, revoke("mobile"));
    site.run(SECOND * 5, true);
    assert_eq!(site.peers_of(2), ["home", "mobile@home"]);
    site.network.cut.clear();
    site.run(SECOND * 15, true);
    assert_eq!(site.peers_of(2), ["home"]);
}

#[test]
fn a_home_or_a_gateway_that_starts_again_tells_and_is_told_again() {
    let mut site = begun(told());
    site.restart(HOME, WALL + 5_000_000_000, None);
    site.run(SECOND * 5, true);
    site.restart(2, WALL + 5_000_000_000, None);
    site.run(SECOND * 5, true);
    assert_eq!(sorted(&site, 2), ["home", "mobile@home", "third"]);
    site.move_to(2);
    site.run(SECOND * 2, false);
    assert_eq!(site.serving(), "second", "{:?}", site.events);
    // The mobile host begins again, and is served by its home.
    site.restart(MOBILE, WALL + 20_000_000_000, None);
    site.run(SECOND * 3, false);
    assert_eq!(site.serving(), "home", "{:?}", site.events);
    assert_eq!(sorted(&site, MOBILE), ["home", "second", "third"]);
    assert!(goes_on(&mut site));
}

/// What a host knows from its former life ends when it is told.
#[test]
fn what_was_removed_during_a_restart_is_forgotten_when_the_home_tells() {
    for host in [2, MOBILE] {
        let mut site = begun(told());
        let others = [MOBILE, 2, 3].map(|other| [HOME, other]);
        site.network.cut = others.into();
        let known = sorted(&site, host);
        site.restart(host, WALL + 5_000_000_000, None);
        assert_eq!(sorted(&site, host), known);
        site.input(HOME, revoke("third"));
        if host == 2 {
            site.input(HOME, revoke("mobile"));
        }
        site.run(SECOND * 5, true);
        assert_eq!(sorted(&site, host), known, "the home has not told yet");
        site.network.cut.clear();
        site.run(SECOND * 20, true);
        if host == MOBILE {
            // A mobile host believes its home, once that serves it.
            site.move_to(HOME);
            site.run(SECOND * 2, true);
        }
        let left = [&["home"][..], &["home", "second"]][usize::from(host == MOBILE)];
        assert_eq!(site.peers_of(host), left);
    }
}

/// A gateway that only another one has named has told something, too.
#[test]
fn what_a_gateway_has_told_that_was_told_of_is_known_after_a_restart() {
    let mut site = begun(told());
    site.input(3, admit(resident("late", "10.9.0.77")));
    site.run(SECOND, true);
    let known = sorted(&site, 2);
    assert!(known.contains(&"late@third".into()), "{known:?}");
    site.network.cut = vec![[2, HOME], [2, 3]];
    site.restart(2, WALL + 5_000_000_000, None);
    assert_eq!(sorted(&site, 2), known);
}

/// What is kept between two lives of a host is text.
#[test]
fn what_was_told_is_kept_as_text_and_damaged_text_is_refused() {
    let site = begun(told());
    let told = site.told_to(2);
    let text = serde_json::to_string(&told).expect("a text");
    assert!(text.contains(r#""mobile":{"name":"mobile","prefixes":[["10.9.0.2",32]]"#));
    let read: Vec<Told> = serde_json::from_str(&text).expect("what was told");
    assert_eq!(read, told);
    for damaged in [&text[..text.len() / 2], &text.replace("lasthop-pk1-", "")] {
        assert!(serde_json::from_str::<Vec<Told>>(damaged).is_err());
    }
}

/// The configuration of a gateway comes before what others tell.
#[test]
fn inner_addresses_that_a_gateway_has_given_are_told_by_nobody() {
    let mut site = begun(told());
    let own = build::peer("own", &[("10.9.0.0", 24)]);
    site.input(2, admit(own));
    assert_eq!(site.peers_of(2), ["home", "third", "own"]);
    // The home tells of another one that has an address of it.
    site.input(HOME, admit(resident("late", "10.9.0.77")));
    site.run(SECOND, true);
    assert_eq!(site.peers_of(2), ["home", "third", "own"]);
    assert!(site.peers_of(3).contains(&"late@home".into()));
    let is_said = |(_, host, kind): &(_, usize, EventKind)| {
        *host == 2 && *kind == EventKind::NotAdmitted(AdmitError::Taken)
    };
    assert!(site.events.iter().any(is_said), "{:?}", site.events);
}

/// What was refused is taken once nothing is in its way any more.
#[test]
fn a_mobile_host_whose_inner_address_is_free_again_is_known() {
    let mut site = begun(told());
    site.input(2, admit(build::peer("own", &[("10.9.0.77", 32)])));
    site.input(HOME, admit(resident("late", "10.9.0.77")));
    site.run(SECOND, true);
    assert!(!site.peers_of(2).contains(&"late@home".into()));
    site.input(2, revoke("own"));
    assert!(site.peers_of(2).contains(&"late@home".into()));
}

/// The mobile host itself says which gateway is its home.
#[test]
fn a_gateway_that_tells_of_a_mobile_host_of_another_one_gets_nothing() {
    let mut site = Roaming::new(told());
    // The third one takes itself for the home, and is the first to tell the second.
    site.network.cut = vec![[HOME, 2]];
    site.input(3, admit(resident("mobile", "10.9.0.2")));
    let mut third = peer(HOME, 3);
    third.membership.site = SitePart::Gateway;
    site.input(2, admit(third));
    site.input(3, admit(peer(HOME, 2)));
    site.run(SECOND, true);
    assert!(site.peers_of(2).contains(&"mobile@third".into()));
    site.network.cut.clear();
    site.run(SECOND * 2, false);
    site.move_to(2);
    site.run(SECOND * 8, false);
    assert_eq!(site.serving(), "home");
    let is_named = |(_, host, kind): &(_, usize, EventKind)| {
        *host == 2 && matches!(kind, EventKind::ClaimedWithoutProof { .. })
    };
    assert!(site.events.iter().any(is_named), "{:?}", site.events);
}

/// A site may have ten thousand mobile hosts; what each costs is the same for the last.
#[test]
fn many_mobile_hosts_are_told_in_portions() {
    const MANY: u16 = 2_000;
    let mut site = begun(told());
    for number in 0..MANY {
        let [high, low] = number.to_be_bytes();
        let one = resident(&format!("m{number}"), &format!("10.10.{high}.{low}"));
        site.input(HOME, admit(one));
    }
    // 8 KiB for each round trip between gateways.
    site.run(SECOND, true);
    let known = site.peers_of(2);
    assert_eq!(known.len(), 3 + usize::from(MANY), "{:?}", known.last());
    let messages = site.network.number;
    site.run(SECOND * 30, true);
    assert!(site.network.number < messages + 200, "it is silent then");
}

/// A gateway knows ten thousand of them, most of which never come.
#[test]
fn a_mobile_host_that_a_gateway_only_knows_takes_little_memory() {
    const MANY: u32 = 10_000;
    const MOST: i64 = 2_048;
    let home = peer(2, HOME);
    let teller = home.public.to_string();
    let told = (0..MANY).map(|number| {
        let [.., high, low] = number.to_be_bytes();
        let mut key = [0; 32];
        RandomStream::named(u64::from(number), "key").fill(&mut key);
        let key = PublicKey::from_bytes(key).to_string();
        let prefixes = [(format!("10.10.{high}.{low}"), 32)];
        let mobile = json!({ "name": format!("mobile_{number}"), "prefixes": prefixes });
        json!([{ "teller": teller, "peers": [{ "key": key, "mobile": mobile }] }])
    });
    let told: Vec<Vec<Told>> = told
        .map(|told| serde_json::from_value(told).expect("what was told"))
        .collect();
    let config = build::config(Role::Gateway, NAMES[2], vec![home]);
    let mut gateway = build::host(config, build::entropy(9, NAMES[2]));
    gateway.handle_input(Instant::ZERO, Input::Wall(WALL));
    let taken = allocation_counter::measure(|| {
        for told in &told {
            gateway.handle_input(Instant::ZERO, Input::Told(told.clone()));
            while gateway.poll_output().is_some() {}
        }
    });
    assert_eq!(
        gateway
            .status_page(Instant::ZERO, MANY as usize)
            .peers
            .len(),
        1
    );
    let each = taken.bytes_current / i64::from(MANY);
    println!("{each} bytes for each");
    assert!(each <= MOST, "{each} bytes for each, {taken:?}");
}

/// What it took while it was here is given back: it goes on elsewhere, and its keys end.
#[test]
fn a_mobile_host_that_has_gone_on_takes_as_little_as_before() {
    let taken = |site: &Roaming| site.mobile_at(2).expect("it is known").hop.memory;
    let mut site = begun(told());
    let before = taken(&site);
    site.move_to(2);
    site.run(SECOND, false);
    assert!(taken(&site) > before);
    site.move_to(HOME);
    site.run(SECOND * 200, true);
    assert_eq!(site.serving(), "home");
    assert_eq!(taken(&site), before);
    // It may come again.
    site.move_to(2);
    site.run(SECOND, false);
    assert_eq!(site.serving(), "second", "{:?}", site.events);
    assert!(goes_on(&mut site));
}
