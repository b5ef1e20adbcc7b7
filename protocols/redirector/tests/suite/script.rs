//! Tests of one redirector, event by event.

use std::net::SocketAddr;

use bytes::Bytes;
use machine::{Machine, conformance};
use redirector::{
    BindingId, Chunks, Config, Content, Count, Counters, Input, Output, Redirector, Side, Stream,
};
use units::{Duration, Instant};

const FIXED: Stream = Stream {
    binding: BindingId(7),
    side: Side::Fixed,
};
const MOBILE: Stream = FIXED.other();

fn destination() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 2], 80))
}

struct Script<C> {
    redirector: Redirector<C>,
    now: Instant,
}

impl<C: Content> Script<C> {
    /// Returns a binding whose connection came from the fixed host.
    fn joined(config: Config) -> Self {
        let mut script = Self {
            redirector: Redirector::new(config),
            now: Instant::ZERO,
        };
        assert!(script.arrive(FIXED).len() == 1);
        script
    }

    fn arrive(&mut self, stream: Stream) -> Vec<Output<C>> {
        self.input(Input::Arrived {
            stream,
            destination: destination(),
        })
    }

    fn input(&mut self, input: Input<C>) -> Vec<Output<C>> {
        self.redirector.handle_input(self.now, input);
        std::iter::from_fn(|| self.redirector.poll_output()).collect()
    }

    fn readable(&mut self, stream: Stream, available: u64) -> Vec<Output<C>> {
        self.input(Input::Readable { stream, available })
    }

    fn writable(&mut self, stream: Stream, room: u64) -> Vec<Output<C>> {
        self.input(Input::Writable { stream, room })
    }

    fn data(&mut self, stream: Stream, content: C) -> Vec<Output<C>> {
        self.input(Input::Data { stream, content })
    }

    fn wait(&mut self, span: Duration) -> Vec<Output<C>> {
        self.now += span;
        self.redirector.handle_timeout(self.now);
        std::iter::from_fn(|| self.redirector.poll_output()).collect()
    }
}

fn counted() -> Script<Count> {
    Script::joined(Config::default())
}

fn read(stream: Stream, count: u64) -> Output<Count> {
    Output::Read { stream, count }
}

fn write(stream: Stream, count: u64) -> Output<Count> {
    let content = Count(count);
    Output::Write { stream, content }
}

#[test]
fn a_connection_is_continued_on_the_other_side() {
    let mut script = Script::<Count>::joined(Config::default());
    let stream = Stream {
        binding: BindingId(8),
        side: Side::Mobile,
    };
    let connect = Output::Connect {
        stream: stream.other(),
        destination: destination(),
    };
    assert_eq!(script.arrive(stream), [connect]);
    assert_eq!(script.redirector.bindings(), 2);
    assert_eq!(script.arrive(stream), [], "a name that is in use");
}

#[test]
fn bytes_go_through_at_once_where_the_sink_has_room() {
    let mut script = counted();
    assert_eq!(script.writable(MOBILE, 8_000), []);
    assert_eq!(script.readable(FIXED, 3_000), [read(FIXED, 3_000)]);
    assert_eq!(script.data(FIXED, Count(3_000)), [write(MOBILE, 3_000)]);
    assert_eq!(script.redirector.buffered(MOBILE), 0);
}

/// The base station's buffer is 64 KB (Balakrishnan et al. 1997, split connections): once it is full the
/// sender is held by its window.
#[test]
fn a_full_buffer_stops_reading_until_the_sink_takes_more() {
    let mut script = counted();
    assert_eq!(script.readable(FIXED, 100_000), [read(FIXED, 65_536)]);
    assert_eq!(script.data(FIXED, Count(65_536)), []);
    assert_eq!(script.readable(FIXED, 100_000), []);
    assert_eq!(script.redirector.buffered(MOBILE), 65_536);
    let moved = [write(MOBILE, 1_400), read(FIXED, 1_400)];
    assert_eq!(script.writable(MOBILE, 1_400), moved);
    assert_eq!(script.readable(FIXED, 90_000), [], "one request at a time");
}

#[test]
fn a_source_that_delivers_less_is_asked_again_when_it_has_more() {
    let mut script = counted();
    script.writable(MOBILE, 10_000);
    assert_eq!(script.readable(FIXED, 3_000), [read(FIXED, 3_000)]);
    let outputs = script.data(FIXED, Count(1_000));
    assert_eq!(outputs, [write(MOBILE, 1_000), read(FIXED, 2_000)]);
    assert_eq!(script.data(FIXED, Count(0)), [read(FIXED, 2_000)]);
}

#[test]
fn a_finish_follows_the_last_byte_and_leaves_the_other_direction_open() {
    let mut script = counted();
    script.readable(FIXED, 2_000);
    assert_eq!(script.input(Input::Finished(FIXED)), []);
    assert_eq!(script.data(FIXED, Count(2_000)), []);
    assert_eq!(script.writable(MOBILE, 1_500), [write(MOBILE, 1_500)]);
    let last = [write(MOBILE, 500), Output::Finish(MOBILE)];
    assert_eq!(script.writable(MOBILE, 9_000), last);

    script.writable(FIXED, 9_000);
    script.readable(MOBILE, 100);
    assert_eq!(script.data(MOBILE, Count(100)), [write(FIXED, 100)]);
    let closed = [Output::Finish(FIXED), Output::Closed(BindingId(7))];
    assert_eq!(script.input(Input::Finished(MOBILE)), closed);
    let expected = Counters {
        bindings: 1,
        to_mobile: 2_000,
        to_fixed: 100,
        finished: 1,
        ..Counters::default()
    };
    assert_eq!(script.redirector.counters(), expected);
}

#[test]
fn a_reset_crosses_and_ends_the_binding() {
    let mut script = counted();
    let outputs = script.input(Input::Reset(MOBILE));
    assert_eq!(
        outputs,
        [Output::Reset(FIXED), Output::Closed(BindingId(7))]
    );
    assert_eq!(script.readable(FIXED, 10), [], "a late event means nothing");
    assert_eq!(script.redirector.poll_timeout(), None);
}

#[test]
fn more_than_was_asked_for_breaks_the_binding() {
    let mut script = counted();
    script.readable(FIXED, 10);
    let broken = [
        Output::Reset(FIXED),
        Output::Reset(MOBILE),
        Output::Closed(BindingId(7)),
    ];
    assert_eq!(script.data(FIXED, Count(11)), broken);
}

#[test]
fn a_table_that_is_full_resets_what_arrives() {
    let bindings = 1;
    let mut script = Script::<Count>::joined(Config {
        bindings,
        ..Config::default()
    });
    let stream = Stream {
        binding: BindingId(8),
        side: Side::Mobile,
    };
    assert_eq!(script.arrive(stream), [Output::Reset(stream)]);
    assert_eq!(script.redirector.counters().refused, 1);
}

#[test]
fn an_idle_binding_is_reset_on_both_sides() {
    let idle = Duration::from_secs(10);
    let mut script = Script::<Count>::joined(Config {
        idle,
        ..Config::default()
    });
    assert_eq!(script.wait(Duration::from_secs(6)), []);
    script.writable(MOBILE, 1);
    assert_eq!(script.wait(Duration::from_secs(6)), [], "it was used since");
    let broken = [
        Output::Reset(FIXED),
        Output::Reset(MOBILE),
        Output::Closed(BindingId(7)),
    ];
    assert_eq!(script.wait(Duration::from_secs(4)), broken);
    assert_eq!(script.redirector.counters().idle, 1);
}

#[test]
fn real_bytes_are_moved_and_never_copied() {
    let mut script = Script::<Chunks>::joined(Config::default());
    let source = Bytes::from(vec![5; 3_000]);
    script.readable(FIXED, 3_000);
    script.data(FIXED, source.clone().into());
    let mut at = 0;
    for room in [1_000, 1_999, 5] {
        let outputs = script.writable(MOBILE, room);
        let [Output::Write { content, .. }] = &outputs[..] else {
            panic!("not one write: {outputs:?}");
        };
        for chunk in content.iter() {
            assert_eq!(chunk.as_ptr(), source[at..].as_ptr());
            at += chunk.len();
        }
    }
    assert_eq!(at, 3_000);
}

#[test]
fn the_contract_holds() {
    let mut inputs = Vec::new();
    for binding in 0..20 {
        let stream = Stream {
            binding: BindingId(binding),
            side: Side::Fixed,
        };
        inputs.push(Input::Arrived {
            stream,
            destination: destination(),
        });
        inputs.push(Input::Readable {
            stream,
            available: 1_000,
        });
        let content = Count(900);
        inputs.push(Input::Data { stream, content });
        let stream = stream.other();
        inputs.push(Input::Writable { stream, room: 400 });
        inputs.push(Input::Finished(stream));
    }
    let wait = Duration::from_millis(300);
    let script: Vec<_> = inputs.into_iter().map(|input| (wait, input)).collect();
    let config = Config {
        idle: Duration::from_secs(4),
        bindings: 10,
        ..Config::default()
    };
    let build = || Redirector::<Count>::new(config.clone());
    conformance::check(build, &script, Duration::from_secs(60));
}

#[test]
fn a_configuration_reads_as_people_write_it() {
    let config: Config = toml::from_str("buffer = \"32 KiB\"\nidle = \"5 min\"").unwrap();
    assert_eq!(config.buffer, units::Bytes::kibi(32));
    let error = toml::from_str::<Config>("bufer = \"32 KiB\"").unwrap_err();
    assert!(error.to_string().contains("bufer"));
}

#[test]
fn real_bytes_are_written_as_one_run() {
    let mut chunks = Chunks::from(Bytes::from_static(&[1, 2]));
    chunks.append(Bytes::from_static(&[3]).into());
    let text = toml::to_string(&std::collections::BTreeMap::from([("bytes", chunks)]));
    let text = text.expect("text");
    assert_eq!(text.trim(), "bytes = [1, 2, 3]");
    let read: std::collections::BTreeMap<String, Chunks> = toml::from_str(&text).expect("bytes");
    assert_eq!(read["bytes"], Chunks::from(Bytes::from_static(&[1, 2, 3])));
}
