//! Guarantees of the simulator: order, conservation, equal runs, and errors that name the faulty actor.

use std::ops::ControlFlow;

use channel::Direction;
use proptest::prelude::*;
use simulator::{
    ConnectError, Encoded, Ending, FlowCounters, Limits, Moment, NodeId, Observer, OnEvent, Port,
    RunError, Sighting, Simulation,
};
use units::{Bytes, Instant};

use crate::common::{ACK, DATA, Host, Parcel, Role, Sender, TestMessage, hop, path, wire};

const LOSSY: &str = "model = 'distance', mean = '64 KiB'";

fn end() -> Limits {
    Limits::until(Instant::from_millis(600_000))
}

/// Records everything that an observer can see.
#[derive(Default, PartialEq, Debug)]
struct Log(Vec<String>);

impl Observer<Host> for Log {
    fn packet(&mut self, sighting: Sighting, packet: &Parcel) -> ControlFlow<()> {
        self.0.push(format!("{sighting:?} {packet:?}"));
        ControlFlow::Continue(())
    }

    fn event(&mut self, now: Instant, node: NodeId, event: &TestMessage) -> ControlFlow<()> {
        self.0.push(format!("{now} {node:?} {event:?}"));
        ControlFlow::Continue(())
    }
}

/// Returns a transfer of 500 packets with some losses.
fn over_a_lossy_hop(seed: u64) -> Simulation<Host> {
    let mut simulation = Simulation::new();
    let sender = Sender::new(0, 20, 500);
    path(&mut simulation, |host| host, sender, &hop(LOSSY, seed));
    simulation
}

fn log_of(seed: u64) -> Log {
    let mut simulation = over_a_lossy_hop(seed);
    let mut log = Log::default();
    let ending = simulation.run(end(), &mut log).expect("a run");
    assert_eq!(ending, Ending::Idle);
    log
}

#[test]
fn equal_seeds_give_equal_runs_and_others_do_not() {
    assert_eq!(log_of(1), log_of(1));
    assert_ne!(log_of(1), log_of(2));
}

#[test]
fn a_transfer_over_a_clean_path_takes_the_time_that_it_must() {
    let mut simulation = Simulation::new();
    let sender = Sender::new(0, 1, 1);
    let path = path(
        &mut simulation,
        |host| host,
        sender,
        &hop("model = 'none'", 1),
    );
    simulation.run(end(), &mut ()).expect("a run");
    // 1400 B at 100 and at 10 Mbit/s, 40 B at both, and twice 1 + 10 ms.
    let nanos = 112_000 + 1_120_000 + 3_200 + 32_000 + 22_000_000;
    assert_eq!(simulation.now(), Instant::from_nanos(nanos));
    let sent = simulation.node_counters(path.source).sent;
    assert_eq!((sent.packets, sent.bytes), (1, Bytes::new(u64::from(DATA))));
    let received = simulation.node_counters(path.source).received;
    assert_eq!(
        (received.packets, received.bytes),
        (1, Bytes::new(u64::from(ACK)))
    );
    // The start, and each packet's arrival: once as a link's deadline and once at the node.
    assert_eq!(simulation.events(), 1 + 4 * 2);
}

#[test]
fn framing_takes_air_time_and_is_counted_by_links_alone() {
    let framing = Bytes::new(100);
    let mut simulation = Simulation::new();
    let hop = hop("model = 'none'", 1).with_framing(framing);
    let path = path(&mut simulation, |host| host, Sender::new(0, 1, 1), &hop);
    simulation.run(end(), &mut ()).expect("a run");
    let nanos = 112_000 + 1_120_000 + 3_200 + 32_000 + 22_000_000 + 2 * 80_000;
    assert_eq!(simulation.now(), Instant::from_nanos(nanos));
    let down = simulation.link_counters(path.hop, Direction::Down);
    assert_eq!(down.delivered.bytes, Bytes::new(u64::from(DATA)) + framing);
    let mobile = simulation.node_counters(path.mobile);
    assert_eq!(mobile.received.bytes, Bytes::new(u64::from(DATA)));
}

#[test]
fn bytes_on_the_links_change_nothing() {
    let counters = |encoded: bool| {
        let sender = Sender::new(3, 20, 2000);
        let hop = hop(LOSSY, 5).with_corruption_heard();
        let mut flows = FlowCounters::default();
        let (now, events) = if encoded {
            let mut simulation = Simulation::new();
            path(&mut simulation, Encoded, sender, &hop);
            simulation.run(end(), &mut flows).expect("a run");
            (simulation.now(), simulation.events())
        } else {
            let mut simulation = Simulation::new();
            path(&mut simulation, |host| host, sender, &hop);
            simulation.run(end(), &mut flows).expect("a run");
            (simulation.now(), simulation.events())
        };
        (now, events, flows)
    };
    assert_eq!(counters(false), counters(true));
}

#[test]
fn a_receiver_hears_of_exactly_what_the_air_lost_if_it_asked_to() {
    let heard = |hop| {
        let mut simulation = Simulation::new();
        let path = path(&mut simulation, |host| host, Sender::new(0, 20, 2000), &hop);
        let mut events = 0;
        let mut count = OnEvent(|_, node: NodeId, said: &TestMessage| {
            events += u64::from(node == path.mobile && matches!(said, TestMessage::Heard(_)));
            ControlFlow::Continue(())
        });
        simulation.run(end(), &mut count).expect("a run");
        let lost = simulation
            .link_counters(path.hop, Direction::Down)
            .dropped_air;
        assert!(lost.packets > 10);
        let corrupted = simulation.node_counters(path.mobile).corrupted;
        assert_eq!(corrupted.packets, events);
        (events, lost.packets)
    };
    let (events, lost) = heard(hop(LOSSY, 1).with_corruption_heard());
    assert_eq!(events, lost);
    let (events, lost_unheard) = heard(hop(LOSSY, 1));
    assert_eq!((events, lost_unheard), (0, lost));
}

#[test]
fn a_run_can_be_stopped_and_taken_up_again() {
    let whole = log_of(9);
    let mut simulation = over_a_lossy_hop(9);
    let mut log = Log::default();
    for step in 1..10 {
        let limits = Limits::until(Instant::from_millis(step * 100));
        let ending = simulation.run(limits, &mut log).expect("a run");
        assert_eq!(ending, Ending::Time);
        assert_eq!(simulation.now(), limits.until);
    }
    let mut stop = OnEvent(|_, _, said: &TestMessage| match said {
        TestMessage::Done => ControlFlow::Break(()),
        TestMessage::Heard(_) => ControlFlow::Continue(()),
    });
    let ending = simulation
        .run(end(), &mut (&mut log, &mut stop))
        .expect("a run");
    assert_eq!(ending, Ending::Stopped);
    simulation.run(end(), &mut log).expect("a run");
    assert_eq!(log, whole);
}

#[test]
fn a_node_that_spins_is_named() {
    let mut simulation = over_a_lossy_hop(1);
    let at = Instant::from_millis(100);
    simulation.add("dizzy", Host::new(Role::Spinner(at)));
    let error = simulation.run(end(), &mut ()).expect_err("it spins");
    assert!(
        matches!(&error, RunError::Livelock { at: stuck, busiest, .. }
        if *stuck == at && busiest.who == "node 'dizzy'")
    );
    assert!(
        error
            .to_string()
            .starts_with("time stands still at 0.100000 s: 1000000 events")
    );
}

#[test]
fn packets_that_circle_without_time_are_found() {
    let mut simulation = Simulation::new();
    let start = Role::Sender(Sender::new(0, 1, 1));
    let sender = simulation.add("source", Host::new(start));
    let [one, two] = ["one", "two"].map(|name| simulation.add(name, Host::new(Role::Ring)));
    let line = wire("unlimited", "0 s", "10 packets");
    for (first, second) in [
        ((sender, Port(0)), (one, Port(2))),
        ((one, Port(1)), (two, Port(0))),
        ((two, Port(1)), (one, Port(0))),
    ] {
        simulation
            .connect(first, second, &line)
            .expect("free ports");
    }
    let error = simulation.run(end(), &mut ()).expect_err("it circles");
    assert!(
        matches!(&error, RunError::Livelock { at, .. } if *at == Instant::ZERO),
        "{error}"
    );
}

#[test]
fn too_many_events_and_ports_without_a_link_are_errors() {
    let mut simulation = over_a_lossy_hop(1);
    let limits = Limits {
        events: 100,
        ..end()
    };
    let error = simulation
        .run(limits, &mut ())
        .expect_err("100 events are few");
    assert!(
        error.to_string().starts_with("100 events and no end at 0."),
        "{error}"
    );

    let mut simulation = Simulation::new();
    simulation.add("alone", Host::new(Role::Sender(Sender::new(0, 1, 1))));
    let error = simulation.run(end(), &mut ()).expect_err("no link");
    let expected =
        "node 'alone' sends on port 0, where no link is; connect one, or do not send there";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_port_has_one_link() {
    let mut simulation = Simulation::new();
    let nodes = ["a", "b", "c"].map(|name| simulation.add(name, Host::new(Role::Forwarder)));
    let [a, b, c] = nodes.map(|node| (node, Port(0)));
    let line = wire("1 Mbit/s", "1 ms", "10 packets");
    simulation.connect(a, b, &line).expect("free ports");
    let taken = ConnectError::PortTaken {
        node: "b".into(),
        port: 0,
    };
    assert_eq!(simulation.connect(c, b, &line), Err(taken));
    let taken = ConnectError::PortTaken {
        node: "c".into(),
        port: 0,
    };
    assert_eq!(simulation.connect(c, c, &line), Err(taken));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every packet is delivered, lost for a reason, or on its way; the transfer completes, in order.
    #[test]
    fn packets_are_conserved(seed in 0..1000u64, window in 1..64u64, errors in 0..3usize) {
        let errors = ["model = 'none'", LOSSY, "model = 'independent', p = '10 %'"][errors];
        let mut simulation = Simulation::new();
        let path = path(&mut simulation, |host| host, Sender::new(0, window, 200), &hop(errors, seed));
        let mut flows = FlowCounters::default();
        let ending = simulation.run(end(), &mut flows).expect("a run");
        prop_assert_eq!(ending, Ending::Idle);
        for link in [path.wire, path.hop] {
            for direction in Direction::BOTH {
                let counters = simulation.link_counters(link, direction);
                prop_assert_eq!(counters.inside.packets, 0);
                let gone = counters.dropped_queue.packets + counters.dropped_air.packets;
                prop_assert_eq!(counters.offered.packets, counters.delivered.packets + gone);
                let flow = flows.of(0, link, direction);
                prop_assert_eq!(flow.sent, counters.offered);
                prop_assert_eq!(flow.delivered, counters.delivered);
                prop_assert_eq!(flow.lost_air, counters.dropped_air);
                prop_assert_eq!(flow.lost_queue, counters.dropped_queue);
            }
        }
        let Role::Sender(sender) = &simulation.node(path.source).role else { unreachable!() };
        prop_assert_eq!(sender.acknowledged, 200);
        let forwarded = simulation.node_counters(path.base);
        prop_assert_eq!(forwarded.received, forwarded.sent);
    }
}

/// The flows of packets, as they arrive.
struct Order(Vec<u16>);
impl Observer<Host> for Order {
    fn packet(&mut self, sighting: Sighting, packet: &Parcel) -> ControlFlow<()> {
        if sighting.moment == Moment::Delivered {
            self.0.push(packet.flow);
        }
        ControlFlow::Continue(())
    }
}

/// Events at one time happen in the order in which they were set.
#[test]
fn equal_times_keep_the_order_of_their_setting() {
    let mut simulation = Simulation::new();
    let line = wire("unlimited", "5 ms", "1000 packets");
    let sink = simulation.add("sink", Host::new(Role::Forwarder));
    let sources: Vec<_> = (0..6u16)
        .map(|flow| {
            let host = Host::new(Role::Sender(Sender::new(flow, 2, 2)));
            let source = simulation.add(&format!("source {flow}"), host);
            // Connected in an order that differs from that of the flows.
            (flow, source)
        })
        .collect();
    for (flow, source) in sources.iter().rev() {
        simulation
            .connect((*source, Port(0)), (sink, Port(2 * flow)), &line)
            .expect("free ports");
        let other = simulation.add("end", Host::new(Role::Forwarder));
        simulation
            .connect((sink, Port(2 * flow + 1)), (other, Port(0)), &line)
            .expect("free ports");
    }
    let mut order = Order(Vec::new());
    let limits = Limits::until(Instant::from_millis(5));
    simulation.run(limits, &mut order).expect("a run");
    assert_eq!(order.0, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
}
