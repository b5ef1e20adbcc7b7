//! What one mobile host, or the wired network on its account, may take of the gateway.

use hosts::{Caps, Input};
use scheduler::config::Discipline;
use units::Instant;

use crate::support::Traffic;
use crate::support::cell::{Cell, Fades, Setting, WARM_UP};

/// Payload of the answers to connections of the mobile host; nothing else to it is as long.
const ANSWER: usize = 1_000;
/// The mobile host with the address of all traffic.
const MOBILE: usize = 1;

/// A wired host sends 5,000 packets of one byte each second, each the first of a flow, to a mobile host that begins
/// ten connections a second: each of those crosses at once, and so does its answer.
#[test]
fn flows_that_the_wired_side_begins_leave_room_for_those_of_the_mobile_host() {
    let setting = Setting {
        caps: Caps {
            new_flows: Some(500),
            ..Caps::default()
        },
        ..Setting::usual(Discipline::Airtime, 2)
    };
    let mut cell = Cell::new(&setting, vec![Fades::default(); 2]);
    cell.fed.fill(false);
    cell.begin();
    let (mut flood, mut connects, mut answers) =
        (Traffic::bulk(10_000), Traffic::upload(1), Traffic::bulk(1));
    let (mut ticks, mut began) = (0, Vec::new());
    cell.extra = Some(Box::new(move |now| {
        let mut inputs = Vec::new();
        ticks += 1;
        for _ in 0..50 {
            flood.port = flood.port.wrapping_add(1).max(10_000);
            inputs.push((None, Input::Packet(flood.packet(1))));
        }
        let connecting = now > Instant::from_millis(1_500) && connects.port < 101;
        if connecting && ticks % 10 == 0 {
            inputs.push((Some(MOBILE), Input::Packet(connects.packet(0))));
            began.push(connects.port);
            connects.port += 1;
        }
        // The fixed host answers after 50 ms.
        if ticks % 10 == 5
            && let Some(port) = began.pop()
        {
            answers.port = port;
            inputs.push((None, Input::Packet(answers.packet(ANSWER))));
        }
        inputs
    }));
    // All hundred connections, the last answer, and 30 ms.
    cell.run_until(Instant::from_millis(1_500 + 10_000 + 80));
    let refused = cell.peer(MOBILE).hop.packets_of_refused_flows;
    assert!(
        refused > 20_000,
        "{refused} packets had no flow of their own"
    );
    assert_eq!(cell.counts.forwarded, 100, "of 100 connections");
    let received = cell.received[MOBILE].payload;
    let flooded = cell.received[MOBILE].packets - received / ANSWER as u64;
    assert_eq!((received - flooded) / ANSWER as u64, 100, "of 100 answers");
    assert!(cell.now > WARM_UP);
}
