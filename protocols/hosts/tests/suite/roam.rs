//! A mobile host changes to another link, with another address and another rate, in mid-download.

use std::fmt::Write;

use channel::Link;
use hosts::Input;
use tcp::{Config, Control};
use units::{BitRate, Duration, Instant};
use wire::address::HopAddress;

use crate::support::ends::Ends;
use crate::support::{GATEWAY, MOBILE, Pair, Traffic};

const SECOND: Duration = Duration::from_secs(1);
/// Time from one change to the next.
const EVERY: u64 = 5;
const CHANGES: u64 = 6;
/// Time from the loss of the former link until the mobile host has the next one.
const OUTAGE: Duration = Duration::from_millis(20);
/// Step between two looks at the rate, and the span over which it is measured.
const STEP: Duration = Duration::from_millis(20);
const WINDOW: usize = 25;

fn address(number: u64) -> HopAddress {
    let host = std::net::Ipv4Addr::from(0xc633_6400 + number as u32);
    HopAddress::Udp((host, 40_000).into())
}

/// Two links by turns, of these rates in Mbit/s.
fn links(rates: [u64; 2]) -> Link {
    let mut steps = String::new();
    for change in 1..=CHANGES {
        let (at, rate) = (change * EVERY, rates[change as usize % 2]);
        // Writing to a string cannot fail.
        let _ = write!(steps, "{{ at = '{at} s', rate = '{rate} Mbit/s' }}, ");
    }
    let first = rates[0];
    let text = format!(
        "each = {{ rate = '{first} Mbit/s', delay = '20 ms', queue = '100 packets', schedule = [{steps}] }}"
    );
    Link::from_toml(&text, "roam.toml").expect("a link")
}

/// Checks that the receiver has 80 % of the rate of each link soon after the change to it; `read` returns its bytes.
fn reaches(mut pair: Pair, rates: [u64; 2], read: impl Fn(&Pair) -> u64) {
    for change in 1..=CHANGES {
        pair.run_until(Instant::ZERO + SECOND * (change * EVERY));
        let begun = pair.now;
        pair.blackout = begun..begun + OUTAGE;
        pair.run_for(OUTAGE);
        pair.place.mobile = Some(address(change));
        pair.input(MOBILE, Input::LinkUp);
        let rate = BitRate::from_megabits(rates[change as usize % 2]);
        let wanted = rate.bytes_in(STEP * WINDOW as u64).get() * 4 / 5;
        let mut totals = vec![read(&pair)];
        let has_reached = |totals: &[u64]| {
            let before = totals.len().checked_sub(WINDOW + 1);
            before.is_some_and(|before| totals[totals.len() - 1] - totals[before] >= wanted)
        };
        while !has_reached(&totals) {
            pair.run_for(STEP);
            totals.push(read(&pair));
            let passed = pair.now.since(begun);
            assert!(passed <= SECOND * 2, "{rates:?}, change {change}: not yet");
        }
    }
}

#[test]
fn the_rate_of_the_next_link_is_reached_within_two_seconds() {
    for rates in [[20, 8], [50, 2]] {
        let mut pair = Pair::over(links(rates), 3, 0);
        pair.add(Traffic::bulk(1));
        reaches(pair, rates, |pair| pair.received(1).payload);
        let mut pair = Pair::over(links(rates), 3, 0);
        let config = Config {
            timestamps: true,
            window_scaling: true,
            ..Config::kernel(Control::Cubic)
        };
        pair.connect(Ends::new(&config), (GATEWAY, 1 << 40));
        reaches(pair, rates, |pair| pair.ends().read(MOBILE).0);
    }
}
