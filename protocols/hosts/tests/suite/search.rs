//! A gateway whose name has another address by now.

use hosts::{Input, PlaceState};
use units::Duration;
use wire::address::HopAddress;

use crate::site::goes_on;
use crate::support::place::Place;
use crate::support::roaming::{HOME, Roaming, Setting};
use crate::support::{GATEWAY, MOBILE, Pair, Traffic, WALL};

const SECOND: Duration = Duration::from_secs(1);

fn elsewhere() -> HopAddress {
    "203.0.113.77:51830".parse().expect("an address")
}

/// A pair in the midst of a transfer, whose gateway has just moved to another address.
fn moved() -> Pair {
    let mut pair = Pair::new("l2-clean", 7);
    pair.add(Traffic::bulk(1));
    pair.add(Traffic::upload(2));
    pair.run_for(SECOND * 5);
    assert_eq!(pair.sought, [], "it answers, so nobody looks for it");
    // What is on its way has come from the old place.
    pair.blackout = pair.now..pair.now + SECOND;
    pair.run_for(SECOND);
    pair.place = Place::moved_to(elsewhere());
    pair
}

#[test]
fn a_gateway_that_does_not_answer_is_looked_for_ever_more_seldom() {
    let mut pair = moved();
    let begun = pair.now;
    pair.run_for(SECOND * 200);
    let times: Vec<u64> = pair
        .sought
        .iter()
        .map(|(at, _)| at.since(begun).as_millis() / 1_000)
        .collect();
    assert!(
        matches!(times[..], [4..=6, 14..=21, 34..=47, ..]),
        "{times:?}"
    );
    assert!(times.len() <= 8, "{times:?}");
}

/// It may get its new address late in the outage.
#[test]
fn the_search_goes_on_each_minute_however_long_the_outage_lasts() {
    let mut pair = moved();
    pair.run_for(SECOND * 1_200);
    let sought = pair.sought.iter().map(|(at, _)| *at);
    let later = pair.sought.iter().skip(1).map(|(at, _)| *at);
    let longest = sought
        .zip(later)
        .map(|(first, next)| next.since(first))
        .max();
    assert!(longest < Some(SECOND * 50), "{longest:?}");
    assert!(pair.sought.len() > 20, "{}", pair.sought.len());
}

#[test]
fn it_is_found_at_its_new_place_and_nothing_is_lost() {
    let mut pair = moved();
    pair.run_for(SECOND * 20);
    let before = pair.received(1).payload;
    pair.input(
        MOBILE,
        Input::Found {
            peer: 0,
            at: elsewhere(),
        },
    );
    pair.run_for(SECOND * 8);
    assert_eq!(pair.status(MOBILE).endpoint, Some(elsewhere()));
    assert!(pair.received(1).payload > before);
    assert!(pair.received(1).in_order);
}

#[test]
fn false_places_change_nothing_and_are_few() {
    let mut pair = moved();
    pair.place = Place::default();
    let begun = pair.now;
    pair.blackout = begun..begun + SECOND * 20;
    pair.run_for(SECOND * 20);
    let known = pair.status(MOBILE).endpoint;
    for number in 0..=255 {
        let at = HopAddress::Udp(([198, 51, 100, number], 51_830).into());
        pair.input(MOBILE, Input::Found { peer: 0, at });
        pair.input(GATEWAY, Input::Found { peer: 0, at });
        pair.input(MOBILE, Input::Found { peer: 9, at });
    }
    pair.run_for(SECOND * 8);
    assert_eq!(pair.status(MOBILE).endpoint, known);
    let before = pair.received(1).payload;
    pair.run_for(SECOND * 3);
    assert!(pair.received(1).payload > before, "the known place goes on");
}

/// The answer to an initiation with an old stamp leads to no keys, so it proves no address: the search goes on.
#[test]
fn a_gateway_that_refuses_a_stamp_at_its_new_place_is_found_all_the_same() {
    let mut pair = moved();
    // Its stamps are older than those of its former life.
    pair.restart_with_clock(MOBILE, WALL - 3_600_000_000_000);
    pair.run_for(SECOND * 20);
    let before = pair.received(1).payload;
    let at = elsewhere();
    pair.input(MOBILE, Input::Found { peer: 0, at });
    pair.run_for(SECOND * 8);
    assert_eq!(pair.status(MOBILE).endpoint, Some(elsewhere()));
    assert!(pair.received(1).payload > before);
}

fn second_uplink() -> HopAddress {
    "203.0.113.78:51830".parse().expect("an address")
}

/// The states of the addresses that are not in use.
fn others(pair: &Pair) -> Vec<(HopAddress, PlaceState)> {
    let others = pair.status(MOBILE).others;
    others.iter().map(|place| (place.at, place.state)).collect()
}

/// Its names lead to one gateway: the one that answers is used, and the status says why the others are not.
#[test]
fn of_several_addresses_the_one_that_answers_is_used_and_stays() {
    let mut pair = moved();
    let former = pair.status(MOBILE).endpoint.expect("an address");
    pair.run_for(SECOND * 7);
    assert_eq!(pair.sought.len(), 1);
    for at in [former, second_uplink(), elsewhere()] {
        pair.input(MOBILE, Input::Found { peer: 0, at });
    }
    pair.input(MOBILE, Input::PortRefused(second_uplink()));
    let asked = others(&pair);
    assert!(
        asked.contains(&(elsewhere(), PlaceState::Asked)),
        "{asked:?}"
    );
    pair.run_for(SECOND * 8);
    assert_eq!(pair.status(MOBILE).endpoint, Some(elsewhere()));
    let expected = [
        (second_uplink(), PlaceState::Refused),
        (former, PlaceState::Silent),
    ];
    assert_eq!(others(&pair), expected);
    assert!(pair.received(1).in_order);
    // It stays there without another search.
    let before = pair.received(1).payload;
    pair.run_for(SECOND * 60);
    assert_eq!(pair.sought.len(), 1);
    assert_eq!(pair.status(MOBILE).endpoint, Some(elsewhere()));
    assert!(pair.received(1).payload > before);
}

/// A port that is refused, and a route that is missing, leave less hope than silence, which may be a fade.
#[test]
fn other_addresses_are_asked_soon_where_the_known_one_is_refused_or_has_no_route() {
    type News = fn(HopAddress) -> Input;
    let news: [(News, PlaceState); 2] = [
        (Input::PortRefused, PlaceState::Refused),
        (Input::Unreachable, PlaceState::NoRoute),
    ];
    for (news, state) in news {
        let mut pair = moved();
        let former = pair.status(MOBILE).endpoint.expect("an address");
        let begun = pair.now;
        while pair.sought.is_empty() {
            pair.input(MOBILE, news(former));
            pair.run_for(Duration::from_millis(50));
        }
        let (at, _) = pair.sought[0];
        assert!(
            at.since(begun) < SECOND * 3,
            "{state:?}: {}",
            at.since(begun)
        );
        pair.input(
            MOBILE,
            Input::Found {
                peer: 0,
                at: elsewhere(),
            },
        );
        pair.run_for(SECOND * 8);
        assert_eq!(pair.status(MOBILE).endpoint, Some(elsewhere()), "{state:?}");
        assert_eq!(others(&pair), [(former, state)]);
    }
}

/// Whoever of two gateways begins handshakes, they find each other again when the machine of one has another address.
#[test]
fn a_gateway_that_has_moved_to_another_machine_is_found() {
    for moved in [HOME, 2, 3] {
        let mut site = Roaming::new(Setting::default());
        site.tell_spares();
        site.run(SECOND * 3, false);
        site.move_machine(moved);
        site.run(SECOND * 3, false);
        for to in [2, 3, 2] {
            if to == moved {
                // This mobile host does not know where it is.
                continue;
            }
            site.move_to(to);
            site.run(SECOND * 2, false);
            assert_eq!(site.serving_host(), Some(to), "{moved}: {:?}", site.events);
            goes_on(&mut site, &format!("{moved}, {to}"));
        }
    }
}
