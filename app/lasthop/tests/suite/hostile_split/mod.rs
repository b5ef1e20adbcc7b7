//! Bad input to real daemons that split TCP: from a mobile host with the right key, from fixed hosts, and from
//! applications. The gateway lives, holds what it says and no more, counts what it refuses, and everybody else gets all
//! of theirs.

mod flood;
mod garbage;
mod intruder;

use std::io::{ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use edges::namespace::Namespace;
use intruder::Intruder;
use mtcp::packet::Kind;
use mtcp::{Profile, Reason};
use serde_json::Value;
use socket2::{Domain, Socket, Type};
use units::Bytes;

use crate::support::{Daemon, FIXED_HOST, GATEWAY_OUTSIDE, Hosts, LONG, able, fetch, fetch_from};

/// The gateway's peers: who is hostile, and who is not.
const INTRUDER: usize = 0;
const MOBILE: usize = 1;

/// A gateway with a mobile host and an intruder, whose TCP is split.
struct Place {
    hosts: Hosts,
    gateway: Daemon,
    _mobile: Daemon,
    /// That of its streams; with none the kernel's TCP crosses the hop.
    profile: Option<Profile>,
}

/// The ways by which TCP that is split crosses the hop.
const WAYS: [Option<Profile>; 3] = [None, Some(Profile::Paper), Some(Profile::Wide)];

impl Place {
    fn new(profile: Option<Profile>, nat: bool) -> Self {
        let hosts = Hosts::create();
        let transport = match profile {
            None => "kernel-tcp",
            Some(Profile::Paper) => "mtcp",
            Some(Profile::Wide) => "mtcp-wide",
        };
        let split = format!("tcp = \"split\"\nsplit_transport = \"{transport}\"\n");
        hosts.configure_more("gateway", "public_key", &split);
        let intruder = format!(
            "[[peers]]\nname = \"intruder\"\npublic_key = \"{}\"\naddresses = [\"{}\", \"fd73::9\"]\n{split}",
            intruder::public_key(),
            intruder::ADDRESS
        );
        hosts.configure_more("gateway", "[[peers]]", &intruder);
        hosts.configure_more("gateway", "[tun]", &format!("nat = {nat}"));
        hosts.make_way_back();
        let place = Self {
            gateway: hosts.start("gateway"),
            _mobile: hosts.start("mobile"),
            hosts,
            profile,
        };
        place.hosts.wait_until_connected();
        place.hosts.wait_until("TCP is split", || {
            let hop = &place.peer(MOBILE)["hop"];
            let traces = format!("{:?}", place.hosts.traces());
            let streams = traces.contains("lasthop_mobile_split") && !hop["streams"].is_null();
            hop["tcp"]["method"] == "plain" && (profile.is_none() || streams)
        });
        place
    }

    fn intruder(&self) -> Intruder {
        let key = self.hosts.status("gateway")["host"]["public_key"].clone();
        let key = key.as_str().unwrap().parse().unwrap();
        Intruder::connect(&self.hosts, self.profile.unwrap(), key)
    }

    /// What the streams of a peer count.
    fn streams(&self, number: usize) -> Value {
        self.peer(number)["hop"]["streams"]["counters"].take()
    }

    fn peer(&self, number: usize) -> Value {
        self.hosts.status("gateway")["host"]["peers"][number].take()
    }
}

/// A listener on the gateway.
fn at_gateway(hosts: &Hosts, address: IpAddr) -> TcpListener {
    let bind = || TcpListener::bind((address, 0)).unwrap();
    hosts.gateway.run(bind).unwrap()
}

/// What is for the gateway itself goes as packets, which its firewall sees, and its loopback is out of reach.
#[test]
fn no_stream_leads_into_the_gateway_itself() {
    if !able() {
        return;
    }
    for nat in [true, false] {
        let place = Place::new(Some(Profile::Wide), nat);
        let inside = [
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            "127.1.2.3".parse().unwrap(),
            "10.73.0.1".parse().unwrap(),
            GATEWAY_OUTSIDE,
        ];
        let listeners = inside.map(|address| at_gateway(&place.hosts, address));
        let mut targets: Vec<_> = listeners
            .iter()
            .map(|listener| listener.local_addr().unwrap())
            .collect();
        let port = targets[0].port();
        targets.push((Ipv4Addr::UNSPECIFIED, port).into());
        targets.push((Ipv4Addr::BROADCAST, port).into());
        targets.push(("::ffff:127.0.0.1".parse::<IpAddr>().unwrap(), port).into());
        targets.push((FIXED_HOST, 0).into());
        let answers = place.intruder().ask(&targets);
        let kinds = answers
            .iter()
            .map(|answer| answer.map(|answer| answer.kind));
        let left = Some(Kind::Reset(Reason::NotListening));
        let refused = Some(Kind::Reset(Reason::Refused));
        assert_eq!(
            kinds.collect::<Vec<_>>(),
            [[left; 7].as_slice(), &[refused]].concat(),
            "{targets:?}"
        );
        for listener in listeners {
            listener.set_nonblocking(true).unwrap();
            assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        }
        let mobile: IpAddr = "10.73.0.2".parse().unwrap();
        for inside in ["10.73.0.1".parse().unwrap(), GATEWAY_OUTSIDE] {
            assert_eq!(
                fetch_from(&place.hosts, (&place.hosts.gateway, inside), 100_000),
                mobile
            );
        }
        assert_eq!(
            fetch(&place.hosts, 100_000),
            if nat { GATEWAY_OUTSIDE } else { mobile }
        );
    }
}

/// A fixed host that sends without end to whoever connects.
fn source(hosts: &Hosts) -> SocketAddr {
    let bind = || TcpListener::bind((FIXED_HOST, 0)).unwrap();
    let listener = hosts.fixed.run(bind).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // Until its reader is gone.
            thread::spawn(move || std::io::copy(&mut std::io::repeat(7), &mut stream));
        }
    });
    address
}

/// Connections that a mobile host has, and reads nothing of: what waits for it is bounded for all together.
#[test]
fn one_that_takes_nothing_fills_no_memory() {
    if !able() {
        return;
    }
    let place = Place::new(Some(Profile::Wide), true);
    let mut intruder = place.intruder();
    let target = source(&place.hosts);
    for made in intruder.ask(&[target; 60]).into_iter().flatten() {
        let first = intruder.first(&made);
        intruder.send([first]);
    }
    let streams = || {
        place.peer(INTRUDER)["hop"]["memory"]
            .as_str()
            .unwrap()
            .parse::<Bytes>()
            .unwrap()
    };
    // What each may have, and half of what all may have.
    while streams() < Bytes::mebi(32) {
        intruder.listen(Duration::from_millis(100));
    }
    assert!(fetch(&place.hosts, 4 << 20) == GATEWAY_OUTSIDE);
    for _ in 0..10 {
        intruder.listen(Duration::from_millis(100));
    }
    let (held, peak) = (streams(), place.gateway.memory("VmHWM"));
    println!("{held} held, {} taken", Bytes::new(peak));
    assert!(held < Bytes::mebi(76), "{held}");
    assert!(peak < 200 << 20, "{peak}");
}

/// Many connections may come from one port, also right after others that have ended.
#[test]
fn one_port_is_enough_for_many_connections() {
    if !able() {
        return;
    }
    for way in WAYS {
        let place = Place::new(way, false);
        let mobile: IpAddr = "10.73.0.2".parse().unwrap();
        let hosts = &place.hosts;
        for (asking, asked) in [
            ((&hosts.mobile, mobile), (&hosts.fixed, FIXED_HOST)),
            ((&hosts.fixed, FIXED_HOST), (&hosts.mobile, mobile)),
        ] {
            let mut kept = Vec::new();
            for round in 0..4 {
                let bind = || TcpListener::bind((asked.1, 0)).unwrap();
                let listener = asked.0.run(bind).unwrap();
                let connect = || {
                    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
                    socket.set_reuse_address(true).unwrap();
                    let from = SocketAddr::new(asking.1, 40_000);
                    socket.bind(&from.into()).unwrap();
                    let to = listener.local_addr().unwrap();
                    let connected = socket.connect_timeout(&to.into(), Duration::from_secs(10));
                    connected.unwrap_or_else(|error| panic!("{round}: {error}"));
                    TcpStream::from(socket)
                };
                let stream = asking.0.run(connect).unwrap();
                let mut accepted = listener.accept().unwrap().0;
                if round % 2 == 0 {
                    kept.push((stream, accepted));
                } else {
                    drop(stream);
                    assert_eq!(accepted.read(&mut [0]).unwrap(), 0);
                }
            }
        }
    }
}

/// How long it takes a host to connect, or nothing if it cannot for long.
fn time_to_connect(host: &Namespace, to: SocketAddr) -> Option<Duration> {
    let begun = Instant::now();
    let connect = || TcpStream::connect_timeout(&to, Duration::from_secs(10));
    host.run(connect).unwrap().ok().map(|_| begun.elapsed())
}

/// Fixed hosts that do not exist cost the hop next to nothing, and who does exist is let in meanwhile.
#[test]
fn a_flood_from_the_wired_side_leaves_the_hop_and_those_who_are_there() {
    if !able() {
        return;
    }
    for way in WAYS {
        let place = Place::new(way, false);
        let hosts = &place.hosts;
        flood::make_way(hosts);
        let mobile: IpAddr = "10.73.0.2".parse().unwrap();
        let bind = || TcpListener::bind((mobile, 0)).unwrap();
        let listener = hosts.mobile.run(bind).unwrap();
        let server = listener.local_addr().unwrap();
        let targets = [server, (mobile, 9).into()];
        let stop = AtomicBool::new(false);
        let connected = thread::scope(|scope| {
            let flooding = scope.spawn(|| flood::flood(hosts, &targets, u32::MAX, 20_000, &stop));
            let split = || hosts.status("gateway")["split"].take();
            hosts.wait_until("the flood is there", || {
                split()["challenged"].as_u64() > Some(10_000)
            });
            let connected: Vec<_> = (0..10)
                .map(|_| time_to_connect(&hosts.fixed, server))
                .collect();
            fetch(hosts, 4 << 20);
            stop.store(true, Ordering::Relaxed);
            println!("{} requests", flooding.join().unwrap());
            connected
        });
        println!("{connected:?}");
        assert!(connected.iter().all(Option::is_some), "{connected:?}");
        let asked = hosts.status("gateway")["split"]["asked"].as_u64().unwrap();
        let control = place.streams(MOBILE)["traffic"]["sent"]["control_packets"].as_u64();
        println!("{asked} were asked for, {control:?} control packets");
        assert!(
            asked < 1_000 && control.is_none_or(|control| control < 2_000),
            "{asked} {control:?}"
        );
        let memory = place.gateway.memory("VmHWM");
        assert!(memory < 100 << 20, "{memory}");
    }
}

/// What nobody answers ends as it would without us, and others go on meanwhile.
#[test]
fn connections_that_nobody_answers_leave_room_to_others() {
    if !able() {
        return;
    }
    for way in [Some(Profile::Paper), Some(Profile::Wide)] {
        let place = Place::new(way, true);
        let hosts = &place.hosts;
        flood::make_way(hosts);
        let ask = |number: u16| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            socket.set_nonblocking(true).unwrap();
            let to = SocketAddr::from((Ipv4Addr::new(198, 18, 0, 1), 1_000 + number));
            // It is in progress.
            socket.connect(&to.into()).unwrap_err();
            socket
        };
        let sockets: Vec<_> = hosts.mobile.run(|| (0..3_000).map(ask).collect()).unwrap();
        for _ in 0..3 {
            fetch(hosts, 100_000);
        }
        // What does not fit into the device's queue at once is asked for again after a second.
        hosts.wait_until("most are without room", || {
            hosts.status("mobile")["split"]["without_room"].as_u64() > Some(1_000)
        });
        let split = ["gateway", "mobile"].map(|name| hosts.status(name)["split"].take());
        println!("{split:?}");
        let [gateway, mobile] = split
            .each_ref()
            .map(|split| split["open"].as_u64().unwrap());
        // Half of all connections that there may be.
        assert!(gateway <= 1_030 && mobile <= 1_030, "{split:?}");
        // The kernel gives up when it would ask for the second time.
        rig::set(&hosts.mobile, "net/ipv4/tcp_syn_retries", "1").unwrap();
        let mut waiting = sockets;
        let begun = Instant::now();
        while !waiting.is_empty() {
            assert!(begun.elapsed() < LONG, "{} know nothing", waiting.len());
            waiting.retain(|socket| match socket.take_error().unwrap() {
                Some(error) => {
                    assert_eq!(error.kind(), ErrorKind::TimedOut);
                    false
                }
                None => true,
            });
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// An answer that is none, a name that is another's, and much else.
#[test]
fn garbage_from_one_mobile_host_touches_no_other() {
    if !able() {
        return;
    }
    for profile in [Profile::Paper, Profile::Wide] {
        let place = Place::new(Some(profile), true);
        let mut intruder = place.intruder();
        let target = source(&place.hosts);
        let before = place.streams(MOBILE);
        thread::scope(|scope| {
            let fetching = scope.spawn(|| fetch(&place.hosts, 8 << 20));
            garbage::send_all(&mut intruder, target);
            fetching.join().unwrap();
        });
        let busy = || {
            let without_room = place.hosts.status("gateway")["split"]["without_room"].as_u64();
            let refused = place.streams(INTRUDER)["refused"]["busy"].as_u64();
            refused.unwrap() + without_room.unwrap_or(0)
        };
        // On a busy machine most of what comes at once is lost before the gateway.
        for round in (1..9).take_while(|_| busy() <= 1_000) {
            garbage::half_open(&mut intruder, target, round);
        }
        let (busy, told) = (busy(), place.streams(INTRUDER));
        println!("{profile:?} {told}");
        let refused = |name: &str| told["refused"][name].as_u64().unwrap();
        let received = |name: &str| told["traffic"]["received"][name].as_u64().unwrap();
        assert!(refused("damaged") > 1_000, "{told}");
        assert!(refused("strays") > 60_000, "{told}");
        assert!(busy > 1_000, "{busy} {told}");
        assert!(refused("forged_resets") > 0, "{told}");
        assert!(
            received("violations") > 0 && received("impossible") > 0,
            "{told}"
        );
        assert!(place.peer(INTRUDER)["packets_refused"].as_u64() > Some(0));
        // Nothing of all this was the other one's.
        let other = place.streams(MOBILE);
        assert_eq!(other["refused"], before["refused"]);
        assert_eq!(other["traffic"]["received"]["violations"], 0, "{other}");
        let memory = place.gateway.memory("VmHWM");
        assert!(memory < 150 << 20, "{memory}");
        drop(intruder);
        fetch(&place.hosts, 100_000);
    }
}
