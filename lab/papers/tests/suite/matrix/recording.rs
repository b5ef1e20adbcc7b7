//! The origin of the recording that the matrix replays.

use std::fmt::Write;
use std::path::Path;

use channel::errors::StateChange;
use channel::{Channel, Direction, Input, Link, Output};
use machine::Machine;
use units::{Bytes, Duration, Instant};

const HEAD: &str = "\
# What probes met on the built-in link 'wifi-edge': Wi-Fi at the edge of coverage, fades of 100 ms that a frame in
# twenty survives, and single losses between them. A probe of 100 bytes towards the mobile host every 2 ms, seed 1, for
# 60 s; bad from the first of them that was lost to the next that arrived. A test of lab/papers made it.
";
const PROBE: Bytes = Bytes::new(100);
const EVERY: Duration = Duration::from_millis(2);
const PROBES: usize = 30_000;

/// Runs the channel up to `until`, and notes the probes that have arrived.
fn follow(channel: &mut Channel<usize>, until: Instant, arrived: &mut [bool]) {
    loop {
        while let Some(output) = channel.poll_output() {
            if let Output::Deliver { payload, .. } = output {
                arrived[payload] = true;
            }
        }
        match channel.poll_timeout().filter(|due| *due <= until) {
            Some(due) => channel.handle_timeout(due),
            None => return,
        }
    }
}

/// Returns for each probe the time at which it was sent, and true if it arrived.
fn probe(link: &Link) -> Vec<(Instant, bool)> {
    let mut channel = Channel::new(link, 1);
    let mut arrived = vec![false; PROBES];
    let times = (0..PROBES as u64).map(|number| Instant::ZERO + EVERY * number);
    let times: Vec<_> = times.collect();
    for (payload, now) in times.iter().enumerate() {
        follow(&mut channel, *now, &mut arrived);
        let send = Input::Send {
            direction: Direction::Down,
            size: PROBE,
            payload,
        };
        channel.handle_input(*now, send);
    }
    let end = times[PROBES - 1] + Duration::from_secs(1);
    follow(&mut channel, end, &mut arrived);
    times.into_iter().zip(arrived).collect()
}

#[test]
fn it_is_what_probes_met_on_a_link() {
    let mut text = HEAD.to_owned();
    let mut state = true;
    for (at, good) in probe(&Link::named("wifi-edge").unwrap()) {
        if good != state {
            state = good;
            writeln!(text, "{}", StateChange { at, good }).unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/recordings/wifi-edge.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(path).unwrap());
}
