//! A driver in virtual time, which the channel's tests share.

use channel::{Cause, Channel, Direction, Input, Link, Output};
use machine::Machine;
use units::{Bytes, Instant};

/// A packet to send: its time in nanoseconds, direction and size. Its payload is its number.
pub(crate) type Packet = (u64, Direction, u64);

/// The outputs, with their times in nanoseconds.
pub(crate) type Log = Vec<(u64, Output<usize>)>;

pub(crate) fn link(text: &str) -> Link {
    Link::from_toml(text, "test.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// Sends `packets` and runs on until nothing is due up to `end`.
pub(crate) fn drive(channel: &mut Channel<usize>, packets: &[Packet], end: u64) -> Log {
    let mut log = Vec::new();
    for (number, (at, direction, size)) in packets.iter().enumerate() {
        advance(channel, *at, &mut log);
        let (direction, size) = (*direction, Bytes::new(*size));
        let send = Input::Send {
            direction,
            size,
            payload: number,
        };
        channel.handle_input(Instant::from_nanos(*at), send);
        drain(channel, *at, &mut log);
    }
    advance(channel, end, &mut log);
    log
}

fn advance(channel: &mut Channel<usize>, until: u64, log: &mut Log) {
    while let Some(due) = channel.poll_timeout().filter(|due| due.as_nanos() <= until) {
        channel.handle_timeout(due);
        drain(channel, due.as_nanos(), log);
    }
}

fn drain(channel: &mut Channel<usize>, now: u64, log: &mut Log) {
    while let Some(output) = channel.poll_output() {
        log.push((now, output));
    }
}

pub(crate) fn delivered(direction: Direction, payload: usize) -> Output<usize> {
    Output::Deliver { direction, payload }
}

pub(crate) fn dropped(direction: Direction, payload: usize, cause: Cause) -> Output<usize> {
    Output::Drop {
        direction,
        payload,
        cause,
    }
}

/// Returns, for each of `count` packets of `size` bytes sent back to back downwards at 10 Mbit/s, true if it is lost
/// with these errors.
pub(crate) fn losses(errors: &str, seed: u64, count: usize, size: u64) -> Vec<bool> {
    let text = format!(
        "errors = {{ {errors} }}\n[each]\nrate = '10 Mbit/s'\ndelay = '1 ms'\nqueue = '10 packets'"
    );
    let mut channel = Channel::new(&link(&text), seed);
    let packets: Vec<Packet> = (0..count as u64)
        .map(|number| (number * size * 800, Direction::Down, size))
        .collect();
    let log = drive(&mut channel, &packets, u64::MAX / 2);
    log.into_iter()
        .map(|(_, output)| matches!(output, Output::Drop { .. }))
        .collect()
}

pub(crate) fn share(lost: &[bool]) -> f64 {
    lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
}

/// Returns the lengths of the runs of lost packets.
pub(crate) fn bursts(lost: &[bool]) -> Vec<usize> {
    lost.split(|lost| !lost)
        .map(<[bool]>::len)
        .filter(|length| *length > 0)
        .collect()
}
