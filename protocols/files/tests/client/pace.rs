//! How many blocks are on their way to a server that is slow.

use files::{BlockSize, Client, Config, ServerLimits, Window};
use fileserver::Service;
use rpc::{HybridLinear, Policy};
use units::Duration;

use crate::drive::{Pair, Way, pattern};

/// Reads 60 blocks by hybrid linear retransmission, whose first wait is 700 ms whatever calls take, from a server that
/// takes so long for each; returns the time in blocks, and how many calls were sent again.
fn read(per_call: Duration, window: Window) -> (u64, u64) {
    let config = Config {
        block: BlockSize::Fixed(4_096),
        window,
        ..Config::default()
    };
    let retransmission = Policy::HybridLinear(HybridLinear::default());
    let rpc = rpc::Config {
        retransmission,
        ..rpc::Config::default()
    };
    let service = Service {
        per_call,
        ..Service::default()
    };
    let server = fileserver::Config {
        service,
        ..fileserver::Config::default()
    };
    let mut pair = Pair::new(config.clone(), server, Way::default());
    let rpc = rpc::Client::new(rpc, 7).expect("a configuration");
    pair.client = Client::new(config, ServerLimits::default(), rpc, 7).expect("a configuration");
    let data = pattern(60 * 4_096);
    pair.server.add_file("a", &data).expect("room");
    let file = pair.look_up("a").expect("a file").file;
    let (open, _) = pair.open(file);
    let begun = pair.now;
    let read = pair.read(open, 0, data.len() as u32);
    assert!(read.is_ok_and(|read| read == data));
    let spent = pair.now.since(begun).as_millis() / per_call.as_millis();
    let sent = pair.client.calls().sent;
    (spent, sent.messages - sent.calls)
}

/// The window does not grow until blocks wait for longer than they are waited for.
#[test]
fn a_slow_server_is_not_asked_for_more_than_it_answers_in_time() {
    for millis in [5, 30, 123, 170] {
        let (spent, again) = read(Duration::from_millis(millis), Window::Auto);
        assert_eq!(again, 0, "{millis} ms");
        assert!(spent <= 66, "{millis} ms: {spent} blocks");
    }
}

/// Four blocks at 300 ms each are all asked for twice, and the server answers twice.
#[test]
fn a_window_shrinks_when_answers_come_late() {
    let span = Duration::from_millis(300);
    let (spent, again) = read(span, Window::Auto);
    let (spent_by_four, again_by_four) = read(span, Window::Fixed(4));
    assert!(
        again <= 30 && again * 8 < again_by_four,
        "{again}, {again_by_four}"
    );
    assert!(
        spent <= 90 && spent < spent_by_four / 2,
        "{spent}, {spent_by_four}"
    );
}
