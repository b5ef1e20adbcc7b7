//! What one mobile host, or the wired network on its account, may take of the gateway.

use hosts::{Caps, Config, Host, HostError, Input, Peer, Role, TcpMethod, TcpTerms};
use scheduler::config::Discipline;
use units::{Bytes, Duration, Instant};

use crate::support::cell::{Cell, Fades, Setting, WARM_UP};
use crate::support::intruder::{Intruder, Silent};
use crate::support::{Traffic, build};

/// Payload of the answers to connections of the mobile host; nothing else to it is as long.
const ANSWER: usize = 1_000;
/// The mobile host with the address of all traffic.
const MOBILE: usize = 1;

/// Returns a cell of two mobile hosts without traffic, whose gateway allows 500 new flows a second.
fn quiet_cell() -> Cell {
    let setting = Setting {
        caps: Caps {
            new_flows: Some(500),
            ..Caps::default()
        },
        ..Setting::usual(Discipline::Airtime, 2)
    };
    let mut cell = Cell::new(&setting, vec![Fades::default(); 2]);
    cell.fed.fill(false);
    cell
}

/// The packet of an upload that begins the flow of the download with the same port.
fn beginning(upload: &mut Traffic) -> Input {
    let mut packet = upload.packet(0);
    packet.rewrite(|bytes| bytes[20..24].rotate_left(2));
    Input::Packet(packet)
}

/// A wired host sends 5,000 packets of one byte each second, each the first of a flow, to a mobile host that begins
/// ten connections a second: each of those crosses at once, and so does its answer.
#[test]
fn flows_that_the_wired_side_begins_leave_room_for_those_of_the_mobile_host() {
    let mut cell = quiet_cell();
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
            inputs.push((Some(MOBILE), beginning(&mut connects)));
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

/// The wired network sends all that the hop carries and more in 200 flows of its own, beside one download that the
/// mobile host began: the download gets half of the hop.
#[test]
fn what_the_wired_side_begins_leaves_half_of_the_hop() {
    let mut cell = quiet_cell();
    cell.begin();
    let (mut request, mut download) = (Traffic::upload(1), Traffic::bulk(1));
    let mut flood: Vec<_> = (0..200).map(|port| Traffic::bulk(1_000 + port)).collect();
    let mut ticks = 0;
    cell.extra = Some(Box::new(move |now| {
        ticks += 1;
        if now < Instant::from_millis(1_000) {
            return vec![(Some(MOBILE), beginning(&mut request))];
        }
        // 11 Mbit/s of the download, whose packets are full, and 23 Mbit/s of the others, whose packets are shorter.
        let mut inputs = Vec::new();
        (0..10).for_each(|_| inputs.push((None, Input::Packet(download.full_packet()))));
        for traffic in flood.iter_mut().skip(ticks % 5 * 40).take(40) {
            inputs.push((None, Input::Packet(traffic.packet(700))));
        }
        inputs
    }));
    cell.run_until(WARM_UP);
    let before = cell.received[MOBILE].clone();
    cell.run_until(WARM_UP + Duration::from_secs(3));
    let payload = cell.received[MOBILE].payload - before.payload;
    let packets = cell.received[MOBILE].packets - before.packets;
    // With `full` and `short` packets, payload is 1,428 and 700 bytes of each.
    let full = (payload - 700 * packets) / (1_428 - 700);
    let share = 1_428 * full * 100 / payload;
    println!("{share} % of {payload} bytes");
    assert!((45..=60).contains(&share), "{share} % of {payload} bytes");
}

/// Thirty mobile hosts acknowledge nothing while much is sent to each, and the gateway has little memory for all: it
/// keeps within that (the cell checks it after each input), and one that behaves still gets what its hop carries.
#[test]
fn those_that_take_memory_leave_some_to_the_next() {
    const MOBILES: usize = 30;
    let setting = |memory| Setting {
        memory,
        ..Setting::usual(Discipline::Airtime, MOBILES)
    };
    let payload = |memory| {
        let mut cell = Cell::new(&setting(memory), vec![Fades::default(); MOBILES]);
        (1..MOBILES).for_each(|mobile| {
            cell.replace(mobile, Box::new(Intruder::new(mobile, Silent)));
        });
        cell.fed.fill(false);
        cell.fed[0] = true;
        cell.begin();
        let mut traffic: Vec<_> = (0..10).map(Traffic::bulk).collect();
        cell.extra = Some(Box::new(move |_| {
            let mut inputs = Vec::new();
            for mobile in 1..MOBILES {
                for traffic in &mut traffic {
                    let mut packet = traffic.packet(1_400);
                    let field = [10, 9, 0, mobile as u8 + 1];
                    packet.rewrite(|bytes| bytes[16..20].copy_from_slice(&field));
                    inputs.push((None, Input::Packet(packet)));
                }
            }
            inputs
        }));
        let got = cell.measure(Duration::from_secs(3));
        (got[0], cell.counts.held_most)
    };
    let memory = setting(None).config().memory_least() + Bytes::mebi(16);
    let (usual, unlimited) = payload(None);
    assert!(unlimited > memory, "{unlimited} is held without a limit");
    let (got, held) = payload(Some(memory));
    println!("{got} of {usual} bytes, {held} of {memory}");
    assert!(held * 4 > memory, "{held} of {memory}");
    assert!(got * 10 >= usual * 9, "{got} of {usual}");
}

#[test]
fn a_gibibyte_suffices_for_four_thousand_mobile_hosts() {
    let peer = Peer {
        tcp: TcpTerms::Choose(TcpMethod::Arq),
        ..build::peer("one", &[("10.9.0.2", 32)])
    };
    let config = build::config(Role::Gateway, "gateway", vec![peer; 4_000]);
    let least = config.memory_least();
    // The program takes 64 MiB, and those that need more than a floor share the rest.
    assert!(
        least + Bytes::mebi(64 + 16) <= Bytes::mebi(1_024),
        "{least}"
    );
    let little = Config {
        memory: Some(Bytes::mebi(256)),
        ..config
    };
    let error = Host::new(little, build::entropy(1, "gateway")).err();
    assert_eq!(error, Some(HostError::Memory(least)));
}
