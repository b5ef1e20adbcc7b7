//! Random events against a reference: written bytes are a prefix of readable ones, in order, and all of them once the
//! binding has finished; no buffer exceeds its limit.

use std::net::SocketAddr;

use bytes::Bytes;
use machine::Machine;
use proptest::prelude::*;
use redirector::{BindingId, Chunks, Config, Content, Input, Output, Redirector, Side, Stream};
use units::Instant;

const BUFFER: u64 = 100;

/// A stream's transport: bytes received and not read, and bytes written.
#[derive(Default)]
struct Transport {
    received: u64,
    read: u64,
    finished: bool,
    room: u64,
    written: Vec<u8>,
    told_finished: bool,
}

struct World {
    redirector: Redirector<Chunks>,
    fixed: Transport,
    mobile: Transport,
    closed: bool,
}

fn stream(side: Side) -> Stream {
    let binding = BindingId(1);
    Stream { binding, side }
}

/// Returns the byte at a position of the stream that `side` sends.
fn byte(side: Side, position: u64) -> u8 {
    (position * 7 + position / 256 + side as u64) as u8
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            redirector: Redirector::new(Config {
                buffer: units::Bytes::new(BUFFER),
                ..Config::default()
            }),
            fixed: Transport::default(),
            mobile: Transport::default(),
            closed: false,
        };
        let destination = SocketAddr::from(([10, 0, 0, 2], 80));
        let stream = stream(Side::Fixed);
        world.input(Input::Arrived {
            stream,
            destination,
        });
        world
    }

    fn at(&mut self, side: Side) -> &mut Transport {
        match side {
            Side::Fixed => &mut self.fixed,
            Side::Mobile => &mut self.mobile,
        }
    }

    fn input(&mut self, input: Input<Chunks>) {
        self.redirector.handle_input(Instant::ZERO, input);
        while let Some(output) = self.redirector.poll_output() {
            self.output(output);
            for side in [Side::Fixed, Side::Mobile] {
                assert!(self.redirector.buffered(stream(side)) <= BUFFER);
            }
        }
    }

    fn output(&mut self, output: Output<Chunks>) {
        match output {
            Output::Connect { .. } => {}
            Output::Read { stream, count } => self.read(stream, count),
            Output::Write { stream, content } => {
                let transport = self.at(stream.side);
                assert!(
                    content.length() <= transport.room,
                    "written beyond the room"
                );
                assert!(!transport.told_finished, "written after the end");
                transport.room -= content.length();
                for chunk in content.iter() {
                    transport.written.extend_from_slice(chunk);
                }
            }
            Output::Finish(stream) => self.at(stream.side).told_finished = true,
            Output::Reset(stream) => panic!("nothing was wrong with {stream:?}"),
            Output::Closed(_) => self.closed = true,
        }
    }

    /// Delivers the requested bytes in two chunks, or one byte less if possible.
    fn read(&mut self, stream: Stream, count: u64) {
        let transport = self.at(stream.side);
        let available = transport.received - transport.read;
        assert!(
            0 < count && count <= available,
            "asked for what is not there"
        );
        let count = if count > 1 { count - 1 } else { count };
        let from = transport.read;
        transport.read += count;
        let bytes: Bytes = (from..from + count)
            .map(|at| byte(stream.side, at))
            .collect();
        let mut content = Chunks::from(bytes.slice(..bytes.len() / 2));
        content.append(bytes.slice(bytes.len() / 2..).into());
        self.input(Input::Data { stream, content });
    }

    fn step(&mut self, (kind, side, amount): (u8, bool, u16)) {
        let side = if side { Side::Fixed } else { Side::Mobile };
        let stream = stream(side);
        let amount = u64::from(amount);
        let transport = self.at(side);
        match kind {
            0 if !transport.finished => {
                transport.received += amount;
                let available = transport.received - transport.read;
                self.input(Input::Readable { stream, available });
            }
            1 => {
                transport.room += amount;
                let room = transport.room;
                self.input(Input::Writable { stream, room });
            }
            2 => {
                transport.finished = true;
                self.input(Input::Finished(stream));
            }
            _ => {}
        }
    }

    fn check(&self) {
        for (side, source, sink) in [
            (Side::Fixed, &self.fixed, &self.mobile),
            (Side::Mobile, &self.mobile, &self.fixed),
        ] {
            let expected = (0..sink.written.len() as u64).map(|at| byte(side, at));
            assert!(sink.written.iter().copied().eq(expected), "bytes differ");
            if sink.told_finished {
                assert!(source.finished && sink.written.len() as u64 == source.received);
            }
        }
    }
}

proptest! {
    #[test]
    fn streams_arrive_whole_and_in_order(
        steps in prop::collection::vec((0..3_u8, any::<bool>(), 0..300_u16), 0..200),
    ) {
        let mut world = World::new();
        // Ends come late in the sequence.
        let last = steps.len().saturating_sub(20);
        for (place, step) in steps.into_iter().enumerate() {
            if step.0 < 2 || place > last {
                world.step(step);
                world.check();
            }
        }
        for side in [true, false] {
            world.step((2, side, 0));
        }
        for side in [true, false] {
            for _ in 0..2_000 {
                world.step((1, side, 100));
            }
        }
        world.check();
        prop_assert!(world.closed, "both sides ended and had room");
        prop_assert_eq!(world.redirector.bindings(), 0);
    }
}
