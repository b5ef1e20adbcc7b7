//! What is told of streams across the hop.

use std::collections::{HashMap, VecDeque};
use std::io;

use edges::transparent::Ends;
use hosts::{Profile, Scope, StreamLane, StreamNews};
use mtcp::{Addresses, Reason};
use redirector::{BindingId, Chunks, Input, Side, Stream as StreamId};
use rustix::io::Errno;
use units::Instant;

use super::super::hop::HopStream;
use super::super::joint::{Asker, HopName, Stage};
use super::super::port::Told;
use super::super::stream::Stream;
use super::super::{End, Verdict};
use super::{Worker, stream};

/// Which streams there are.
#[derive(Debug)]
pub(super) struct Hop {
    /// Those of each mobile host, while it has any.
    lanes: Vec<Option<StreamLane>>,
    by_name: HashMap<HopName, BindingId>,
    /// What is being heard.
    told: VecDeque<Told>,
    /// Packets of connections are led here.
    diverts: bool,
}

impl Hop {
    pub(super) fn new(mobiles: usize) -> Self {
        Self {
            lanes: vec![None; mobiles],
            by_name: HashMap::new(),
            told: VecDeque::new(),
            diverts: false,
        }
    }

    /// The streams of a mobile host, if it has any.
    pub(super) fn lane(&self, owner: usize) -> Option<StreamLane> {
        self.lanes[owner]
    }

    /// A connection across the hop belongs to that binding.
    pub(super) fn know(&mut self, name: HopName, id: BindingId) {
        self.by_name.insert(name, id);
    }

    /// The binding is gone.
    pub(super) fn forget(&mut self, name: Option<HopName>, id: BindingId) {
        if let Some(name) = name.filter(|name| self.by_name.get(name) == Some(&id)) {
            self.by_name.remove(&name);
        }
    }
}

impl Worker {
    /// Takes in what was told.
    pub(super) fn hear_of_streams(&mut self, now: Instant) {
        let mut told = std::mem::take(&mut self.hop.told);
        self.ports.streams.told.take(&mut told);
        for (lane, news) in told.drain(..) {
            match news {
                StreamNews::Begun(profile, scope) => self.begun(lane, profile, scope),
                StreamNews::Over => self.over(lane),
                StreamNews::Told(told) => self.told(now, lane, told),
            }
            self.settle(now);
        }
        self.hop.told = told;
    }

    fn owner_of(&self, lane: StreamLane) -> Option<usize> {
        let mut mobiles = self.options.mobiles.iter();
        mobiles.position(|mobile| mobile.peer == lane.peer)
    }

    /// There are streams.
    fn begun(&mut self, lane: StreamLane, profile: Profile, scope: Scope) {
        let Some(owner) = self.owner_of(lane) else {
            return;
        };
        if let End::Mobile { diversion } = &self.options.end
            && !self.hop.diverts
        {
            if let Err(error) = diversion.install() {
                tracing::error!("TCP is not split here, and goes as packets: {error}");
                return;
            }
            self.hop.diverts = true;
        }
        self.hop.lanes[owner] = Some(lane);
        self.ports.crossings[owner].begin(profile, scope);
    }

    /// The streams are gone, and so are the connections that they carried.
    fn over(&mut self, lane: StreamLane) {
        if let Some(owner) = self.owner_of(lane)
            && self.hop.lanes[owner] == Some(lane)
        {
            self.hop.lanes[owner] = None;
            self.ports.crossings[owner].end();
        }
        let lost = |(name, id): (&HopName, &BindingId)| (name.0 == lane).then_some((name.1, *id));
        let lost: Vec<_> = self.hop.by_name.iter().filter_map(lost).collect();
        for (id, _) in lost {
            // Who asks goes on asking, and may be answered when the hop is there again.
            self.ended((lane, id), Reason::TimedOut);
        }
    }

    fn told(&mut self, now: Instant, lane: StreamLane, told: mtcp::Output<Chunks>) {
        match told {
            mtcp::Output::Arrived(id, addresses) => self.arrived((lane, id), &addresses),
            mtcp::Output::Connected(id) => {
                if let Some(id) = self.hop.by_name.get(&(lane, id)).copied()
                    && self.joints.get(&id).is_some_and(|joint| matches!(joint.stage, Stage::Asking(_)))
                {
                    self.let_in(now, id);
                }
            }
            mtcp::Output::Writable(id, room) => {
                let set = |stream: &mut HopStream| stream.set_room(room);
                if let Some(id) = self.with_hop((lane, id), set) {
                    self.written(id);
                }
            }
            mtcp::Output::Data(id, content) => {
                let arrive = |stream: &mut HopStream| stream.arrive(content);
                if let Some(id) = self.with_hop((lane, id), arrive) {
                    self.look(id);
                }
            }
            mtcp::Output::Finished(id) => {
                let end = |stream: &mut HopStream| stream.ended = true;
                if let Some(id) = self.with_hop((lane, id), end) {
                    self.look(id);
                }
            }
            mtcp::Output::Reset(id, reason) => self.ended((lane, id), reason),
            // Everything was told and confirmed before: the streams are let go of when the binding is over.
            mtcp::Output::Closed(_)
            // Those are for the other thread.
            | mtcp::Output::Packet(_)
            | mtcp::Output::Readable(..)
            // Nobody listens across the hop: who is asked for decides when it is asked for.
            | mtcp::Output::ListenerAsked(_)
            | mtcp::Output::ListenerGone(_)
            | mtcp::Output::Listening(_)
            | mtcp::Output::ListenRefused(..) => {}
        }
    }

    /// The other end of the hop asks for a connection.
    fn arrived(&mut self, name: HopName, addresses: &Addresses) {
        let ends = Ends {
            source: addresses.source(),
            destination: addresses.destination(),
        };
        let side = self.options.end.hop_side();
        let owner = self.owner_of(name.0);
        let id = owner.and_then(|owner| self.ask(ends, (side, owner), Asker::Hop(name)));
        if let Some(id) = id {
            self.hop.know(name, id);
        } else {
            let refuse = mtcp::Input::Refuse(name.1, Reason::Busy);
            self.ports.streams.ask(name.0, refuse);
        }
    }

    /// A connection across the hop was not made, or is broken.
    fn ended(&mut self, name: HopName, reason: Reason) {
        let Some(id) = self.hop.by_name.remove(&name) else {
            return;
        };
        let side = self.options.end.hop_side();
        let id = stream(id, side);
        let Some(joint) = self.joints.get_mut(&id.binding) else {
            return;
        };
        // It need not be told of what it told.
        if let Some(Stream::Hop(stream)) = joint.stream(side).take() {
            stream.let_go();
        }
        let was_asked = joint.asker != side && matches!(joint.stage, Stage::Asking(_));
        if was_asked && reason == Reason::NotListening && self.options.end.hop_side() == Side::Fixed
        {
            self.leave_to_packets(id);
        } else if was_asked {
            self.refuse(id, &error_of(reason));
        } else {
            self.broken(id);
        }
    }

    /// The gateway takes no streams for who was asked, itself above all: the request goes on as a packet, as do all
    /// that follow it.
    fn leave_to_packets(&mut self, id: StreamId) {
        if let Some(joint) = self.joints.get(&id.binding)
            && let Stage::Asking(Asker::Packet { packet, .. }) = &joint.stage
        {
            self.decide(Verdict::ToHop(packet.clone()));
        }
        self.news.push_back(Input::Reset(id));
    }

    /// Has `act` on a stream across the hop; gives which one it is.
    fn with_hop(&mut self, name: HopName, act: impl FnOnce(&mut HopStream)) -> Option<StreamId> {
        let id = self.hop.by_name.get(&name).copied()?;
        let id = stream(id, self.options.end.hop_side());
        self.with(id, |stream| stream.hop().map(act))??;
        Some(id)
    }
}

/// What who asked is to be told.
fn error_of(reason: Reason) -> io::Error {
    match reason {
        Reason::Refused | Reason::NotListening | Reason::Aborted => Errno::CONNREFUSED,
        Reason::Unreachable | Reason::Unknown | Reason::Profile | Reason::Protocol => {
            Errno::HOSTUNREACH
        }
        Reason::TimedOut | Reason::Busy => Errno::TIMEDOUT,
    }
    .into()
}
