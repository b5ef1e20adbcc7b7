//! TCP across a hop that reorders, by each method: it moves about as much as on the same hop in order, and nothing is
//! sent again that was only late.

use channel::{Direction, Link};
use hosts::{Input, Profile, TcpMethod, TcpTerms};
use tcp::{Config, Control};
use units::Duration;
use wire::flow::Ends as Flow;

use crate::support::ends::Ends;
use crate::support::{GATEWAY, MOBILE, Pair};

const SECOND: Duration = Duration::from_secs(1);

/// How TCP crosses the hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Packets(TcpMethod),
    Split,
}

const WAYS: [Way; 3] = [
    Way::Packets(TcpMethod::Arq),
    Way::Packets(TcpMethod::Snoop),
    Way::Split,
];

/// A download of one connection across the hop.
struct Download {
    pair: Pair,
    /// The connection, if it is split.
    split: Option<Flow>,
}

impl Download {
    fn begin(link: Link, way: Way) -> Self {
        let mut pair = match way {
            Way::Split => Pair::with_streams(link, 5, (Profile::Wide, false)),
            Way::Packets(method) => {
                Pair::on_terms(link, 5, [TcpTerms::Follow, TcpTerms::Choose(method)])
            }
        };
        pair.run_for(SECOND);
        if way != Way::Split {
            let ends = Ends::new(&Config {
                timestamps: true,
                window_scaling: true,
                ..Config::kernel(Control::Cubic)
            });
            pair.connect(ends, (GATEWAY, 1 << 40));
            return Self { pair, split: None };
        }
        let address = |text: &str| text.parse().expect("an address");
        let flow = Flow {
            source: address("10.9.0.2:5000"),
            destination: address("192.0.2.1:80"),
        };
        let syn = pair.systems[MOBILE].open(flow.source, flow.destination);
        pair.input(MOBILE, Input::Packet(syn));
        pair.run_for(SECOND);
        pair.systems[GATEWAY].write(&flow, u64::MAX / 2);
        pair.hand_in_events();
        let split = Some(flow);
        Self { pair, split }
    }

    fn received(&self) -> u64 {
        let Some(flow) = self.split else {
            return self.pair.ends().read(MOBILE).0;
        };
        let application = self.pair.systems[MOBILE].application(&flow);
        application.expect("an application").received()
    }

    /// Returns the goodput from then on in Mbit/s, and the bytes on the wire for each of them.
    fn measure(&mut self, seconds: u64) -> (f64, f64) {
        let sent = |pair: &Pair| pair.channel.counters(Direction::Down).offered.bytes.get();
        let before = (self.received(), sent(&self.pair));
        self.pair.run_for(SECOND * seconds);
        let carried = (self.received() - before.0) as f64;
        let cost = (sent(&self.pair) - before.1) as f64 / carried;
        (carried * 8e-6 / seconds as f64, cost)
    }
}

/// Returns the goodput in Mbit/s and the bytes on the wire for each, with such directions.
fn download(way: Way, hop: &str, wild: [&str; 2], loss: &str) -> (f64, f64) {
    let [down, up] = wild;
    let text = format!(
        "errors = {{ model = 'independent', p = '{loss}' }}\n\
         [down]\n{hop}\nqueue = '400 packets'\n{down}\n[up]\n{hop}\nqueue = '400 packets'\n{up}"
    );
    let link = Link::from_toml(&text, "order.toml").expect("a link");
    let mut download = Download::begin(link, way);
    download.pair.run_for(SECOND * 6);
    download.measure(8)
}

const JITTER_20: &str =
    "jitter = { model = 'uniform', most = '20 ms' }\nfaults = { overtaking = true }";
const JITTER_60: &str =
    "jitter = { model = 'uniform', most = '60 ms' }\nfaults = { overtaking = true }";
const EXPONENTIAL: &str =
    "jitter = { model = 'exponential', mean = '5 ms' }\nfaults = { overtaking = true }";
const HELD_BACK: &str = "faults = { reordering = { share = '10 %', hold = '10 ms' } }";
const TWICE: &str = "faults = { duplicates = '50 %' }";

/// Checks that a download on a hop with these directions has about the goodput and the cost of one on a hop that keeps
/// order. Snoop leaves the order to TCP: where TCP alone is slower, that is what it is compared with. It cannot be
/// quite as fast, because TCP learns of what arrived beyond a gap only when the gap is closed.
fn compare(hop: &str, wild: [&str; 2], loss: &str) {
    let (plain, _) = download(Way::Packets(TcpMethod::Plain), hop, wild, loss);
    for way in WAYS {
        let (clean, least) = download(way, hop, ["", ""], loss);
        let (rate, cost) = download(way, hop, wild, loss);
        let told = format!(
            "{way:?}, {hop:?}, {wild:?}, {loss}: {rate:.2} of {clean:.2} Mbit/s in order, TCP alone {plain:.2}; \
             {cost:.3} bytes for {least:.3}"
        );
        println!("{told}");
        let snoops = way == Way::Packets(TcpMethod::Snoop);
        let expected = if snoops {
            0.9 * clean.min(plain)
        } else {
            (0.9 * clean).max(0.98 * plain)
        };
        assert!(rate > expected && cost < 1.05 * least, "{told}");
    }
}

#[test]
fn jitter_that_reorders_costs_little() {
    let hop = "rate = '10 Mbit/s'\ndelay = '20 ms'";
    compare(hop, [JITTER_20; 2], "0 %");
    compare(hop, [EXPONENTIAL; 2], "0 %");
}

#[test]
fn what_a_round_trip_does_not_cover_is_waited_for_if_repairs_are_needless() {
    compare("rate = '20 Mbit/s'\ndelay = '2 ms'", [JITTER_60; 2], "0 %");
}

#[test]
fn a_few_packets_that_are_held_back_are_not_repaired() {
    let hop = "rate = '20 Mbit/s'\ndelay = '5 ms'";
    compare(hop, [HELD_BACK; 2], "0 %");
}

#[test]
fn acknowledgements_that_overtake_each_other_cost_nothing() {
    compare(
        "rate = '10 Mbit/s'\ndelay = '20 ms'",
        ["", JITTER_20],
        "0 %",
    );
}

#[test]
fn what_arrives_twice_costs_nothing() {
    compare("rate = '10 Mbit/s'\ndelay = '10 ms'", [TWICE; 2], "0 %");
}

#[test]
fn losses_are_repaired_where_packets_are_late_too() {
    compare("rate = '10 Mbit/s'\ndelay = '20 ms'", [JITTER_20; 2], "1 %");
}
