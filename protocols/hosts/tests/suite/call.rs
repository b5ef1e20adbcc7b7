//! A call beside a download, whose sender fills the queue at the gateway, while far gateways serve in turn.

use hosts::TcpMethod;
use machine::RandomStream;
use tcp::{Config, Control};
use units::{BitRate, Bytes, Duration};

use crate::site::is_whole;
use crate::support::ends::Ends;
use crate::support::roaming::{HOME, Roaming, Setting, Tcp};

const SECOND: Duration = Duration::from_secs(1);

/// Returns a site in which a download fills the queue of the hop.
fn begun(seed: u64, is_call: bool) -> Roaming {
    let mut site = Roaming::new(Setting {
        seed,
        wire: Duration::from_millis(10),
        window: 1_000,
        ..Setting::default()
    });
    for flow in &mut site.flows {
        if is_call {
            flow.become_call();
        } else {
            flow.slow_down(Duration::from_millis(20));
        }
    }
    site.run(SECOND * 2, false);
    connect(&mut site);
    site.run(SECOND * 3, false);
    site
}

/// Begins the download.
fn connect(site: &mut Roaming) {
    let config = Config {
        timestamps: true,
        window_scaling: true,
        receive_buffer: Bytes::new(2_000_000),
        ..Config::kernel(Control::Cubic)
    };
    site.connect_now(Ends::numbered(&config, 1));
}

/// Has the mobile host move so many times, each to another gateway; returns the longest time between two packets to it.
fn longest_gap(site: &mut Roaming, seed: u64, moves: usize) -> Duration {
    let mut random = RandomStream::named(seed, "moves");
    let (mut at, mut longest) = (HOME, Duration::ZERO);
    for _ in 0..moves {
        at = HOME + (at - HOME + 1 + random.below(2) as usize) % 3;
        site.flows[0].stall = Duration::ZERO;
        site.move_to(at);
        let span = Duration::from_millis(1_500 + random.below(2_000));
        site.run(span, false);
        longest = longest.max(site.flows[0].stall);
    }
    longest
}

/// A move takes a round trip of the hop and one between gateways. The queue of a download that follows takes longer,
/// and a call does not wait for that.
#[test]
fn the_queue_of_a_download_that_follows_delays_no_call() {
    for seed in 0..4 {
        let mut site = begun(seed, true);
        let gap = longest_gap(&mut site, seed, 20);
        assert!(gap < Duration::from_millis(65), "{seed}: {gap}");
        is_whole(&mut site);
    }
}

/// What a sender repeats crosses between gateways again, as both count it.
#[test]
fn nobody_waits_for_segments_that_were_sent_twice() {
    for seed in 0..4 {
        let mut site = begun(seed, false);
        let gap = longest_gap(&mut site, seed, 30);
        assert!(gap < Duration::from_millis(150), "{seed}: {gap}");
        is_whole(&mut site);
    }
}

/// Where TCP is repaired from its home, another gateway relays, and the home paces both paths: what is on its way by
/// the former one, with its queue, says nothing of the next one.
#[test]
fn a_move_to_another_path_delays_no_call_and_hardly_a_download() {
    for seed in 0..2 {
        let mut site = Roaming::new(Setting {
            seed,
            wire: Duration::from_millis(10),
            queue: Duration::from_millis(60),
            window: 1_000,
            tcp: Tcp::Whole(TcpMethod::Snoop),
            ..Setting::default()
        });
        site.flows[0].become_call();
        site.flows[1].become_call();
        site.run(SECOND * 2, false);
        connect(&mut site);
        site.run(SECOND * 10, false);
        site.take_stall();
        let mut random = RandomStream::named(seed, "moves");
        for number in 0..15 {
            site.flows[0].delay = Duration::ZERO;
            let read = site.read();
            site.move_to(HOME + (number + 1) % 3);
            let span = Duration::from_millis(4_000 + random.below(2_000));
            site.run(span, false);
            let delay = site.flows[0].delay;
            // A packet to the home takes 10 ms at least.
            assert!(
                delay < Duration::from_millis(70),
                "{seed}, {number}: {delay}"
            );
            let stall = site.take_stall();
            assert!(
                stall < Duration::from_millis(60),
                "{seed}, {number}: {stall}"
            );
            let rate = BitRate::of(Bytes::new(site.read() - read), span).expect("time passes");
            assert!(
                rate > BitRate::from_kilobits(16_500),
                "{seed}, {number}: {rate}"
            );
        }
        assert!(site.is_connected());
        is_whole(&mut site);
    }
}
