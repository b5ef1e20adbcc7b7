//! A host keeps the contract of a core, whatever it was given in a run.

use channel::Link;
use hosts::{Input, Profile};
use machine::conformance;
use units::{Duration, Instant};

use crate::support::traffic::Traffic;
use crate::support::{GATEWAY, MOBILE, Pair, WALL};

/// Gives fresh hosts what one host of a pair was given while `run` went on.
fn check(mut pair: Pair, host: usize, run: impl FnOnce(&mut Pair)) {
    pair.record = Some((host, Vec::new()));
    run(&mut pair);
    let (_, inputs) = pair.record.take().expect("it was recorded");
    assert!(inputs.len() > 100, "{}", inputs.len());
    let mut script = vec![(Duration::ZERO, Input::Wall(WALL))];
    let mut last = Instant::ZERO;
    for (at, input) in inputs {
        script.push((at.since(last), input));
        last = at;
    }
    let build = || pair.first_life(host);
    conformance::check(build, &script, Duration::from_secs(400));
}

#[test]
fn hosts_that_carry_packets_keep_the_contract() {
    for host in [MOBILE, GATEWAY] {
        let link = Link::named("l2-b40").expect("a link");
        check(Pair::over(link, 5, 0), host, |pair| {
            pair.add(Traffic::bulk(1));
            pair.run_for(Duration::from_secs(2));
        });
    }
}

#[test]
fn hosts_that_split_keep_the_contract() {
    for host in [MOBILE, GATEWAY] {
        let link = Link::named("l3-p5").expect("a link");
        let pair = Pair::with_streams(link, 5, (Profile::Wide, false));
        check(pair, host, |pair| {
            pair.run_for(Duration::from_secs(1));
            let ends =
                ["10.9.0.2:5000", "192.0.2.1:80"].map(|text| text.parse().expect("an address"));
            let syn = pair.systems[MOBILE].open(ends[0], ends[1]);
            pair.input(MOBILE, Input::Packet(syn));
            pair.run_for(Duration::from_secs(1));
            let ends = wire::flow::Ends {
                source: ends[0],
                destination: ends[1],
            };
            for end in [MOBILE, GATEWAY] {
                pair.systems[end].write(&ends, 300_000);
                pair.systems[end].finish(&ends);
                pair.hand_in_events();
            }
            pair.run_for(Duration::from_secs(2));
        });
    }
}
