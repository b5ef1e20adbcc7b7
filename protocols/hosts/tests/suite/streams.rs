//! Streams of TCP that is split, across a lossy hop in virtual time: agreed on in the handshake, whole or reset.

use std::collections::BTreeMap;

use bytes::Bytes;
use channel::{Direction, Link};
use hosts::{EventKind, Input, Profile, StreamLane, StreamNews};
use mtcp::{Addresses, ConnectionId, Reason};
use redirector::{Chunks, Content};
use units::{Duration, Instant};

use crate::support::{GATEWAY, MOBILE, Pair};

/// What leave a driver gives in advance.
const LEAVE: u64 = 256 << 10;

/// A driver at both ends: it takes every connection, writes what it is to, and reads everything.
struct Load {
    pair: Pair,
    lanes: [Option<StreamLane>; 2],
    /// What is still to be written to a connection.
    unwritten: BTreeMap<(usize, ConnectionId), u64>,
    /// What came, and whether it was finished.
    read: BTreeMap<(usize, ConnectionId), (u64, bool)>,
    resets: Vec<(usize, ConnectionId, Reason)>,
    /// Refuses whom the mobile host asks for.
    refuses: bool,
    over: [u32; 2],
}

/// The byte at a place of every stream.
fn byte(place: u64) -> u8 {
    (place % 251) as u8
}

impl Load {
    fn new(link: &str, profile: Profile) -> Self {
        Self::with(link, (profile, false))
    }

    /// The same with a mobile host that is lean.
    fn with(link: &str, streams: (Profile, bool)) -> Self {
        let link = Link::named(link).expect("a link");
        let mut load = Self {
            pair: Pair::with_streams(link, 5, streams),
            lanes: [None; 2],
            unwritten: BTreeMap::new(),
            read: BTreeMap::new(),
            resets: Vec::new(),
            refuses: false,
            over: [0; 2],
        };
        load.run_for(Duration::from_secs(1));
        load
    }

    fn ask(&mut self, host: usize, input: mtcp::Input<Chunks>) {
        let lane = self.lanes[host].expect("streams were agreed on");
        self.pair.input(host, Input::Streams { lane, input });
    }

    fn open(&mut self, host: usize, number: u64, source: &str) {
        let (source, destination) = match host {
            MOBILE => (source, "192.0.2.1:80"),
            _ => ("192.0.2.1:999", "10.9.0.2:22"),
        };
        let address = |text: &str| text.parse().expect("an address");
        let addresses = Addresses::new(address(destination), address(source)).expect("one family");
        self.ask(host, mtcp::Input::Open { number, addresses });
        self.ask(host, mtcp::Input::Read(ConnectionId::Opened(number), LEAVE));
    }

    /// Writes `bytes` to a connection, and finishes it.
    fn send(&mut self, host: usize, id: ConnectionId, bytes: u64) {
        self.unwritten.insert((host, id), bytes);
    }

    fn write(&mut self, host: usize, id: ConnectionId, room: u64) {
        let Some(left) = self.unwritten.get_mut(&(host, id)) else {
            return;
        };
        let total = *left;
        let count = total.min(room);
        *left -= count;
        let done = *left == 0;
        if done {
            self.unwritten.remove(&(host, id));
        }
        // Streams run backwards, so that what is left says where they are.
        let content: Vec<u8> = (0..count).map(|place| byte(total - place)).collect();
        self.ask(host, mtcp::Input::Write(id, Bytes::from(content).into()));
        if done {
            self.ask(host, mtcp::Input::Close(id));
        }
    }

    fn hear(&mut self) {
        while let Some((host, lane, news)) = self.pair.stream_news.pop_front() {
            match news {
                StreamNews::Begun(..) => self.lanes[host] = Some(lane),
                StreamNews::Over => {
                    self.over[host] += 1;
                    self.lanes[host] = None;
                }
                StreamNews::Told(told) if self.lanes[host] == Some(lane) => self.told(host, told),
                StreamNews::Told(_) => {}
            }
        }
    }

    fn told(&mut self, host: usize, told: mtcp::Output<Chunks>) {
        match told {
            mtcp::Output::Arrived(id, _) if self.refuses => {
                self.ask(host, mtcp::Input::Refuse(id, Reason::Refused));
            }
            mtcp::Output::Arrived(id, _) => {
                self.ask(host, mtcp::Input::Accept(id));
                self.ask(host, mtcp::Input::Read(id, LEAVE));
            }
            mtcp::Output::Writable(id, room) => self.write(host, id, room),
            mtcp::Output::Data(id, content) => {
                let count = content.length();
                self.read.entry((host, id)).or_default().0 += count;
                self.ask(host, mtcp::Input::Read(id, count));
            }
            mtcp::Output::Finished(id) => self.read.entry((host, id)).or_default().1 = true,
            mtcp::Output::Reset(id, reason) => self.resets.push((host, id, reason)),
            _ => {}
        }
    }

    fn run_for(&mut self, time: Duration) {
        let end = self.pair.now + time;
        while self.pair.now < end {
            self.hear();
            self.pair.run_for(Duration::from_millis(1));
        }
        self.hear();
    }

    /// Until that came on a connection, or too much time has passed; gives how long it took.
    fn run_until(&mut self, host: usize, id: ConnectionId, wanted: (u64, bool)) -> Duration {
        let start = self.pair.now;
        while self.read.get(&(host, id)) != Some(&wanted) {
            let lasted = self.pair.now.since(start);
            let status = self.pair.status(GATEWAY).hop;
            assert!(
                lasted < Duration::from_secs(120),
                "{:?} {status:?}",
                self.read
            );
            self.run_for(Duration::from_millis(10));
        }
        self.pair.now.since(start)
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
        let mut load = Load::with(link, (profile, lean));
        load.open(MOBILE, 0, "10.9.0.2:5000");
        let ids = [ConnectionId::Opened(0), ConnectionId::Arrived(0)];
        load.send(GATEWAY, ids[1], 2_000_000);
        load.send(MOBILE, ids[0], 500_000);
        load.run_until(MOBILE, ids[0], (2_000_000, true));
        load.run_until(GATEWAY, ids[1], (500_000, true));
        let status = load.pair.status(MOBILE).hop;
        assert_eq!(status.streams.map(|streams| streams.profile), Some(profile));
        let status = load.pair.status(MOBILE).hop;
        let timeouts = status
            .streams
            .map(|streams| streams.counters.traffic.timeouts);
        assert!(!lean || timeouts == Some(0), "{timeouts:?}");
        load.run_for(Duration::from_secs(10));
        let left = load
            .pair
            .status(MOBILE)
            .hop
            .streams
            .map(|streams| streams.connections);
        assert_eq!(left, Some(0), "{profile:?} over {link}, {lean}");
    }
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
        load.open(MOBILE, 0, "10.9.0.2:5000");
        load.send(GATEWAY, ConnectionId::Arrived(0), u64::MAX);
        let id = (MOBILE, ConnectionId::Opened(0));
        let sum = |load: &mut Load, seconds| {
            load.run_for(Duration::from_secs(seconds));
            load.read.get(&id).copied().unwrap_or_default().0
        };
        let before = sum(&mut load, 5);
        let start = load.pair.now;
        let after = sum(&mut load, 20);
        let share = (after - before) as f64 / load.capacity(start);
        assert!(share >= least, "{link}: {share}");
    }
}

#[test]
fn a_refusal_tells_its_reason_and_costs_one_round_trip() {
    let mut load = Load::new("l3-p1", Profile::Wide);
    load.refuses = true;
    load.open(MOBILE, 7, "10.9.0.2:5000");
    load.run_for(Duration::from_secs(1));
    assert_eq!(
        load.resets,
        [(MOBILE, ConnectionId::Opened(7), Reason::Refused)]
    );
}

/// A mobile host cannot speak for another one.
#[test]
fn connections_in_foreign_names_are_refused() {
    let mut load = Load::new("l1-clean", Profile::Wide);
    load.open(MOBILE, 1, "10.9.0.77:5000");
    load.run_for(Duration::from_secs(1));
    assert_eq!(
        load.resets,
        [(MOBILE, ConnectionId::Opened(1), Reason::Unreachable)]
    );
    assert_eq!(load.pair.status(GATEWAY).packets_refused, 1);
    assert_eq!(load.pair.status(MOBILE).packets_refused, 0);
}

/// Whoever begins anew knows none of the connections, so they are told to be gone at the other end.
#[test]
fn a_new_life_ends_all_streams() {
    for restarted in [MOBILE, GATEWAY] {
        let mut load = Load::new("l1-clean", Profile::Wide);
        load.open(MOBILE, 0, "10.9.0.2:5000");
        load.send(GATEWAY, ConnectionId::Arrived(0), u64::MAX);
        load.run_for(Duration::from_secs(1));
        let former = load.lanes[1 - restarted].expect("a lane");
        load.lanes[restarted] = None;
        load.pair.restart(restarted);
        load.run_for(Duration::from_secs(40));
        assert_eq!(load.over[1 - restarted], 1, "{restarted}");
        let lane = load.lanes[1 - restarted].expect("a new lane");
        assert_eq!((lane.peer, lane.life), (former.peer, former.life + 1));
        // What is asked of the former one means nothing.
        let input = mtcp::Input::Abort(ConnectionId::Opened(0), Reason::Aborted);
        let lane = former;
        load.pair
            .input(1 - restarted, Input::Streams { lane, input });
        load.unwritten.clear();
        load.read.clear();
        load.open(MOBILE, 1, "10.9.0.2:5001");
        load.send(GATEWAY, ConnectionId::Arrived(0), 1_000);
        load.run_until(MOBILE, ConnectionId::Opened(1), (1_000, true));
    }
}

#[test]
fn without_streams_on_both_sides_there_are_none() {
    let link = Link::named("l1-clean").expect("a link");
    let mut pair = Pair::over(link, 5, 0);
    pair.run_for(Duration::from_secs(1));
    assert!(pair.stream_news.is_empty());
    let refused = |(_, _, kind): &(Instant, usize, EventKind)| *kind == EventKind::StreamsRefused;
    assert!(!pair.events.iter().any(refused));
}

impl Load {
    /// What the link could carry to the mobile host since `start`, in bytes.
    fn capacity(&self, start: Instant) -> f64 {
        self.pair.capacity(Direction::Down, start).get() as f64
    }
}
