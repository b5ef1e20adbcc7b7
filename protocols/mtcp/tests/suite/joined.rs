//! Tests of the redirector with MTCP on its hop side: events map one to one.

use bytes::Bytes;
use machine::{Machine, RandomStream, earlier};
use mtcp::packet::{Addresses, Packet};
use mtcp::{Config, ConnectionId, Endpoint, Input, Output, Reason};
use redirector::{BindingId, Chunks, Content, Redirector, Side, Stream};
use simulator::testing::{Clock, Next};
use units::{Duration, Instant};

const MOBILE: usize = 0;
const GATEWAY: usize = 1;

/// A mobile host, its gateway, and a fixed host that echoes, as a stream of bytes.
struct Hosts {
    ends: [Endpoint<Chunks>; 2],
    redirector: Redirector<Chunks>,
    clock: Clock<(usize, Packet<Chunks>)>,
    /// What the fixed host has written and the gateway has not read.
    echo: Chunks,
    fixed_refuses: bool,
    fixed_finished: bool,
    /// Data that the mobile host's application has received.
    received: Vec<u8>,
    told: Vec<Output<Chunks>>,
    sent: u64,
}

fn stream(side: Side) -> Stream {
    let binding = BindingId(0);
    Stream { binding, side }
}

const HOP: ConnectionId = ConnectionId::Arrived(0);
const APPLICATION: ConnectionId = ConnectionId::Opened(1);

impl Hosts {
    fn new() -> Self {
        let end = |name| {
            let random = RandomStream::named(1, name);
            Endpoint::new(Config::paper(), random).expect("a configuration")
        };
        Self {
            ends: [end("mobile"), end("gateway")],
            redirector: Redirector::new(redirector::Config::default()),
            clock: Clock::new(Instant::from_millis(1)),
            echo: Chunks::default(),
            fixed_refuses: false,
            fixed_finished: false,
            received: Vec::new(),
            told: Vec::new(),
            sent: 0,
        }
    }

    fn application(&mut self, input: Input<Chunks>) {
        self.answer(MOBILE, input);
        self.run(Duration::ZERO);
    }

    fn open(&mut self) {
        let ends = [([192, 0, 2, 1], 7).into(), ([10, 9, 0, 2], 4_000).into()];
        let addresses = Addresses::new(ends[0], ends[1]).expect("one family");
        let number = 1;
        self.application(Input::Open { number, addresses });
    }

    /// Hands an end an input; what comes of it is carried out by [`drain`](Self::drain).
    fn answer(&mut self, end: usize, input: Input<Chunks>) {
        self.ends[end].handle_input(self.clock.now, input);
    }

    /// Lets time pass; every eighth packet is lost.
    fn run(&mut self, span: Duration) {
        let end = self.clock.now + span;
        loop {
            self.drain();
            let timers = self.ends.each_ref().map(Endpoint::poll_timeout);
            match self.clock.advance(end, earlier(timers[0], timers[1])) {
                Next::Event((to, packet)) => {
                    self.sent += 1;
                    if !self.sent.is_multiple_of(8) {
                        self.answer(to, Input::Packet(packet));
                    }
                }
                Next::Deadline => {
                    for end in &mut self.ends {
                        end.handle_timeout(self.clock.now);
                    }
                }
                Next::End => return,
            }
        }
    }

    fn drain(&mut self) {
        for end in [MOBILE, GATEWAY] {
            while let Some(output) = self.ends[end].poll_output() {
                match output {
                    Output::Packet(packet) => self.clock.add(self.clock.now, (1 - end, packet)),
                    output if end == MOBILE => self.note(output),
                    output => self.redirect(output),
                }
            }
        }
    }

    /// What the mobile host's application is told.
    fn note(&mut self, output: Output<Chunks>) {
        match output {
            Output::Readable(id, bytes) => self.answer(MOBILE, Input::Read(id, bytes)),
            Output::Data(_, content) => {
                for chunk in content.iter() {
                    self.received.extend_from_slice(chunk);
                }
            }
            other => self.told.push(other),
        }
    }

    /// What MTCP tells is told to the redirector, and what that asks is done.
    fn redirect(&mut self, output: Output<Chunks>) {
        let stream = stream(Side::Mobile);
        let event = match output {
            Output::Arrived(_, addresses) => redirector::Input::Arrived {
                stream,
                destination: addresses.destination(),
            },
            Output::Readable(_, available) => redirector::Input::Readable { stream, available },
            Output::Data(_, content) => redirector::Input::Data { stream, content },
            Output::Writable(_, room) => redirector::Input::Writable { stream, room },
            Output::Finished(_) => redirector::Input::Finished(stream),
            Output::Reset(..) => redirector::Input::Reset(stream),
            _ => return,
        };
        self.tell(event);
    }

    fn tell(&mut self, event: redirector::Input<Chunks>) {
        self.redirector.handle_input(self.clock.now, event);
        while let Some(output) = self.redirector.poll_output() {
            self.act(output);
        }
    }

    fn act(&mut self, output: redirector::Output<Chunks>) {
        let fixed = stream(Side::Fixed);
        let answer = match output {
            redirector::Output::Connect { .. } if self.fixed_refuses => {
                let refuse = Input::Refuse(HOP, Reason::Refused);
                self.answer(GATEWAY, refuse);
                return self.tell(redirector::Input::Reset(fixed));
            }
            redirector::Output::Connect { .. } => {
                // The fixed host has answered: only now the application's SYN is.
                self.answer(GATEWAY, Input::Accept(HOP));
                let room = 1 << 30;
                return self.tell(redirector::Input::Writable {
                    stream: fixed,
                    room,
                });
            }
            redirector::Output::Write { stream, content } if stream == fixed => {
                self.echo.append(content);
                return self.offer();
            }
            redirector::Output::Read { stream, count } if stream == fixed => {
                let content = self.echo.take_front(count);
                return self.tell(redirector::Input::Data { stream, content });
            }
            redirector::Output::Finish(stream) if stream == fixed => {
                self.fixed_finished = true;
                return self.tell(redirector::Input::Finished(fixed));
            }
            redirector::Output::Read { count, .. } => Input::Read(HOP, count),
            redirector::Output::Write { content, .. } => Input::Write(HOP, content),
            redirector::Output::Finish(_) => Input::Close(HOP),
            redirector::Output::Reset(stream) if stream != fixed => {
                Input::Abort(HOP, Reason::Aborted)
            }
            _ => return,
        };
        self.answer(GATEWAY, answer);
    }

    /// Makes more bytes of the fixed host readable.
    fn offer(&mut self) {
        let available = self.echo.length();
        let stream = stream(Side::Fixed);
        self.tell(redirector::Input::Readable { stream, available });
    }
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count)
        .map(|place| (place ^ (place >> 8)) as u8)
        .collect()
}

#[test]
fn an_echo_across_the_hop_comes_back_whole_and_ends() {
    let mut hosts = Hosts::new();
    hosts.open();
    let content = Bytes::from(bytes(300_000));
    hosts.application(Input::Write(APPLICATION, Chunks::from(content.clone())));
    hosts.application(Input::Close(APPLICATION));
    hosts.run(Duration::from_secs(600));
    assert!(
        hosts.fixed_finished,
        "the fixed host saw the end of the stream"
    );
    assert!(hosts.received == content, "{} bytes", hosts.received.len());
    let ends = [Output::Finished(APPLICATION), Output::Closed(APPLICATION)];
    assert!(hosts.told.ends_with(&ends), "{:?}", hosts.told.last());
    assert_eq!(hosts.redirector.counters().finished, 1);
    assert_eq!(hosts.ends.each_ref().map(Endpoint::connections), [0, 0]);
}

#[test]
fn a_fixed_host_that_refuses_is_told_to_the_application() {
    let mut hosts = Hosts::new();
    hosts.fixed_refuses = true;
    hosts.open();
    hosts.run(Duration::from_secs(10));
    assert_eq!(hosts.told, [Output::Reset(APPLICATION, Reason::Refused)]);
    assert_eq!(hosts.redirector.bindings(), 0);
}

#[test]
fn a_reset_crosses_the_redirector() {
    let mut hosts = Hosts::new();
    hosts.open();
    hosts.run(Duration::from_secs(5));
    hosts.tell(redirector::Input::Reset(stream(Side::Fixed)));
    hosts.run(Duration::from_secs(10));
    let reset = Output::Reset(APPLICATION, Reason::Aborted);
    assert_eq!(hosts.told.last(), Some(&reset));
    assert_eq!(hosts.ends.each_ref().map(Endpoint::connections), [0, 0]);
}
