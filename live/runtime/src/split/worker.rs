//! The thread that splits: a redirector between streams, of which at least one is a socket of the kernel.

mod ask;
mod carry;
mod told;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use edges::clock;
use edges::transparent::{Ends, TransparentListener};
use edges::wait::{Interest, WOKEN, Waiter};
use machine::Machine;
use redirector::{BindingId, Chunks, Input, Redirector, Side, Stream as StreamId};
use units::{Duration, Instant};

use super::crossing::Crossing;
use super::guard::{Guard, Secret};
use super::joint::{Joint, Stage};
use super::mailbox::Mailbox;
use super::port::Streams;
use super::shares::Shares;
use super::stream::Stream;
use super::{Carried, Counted, Counters, Heard, Options, Verdict};
use told::Hop;

/// Tokens of what is waited for; those of streams follow.
pub(super) const HEARD: u64 = 0;
pub(super) const LISTENER: u64 = 1;
pub(super) const HOP: u64 = 2;
const FIRST_STREAM: u64 = 3;

/// How long the end of a connection may take to be written.
const ENDING: Duration = Duration::from_secs(120);

/// What joins the thread to the one of the air.
pub(super) struct Ports {
    pub(super) heard: Mailbox<Heard>,
    pub(super) verdicts: Mailbox<Verdict>,
    pub(super) counters: Counted,
    pub(super) secret: Secret,
    pub(super) streams: Streams,
    /// By which ways connections of each mobile host cross the hop.
    pub(super) crossings: Arc<[Crossing]>,
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
    guard: Guard,
    deadlines: BTreeSet<(Instant, BindingId)>,
    hop: Hop,
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
            guard: Guard::new(),
            hop: Hop::new(options.mobiles.len()),
            options,
            deadlines: BTreeSet::new(),
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
                    HEARD => self.hear(now),
                    LISTENER => self.accept(),
                    HOP => self.hear_of_streams(now),
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
            if let Some(stream) = stream.and_then(Stream::kernel) {
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

    fn forget(&mut self, id: BindingId) {
        self.set_deadline(id, None);
        if let Some(joint) = self.joints.remove(&id) {
            self.shares.give_back(id, joint.owner);
            self.hop.forget(joint.on_the_hop, id);
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
            carried: Carried {
                bytes_to_mobiles: done.to_mobile,
                bytes_to_fixed: done.to_fixed,
            },
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
