//! The table of bindings, as a machine.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use machine::{Deadlines, Machine};
use units::Instant;

use crate::binding::Binding;
use crate::direction::Step;
use crate::{BindingId, Config, Content, Counters, Input, Output, Side, Stream};

/// Joins streams in pairs; see the crate's documentation.
#[derive(Debug)]
pub struct Redirector<C> {
    pub(crate) config: Config,
    pub(crate) bindings: BTreeMap<BindingId, Binding<C>>,
    /// Time of the next check of each binding: never later than its idle limit.
    pub(crate) deadlines: Deadlines<BindingId>,
    outputs: VecDeque<Output<C>>,
    pub(crate) counters: Counters,
}

impl<C: Content> Redirector<C> {
    /// Returns a redirector without bindings.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            bindings: BTreeMap::new(),
            deadlines: Deadlines::default(),
            outputs: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Returns the number of bindings.
    pub fn bindings(&self) -> usize {
        self.bindings.len()
    }

    /// Returns the number of bytes that wait to be written to `stream`.
    pub fn buffered(&self, stream: Stream) -> u64 {
        let binding = self.bindings.get(&stream.binding);
        binding.map_or(0, |binding| binding.buffered(stream.side))
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    fn arrive(&mut self, now: Instant, stream: Stream, destination: SocketAddr) {
        if self.bindings.contains_key(&stream.binding) {
            return;
        }
        if self.bindings.len() >= self.config.bindings {
            self.counters.refused += 1;
            self.outputs.push_back(Output::Reset(stream));
            return;
        }
        self.counters.bindings += 1;
        self.deadlines.set(stream.binding, now + self.config.idle);
        self.bindings.insert(stream.binding, Binding::new(now));
        let stream = stream.other();
        let connect = Output::Connect {
            stream,
            destination,
        };
        self.outputs.push_back(connect);
    }

    /// Applies `change` to the binding of `stream`, then performs the actions that have become possible. If `change`
    /// returns false, the binding is reset.
    fn with(
        &mut self,
        now: Instant,
        stream: Stream,
        change: impl FnOnce(&mut Binding<C>, Side) -> bool,
    ) {
        let Some(binding) = self.bindings.get_mut(&stream.binding) else {
            return;
        };
        binding.active = now;
        if !change(binding, stream.side) {
            self.counters.reset += 1;
            self.outputs.push_back(Output::Reset(stream));
            self.outputs.push_back(Output::Reset(stream.other()));
            self.remove(stream.binding);
            return;
        }
        let sink = stream.side;
        self.pump(stream.binding, sink);
        self.pump(stream.binding, sink.other());
        if self
            .bindings
            .get(&stream.binding)
            .is_some_and(Binding::is_finished)
        {
            self.counters.finished += 1;
            self.remove(stream.binding);
        }
    }

    /// Performs all possible actions towards the `sink` of a binding.
    fn pump(&mut self, id: BindingId, sink: Side) {
        let Some(binding) = self.bindings.get_mut(&id) else {
            return;
        };
        let stream = Stream {
            binding: id,
            side: sink,
        };
        while let Some(step) = binding.to(sink).next_step(self.config.buffer.get()) {
            self.outputs.push_back(match step {
                Step::Read(count) => Output::Read {
                    stream: stream.other(),
                    count,
                },
                Step::Write(content) => {
                    let written = match sink {
                        Side::Mobile => &mut self.counters.to_mobile,
                        Side::Fixed => &mut self.counters.to_fixed,
                    };
                    *written += content.length();
                    Output::Write { stream, content }
                }
                Step::Finish => Output::Finish(stream),
            });
        }
    }

    fn reset(&mut self, stream: Stream) {
        if self.bindings.contains_key(&stream.binding) {
            self.counters.reset += 1;
            self.outputs.push_back(Output::Reset(stream.other()));
            self.remove(stream.binding);
        }
    }

    fn remove(&mut self, id: BindingId) {
        if self.bindings.remove(&id).is_some() {
            self.deadlines.clear(id);
            self.outputs.push_back(Output::Closed(id));
        }
    }

    /// Resets the binding if it has been idle for too long; otherwise schedules the next check.
    fn expire(&mut self, now: Instant, id: BindingId) {
        let Some(binding) = self.bindings.get(&id) else {
            return;
        };
        let limit = binding.active + self.config.idle;
        if limit > now {
            self.deadlines.set(id, limit);
            return;
        }
        self.counters.idle += 1;
        for side in [Side::Fixed, Side::Mobile] {
            self.outputs
                .push_back(Output::Reset(Stream { binding: id, side }));
        }
        self.remove(id);
    }
}

impl<C: Content> Machine for Redirector<C> {
    type Input = Input<C>;
    type Output = Output<C>;

    fn handle_input(&mut self, now: Instant, input: Input<C>) {
        match input {
            Input::Arrived {
                stream,
                destination,
            } => self.arrive(now, stream, destination),
            Input::Readable { stream, available } => self.with(now, stream, |binding, side| {
                binding.from(side).readable(available);
                true
            }),
            Input::Data { stream, content } => self.with(now, stream, |binding, side| {
                binding.from(side).deliver(content)
            }),
            Input::Writable { stream, room } => self.with(now, stream, |binding, side| {
                binding.to(side).writable(room);
                true
            }),
            Input::Finished(stream) => self.with(now, stream, |binding, side| {
                binding.from(side).finish();
                true
            }),
            Input::Reset(stream) => self.reset(stream),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(id) = self.deadlines.first_due(now) {
            self.expire(now, id);
        }
    }

    fn poll_output(&mut self) -> Option<Output<C>> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.first()
    }
}
