//! Cost of a packet on the topology that other simulators are measured on: sources – 100 Mbit/s, 1 ms – base station –
//! 10 Mbit/s, 10 ms, one packet in a thousand lost – mobile host; packets of 1400 bytes, windows of 64 packets, queues
//! of 200. `cargo bench -p simulator`.
//!
//! The ends only keep a window and repeat packets after a timeout, so this is the cost of the simulator itself.

use std::collections::VecDeque;

use channel::{DirectionConfig, Link};
use divan::Bencher;
use divan::counter::ItemsCount;
use machine::Machine;
use simulator::{Ending, Input, Limits, Line, Output, Packet, Port, Simulation};
use units::{Bytes, Duration, Instant};

const DATA: u64 = 1400;
/// Data packets of one run, over all flows.
const PACKETS: u64 = 70_000;
const WINDOW: u64 = 64;
const TIMEOUT: Duration = Duration::from_millis(1500);

fn main() {
    divan::main();
}

/// A value as large as a TCP segment with all its options.
#[derive(Clone, Copy)]
struct Segment {
    flow: u16,
    number: u64,
    length: u64,
    options: [u64; 12],
}

impl Segment {
    fn new(flow: u16, number: u64, length: u64) -> Self {
        Self {
            flow,
            number,
            length,
            options: [number; 12],
        }
    }
}

impl Packet for Segment {
    type Flow = u16;

    fn length(&self) -> Bytes {
        Bytes::new(self.length)
    }

    fn flow(&self) -> u16 {
        self.flow
    }
}

enum Role {
    /// Sends `packets` packets; a loss costs a timeout.
    Source {
        flow: u16,
        total: u64,
        next: u64,
        acknowledged: u64,
        deadline: Option<Instant>,
    },
    /// Port 0 is the hop; source f is at port f + 1.
    Base,
    /// The next packet expected of each flow. Losses are ignored, so that every packet is sent once.
    Mobile(Vec<u64>),
}

struct Host {
    role: Role,
    outputs: VecDeque<Output<Segment, ()>>,
}

impl Host {
    fn new(role: Role) -> Self {
        Self {
            role,
            outputs: VecDeque::new(),
        }
    }

    fn fill(&mut self, now: Instant) {
        let Role::Source {
            flow,
            total,
            next,
            acknowledged,
            deadline,
        } = &mut self.role
        else {
            return;
        };
        while *next < (*total).min(*acknowledged + WINDOW) {
            let packet = Segment::new(*flow, *next, DATA);
            let port = Port(0);
            self.outputs.push_back(Output::Send { port, packet });
            *next += 1;
        }
        *deadline = (*acknowledged < *total).then_some(now + TIMEOUT);
    }
}

impl Machine for Host {
    type Input = Input<Segment>;
    type Output = Output<Segment, ()>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        let (Input::Packet { port, packet } | Input::Corrupted { port, packet }) = input;
        match &mut self.role {
            Role::Source { acknowledged, .. } => {
                *acknowledged = (*acknowledged).max(packet.number);
                self.fill(now);
            }
            Role::Base => {
                let port = match port {
                    Port(0) => Port(packet.flow + 1),
                    Port(_) => Port(0),
                };
                self.outputs.push_back(Output::Send { port, packet });
            }
            Role::Mobile(expected) => {
                let expected = &mut expected[usize::from(packet.flow)];
                *expected = (*expected).max(packet.options[0] + 1);
                let packet = Segment::new(packet.flow, *expected, 40);
                self.outputs.push_back(Output::Send { port, packet });
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Role::Source {
            next,
            acknowledged,
            deadline: Some(deadline),
            ..
        } = &mut self.role
            && *deadline <= now
        {
            *next = *acknowledged;
            self.fill(now);
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match &self.role {
            Role::Source { deadline, .. } => *deadline,
            Role::Base | Role::Mobile(_) => None,
        }
    }
}

fn simulation(flows: u16) -> Simulation<Host> {
    let hop = "errors = { model = 'independent', p = '0.1 %' }\n[each]\nrate = '10 Mbit/s'\n\
               delay = '10 ms'\nqueue = '200 packets'";
    let hop = Line::hop(&Link::from_toml(hop, "hop").expect("a link"), 1);
    let each = DirectionConfig::steady(
        "100 Mbit/s".parse().expect("a rate"),
        Duration::from_millis(1),
        "200 packets".parse().expect("a queue"),
    );
    let wire = Line::wire(each).expect("a wire");
    let mut simulation = Simulation::new();
    let base = simulation.add("base", Host::new(Role::Base));
    let expected = vec![0; usize::from(flows)];
    let mobile = simulation.add("mobile", Host::new(Role::Mobile(expected)));
    let ends = ((base, Port(0)), (mobile, Port(0)));
    simulation
        .connect(ends.0, ends.1, &hop)
        .expect("free ports");
    for flow in 0..flows {
        let source = Role::Source {
            flow,
            total: PACKETS / u64::from(flows),
            next: 0,
            acknowledged: 0,
            deadline: Some(Instant::ZERO),
        };
        let source = simulation.add("source", Host::new(source));
        let ends = ((source, Port(0)), (base, Port(flow + 1)));
        simulation
            .connect(ends.0, ends.1, &wire)
            .expect("free ports");
    }
    simulation
}

/// 98 MB, by one flow and by a hundred.
#[divan::bench(args = [1, 100], sample_count = 20)]
fn transfer(bencher: Bencher, flows: u16) {
    bencher
        .counter(ItemsCount::new(PACKETS))
        .with_inputs(|| simulation(flows))
        .bench_local_values(|mut simulation| {
            let limits = Limits::until(Instant::from_millis(3_600_000));
            let ending = simulation.run(limits, &mut ());
            assert_eq!(ending, Ok(Ending::Idle));
            simulation
        });
}
