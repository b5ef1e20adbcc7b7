//! A call beside a download, whose sender fills the queue at the gateway, while far gateways serve in turn.

use machine::RandomStream;
use tcp::{Config, Control};
use units::{Bytes, Duration};

use crate::site::is_whole;
use crate::support::ends::Ends;
use crate::support::roaming::{HOME, Roaming, Setting};

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
    let config = Config {
        timestamps: true,
        window_scaling: true,
        receive_buffer: Bytes::new(2_000_000),
        ..Config::kernel(Control::Cubic)
    };
    site.connect_now(Ends::numbered(&config, 1));
    site.run(SECOND * 3, false);
    site
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
