//! The thread that splits: kernel sockets on both sides of a redirector.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, SyncSender};

use edges::clock;
use edges::transparent::{Ends, TransparentListener, TransparentStream};
use edges::wait::{Bell, Interest, Ready, WOKEN, Waiter};
use machine::Machine;
use redirector::{BindingId, Chunks, Content, Input, Output, Redirector, Side, Stream as StreamId};
use units::{Duration, Instant};

use super::joint::{Joint, Stage};
use super::refusal::refusal;
use super::shares::Shares;
use super::stream::{Look, Stream};
use super::{Counted, Counters, Options, Request, Verdict};

/// Tokens of what is waited for; those of streams follow.
pub(super) const ASKED: u64 = 0;
pub(super) const LISTENER: u64 = 1;
const FIRST_STREAM: u64 = 2;

/// What a stream that has nothing pending is said to have room for: what it does not take waits beside it.
const ROOM: u64 = 256 << 10;
/// How long a connection that was let in may take to be accepted: as long as a kernel waits for the third segment of a
/// handshake (Linux: five repetitions of the second).
const ACCEPTING: Duration = Duration::from_secs(63);
/// How long the end of a connection may take to be written.
const ENDING: Duration = Duration::from_secs(120);

/// What joins the thread to the one of the air.
pub(super) struct Ports {
    pub(super) requests: Receiver<Request>,
    pub(super) asked: Bell,
    pub(super) verdicts: SyncSender<Verdict>,
    pub(super) decided: Bell,
    pub(super) counters: Counted,
}

/// All connections.
pub(super) struct Worker {
    options: Options,
    listener: TransparentListener,
    ports: Ports,
    redirector: Redirector<Chunks>,
    joints: BTreeMap<BindingId, Joint>,
    by_ends: HashMap<Ends, BindingId>,
    shares: Shares,
    deadlines: BTreeSet<(Instant, BindingId)>,
    next: u64,
    counters: Counters,
    /// Streams whose descriptors are to be waited for.
    fresh: Vec<StreamId>,
    /// What the redirector is to hear.
    news: VecDeque<Input<Chunks>>,
}

impl Worker {
    pub(super) fn new(options: Options, listener: TransparentListener, ports: Ports) -> Self {
        let redirector = Redirector::new(redirector::Config {
            buffer: options.buffer,
            bindings: options.connections,
            idle: options.idle,
        });
        Self {
            listener,
            ports,
            redirector,
            joints: BTreeMap::new(),
            by_ends: HashMap::new(),
            shares: Shares::new(options.connections, options.mobiles.len()),
            options,
            deadlines: BTreeSet::new(),
            next: 0,
            counters: Counters::default(),
            fresh: Vec::new(),
            news: VecDeque::new(),
        }
    }

    /// Goes on until it is woken. Then all connections are reset.
    pub(super) fn run(mut self, mut waiter: Waiter) {
        let mut ready = Vec::new();
        loop {
            let now = clock::monotonic();
            self.tell_time(now);
            let deadline = machine::earlier(self.redirector.poll_timeout(), self.next_deadline());
            let patience = deadline.map(|deadline| deadline.since(clock::monotonic()));
            match waiter.wait(patience) {
                Ok(events) => ready.extend(events),
                Err(error) => return tracing::error!("TCP is split no more: cannot wait: {error}"),
            }
            let now = clock::monotonic();
            for ready in ready.drain(..) {
                match ready.token {
                    WOKEN => return,
                    ASKED => self.hear(),
                    LISTENER => self.accept(),
                    token => self.stream_changed(now, stream_of(token), ready),
                }
                self.settle(now);
                self.watch(&waiter);
            }
            self.count();
        }
    }

    /// Has the new descriptors waited for.
    fn watch(&mut self, waiter: &Waiter) {
        for id in self.fresh.drain(..) {
            let joint = self.joints.get_mut(&id.binding);
            let stream = joint.and_then(|joint| joint.stream(id.side).as_ref());
            if let Some(stream) = stream {
                // A stream that cannot be waited for is given up when it has been idle for too long.
                let _ = waiter.add(stream.socket(), token_of(id), Interest::Changes);
            }
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    fn tell_time(&mut self, now: Instant) {
        while let Some((deadline, id)) = self.deadlines.first().copied()
            && deadline <= now
        {
            self.set_deadline(id, None);
            if self
                .joints
                .get(&id)
                .is_some_and(|joint| matches!(joint.stage, Stage::Ending))
            {
                self.forget(id);
            } else {
                self.news.push_back(Input::Reset(stream(id, Side::Mobile)));
            }
        }
        if self
            .redirector
            .poll_timeout()
            .is_some_and(|deadline| deadline <= now)
        {
            self.redirector.handle_timeout(now);
        }
        self.settle(now);
    }

    /// Takes in what is asked for.
    fn hear(&mut self) {
        // Silent first: what is rung from here on is heard by the next wait.
        let _ = self.ports.asked.hear();
        while let Ok(request) = self.ports.requests.try_recv() {
            self.ask(request);
        }
    }

    fn ask(&mut self, request: Request) {
        let ends = request.ends;
        let known = self.by_ends.get(&ends).and_then(|id| self.joints.get(id));
        match known.map(|joint| &joint.stage) {
            // It is asked for again while nobody has answered.
            Some(Stage::Asking(first)) if first.sequence == request.sequence => return,
            // That is what we ask a mobile host with, in the name of who asks us.
            Some(Stage::Asking(_)) => return self.decide(Verdict::ToMobile(request.packet)),
            // The listener knows it.
            Some(_) => return self.decide(Verdict::ToDevice(request.packet)),
            None => {}
        }
        self.counters.asked += 1;
        let id = BindingId(self.next);
        if !self.shares.take(id, request.owner, request.asker) {
            // It comes again, and then there may be room.
            self.counters.without_room += 1;
            return;
        }
        self.next += 1;
        self.by_ends.insert(ends, id);
        self.news.push_back(Input::Arrived {
            stream: stream(id, request.asker),
            destination: ends.destination,
        });
        self.joints.insert(id, Joint::asked(request));
    }

    fn decide(&self, verdict: Verdict) {
        // A verdict that finds no room is lost; the request comes again.
        if self.ports.verdicts.try_send(verdict).is_ok() {
            let _ = self.ports.decided.ring();
        }
    }

    /// Begins the connection to who is asked: to a mobile host in the name of who asks, as if nobody stood between.
    fn connect(&mut self, id: StreamId, destination: SocketAddr) {
        let Some(joint) = self.joints.get_mut(&id.binding) else {
            return;
        };
        let across_the_hop = joint.asker == Side::Fixed;
        let in_its_name = self.options.transparent || across_the_hop;
        let source = in_its_name.then_some(joint.ends.source);
        let control = self.options.congestion_control.as_deref();
        let control = control.filter(|_| across_the_hop);
        match TransparentStream::connect(source, destination, control) {
            Ok(socket) => {
                *joint.stream(id.side) = Some(Stream::new(socket));
                self.fresh.push(id);
            }
            Err(error) => self.refuse(id, &error),
        }
    }

    /// Who was asked, or the way there, has refused.
    fn refuse(&mut self, id: StreamId, error: &io::Error) {
        self.counters.refused += 1;
        if let Some(joint) = self.joints.get(&id.binding)
            && let Stage::Asking(request) = &joint.stage
            && let Some(refusal) = refusal(&request.packet, error)
        {
            self.decide(match joint.asker {
                Side::Mobile => Verdict::ToMobile(refusal),
                Side::Fixed => Verdict::ToDevice(refusal),
            });
        }
        self.news.push_back(Input::Reset(id));
    }

    /// Takes in those that were let in.
    fn accept(&mut self) {
        loop {
            let (socket, ends) = match self.listener.accept() {
                Ok(Some(accepted)) => accepted,
                Ok(None) => return,
                Err(error) => return tracing::warn!("a connection could not be accepted: {error}"),
            };
            let id = self.by_ends.get(&ends).copied();
            let joint = id.and_then(|id| Some((id, self.joints.get_mut(&id)?)));
            let Some((id, joint)) = joint.filter(|(_, joint)| matches!(joint.stage, Stage::LetIn))
            else {
                self.counters.strangers += 1;
                continue;
            };
            joint.stage = Stage::Joined;
            self.shares.stands(id);
            let stream = stream(id, joint.asker);
            *joint.stream(stream.side) = Some(Stream::new(socket));
            let finished_early = joint.finished_early;
            self.counters.joined += 1;
            self.fresh.push(stream);
            self.set_deadline(id, None);
            self.news.push_back(Input::Writable { stream, room: ROOM });
            if finished_early {
                self.finish(stream);
            }
        }
    }

    fn stream_changed(&mut self, now: Instant, id: StreamId, ready: Ready) {
        let Some(joint) = self.joints.get_mut(&id.binding) else {
            return;
        };
        let is_asking = matches!(joint.stage, Stage::Asking(_));
        let Some(stream) = joint.stream(id.side) else {
            return;
        };
        stream.ended |= ready.ended;
        if is_asking {
            let error = stream.socket().take_error();
            match error {
                Err(error) => return self.refuse(id, &error),
                Ok(()) if ready.writable => self.let_in(now, id.binding),
                Ok(()) => return,
            }
        }
        if ready.readable || ready.ended {
            self.look(id);
        }
        if ready.writable {
            self.write(id, Stream::flush);
        }
    }

    /// Who was asked has answered.
    fn let_in(&mut self, now: Instant, id: BindingId) {
        let Some(joint) = self.joints.get_mut(&id) else {
            return;
        };
        if let Stage::Asking(request) = std::mem::replace(&mut joint.stage, Stage::LetIn) {
            self.decide(Verdict::ToDevice(request.packet));
        }
        self.set_deadline(id, Some(now + ACCEPTING));
    }

    /// Tells the redirector what can be read.
    fn look(&mut self, id: StreamId) {
        let Some(looked) = self.with(id, |stream| stream.look()) else {
            return;
        };
        let readable = |available| Input::Readable {
            stream: id,
            available,
        };
        match looked {
            Ok(Look::Bytes(available)) => self.news.push_back(readable(available)),
            Ok(Look::Nothing) => self.news.push_back(readable(0)),
            Ok(Look::End) => self.news.extend([readable(0), Input::Finished(id)]),
            Err(_) => self.broken(id),
        }
    }

    /// Has `act` write to a stream; then there is room, or it is broken.
    fn write(&mut self, id: StreamId, act: impl FnOnce(&mut Stream) -> io::Result<()>) {
        match self.with(id, act) {
            Some(Ok(())) => self.written(id),
            Some(Err(_)) => self.broken(id),
            None => {}
        }
    }

    /// Says that there is room again, or that all is done.
    fn written(&mut self, id: StreamId) {
        let Some(joint) = self.joints.get_mut(&id.binding) else {
            return;
        };
        if matches!(joint.stage, Stage::Ending) {
            if joint.end() {
                self.forget(id.binding);
            }
        } else if joint.stream(id.side).as_ref().is_some_and(Stream::has_room) {
            let room = ROOM;
            self.news.push_back(Input::Writable { stream: id, room });
        }
    }

    /// A stream has failed.
    fn broken(&mut self, id: StreamId) {
        let Some(joint) = self.joints.get_mut(&id.binding) else {
            return;
        };
        *joint.stream(id.side) = None;
        if !matches!(joint.stage, Stage::Ending) {
            self.news.push_back(Input::Reset(id));
        } else if joint.end() {
            self.forget(id.binding);
        }
    }

    /// Does what the redirector asks for and tells it what came of it, until both are at rest.
    fn settle(&mut self, now: Instant) {
        loop {
            while let Some(output) = self.redirector.poll_output() {
                self.carry_out(now, output);
            }
            match self.news.pop_front() {
                Some(input) => self.redirector.handle_input(now, input),
                None => return,
            }
        }
    }

    fn carry_out(&mut self, now: Instant, output: Output<Chunks>) {
        match output {
            Output::Connect {
                stream,
                destination,
            } => self.connect(stream, destination),
            Output::Read { stream, count } => self.read(stream, count),
            Output::Write { stream, content } => {
                self.write(stream, |stream| stream.write(&content));
            }
            Output::Finish(stream) => self.finish(stream),
            Output::Reset(id) => {
                if let Some(joint) = self.joints.get_mut(&id.binding) {
                    *joint.stream(id.side) = None;
                }
            }
            Output::Closed(id) => self.close(now, id),
        }
    }

    fn finish(&mut self, id: StreamId) {
        match self.with(id, Stream::finish) {
            Some(Ok(())) => {}
            Some(Err(_)) => self.broken(id),
            None => {
                if let Some(joint) = self.joints.get_mut(&id.binding) {
                    joint.finished_early = true;
                }
            }
        }
    }

    fn read(&mut self, id: StreamId, count: u64) {
        let Some((read, ended)) = self.with(id, |stream| (stream.read(count), stream.ended)) else {
            return;
        };
        let Ok(content) = read else {
            return self.broken(id);
        };
        let is_empty = content.length() == 0;
        // First, lest it is asked for again what is not there.
        if is_empty {
            self.look(id);
        }
        self.news.push_back(Input::Data {
            stream: id,
            content,
        });
        if ended && !is_empty {
            self.look(id);
        }
    }

    /// A binding is gone: what it has written goes out still.
    fn close(&mut self, now: Instant, id: BindingId) {
        let Some(joint) = self.joints.get_mut(&id) else {
            return;
        };
        if self.by_ends.get(&joint.ends) == Some(&id) {
            self.by_ends.remove(&joint.ends);
        }
        if joint.end() {
            self.forget(id);
        } else {
            self.set_deadline(id, Some(now + ENDING));
        }
    }

    fn forget(&mut self, id: BindingId) {
        self.set_deadline(id, None);
        if let Some(joint) = self.joints.remove(&id) {
            self.shares.give_back(id, joint.owner);
        }
    }

    fn set_deadline(&mut self, id: BindingId, deadline: Option<Instant>) {
        let Some(joint) = self.joints.get_mut(&id) else {
            return;
        };
        if let Some(old) = std::mem::replace(&mut joint.deadline, deadline) {
            self.deadlines.remove(&(old, id));
        }
        if let Some(new) = deadline {
            self.deadlines.insert((new, id));
        }
    }

    fn with<R>(&mut self, id: StreamId, act: impl FnOnce(&mut Stream) -> R) -> Option<R> {
        let joint = self.joints.get_mut(&id.binding)?;
        joint.stream(id.side).as_mut().map(act)
    }

    fn count(&self) {
        let done = self.redirector.counters();
        self.ports.counters.set(Counters {
            open: self.redirector.bindings() as u64,
            finished: done.finished,
            reset: done.reset,
            idle: done.idle,
            bytes_to_mobiles: done.to_mobile,
            bytes_to_fixed: done.to_fixed,
            ..self.counters
        });
    }
}

fn stream(binding: BindingId, side: Side) -> StreamId {
    StreamId { binding, side }
}

fn token_of(id: StreamId) -> u64 {
    FIRST_STREAM + 2 * id.binding.0 + u64::from(id.side == Side::Mobile)
}

fn stream_of(token: u64) -> StreamId {
    let number = token - FIRST_STREAM;
    let side = if number.is_multiple_of(2) {
        Side::Fixed
    } else {
        Side::Mobile
    };
    stream(BindingId(number / 2), side)
}
