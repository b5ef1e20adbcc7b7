//! An idle mobile host behind a NAT that forgets: its gateway must reach it.

use hosts::Input;
use machine::RandomStream;
use units::Duration;

use crate::support::place::Nat;
use crate::support::{GATEWAY, Pair, Traffic};

const SECOND: Duration = Duration::from_secs(1);

/// Returns the number of packets from the gateway that come at once, of twenty after pauses of up to five minutes.
fn reached(pair: &mut Pair, random: &mut RandomStream) -> usize {
    let come = (0..20).filter(|_| {
        pair.run_for(SECOND * (20 + random.below(280)));
        let mut traffic = Traffic::bulk(7);
        let before = pair.received(7).payload;
        pair.input(GATEWAY, Input::Packet(traffic.packet(100)));
        pair.run_for(SECOND);
        pair.received(7).payload > before
    });
    come.count()
}

#[test]
fn an_idle_mobile_host_is_reached_behind_any_nat() {
    for lifetime in [20, 30, 60, 180, 600] {
        let mut random = RandomStream::named(lifetime, "pauses");
        let mut pair = Pair::with_detours("l2-clean", lifetime);
        pair.place.nat = Some(Nat::that_forgets_after(SECOND * lifetime));
        pair.run_for(SECOND * 1_200);
        assert_eq!(reached(&mut pair, &mut random), 20, "{lifetime} s");
        // It changes to one of 25 s, as when the mobile host's provider does.
        pair.place.nat = Some(Nat::that_forgets_after(SECOND * 25));
        pair.run_for(SECOND * 3_000);
        assert_eq!(
            reached(&mut pair, &mut random),
            20,
            "25 s after {lifetime} s"
        );
    }
}
