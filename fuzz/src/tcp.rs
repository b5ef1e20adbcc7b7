//! The TCP endpoint, and a peer that sends anything.

use std::net::SocketAddrV4;

use machine::Machine;
use tcp::{Config, Connection, Endpoint, Input, Output, Policy};
use units::{Duration, Instant, SeqNumber};
use wire::TcpSegment;
use wire::checksum::fill_transport_checksum;
use wire::ip::Ipv4Mut;
use wire::tcp::{SeqRange, TcpFlags};

use crate::outcome::note;

/// Initial sequence number of both streams, so that they wrap soon.
const FIRST: SeqNumber = SeqNumber(u32::MAX - 5_000);
/// Limit of outputs after one input: a window of the smallest segments, and their acknowledgements.
const OUTPUTS_MAX: usize = 2_000;

fn address(end: u8) -> SocketAddrV4 {
    SocketAddrV4::new([10, 0, 0, end].into(), 4_000)
}

/// Runs segments, waits and actions of the application, in any order. The first byte chooses the loss recovery and the
/// end that opens.
pub fn tcp_tape(bytes: &[u8]) {
    let Some((setting, tape)) = bytes.split_first() else {
        return;
    };
    let policy = Policy::ALL[usize::from(*setting) % Policy::ALL.len()];
    let config = if setting & 0x40 == 0 {
        Config::bsd()
    } else {
        Config::modern()
    };
    let connection = Connection {
        local: address(1),
        remote: address(2),
        initial_sequence: FIRST,
    };
    let build = if setting & 0x80 == 0 {
        Endpoint::new
    } else {
        Endpoint::listening
    };
    let mut endpoint = build(connection, config.with_policy(policy)).expect("a configuration");
    let mut now = Instant::from_millis(1);
    endpoint.handle_input(now, Input::Connect);
    drain(&mut endpoint);
    for piece in crate::pieces(tape) {
        let Some((kind, rest)) = piece.split_first() else {
            continue;
        };
        let number = |place: usize| {
            let word = |at| rest.get(at).copied().unwrap_or_default();
            u16::from_be_bytes([word(place), word(place + 1)])
        };
        let input = match kind % 10 {
            0 => {
                wait(&mut endpoint, &mut now, number(0));
                continue;
            }
            1 => Input::Write(u64::from(number(0))),
            2 => Input::Read(u64::from(number(0))),
            3 => Input::AirLoss(SeqRange {
                start: FIRST + u32::from(number(0)),
                end: FIRST + u32::from(number(2)),
            }),
            4 if *kind > 250 => Input::Abort,
            4 if *kind > 200 => Input::Close,
            _ => match segment(rest) {
                Some(segment) => Input::Segment(segment),
                None => continue,
            },
        };
        endpoint.handle_input(now, input);
        drain(&mut endpoint);
    }
    wait(&mut endpoint, &mut now, u16::MAX);
}

/// Returns a segment from the peer: flags, number, acknowledgement, window, bytes of data, and options.
fn segment(bytes: &[u8]) -> Option<TcpSegment> {
    let (fixed, options) = bytes.split_first_chunk::<9>()?;
    let offset = |place: usize| u32::from(u16::from_be_bytes([fixed[place], fixed[place + 1]]));
    let segment = TcpSegment {
        source: address(2),
        destination: address(1),
        sequence: FIRST + offset(1),
        acknowledgment: FIRST + offset(3),
        flags: TcpFlags(fixed[0]),
        window: offset(5) as u16,
        payload: offset(7) as u16 % 3_000,
        options: wire::tcp::TcpSegmentOptions::default(),
    };
    let mut packet = vec![0; segment.packet_length()];
    segment.encode(&mut packet);
    let options = &options[..options.len().min(40) / 4 * 4];
    packet.splice(40..40, options.iter().copied());
    packet[32] = ((20 + options.len()) / 4 * 16) as u8;
    let length = packet.len() as u16;
    let mut header = Ipv4Mut::parse(&mut packet).ok()?;
    header.set_total_length(length);
    header.fill_header_checksum();
    fill_transport_checksum(&mut packet).ok()?;
    let (segment, in_place) = TcpSegment::parse(&packet).ok()?;
    assert!(in_place, "options do not move data");
    Some(segment)
}

/// Takes the outputs of the endpoint: at most a window, and segments that can be encoded.
fn drain(endpoint: &mut Endpoint) {
    for _ in 0..OUTPUTS_MAX {
        let output = endpoint.poll_output();
        note(&output);
        match output {
            Some(Output::Segment(segment)) => {
                let mut packet = vec![0; segment.packet_length()];
                segment.encode(&mut packet);
                assert_eq!(TcpSegment::parse(&packet), Ok((segment, true)));
            }
            Some(_) => {}
            None => return,
        }
    }
    panic!("it talks without end");
}

/// Lets `millis` milliseconds pass.
fn wait(endpoint: &mut Endpoint, now: &mut Instant, millis: u16) {
    let end = *now + Duration::from_millis(millis.into());
    for _ in 0..200 {
        let Some(due) = endpoint.poll_timeout().filter(|due| *due <= end) else {
            break;
        };
        *now = due.max(*now);
        endpoint.handle_timeout(*now);
        drain(endpoint);
    }
    *now = end.max(*now);
}
