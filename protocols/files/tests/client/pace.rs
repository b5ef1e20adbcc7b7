//! How many blocks are on their way to a server that is slow, and how large they are.

use files::{BlockSize, Client, Config, ServerLimits, Window};
use fileserver::Service;
use rpc::{HybridLinear, Policy};
use units::Duration;

use crate::drive::{Pair, Way, pattern, percent};

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
    let begun = pair.clock.now;
    let read = pair.read(open, 0, data.len() as u32);
    assert!(read.is_ok_and(|read| read == data));
    let spent = pair.clock.now.since(begun).as_millis() / per_call.as_millis();
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

/// Reads two million bytes from a server that takes 30 µs for a byte, over a way of 50 ms; returns the size of blocks
/// at the end.
fn block_of_slow_bytes(window: usize, lost: u64) -> u32 {
    let config = Config {
        window: Window::Fixed(window),
        ..Config::default()
    };
    let service = Service {
        per_byte: Duration::from_micros(30),
        ..Service::default()
    };
    let server = fileserver::Config {
        service,
        ..fileserver::Config::default()
    };
    let way = Way {
        delay: Duration::from_millis(50),
        loss: percent(lost),
    };
    let mut pair = Pair::new(config, server, way);
    let data = pattern(2_000_000);
    pair.server.add_file("a", &data).expect("room");
    let file = pair.look_up("a").expect("a file").file;
    let (open, _) = pair.open(file);
    for part in 0..20 {
        let read = pair.read(open, part * 100_000, 100_000);
        assert!(read.is_ok_and(|read| read == data[part as usize * 100_000..][..100_000]));
    }
    pair.client.block_sizes().0
}

/// A larger block takes longer than calls are waited for that were smaller: it is asked for twice, and not lost.
#[test]
fn larger_blocks_that_take_longer_are_not_lost() {
    assert_eq!(block_of_slow_bytes(1, 0), 32_768);
}

/// Losses that do not depend on the size are no reason for small blocks.
#[test]
fn larger_blocks_are_tried_on_where_some_are_lost() {
    assert_eq!(block_of_slow_bytes(1, 2), 32_768);
    assert_eq!(block_of_slow_bytes(1, 5), 32_768);
}

/// Blocks that wait for others at the server are not made larger, however many are on their way by configuration.
#[test]
fn blocks_that_wait_for_others_do_not_grow() {
    assert_eq!(block_of_slow_bytes(8, 0), 4_096);
}
