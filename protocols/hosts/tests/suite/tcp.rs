//! The method of TCP is agreed in the handshake, and each method delivers every byte: real TCP endpoints, virtual
//! time.

use channel::Link;
use hosts::{EventKind, TcpMethod, TcpTerms};
use tcp::{Config, Control};
use units::{Bytes, Duration};

use crate::support::ends::Ends;
use crate::support::{GATEWAY, MOBILE, Pair};

const BYTES: u64 = 3_000_000;
const METHODS: [TcpMethod; 3] = [TcpMethod::Arq, TcpMethod::Snoop, TcpMethod::Plain];

/// A pair whose gateway chose `method`, connected.
fn pair(method: TcpMethod) -> Pair {
    on_terms([TcpTerms::Follow, TcpTerms::Choose(method)])
}

fn on_terms(terms: [TcpTerms; 2]) -> Pair {
    over("l3-p1", terms)
}

fn over(link: &str, terms: [TcpTerms; 2]) -> Pair {
    let link = Link::named(link).expect("a link");
    let mut pair = Pair::on_terms(link, 3, terms);
    pair.run_for(Duration::from_secs(1));
    pair
}

fn methods(pair: &Pair) -> [TcpMethod; 2] {
    [MOBILE, GATEWAY].map(|host| pair.status(host).hop.tcp.method)
}

/// TCP as kernels have it, with segments that would not fit in one frame.
fn kernel(selective: bool) -> Config {
    let mut config = Config::modern();
    config.maximum_segment_size = 1_460;
    config.timestamps = selective;
    config.window_scaling = selective;
    if !selective {
        config = config.with_policy(tcp::Policy::NewReno);
    }
    config
}

/// `from` sends [`BYTES`] to the other end, which must get each; returns how many segments `from` sent again.
fn transfer(pair: &mut Pair, from: usize, config: &Config) -> u64 {
    pair.connect(Ends::new(config), (from, BYTES));
    let end = pair.now + Duration::from_secs(120);
    while pair.ends().read(1 - from) != (BYTES, true) && pair.now < end {
        pair.run_for(Duration::from_millis(100));
    }
    let ends = pair.ends();
    assert_eq!(ends.read(1 - from), (BYTES, true), "{}", pair.summary());
    assert_eq!(ends.wrong, 0);
    ends.counters(from).sent.retransmitted_segments
}

#[test]
fn the_link_layer_hides_every_loss() {
    for from in [GATEWAY, MOBILE] {
        let mut pair = pair(TcpMethod::Arq);
        assert_eq!(methods(&pair), [TcpMethod::Arq; 2]);
        assert_eq!(transfer(&mut pair, from, &kernel(true)), 0);
        let status = pair.status(GATEWAY).hop.tcp;
        assert_eq!((status.agent, status.mobile), (None, None));
    }
}

#[test]
fn the_plain_lane_leaves_losses_to_tcp() {
    for from in [GATEWAY, MOBILE] {
        let mut pair = pair(TcpMethod::Plain);
        assert_eq!(methods(&pair), [TcpMethod::Plain; 2]);
        assert!(transfer(&mut pair, from, &kernel(true)) > 10);
        assert_eq!(pair.status(from).hop.stats.sent.bytes_held, 0);
        let longest = pair.ends().longest;
        assert!(
            (1_300..1_400).contains(&longest),
            "{longest} bytes in one packet"
        );
    }
}

/// A pair in which snoop spared `from` more than half of what it sends again without.
fn spared_by_snoop(from: usize, config: &Config) -> Pair {
    let end_to_end = transfer(&mut pair(TcpMethod::Plain), from, config);
    let mut pair = pair(TcpMethod::Snoop);
    assert_eq!(methods(&pair), [TcpMethod::Snoop; 2]);
    let left_over = transfer(&mut pair, from, config);
    let told = pair.status(from).hop.tcp;
    assert!(
        left_over * 2 < end_to_end,
        "{left_over} of {end_to_end}, {told:?}"
    );
    pair
}

#[test]
fn snoop_repairs_downloads_from_its_cache() {
    for selective in [true, false] {
        let mut pair = spared_by_snoop(GATEWAY, &kernel(selective));
        let agent = pair.status(GATEWAY).hop.tcp.agent.expect("an agent");
        assert!(agent.repairs > 10 && agent.held > 10, "{agent:?}");
        pair.run_for(Duration::from_secs(2));
        let cached = pair.status(GATEWAY).hop.tcp.cached;
        assert_eq!(cached.get(), 0, "everything is acknowledged");
    }
}

#[test]
fn snoop_asks_the_mobile_for_what_its_uploads_lost() {
    for selective in [true, false] {
        let pair = spared_by_snoop(MOBILE, &kernel(selective));
        let agent = pair.status(GATEWAY).hop.tcp.agent.expect("an agent");
        let mobile = pair.status(MOBILE).hop.tcp.mobile.expect("its counterpart");
        assert!(
            agent.upload.gaps > 10 && agent.upload.asked > 10,
            "{agent:?}"
        );
        assert!(mobile.repairs > 10, "{mobile:?}");
    }
}

/// A drop in the gateway's own queue is congestion, which no cache may hide from the sender.
#[test]
fn a_full_queue_is_not_repaired() {
    for (from, link) in [(GATEWAY, "l1-clean"), (MOBILE, "l1-clean")] {
        let terms = [TcpTerms::Follow, TcpTerms::Choose(TcpMethod::Snoop)];
        let mut pair = over(link, terms);
        let again = transfer(&mut pair, from, &kernel(true));
        let dropped = pair.status(from).hop.stats.sent.packets_dropped;
        let seen = pair.ends().counters(from).recovered.fast_retransmissions;
        let told = format!("{again} again, {dropped} dropped, {seen} recoveries");
        assert!(dropped > 0 && seen > 0 && again >= dropped, "{told}");
    }
}

/// A mobile that does not know the gateway's choice: the link layer repairs, and the gateway says why.
#[test]
fn what_one_end_does_not_know_is_not_done() {
    for chosen in [TcpMethod::Snoop, TcpMethod::Plain] {
        let mut pair = on_terms([TcpTerms::Choose(TcpMethod::Arq), TcpTerms::Choose(chosen)]);
        assert_eq!(methods(&pair), [TcpMethod::Arq; 2]);
        let refusals = pair.events.iter().filter(|(_, host, kind)| {
            (*host, kind) == (GATEWAY, &EventKind::TcpRefused { chosen })
        });
        assert_eq!(refusals.count(), 1);
        assert_eq!(transfer(&mut pair, GATEWAY, &kernel(true)), 0);
    }
}

#[test]
fn ends_agree_again_after_a_restart() {
    for method in METHODS {
        let mut pair = pair(method);
        for host in [GATEWAY, MOBILE] {
            pair.restart(host);
            pair.run_for(Duration::from_secs(150));
            assert_eq!(methods(&pair), [method; 2], "after a restart of {host}");
        }
        transfer(&mut pair, GATEWAY, &kernel(true));
    }
}

/// A drop of the gateway's own queue tells a sender to slow down. What that sends again waits behind nothing.
#[test]
fn a_drop_of_the_queue_costs_about_a_round_trip() {
    let methods = [TcpMethod::Arq, TcpMethod::Snoop];
    let controls = [Control::Cubic, Control::Reno];
    for (method, control) in methods
        .into_iter()
        .flat_map(|method| controls.map(|control| (method, control)))
    {
        let terms = [TcpTerms::Follow, TcpTerms::Choose(method)];
        let mut pair = over("l2-clean", terms);
        let config = Config {
            timestamps: true,
            window_scaling: true,
            receive_buffer: Bytes::mebi(4),
            ..Config::kernel(control)
        };
        pair.connect(Ends::new(&config), (GATEWAY, 1 << 40));
        pair.run_for(Duration::from_secs(3));
        let mut longest = Duration::ZERO;
        let (mut read, mut at) = (pair.ends().read(MOBILE).0, pair.now);
        let end = pair.now + Duration::from_secs(40);
        while pair.now < end {
            pair.run_for(Duration::from_millis(1));
            let (now, _) = pair.ends().read(MOBILE);
            if now > read {
                longest = longest.max(pair.now.since(at));
                (read, at) = (now, pair.now);
            }
        }
        let dropped = pair.status(GATEWAY).hop.stats.sent.packets_dropped;
        assert!(dropped > 0, "{method:?} {control:?}");
        assert!(
            longest < Duration::from_millis(60),
            "{method:?} {control:?}: {longest}"
        );
    }
}
