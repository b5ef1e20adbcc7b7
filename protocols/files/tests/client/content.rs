//! What is written is read again.

use files::{BlockSize, Config, Operation, Reply, Window, Writes};
use units::Duration;

use crate::drive::{Pair, Way, attributes, pattern, percent};

#[test]
fn what_is_written_and_flushed_is_on_the_disk() {
    let mut pair = Pair::usual();
    let (open, _) = pair.create("a");
    let data = pattern(1_000_000);
    for (index, part) in data.chunks(60_000).enumerate() {
        pair.write(open, index as u64 * 60_000, part).unwrap();
    }
    pair.flush(open).unwrap();
    pair.tell_server(fileserver::Input::Restart);
    assert_eq!(pair.server.content("a").as_deref(), Some(&data[..]));
    assert_eq!(pair.client.unsafe_bytes(), 0);
}

#[test]
fn what_is_written_is_read_before_the_server_has_it() {
    let mut pair = Pair::usual();
    let (open, _) = pair.create("a");
    let data = pattern(10_000);
    pair.write(open, 0, &data).unwrap();
    pair.dark = true;
    assert_eq!(pair.read(open, 5_000, 10_000).unwrap(), &data[5_000..]);
}

#[test]
fn a_long_file_is_read_ahead_with_the_window_full() {
    let config = Config {
        block: BlockSize::Fixed(4_096),
        window: Window::Fixed(4),
        ..Config::default()
    };
    let mut pair = Pair::new(config, fileserver::Config::default(), Way::default());
    let data = pattern(409_600);
    pair.server.add_file("a", &data).unwrap();
    let file = pair.look_up("a").unwrap().file;
    let (open, _) = pair.open(file);
    let begun = pair.clock.now;
    let mut read = Vec::new();
    loop {
        let part = pair.read(open, read.len() as u64, 8_192).unwrap();
        if part.is_empty() {
            break;
        }
        read.extend(part);
    }
    assert_eq!(read, data);
    // 100 blocks, 4 at once, 10 ms each.
    let span = pair.clock.now.since(begun);
    assert!(span <= Duration::from_millis(300), "{span}");
}

#[test]
fn a_small_file_takes_one_stable_write() {
    let mut pair = Pair::usual();
    let (open, _) = pair.create("a");
    pair.write(open, 0, b"hello").unwrap();
    pair.flush(open).unwrap();
    let executed = |procedure| pair.server.counters().executed(procedure);
    assert_eq!(executed(nfs::Procedure::Write), 1);
    assert_eq!(executed(nfs::Procedure::Commit), 0);
}

#[test]
fn what_is_written_in_two_places_takes_one_commit() {
    let mut pair = Pair::usual();
    let (open, _) = pair.create("a");
    pair.write(open, 0, b"hello").unwrap();
    pair.write(open, 100_000, b"there").unwrap();
    pair.flush(open).unwrap();
    let executed = |procedure| pair.server.counters().executed(procedure);
    assert_eq!(executed(nfs::Procedure::Write), 2);
    assert_eq!(executed(nfs::Procedure::Commit), 1);
    assert_eq!(pair.client.counters().written_bytes, 10);
}

#[test]
fn small_writes_go_out_as_blocks() {
    let config = Config {
        block: BlockSize::Fixed(4_096),
        ..Config::default()
    };
    let mut pair = Pair::new(config, fileserver::Config::default(), Way::default());
    let (open, _) = pair.create("a");
    let data = pattern(40_960);
    for (index, part) in data.chunks(100).enumerate() {
        pair.write(open, index as u64 * 100, part).unwrap();
    }
    pair.flush(open).unwrap();
    assert_eq!(pair.server.content("a").as_deref(), Some(&data[..]));
    assert_eq!(pair.server.counters().executed(nfs::Procedure::Write), 10);
}

#[test]
fn synchronous_writes_need_no_commit() {
    let config = Config {
        writes: Writes::Synchronous,
        ..Config::default()
    };
    let mut pair = Pair::new(config, fileserver::Config::default(), Way::default());
    let (open, _) = pair.create("a");
    let data = pattern(300_000);
    pair.write(open, 0, &data).unwrap();
    pair.flush(open).unwrap();
    pair.tell_server(fileserver::Input::Restart);
    assert_eq!(pair.server.content("a").as_deref(), Some(&data[..]));
    assert_eq!(pair.server.counters().executed(nfs::Procedure::Commit), 0);
}

#[test]
fn a_cut_waits_for_what_is_on_its_way() {
    let mut pair = Pair::usual();
    let (open, found) = pair.create("a");
    pair.write(open, 0, &pattern(200_000)).unwrap();
    let mut cut = attributes();
    cut.size = Some(1_000);
    let ticket = pair.start(Operation::SetAttributes {
        file: found.file,
        attributes: cut,
    });
    let reply = pair.end(ticket).unwrap();
    assert!(
        matches!(reply, Reply::Attributes(now) if now.size == 1_000),
        "{reply:?}"
    );
    pair.write(open, 2_000, b"end").unwrap();
    pair.flush(open).unwrap();
    let mut expected = pattern(1_000);
    expected.resize(2_000, 0);
    expected.extend(b"end");
    assert_eq!(pair.server.content("a"), Some(expected));
}

#[test]
fn what_others_wrote_and_closed_is_seen_at_opening() {
    let mut pair = Pair::usual();
    pair.server.add_file("a", b"old").unwrap();
    let file = pair.look_up("a").unwrap().file;
    let (open, _) = pair.open(file);
    assert_eq!(pair.read(open, 0, 100).unwrap(), b"old");
    pair.close(open);
    pair.server.add_file("a", b"newer").unwrap();
    let file = pair.look_up("a").unwrap().file;
    let (open, found) = pair.open(file);
    assert_eq!(found.attributes.size, 5);
    assert_eq!(pair.read(open, 0, 100).unwrap(), b"newer");
}

#[test]
fn dirty_data_go_out_by_themselves() {
    let mut pair = Pair::usual();
    let (open, _) = pair.create("a");
    pair.write(open, 0, b"left alone").unwrap();
    pair.wait(Duration::from_secs(5));
    assert_eq!(
        pair.server.content("a").as_deref(),
        Some(&b"left alone"[..])
    );
}

#[test]
fn writers_wait_when_there_is_too_much() {
    let config = Config {
        dirty_limit: units::Bytes::kibi(64),
        ..Config::default()
    };
    let mut pair = Pair::new(config, fileserver::Config::default(), Way::default());
    let (open, _) = pair.create("a");
    pair.dark = true;
    let data = pattern(40_000);
    let tickets = (0..4).map(|index| {
        let data = bytes::Bytes::copy_from_slice(&data);
        pair.start(Operation::Write {
            open,
            offset: index * 40_000,
            data,
        })
    });
    let tickets: Vec<_> = tickets.collect();
    let ended = tickets
        .iter()
        .filter(|ticket| pair.has_ended(**ticket))
        .count();
    assert_eq!(ended, 2);
    pair.dark = false;
    for ticket in tickets {
        pair.end(ticket).unwrap();
    }
    pair.flush(open).unwrap();
    assert_eq!(
        pair.server.content("a").map(|content| content.len()),
        Some(160_000)
    );
}

#[test]
fn many_reads_at_once_end_and_nothing_is_read_twice() {
    let config = Config {
        block: BlockSize::Fixed(32_768),
        ..Config::default()
    };
    let mut pair = Pair::new(config, fileserver::Config::default(), Way::default());
    let data = pattern(16 << 20);
    pair.server.add_file("a", &data).unwrap();
    let file = pair.look_up("a").unwrap().file;
    let (open, _) = pair.open(file);
    let reads = (0..16).map(|index| {
        pair.start(Operation::Read {
            open,
            offset: index << 20,
            count: 1 << 20,
        })
    });
    let reads: Vec<_> = reads.collect();
    for (index, ticket) in reads.into_iter().enumerate() {
        let Ok(Reply::Data(pieces)) = pair.end(ticket) else {
            panic!("no data");
        };
        let start = index << 20;
        assert!(pieces.concat() == data[start..start + (1 << 20)]);
    }
    assert_eq!(pair.server.counters().executed(nfs::Procedure::Read), 512);
}

#[test]
fn blocks_grow_where_nothing_is_lost_and_shrink_where_long_ones_are() {
    let mut pair = Pair::usual();
    let (open, _) = pair.create("a");
    let data = pattern(4_000_000);
    for (index, part) in data.chunks(200_000).enumerate() {
        pair.write(open, index as u64 * 200_000, part).unwrap();
    }
    pair.flush(open).unwrap();
    assert_eq!(pair.client.block_sizes().1, 32_768);
    pair.fragment_loss = percent(8);
    for (index, part) in data.chunks(200_000).enumerate() {
        pair.write(open, index as u64 * 200_000, part).unwrap();
    }
    pair.flush(open).unwrap();
    assert!(
        pair.client.block_sizes().1 < 32_768,
        "{:?}",
        pair.client.block_sizes()
    );
}
