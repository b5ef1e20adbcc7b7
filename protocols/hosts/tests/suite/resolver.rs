//! A mobile host learns the resolver of the hop from its gateway.

use hosts::{Input, Peer, ResolverTerms, Resolvers};
use session::DATA_OVERHEAD_BYTES;
use units::{Duration, Instant};

use crate::support::place::{Terms, resolvers};
use crate::support::{GATEWAY, MOBILE, Pair, build};

const SECOND: Duration = Duration::from_secs(1);
const FIRST: &str = "10.9.0.1";
const SECOND_SERVER: &str = "fd09::1";

/// Returns what the mobile host has learned, each with its time.
fn learned(pair: &Pair) -> Vec<(Instant, Resolvers)> {
    pair.place.resolvers.clone()
}

#[test]
fn the_question_is_repeated_until_the_answer_comes() {
    let mut pair = Pair::with_resolver("l2-clean", 1, Terms::Offered(FIRST));
    pair.run_for(SECOND);
    let [(at_once, offered)] = &learned(&pair)[..] else {
        panic!("{:?}", learned(&pair));
    };
    assert_eq!(*offered, resolvers(FIRST));
    let mut pair = Pair::with_resolver("l2-clean", 1, Terms::Offered(FIRST));
    // A question is one byte. Three are lost: it comes 0.5 s, 1 s and 2 s later.
    pair.place.loses = Some((MOBILE, DATA_OVERHEAD_BYTES + 1, 3));
    pair.run_for(SECOND * 6);
    let [(late, offered)] = &learned(&pair)[..] else {
        panic!("{:?}", learned(&pair));
    };
    assert_eq!(*offered, resolvers(FIRST));
    let waited = late.since(*at_once);
    assert!(
        waited >= SECOND * 3 && waited <= Duration::from_millis(3_600),
        "{waited}"
    );
}

#[test]
fn an_offer_that_changes_is_learned_with_the_next_keys_and_said_once() {
    let mut pair = Pair::with_resolver("l2-clean", 2, Terms::Offered(FIRST));
    pair.run_for(SECOND);
    let mobile = Peer {
        resolver: ResolverTerms::Offer(resolvers(SECOND_SERVER)),
        tcp: hosts::TcpTerms::Choose(hosts::TcpMethod::Arq),
        ..build::peer("mobile", &[("10.9.0.2", 32), ("fd09::2", 128)])
    };
    let admit = Input::Admit {
        peer: Box::new(mobile),
        scope: None,
    };
    pair.input(GATEWAY, admit);
    // Keys are made anew while something is sent, however little.
    pair.add_requests(pair.now);
    pair.run_for(SECOND * 400);
    let learned = learned(&pair);
    let offers: Vec<_> = learned.iter().map(|(_, offer)| offer.clone()).collect();
    assert_eq!(offers, [FIRST, SECOND_SERVER].map(resolvers));
}

#[test]
fn a_gateway_of_an_earlier_version_offers_none_and_is_not_asked() {
    let mut pair = Pair::with_resolver("l2-clean", 3, Terms::Asked);
    pair.place.loses = Some((MOBILE, DATA_OVERHEAD_BYTES + 1, 1));
    pair.run_for(SECOND * 5);
    let offers: Vec<_> = learned(&pair).into_iter().map(|(_, offer)| offer).collect();
    assert_eq!(offers, [Resolvers::default()]);
    assert_eq!(
        pair.place.loses.map(|(_, _, left)| left),
        Some(1),
        "it was asked"
    );
}
