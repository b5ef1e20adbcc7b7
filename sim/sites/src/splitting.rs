//! Hosts that split TCP, and the sockets beside them.

use hosts::{Handover, Profile, SplitTerms, StreamLimits};
use redirector::Chunks;
use sockets::{Application, State, System};
use split::{SystemEvent, SystemRequest};
use units::{Bytes, Duration, Instant};
use wire::flow::Ends;
use wire::packet::Packet;

use crate::flows::Meter;
use crate::{GATEWAY, MOBILE};

/// Returns the sockets of both hosts.
pub fn systems() -> [System; 2] {
    [["10.9.0.2", "fd09::2"], ["10.9.0.1", "192.0.2.254"]]
        .map(|addresses| System::new(addresses.map(|text| text.parse().expect("an address"))))
}

/// Returns the configuration of a host's splitter. The mobile host has an address that the gateway does not know,
/// and the gateway believes that one of the mobile host's loopback interface is an inner one.
pub fn config(index: usize) -> split::Config {
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

/// Sockets of the mobile host and of its home, and a download over a connection that these split.
#[derive(Debug)]
pub(crate) struct Sockets {
    systems: [System; 2],
    ends: Ends,
    pub(crate) meter: Meter,
}

impl Sockets {
    /// Has an application of the mobile host open a connection, over which the fixed host sends without end; returns
    /// its first packet.
    pub(crate) fn download(now: Instant, number: u16) -> (Self, Packet) {
        let mut systems = systems();
        let ends = Ends {
            source: ([10, 9, 0, 2], 5_000 + number).into(),
            destination: ([192, 0, 2, 1], 80).into(),
        };
        let syn = systems[MOBILE].open(ends.source, ends.destination);
        let meter = Meter::new(now);
        let sockets = Self {
            systems,
            ends,
            meter,
        };
        (sockets, syn)
    }

    /// Carries out a request of a host.
    pub(crate) fn carry_out(&mut self, host: usize, request: SystemRequest<Chunks>) {
        self.systems[host].carry_out(request);
    }

    /// Returns the next event for a host.
    pub(crate) fn poll_event(&mut self, host: usize) -> Option<SystemEvent<Chunks>> {
        let system = &mut self.systems[host];
        let event = system.poll_event();
        if event.is_some() || host == MOBILE {
            return event;
        }
        system.answer(Ok(()))?;
        system.write(&self.ends, 1 << 40);
        system.poll_event()
    }

    /// Another process goes on with the sockets of the home.
    pub(crate) fn succeed(&mut self, handover: &Handover) {
        self.systems[GATEWAY].succeed(&handover.sockets().collect());
    }

    /// Takes a packet that came out at a host, if it is about a connection there.
    pub(crate) fn take(&mut self, host: usize, packet: &Packet) {
        self.systems[host].packet(packet);
    }

    /// Notes what the mobile host has read.
    pub(crate) fn note(&mut self, now: Instant) {
        let application = self.systems[MOBILE].application(&self.ends);
        let read = application.map_or(0, Application::received);
        self.meter.note(now, read);
    }

    /// Returns true if both applications have the connection.
    pub(crate) fn is_connected(&self) -> bool {
        let is_open = |host: usize| {
            let application = self.systems[host].application(&self.ends);
            application.is_some_and(|application| application.state() == State::Open)
        };
        is_open(MOBILE) && is_open(GATEWAY)
    }
}

/// Returns the limits on streams, and the terms for them, of a host that splits TCP.
pub(crate) fn terms(host: usize) -> (StreamLimits, SplitTerms) {
    let limits = StreamLimits {
        receive_buffer: None,
        connections: 16,
        lean: false,
    };
    let terms = match host {
        MOBILE => SplitTerms::Follow,
        _ => SplitTerms::Choose(Profile::Wide),
    };
    (limits, terms)
}
