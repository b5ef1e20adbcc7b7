//! Datagrams in the name of somebody else.

use std::net::UdpSocket;
use std::time::Duration;

use super::{RAW, add_raw_mobile, raw_mobile};
use crate::support::{FIXED_HOST, GATEWAY_OUTSIDE, Hosts, able};

/// A frame with padding; its datagram has 43 bytes.
const FRAME: [u8; 18] = [0x10, 0, 0, 1, 0, 0x50, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// An authentic datagram comes from a victim's address, in the midst of much traffic for its sender.
#[test]
fn one_redirected_datagram_brings_a_victim_next_to_nothing() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    add_raw_mobile(&hosts);
    let _gateway = hosts.start("gateway");
    let mut raw = raw_mobile(&hosts, &hosts.mobile);
    raw.send(&FRAME);
    let victim = hosts
        .fixed
        .run(|| UdpSocket::bind((FIXED_HOST, 0)).unwrap())
        .unwrap();
    victim.set_nonblocking(true).unwrap();
    let source = || UdpSocket::bind("10.73.0.1:0").unwrap();
    let source = hosts.gateway.run(source).unwrap();
    let (mut before, mut after, mut strayed, mut redirected) = (0, 0, 0, None);
    for round in 0..1_000 {
        let _ = source.send_to(&[7; 1_000], (std::net::Ipv4Addr::from(RAW), 9));
        let received = if redirected.is_some() {
            &mut after
        } else {
            &mut before
        };
        raw.receive(|frame| *received += frame.len());
        if round == 200 {
            let mut frame = FRAME;
            frame[4] = 1;
            let datagram = raw.seal(&frame).unwrap();
            let to = (GATEWAY_OUTSIDE, 51_830);
            redirected = Some(victim.send_to(&datagram, to).unwrap());
        }
        let mut buffer = [0; 2_048];
        while let Ok(length) = victim.recv(&mut buffer) {
            strayed += length;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let sent = redirected.unwrap();
    assert_eq!(sent, 43);
    assert!(
        strayed <= 3 * sent,
        "the victim got {strayed} bytes for {sent}"
    );
    // The challenge shows that the datagram was authentic, and the newest.
    assert!(strayed > 0, "{}", hosts.log("gateway"));
    assert!(
        before > 1_000 && after > 1_000,
        "{before} and {after} bytes"
    );
}
