//! Tests of receive buffers that grow to the size that the hop needs.

use mtcp::{AutoBuffer, Config};
use units::{BitRate, Bytes, Duration};

use super::hop::{Hop, Run};

fn auto(most: Bytes) -> Config {
    Config {
        receive_buffer: most,
        auto_buffer: Some(AutoBuffer::default()),
        send_buffer: Bytes::mebi(64),
        ..Config::wide()
    }
}

/// Returns the rate of a hop with this configuration after two seconds, in bytes per second.
fn rate(hop: Hop, config: &Config) -> f64 {
    let [warm_up, span] = [2, 4].map(Duration::from_secs);
    Run::new(hop, config, 1).transfer(warm_up, span).rate()
}

#[test]
fn a_buffer_grows_to_what_the_hop_needs() {
    for (megabits, delay, loss) in [(100, 25, 0), (100, 25, 100), (50, 100, 0), (50, 100, 100)] {
        let hop = Hop {
            independent: loss,
            ..Hop::clean(
                BitRate::from_megabits(megabits),
                Duration::from_millis(delay),
            )
        };
        let large = Config {
            auto_buffer: None,
            ..auto(Bytes::mebi(16))
        };
        let (grown, fixed) = (rate(hop, &auto(Bytes::mebi(16))), rate(hop, &large));
        println!(
            "{megabits} Mbit/s, {delay} ms, loss {loss}: {:.3}",
            grown / fixed
        );
        assert!(grown >= 0.97 * fixed, "{hop:?}: {grown} of {fixed}");
    }
}

#[test]
fn it_grows_no_further_than_that() {
    for (megabits, delay, loss) in [(10, 10, 0), (10, 10, 500), (100, 25, 0), (100, 25, 500)] {
        let hop = Hop {
            independent: loss,
            ..Hop::clean(
                BitRate::from_megabits(megabits),
                Duration::from_millis(delay),
            )
        };
        let config = auto(Bytes::mebi(32));
        let run = Run::new(hop, &config, 1);
        let [warm_up, span] = [1, 9].map(Duration::from_secs);
        let window = run.transfer(warm_up, span).window;
        let product = hop.products(1, &config).get();
        println!(
            "{megabits} Mbit/s, {delay} ms, loss {loss}: {:.1} products",
            window as f64 / product as f64
        );
        let start = AutoBuffer::default().start.get();
        assert!(window <= (12 * product).max(start), "{hop:?}: {window}");
    }
}
