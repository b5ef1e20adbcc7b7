//! A packet in steady state costs no allocation, at either end.

use mtcp::Config;
use redirector::{Chunks, Count};
use units::Bytes;

use crate::pair::{Pair, Source};

fn assert_free<C: Source>(config: &Config, connections: u64, grant: Option<u64>) {
    let mut pair = Pair::<C>::connected(config, connections, grant);
    // Losses too: the lists of what was lost keep their room.
    pair.exchange(20_000, Some(50));
    let steady = allocation_counter::measure(|| pair.exchange(5_000, None));
    // A deadline that moves is a node of a tree, which may come and go; a packet with the end of one write and the
    // start of the next is a list.
    assert!(
        steady.count_total <= 500 + 10 * connections,
        "{:?}, {connections}: {}",
        config.profile,
        steady.count_total
    );
    let losing = allocation_counter::measure(|| pair.exchange(5_000, Some(50)));
    // A hundred losses, each the beginning of runs that are held.
    assert!(
        losing.count_total <= 1_500 + 10 * connections,
        "{:?}, {connections}: {}",
        config.profile,
        losing.count_total
    );
}

#[test]
fn packets_cost_no_allocation_once_the_tables_have_grown() {
    let wide = Config {
        send_buffer: Bytes::kibi(128),
        receive_buffer: Bytes::kibi(64),
        ..Config::wide()
    };
    for config in [Config::paper(), wide] {
        assert_free::<Count>(&config, 1, None);
        assert_free::<Chunks>(&config, 1, None);
        assert_free::<Chunks>(&config, 100, Some(16 << 10));
    }
}
