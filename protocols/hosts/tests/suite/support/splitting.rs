//! Hosts that split TCP, and the sockets beside them.

use hosts::Input;
use sockets::System;
use units::{Bytes, Duration};

use super::{GATEWAY, MOBILE, Pair};

/// Returns the sockets of both hosts.
pub(super) fn systems() -> [System; 2] {
    [["10.9.0.2", "fd09::2"], ["10.9.0.1", "192.0.2.254"]]
        .map(|addresses| System::new(addresses.map(|text| text.parse().expect("an address"))))
}

/// Returns the configuration of a host's splitter. The mobile host has an address that the gateway does not know,
/// and the gateway believes that one of the mobile host's loopback interface is an inner one.
pub(super) fn config(index: usize) -> split::Config {
    let networks = [
        vec!["10.9.0.2/32", "10.9.0.77/32", "fd09::2/128"],
        vec!["10.9.0.2/32", "fd09::2/128", "127.0.0.1/32"],
    ];
    let networks = networks[index].iter();
    split::Config {
        end: [
            split::End::Mobile,
            split::End::Gateway { transparent: true },
        ][index],
        mobiles: vec![split::Mobile {
            peer: 0,
            networks: networks
                .map(|text| text.parse().expect("a network"))
                .collect(),
            scope: split::Scope::Every,
        }],
        buffer: Bytes::kibi(64),
        connections: 512,
        idle: Duration::from_secs(7_440),
        accepts_at_once: false,
        secret: 7,
    }
}

impl Pair {
    /// Tells the hosts what has happened on their sockets, until nothing does.
    pub(crate) fn hand_in_events(&mut self) {
        if std::mem::replace(&mut self.handing_in, true) {
            return;
        }
        for host in [MOBILE, GATEWAY] {
            loop {
                while let Some(event) = self.systems[host].poll_event() {
                    self.input(host, Input::System(event));
                }
                let answer = self.answer;
                if answer.is_none_or(|answer| self.systems[host].answer(answer).is_none()) {
                    break;
                }
            }
        }
        self.handing_in = false;
    }
}
