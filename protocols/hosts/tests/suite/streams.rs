//! TCP that is split, across a lossy hop in virtual time, from one application to the other: agreed on in the
//! handshake, whole or reset.

use channel::{Direction, Link};
use hosts::{EventKind, Input, Profile};
use sockets::{Application, State, System};
use split::Refusal;
use units::{Duration, Instant};
use wire::flow::Ends;

use crate::support::{GATEWAY, MOBILE, Pair};

/// A pair whose TCP is split, and its applications.
pub(crate) struct Load {
    pub(crate) pair: Pair,
}

impl Load {
    pub(crate) fn new(link: &str, profile: Profile) -> Self {
        Self::with(link, profile, false)
    }

    /// The same with a mobile host that may be lean.
    pub(crate) fn with(link: &str, profile: Profile, lean: bool) -> Self {
        let link = Link::named(link).expect("a link");
        let pair = Pair::with_streams(link, 5, (profile, lean));
        let mut load = Self { pair };
        load.pair.run_for(Duration::from_secs(1));
        load
    }

    /// Has an application of the mobile host ask a fixed host for a connection.
    pub(crate) fn open(&mut self, source: &str) -> Ends {
        self.open_from(MOBILE, source, "192.0.2.1:80")
    }

    fn open_from(&mut self, host: usize, source: &str, destination: &str) -> Ends {
        let address = |text: &str| text.parse().expect("an address");
        let ends = Ends {
            source: address(source),
            destination: address(destination),
        };
        let syn = self.pair.systems[host].open(ends.source, ends.destination);
        self.pair.input(host, Input::Packet(syn));
        ends
    }

    /// The application of a connection at a host.
    pub(crate) fn application(&self, host: usize, ends: &Ends) -> &Application {
        let application = self.pair.systems[host].application(ends);
        application.expect("an application")
    }

    /// Waits until the application at the other host has answered.
    pub(crate) fn connect(&mut self, host: usize, ends: &Ends) {
        self.run_until(|load| load.application(host, ends).state() == State::Open);
    }

    pub(crate) fn write(&mut self, host: usize, ends: &Ends, bytes: u64) {
        self.pair.systems[host].write(ends, bytes);
        self.pair.hand_in_events();
    }

    /// Writes so many bytes, and finishes.
    pub(crate) fn send(&mut self, host: usize, ends: &Ends, bytes: u64) {
        self.write(host, ends, bytes);
        self.pair.systems[host].finish(ends);
        self.pair.hand_in_events();
    }

    pub(crate) fn run_until(&mut self, is_done: impl Fn(&Self) -> bool) {
        let start = self.pair.now;
        while !is_done(self) {
            let lasted = self.pair.now.since(start);
            let status = self.pair.status(GATEWAY).hop;
            let split = [MOBILE, GATEWAY].map(|host| self.pair.hosts[host].split_status());
            assert!(
                lasted < Duration::from_secs(120),
                "{split:?} {:?} {status:?}",
                self.pair.systems
            );
            self.pair.run_for(Duration::from_millis(10));
        }
    }

    /// Waits until so much came to an application, and the end of it.
    pub(crate) fn run_until_ended(&mut self, host: usize, ends: &Ends, bytes: u64) {
        self.run_until(|load| load.application(host, ends).has_seen_end());
        assert_eq!(self.application(host, ends).received(), bytes);
    }

    /// Checks that the only connection was reset at both ends, and looked whole at neither.
    pub(crate) fn is_reset_at_both_ends(&self, ends: &Ends) {
        for host in [MOBILE, GATEWAY] {
            assert_eq!(self.application(host, ends).state(), State::Reset);
            assert!(!self.application(host, ends).has_seen_end());
        }
        assert_eq!(self.sockets(), 0);
    }

    /// Checks that another connection carries bytes.
    pub(crate) fn connects_anew(&mut self) {
        let ends = self.open("10.9.0.2:5001");
        self.connect(MOBILE, &ends);
        self.send(GATEWAY, &ends, 1_000);
        self.run_until_ended(MOBILE, &ends, 1_000);
    }

    /// Number of sockets at both hosts.
    pub(crate) fn sockets(&self) -> usize {
        self.pair.systems.iter().map(System::sockets).sum()
    }

    /// Returns the bytes that the link could carry to the mobile host since `start`.
    fn capacity(&self, start: Instant) -> f64 {
        self.pair.capacity(Direction::Down, start).get() as f64
    }
}

#[test]
fn what_both_sides_send_arrives_whole() {
    let links = ["l3-p1", "l2-b40"];
    let both = [
        (Profile::Wide, false),
        (Profile::Paper, false),
        (Profile::Wide, true),
        (Profile::Paper, true),
    ];
    for (link, (profile, lean)) in links
        .into_iter()
        .flat_map(|link| both.map(|streams| (link, streams)))
    {
        let mut load = Load::with(link, profile, lean);
        let ends = load.open("10.9.0.2:5000");
        load.connect(MOBILE, &ends);
        load.send(GATEWAY, &ends, 2_000_000);
        load.send(MOBILE, &ends, 500_000);
        load.run_until_ended(MOBILE, &ends, 2_000_000);
        load.run_until_ended(GATEWAY, &ends, 500_000);
        let status = load.pair.status(MOBILE).hop;
        assert_eq!(status.streams.map(|streams| streams.profile), Some(profile));
        let status = load.pair.status(MOBILE).hop;
        let timeouts = status
            .streams
            .map(|streams| streams.counters.traffic.timeouts);
        assert!(!lean || timeouts == Some(0), "{timeouts:?}");
        load.pair.run_for(Duration::from_secs(10));
        let streams = load.pair.status(MOBILE).hop.streams;
        let left = streams.map(|streams| streams.connections);
        assert_eq!(left, Some(0), "{profile:?} over {link}, {lean}");
        assert_eq!(load.sockets(), 0);
        let status = load.pair.hosts[GATEWAY].split_status().expect("it splits");
        assert_eq!((status.counters.finished, status.counters.open), (1, 0));
    }
}

#[test]
fn a_fixed_host_reaches_an_application_of_the_mobile_host() {
    let mut load = Load::new("l3-p1", Profile::Wide);
    let ends = load.open_from(GATEWAY, "192.0.2.1:999", "10.9.0.2:22");
    load.connect(GATEWAY, &ends);
    load.send(MOBILE, &ends, 300_000);
    load.send(GATEWAY, &ends, 1_000);
    load.run_until_ended(GATEWAY, &ends, 300_000);
    load.run_until_ended(MOBILE, &ends, 1_000);
}

/// Most of what the hop carries is payload, with losses or without: nothing takes them for congestion.
#[test]
fn losses_cost_little_more_than_what_is_lost() {
    for (link, least) in [
        ("l1-clean", 0.9),
        ("l3-p1", 0.9),
        ("l3-p5", 0.85),
        ("l1-b80", 0.8),
    ] {
        let mut load = Load::new(link, Profile::Wide);
        let ends = load.open("10.9.0.2:5000");
        load.connect(MOBILE, &ends);
        load.write(GATEWAY, &ends, u64::MAX / 2);
        let received = |load: &mut Load, seconds| {
            load.pair.run_for(Duration::from_secs(seconds));
            load.application(MOBILE, &ends).received()
        };
        let before = received(&mut load, 5);
        let start = load.pair.now;
        let after = received(&mut load, 20);
        let share = (after - before) as f64 / load.capacity(start);
        assert!(share >= least, "{link}: {share}");
    }
}

#[test]
fn a_refusal_reaches_who_asked_and_costs_one_round_trip() {
    let mut load = Load::new("l3-p1", Profile::Wide);
    load.pair.answer = Some(Err(Refusal::Refused));
    let ends = load.open("10.9.0.2:5000");
    load.pair.run_for(Duration::from_secs(1));
    assert_eq!(load.application(MOBILE, &ends).state(), State::Refused);
    assert_eq!(load.sockets(), 0);
}

/// An application that does not read stops the other one, and nothing is lost.
#[test]
fn a_slow_reader_closes_the_window_of_the_writer() {
    let mut load = Load::new("l1-clean", Profile::Wide);
    let ends = load.open("10.9.0.2:5000");
    load.connect(MOBILE, &ends);
    load.pair.systems[MOBILE].set_reading(&ends, false);
    load.send(GATEWAY, &ends, 20_000_000);
    load.pair.run_for(Duration::from_secs(60));
    let held = load.application(MOBILE, &ends).received();
    assert!(held < 1_000_000, "{held}");
    load.pair.systems[MOBILE].set_reading(&ends, true);
    load.pair.hand_in_events();
    load.run_until_ended(MOBILE, &ends, 20_000_000);
}

/// A mobile host cannot speak for another one.
#[test]
fn connections_in_foreign_names_are_refused() {
    let mut load = Load::new("l1-clean", Profile::Wide);
    let ends = load.open("10.9.0.77:5000");
    load.pair.run_for(Duration::from_secs(1));
    assert_eq!(load.application(MOBILE, &ends).state(), State::Asking);
    assert!(load.pair.systems[GATEWAY].application(&ends).is_none());
    assert_eq!(load.pair.status(GATEWAY).packets_refused, 1);
    assert_eq!(load.pair.status(MOBILE).packets_refused, 0);
}

/// The gateway's own addresses are left to packets, which its firewall sees.
#[test]
fn the_gateway_itself_is_asked_by_packets() {
    let mut load = Load::new("l1-clean", Profile::Wide);
    let ends = load.open_from(MOBILE, "10.9.0.2:5000", "192.0.2.254:22");
    load.pair.run_for(Duration::from_secs(1));
    let status = load.pair.hosts[GATEWAY].split_status().expect("it splits");
    assert_eq!((status.counters.joined, status.counters.open), (0, 0));
    assert!(load.pair.systems[GATEWAY].application(&ends).is_none());
}

/// A gateway reaches no other address of a mobile host than its inner ones.
#[test]
fn a_gateway_cannot_name_the_loopback_interface_of_a_mobile_host() {
    let mut load = Load::new("l1-clean", Profile::Wide);
    let ends = load.open_from(GATEWAY, "192.0.2.1:5000", "127.0.0.1:80");
    load.pair.run_for(Duration::from_secs(1));
    assert_ne!(load.application(GATEWAY, &ends).state(), State::Open);
    assert!(load.pair.systems[MOBILE].application(&ends).is_none());
    let status = load.pair.hosts[GATEWAY].split_status().expect("it splits");
    assert_eq!((status.counters.refused, status.counters.open), (1, 0));
    let to = ends.destination;
    let told = EventKind::ForeignRequest { to };
    let mut events = load.pair.events.iter();
    assert!(events.any(|(_, host, kind)| (*host, kind) == (MOBILE, &told)));
}

/// A host that starts anew knows none of the connections, so the other end resets them.
#[test]
fn a_new_life_ends_all_connections() {
    for restarted in [MOBILE, GATEWAY] {
        let mut load = Load::new("l1-clean", Profile::Wide);
        let ends = load.open("10.9.0.2:5000");
        load.connect(MOBILE, &ends);
        load.write(GATEWAY, &ends, 100_000_000);
        load.pair.run_for(Duration::from_secs(1));
        load.pair.restart(restarted);
        load.pair.run_for(Duration::from_secs(40));
        load.is_reset_at_both_ends(&ends);
        load.connects_anew();
    }
}

#[test]
fn without_streams_on_both_sides_there_are_none() {
    let link = Link::named("l1-clean").expect("a link");
    let mut pair = Pair::over(link, 5, 0);
    pair.run_for(Duration::from_secs(1));
    assert!(pair.status(MOBILE).hop.streams.is_none());
    let refused = |(_, _, kind): &(Instant, usize, EventKind)| *kind == EventKind::StreamsRefused;
    assert!(!pair.events.iter().any(refused));
}

/// Packets that were made for longer frames are made anew, as shorter ones.
#[test]
fn a_path_that_carries_less_than_before_ends_no_stream() {
    for profile in [Profile::Wide, Profile::Paper] {
        let hop = "[each]\nrate = '20 Mbit/s'\ndelay = '20 ms'\nqueue = '300 KiB'\n";
        let path = "mtu = 1500\nschedule = [{ at = '2500 ms', mtu = 900 }]\n";
        let link = Link::from_toml(&format!("{hop}{path}"), "hop.toml").expect("a link");
        let pair = Pair::with_streams(link, 5, (profile, false));
        let mut load = Load { pair };
        load.pair.run_for(Duration::from_secs(1));
        let ends = load.open("10.9.0.2:5000");
        load.connect(MOBILE, &ends);
        load.send(GATEWAY, &ends, 8_000_000);
        load.send(MOBILE, &ends, 4_000_000);
        load.run_until_ended(MOBILE, &ends, 8_000_000);
        load.run_until_ended(GATEWAY, &ends, 4_000_000);
    }
}
